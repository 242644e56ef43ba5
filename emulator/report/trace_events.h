// Events of the "Trace Event Format", as JSON.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "emulator/report/format.h"
#include "emulator/report/output_file.h"

namespace rankwire {

/// The elements of the JSON array, gathered in one buffer that the file gets at the latest when this is destroyed.
class TraceEvents {
 public:
  explicit TraceEvents(OutputFile& out) : out_(out) {}
  ~TraceEvents() { flush(); }
  TraceEvents(const TraceEvents&) = delete;
  TraceEvents& operator=(const TraceEvents&) = delete;

  /// The next event follows, piece by piece.
  void begin() {
    if (buffer_.size() > kFlushAt) flush();
    text(separator_);
    separator_ = ",\n";
  }
  template <class... Args>
  void format(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(fmt::appender(buffer_), form, std::forward<Args>(args)...);
  }
  void text(std::string_view text) { buffer_.append(text.data(), text.data() + text.size()); }
  /// Any text as a string of JSON.
  void quoted(const std::string& value) {
    if (std::all_of(value.begin(), value.end(), needs_no_escape)) {
      buffer_.push_back('"');
      text(value);
      buffer_.push_back('"');
    } else {
      text(nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
  }
  void microseconds(int64_t ps) { text(exact_microseconds(ps)); }

  /// Metadata: "process_name", "thread_name".
  void name(const char* what, uint64_t process, uint64_t thread, const std::string& value) {
    begin();
    format(R"({{"ph":"M","pid":{},"tid":{},"ts":0,"name":"{}","args":{{"name":)", process, thread, what);
    quoted(value);
    text("}}");
  }
  /// Metadata: "process_sort_index", "thread_sort_index".
  void sort(const char* what, uint64_t process, uint64_t thread, uint64_t position) {
    begin();
    format(R"({{"ph":"M","pid":{},"tid":{},"ts":0,"name":"{}","args":{{"sort_index":{}}}}})", process, thread, what,
           position);
  }

  /// A counter's value, which holds until the next. `unit` is no text that JSON would escape.
  void counter(uint64_t process, const std::string& counter, Time time, const char* unit, uint64_t value) {
    begin();
    format(R"({{"ph":"C","pid":{},"tid":0,"ts":)", process);
    microseconds(time.ps);
    text(R"(,"name":)");
    quoted(counter);
    format(R"(,"args":{{"{}":{}}}}})", unit, value);
  }

 private:
  static constexpr size_t kFlushAt = 1 << 16;
  static constexpr bool needs_no_escape(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }
  void flush() {
    out_ << std::string_view(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

  OutputFile& out_;
  fmt::memory_buffer buffer_;
  std::string_view separator_ = "\n";
};

}  // namespace rankwire
