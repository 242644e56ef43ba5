// Text files line by line, with errors that name the line.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "proto/byte_stream.h"

namespace rankwire {

/// The whole file, plain, gzip or zstd, without a byte order mark before it. Throws Error(kInput) naming the file when
/// it cannot be read or is larger than 1 GiB.
std::string read_text_file(const std::string& path);

/// Words separated by blanks.
std::vector<std::string_view> words_of(std::string_view line);

/// The number that the whole word is; absent for anything else, also for one that does not fit.
template <class Number>
std::optional<Number> number_in(std::string_view word) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// Goes through a text that must outlive it.
class TextLines {
 public:
  TextLines(std::string path, std::string_view text) : path_(std::move(path)), rest_(text) {}

  /// False at the end. Without what ends the line, also "\r\n".
  bool next(std::string_view& line);
  const std::string& path() const { return path_; }
  /// Of the line read last, from 1.
  uint64_t number() const { return number_; }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}:{}: {}", path_, number_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::string path_;
  std::string_view rest_;
  uint64_t number_ = 0;
};

/// Goes through a file of any size, plain, gzip or zstd.
class StreamedLines {
 public:
  /// Longer lines are an error.
  static constexpr size_t kLongest = 16u << 20;

  /// Throws Error(kInput) that names the file when it cannot be opened.
  explicit StreamedLines(const std::string& path) : path_(path), bytes_(path) { bytes_.skip_byte_order_mark(); }

  /// False at the end. Without what ends the line; valid until the next call. Throws Error(kInput) naming the file when
  /// it cannot be read on.
  bool next(std::string_view& line);
  /// Of the line read last, from 1.
  uint64_t number() const { return number_; }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}:{}: {}", path_, number_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::string path_;
  ByteStream bytes_;
  uint64_t number_ = 0;
};

}  // namespace rankwire
