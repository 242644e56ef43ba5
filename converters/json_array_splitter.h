// A JSON document with one array that is too large for memory, taken apart as it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace rankwire {

/// Of `{..., "KEY": [elements], ...}` the elements, in batches, and the rest of the document. It looks at no more than
/// strings and brackets: whether batches and rest are JSON is for who parses them. What is no such document has no
/// batches.
class JsonArraySplitter {
 public:
  /// Takes a batch, "[element, ...]", which is valid during the call.
  using Take = std::function<void(std::string& batch)>;

  JsonArraySplitter(std::string_view key, Take take) : key_(key), take_(std::move(take)) {}

  /// The next part of the document, of any length. Throws what `take` throws.
  void feed(std::string_view text);
  /// At the end of the document: the rest, which has "[]" in place of the array, or what is left of it if it does not
  /// end.
  std::string finish();

 private:
  /// Batches are as long at least, but for the last.
  static constexpr size_t kBatch = 1 << 20;

  size_t pass_string(std::string_view text, size_t at);
  void look_at(char letter);
  void add(std::string_view text) { (in_array_ ? batch_ : rest_) += text; }
  void hand_out();

  const std::string key_;
  const Take take_;
  std::string rest_, batch_ = "[";
  size_t string_begin_ = 0;  ///< in `rest_`: of the string that was met last at depth 1
  bool follows_key_ = false;
  int64_t depth_ = 0;
  bool in_string_ = false, escaped_ = false, in_array_ = false, had_array_ = false;
};

}  // namespace rankwire
