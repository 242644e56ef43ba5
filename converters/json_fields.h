// Values of a JSON document read on demand, with errors that name their place.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace rankwire {

/// `file: path.in.json`, the beginning of every message.
struct JsonPlace {
  const std::string& file;
  std::string path;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}: {}: {}", file, path, fmt::format(format, std::forward<Args>(args)...));
  }
  /// Runs what reads this value; what simdjson finds wrong becomes an error of this place.
  template <class Read>
  void read(Read&& reading) const {
    try {
      reading();
    } catch (const simdjson::simdjson_error& error) {
      fail("{}", simdjson::error_message(error.error()));
    }
  }
};

/// A number as it is written, or a text; absent for anything else. The view is into the document.
inline std::optional<std::string_view> written(simdjson::ondemand::value value) {
  switch (simdjson::ondemand::json_type(value.type())) {
    case simdjson::ondemand::json_type::number: {
      std::string_view token = value.raw_json_token();
      while (!token.empty() &&
             (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t')) {
        token.remove_suffix(1);
      }
      return token;
    }
    case simdjson::ondemand::json_type::string:
      return std::string_view(value.get_string());
    default:
      return std::nullopt;
  }
}

/// The integer that the whole text is; absent for anything else.
std::optional<int64_t> integer_in(std::string_view text);

/// An integer, whether written as a number or in a text; absent for anything else.
inline std::optional<int64_t> written_integer(simdjson::ondemand::value value) {
  const auto text = written(value);
  return text ? integer_in(*text) : std::nullopt;
}

/// A decimal number of microseconds as nanoseconds, what is beyond them cut off, without rounding on the way: doubles
/// cannot tell nanoseconds of present dates apart. Absent when it is no number, or beyond 64 bits.
std::optional<int64_t> nanoseconds_of(std::string_view micros);

}  // namespace rankwire
