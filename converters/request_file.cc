#include "converters/request_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/input_file.h"
#include "base/printable.h"

namespace rankwire {
namespace {

/// What Windows' programs put before a text in UTF-8.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr int64_t kMicros = 1'000'000;
/// Of a time within the file: 10^6 s.
constexpr int64_t kLatestMicros = kMicros * kMicros;

std::string_view trimmed_cell(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

/// As much of a text as tells which it is, on one line.
std::string quoted(std::string_view text) {
  constexpr size_t kMost = 80;
  return printable_line(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
}

/// A whole number without a sign that takes up all of `text`.
std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.front() == '-') return std::nullopt;
  return value;
}

/// "12" or "12.345" in microseconds; further digits are cut off. No more than a quarter of what fits, so that
/// differences do.
std::optional<int64_t> micros_of(std::string_view text) {
  const size_t point = text.find('.');
  const auto whole = whole_number(text.substr(0, point));
  if (text.empty() || !whole || *whole > INT64_MAX / kMicros / 4) return std::nullopt;
  if (point == std::string_view::npos) return *whole * kMicros;
  std::string digits(text.substr(point + 1));
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  digits.resize(6, '0');
  return *whole * kMicros + *whole_number(digits);
}

/// "+00:00" in minutes; nothing where it is no offset.
std::optional<int64_t> offset_minutes(std::string_view text) {
  if (text.empty() || text == "Z") return 0;
  if (text.size() != 6 || text[3] != ':' || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const auto hours = whole_number(text.substr(1, 2)), minutes = whole_number(text.substr(4, 2));
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return (*hours * 60 + *minutes) * (text[0] == '-' ? -1 : 1);
}

/// "2023-11-16 18:17:03.97996", also with 'T' in between and an offset behind, in microseconds.
std::optional<int64_t> micros_of_date(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') || text[13] != ':' ||
      text[16] != ':')
    return std::nullopt;
  const auto year = whole_number(text.substr(0, 4)), month = whole_number(text.substr(5, 2)),
             day = whole_number(text.substr(8, 2)), hour = whole_number(text.substr(11, 2)),
             minute = whole_number(text.substr(14, 2));
  const size_t end = std::min(text.find_first_not_of("0123456789.", 17), text.size());
  const auto second = micros_of(text.substr(17, end - 17));
  const auto offset = offset_minutes(text.substr(end));
  if (!year || !month || !day || !hour || !minute || !second || !offset) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60 * kMicros) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + *hour) * 60 + *minute - *offset) * 60 * kMicros + *second;
}

std::optional<std::array<std::string_view, 3>> fields_of(std::string_view line) {
  std::array<std::string_view, 3> fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == fields.size())) return std::nullopt;
    fields[i] = trimmed_cell(line.substr(0, comma));
    if (fields[i].empty()) return std::nullopt;
    line.remove_prefix(std::min(comma, line.size() - 1) + 1);
  }
  return fields;
}

/// Of whatever sign and form.
bool is_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

int64_t tokens_of(const std::string& place, const char* what, std::string_view text) {
  constexpr int64_t kMost = 1 << 24;
  const auto tokens = whole_number(text);
  if (!tokens || *tokens < 1 || *tokens > kMost)
    fail_input("{}: {} tokens are '{}', must be a whole number of 1 to {}", place, what, quoted(text), kMost);
  return *tokens;
}

}  // namespace

std::vector<ServedRequest> read_requests(const std::string& file, size_t most) {
  std::ifstream in = open_input(file, "a CSV file of requests");
  std::vector<ServedRequest> requests;
  std::optional<int64_t> begin;
  int64_t last = 0;
  bool first_is_date = false;
  size_t number = 0;
  for (std::string line; requests.size() < most && std::getline(in, line);) {
    ++number;
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (trimmed_cell(line).empty()) continue;
    const std::string place = fmt::format("{}:{}", file, number);
    const auto fields = fields_of(line);
    if (!fields)
      fail_input("{}: '{}' is not the time of arrival, input tokens and output tokens, as in 12.5,1024,128", place,
                 quoted(trimmed_cell(line)));
    const std::string_view time = (*fields)[0];
    auto micros = micros_of(time);
    const bool is_date = !micros;
    if (is_date) micros = micros_of_date(time);
    const bool is_heading = number == 1 && !micros && std::ranges::none_of(*fields, is_number);
    if (is_heading) continue;
    if (!micros)
      fail_input("{}: '{}' is neither seconds, such as 12.5, nor a time, such as 2023-11-16 18:17:03.97", place,
                 quoted(time));
    if (!begin) begin = last = *micros, first_is_date = is_date;
    if (is_date != first_is_date)
      fail_input("{}: '{}' is {}, but the first request has {}; write all times in one way", place, quoted(time),
                 is_date ? "a date" : "a number of seconds", is_date ? "a number of seconds" : "a date");
    // Before they are a Duration, which has room for 10^6 s, but not for a date.
    if (*micros < last) fail_input("{}: arrives before the request of the line before it; sort the file", place);
    if (*micros - *begin > kLatestMicros) fail_input("{}: arrives later than 10^6 s after the first request", place);
    last = *micros;
    requests.push_back({.arrival = microseconds(*micros - *begin),
                        .input = tokens_of(place, "input", (*fields)[1]),
                        .output = tokens_of(place, "output", (*fields)[2])});
  }
  if (requests.empty()) fail_input("{}: has no requests", file);
  return requests;
}

}  // namespace rankwire
