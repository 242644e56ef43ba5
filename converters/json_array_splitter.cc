#include "converters/json_array_splitter.h"

#include <array>
#include <cstdint>
#include <utility>

namespace rankwire {
namespace {

/// By letter.
using LetterSet = std::array<bool, 256>;

constexpr LetterSet set_of(std::string_view letters) {
  LetterSet set{};
  for (const char letter : letters) set[static_cast<uint8_t>(letter)] = true;
  return set;
}

constexpr LetterSet kOutsideStrings = set_of("\"{}[],:"), kInStrings = set_of("\"\\");

/// The place of the first of these letters from `at` on, or the text's end.
size_t find_any(const LetterSet& letters, std::string_view text, size_t at) {
  while (at < text.size() && !letters[static_cast<uint8_t>(text[at])]) ++at;
  return at;
}

}  // namespace

void JsonArraySplitter::feed(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (in_string_) {
      at = pass_string(text, at);
      continue;
    }
    // Up to what changes anything, all at once.
    const size_t end = find_any(kOutsideStrings, text, at);
    add(text.substr(at, end - at));
    if (end < text.size()) look_at(text[end]);
    at = end + 1;
  }
}

/// Adds the string's text from `at` on and returns the place behind it.
size_t JsonArraySplitter::pass_string(std::string_view text, size_t at) {
  size_t end = at;
  if (std::exchange(escaped_, false)) ++end;
  for (;; end += 2) {
    end = find_any(kInStrings, text, end);
    if (end >= text.size() || text[end] == '"') break;
    escaped_ = end + 1 == text.size();
  }
  in_string_ = end >= text.size();
  end = in_string_ ? text.size() : end + 1;
  add(text.substr(at, end - at));
  if (!in_string_ && depth_ == 1) {
    const std::string_view last = std::string_view(rest_).substr(string_begin_);
    follows_key_ = last.substr(1, last.size() - 2) == key_;
  }
  return end;
}

/// Adds a letter that is no part of a string.
void JsonArraySplitter::look_at(char letter) {
  const int64_t kInArray = 2;
  if (letter == '"') {
    in_string_ = true;
    if (depth_ == 1) string_begin_ = rest_.size();
  } else if (letter == '{' || letter == '[') {
    ++depth_;
  } else if (letter == '}' || letter == ']') {
    --depth_;
  }
  if (in_array_ && depth_ < kInArray) {
    hand_out();
    in_array_ = false;
  }
  if (in_array_ && letter == ',' && depth_ == kInArray && batch_.size() >= kBatch) {
    hand_out();
    return;
  }
  add({&letter, 1});
  if (letter == '[' && depth_ == kInArray && follows_key_ && !had_array_) in_array_ = had_array_ = true;
  if (letter != ':') follows_key_ = false;
}

void JsonArraySplitter::hand_out() {
  if (batch_.size() > 1) take_(batch_ += ']');
  batch_.assign(1, '[');
}

std::string JsonArraySplitter::finish() {
  if (in_array_) rest_ += batch_.substr(1);
  return std::move(rest_);
}

}  // namespace rankwire
