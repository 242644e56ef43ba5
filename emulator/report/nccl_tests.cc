#include "emulator/report/nccl_tests.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/input_file.h"
#include "base/json_problem.h"

namespace rankwire {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  std::vector<std::string_view> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
    if (line.empty()) return words;
    const size_t end = std::min(line.find_first_of(kSpace), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

bool is_whole_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

template <class T>
std::optional<T> parsed_number(std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// A count of elements tells a row whose size is wrong from what else begins with a number.
bool starts_row(std::span<const std::string_view> words) {
  return is_whole_number(words[0]) ||
         (words.size() > 1 && parsed_number<double>(words[0]) && parsed_number<int64_t>(words[1]));
}

/// Absent where that is no time: nothing takes none, and a picosecond count has to hold it.
std::optional<Duration> time_of(double value, double picoseconds) {
  const double time = value * picoseconds;
  if (!std::isfinite(time) || time < 1 || time > 9e18) return std::nullopt;
  return Duration(std::llround(time));
}

/// Of "./build/all_reduce_perf_mpi".
std::optional<MeasuredCollective> collective_of(std::string_view program) {
  program.remove_prefix(std::min(program.rfind('/') + 1, program.size()));
  const size_t perf = program.find("_perf");
  return perf == std::string_view::npos ? std::nullopt : find_measured(program.substr(0, perf));
}

/// "[1,0]<stdout>:" of mpirun --tag-output is gone.
std::string_view untagged(std::string_view line) {
  constexpr std::string_view kEnd = "<stdout>:";
  const size_t end = line.find(kEnd);
  if (!line.starts_with('[') || end == std::string_view::npos) return line;
  return line.substr(end + kEnd.size());
}

/// Reads the text line by line.
class TableReader {
 public:
  explicit TableReader(ClusterMeasurement& measurement) : measurement_(measurement) {}

  void read(std::istream& text) {
    for (std::string line; std::getline(text, line);) {
      ++number_;
      take(untagged(line));
    }
    end_of_output();
    if (columns_.empty())
      fail_input("{}: has no table of nccl-tests: no line with size, time, algbw and busbw", file());
    if (measurement_.rows.empty()) fail_input("{}: the table of nccl-tests has no line", file());
  }

 private:
  const std::string& file() const { return measurement_.file; }

  void take(std::string_view line) {
    std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return;
    if (words.front().starts_with('#')) return take_comment(line, words);
    if (!columns_.empty() && (starts_row(words) || is_row_but_its_size(words))) take_row(std::move(words));
  }

  /// As many words as the heading has, of which the second counts elements.
  bool is_row_but_its_size(std::span<const std::string_view> words) const {
    return words.size() == columns_.size() && words.size() > 1 && parsed_number<int64_t>(words[1]);
  }

  void take_comment(std::string_view line, std::vector<std::string_view>& words) {
    constexpr std::string_view kProgram = "Collective test starting: ";
    if (const size_t at = line.find(kProgram); at != std::string_view::npos)
      measurement_.collective = collective_of(line.substr(at + kProgram.size()));
    words.erase(words.begin());
    if (words.size() > 4 && words[0] == "Rank" && std::ranges::find(words, "device") != words.end()) {
      if (words[1] == "0") end_of_output();
      ++ranks_;
    }
    const bool is_old = !words.empty() && words.front() == "bytes";
    if (!is_old && (words.empty() || words.front() != "size")) return;
    if (std::ranges::find(words, "algbw") == words.end()) return;
    // Version 2.0 has times in milliseconds.
    picoseconds_ = is_old ? 1e9 : 1e6;
    columns_.clear();
    for (const std::string_view word : words) columns_.emplace_back(word);
    // The last one is of two words: day and time.
    if (columns_.back() == "timestamp") columns_.emplace_back("timestamp");
  }

  /// A file may have several, such as one for each range of sizes; each lists its ranks from 0.
  void end_of_output() {
    if (ranks_ == 0) return;
    if (measurement_.ranks != 0 && measurement_.ranks != ranks_)
      fail_input("{}:{}: has output of {} ranks after output of {}; keep one of them", file(), number_, ranks_,
                 measurement_.ranks);
    measurement_.ranks = std::exchange(ranks_, 0);
  }

  /// Older versions print nothing for the reduction of what reduces nothing, under a heading.
  void fill_reduction(std::vector<std::string_view>& words) const {
    const auto redop = static_cast<size_t>(std::ranges::find(columns_, "redop") - columns_.begin());
    if (words.size() + 1 == columns_.size() && redop < words.size() && parsed_number<int64_t>(words[redop]))
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(redop), "none");
  }

  void take_row(std::vector<std::string_view> words) {
    fill_reduction(words);
    if (words.size() != columns_.size())
      fail_input("{}:{}: has {} columns, but the heading has {}", file(), number_, words.size(), columns_.size());
    const auto size = parsed_number<int64_t>(words.front());
    if (!size || *size < 0) fail_input("{}:{}: '{}' is not a size in bytes", file(), number_, words.front());
    ClusterRow row{.size = Bytes(*size), .type = {}, .redop = {}};
    bool is_second = false;
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& column = columns_[i];
      if (column == "type") row.type = words[i];
      if (column == "#wrong") row.wrong += parsed_number<uint64_t>(words[i]).value_or(0);
      if (column == "redop" || column == "op") row.redop = words[i];
      if (column != "time" && column != "cputime") continue;
      const auto value = parsed_number<double>(words[i]);
      const auto time = value ? time_of(*value, picoseconds_) : std::nullopt;
      if (!time) fail_input("{}:{}: '{}' is not a time", file(), number_, words[i]);
      (is_second ? row.in_place : row.out_of_place) = time;
      is_second = true;
    }
    // What has no data has no bandwidth.
    if (row.size > Bytes(0)) measurement_.rows.push_back(std::move(row));
  }

  ClusterMeasurement& measurement_;
  size_t number_ = 0;   ///< of the line, from 1
  uint32_t ranks_ = 0;  ///< listed so far by this output
  std::vector<std::string> columns_;
  double picoseconds_ = 1e6;  ///< of a unit of time
};

std::optional<Duration> json_time(const nlohmann::ordered_json& row, const char* side) {
  const auto times = row.find(side);
  if (times == row.end() || !times->is_object()) return std::nullopt;
  for (const char* key : {"time", "cpu_time"}) {
    if (times->contains(key) && times->at(key).is_number()) return time_of(times->at(key).get<double>(), 1e6);
  }
  return std::nullopt;
}

void read_json(ClusterMeasurement& measurement, const std::string& text) {
  using json = nlohmann::ordered_json;
  const json root = parse_json(text, measurement.file, "is not JSON of nccl-tests, or not all of it");
  const auto results = root.find("results");
  if (results == root.end() || !results->is_array() || results->empty())
    fail_input("{}: has no 'results', which nccl-tests -J writes", measurement.file);
  if (const auto arguments = root.find("args");
      arguments != root.end() && arguments->is_array() && !arguments->empty() && arguments->front().is_string())
    measurement.collective = collective_of(arguments->front().get<std::string>());
  if (const json::json_pointer devices("/config/devices"); root.contains(devices) && root[devices].is_array())
    measurement.ranks = static_cast<uint32_t>(root[devices].size());
  for (size_t i = 0; i < results->size(); ++i) {
    const json& row = results->at(i);
    if (!row.is_object() || !row.contains("size") || !row["size"].is_number_integer())
      fail_input("{}: results[{}] has no whole number 'size'", measurement.file, i);
    // Also what is more than an int64_t holds.
    if (row["size"].get<int64_t>() < 0)
      fail_input("{}: results[{}] has a 'size' that is no number of bytes: {}", measurement.file, i,
                 row["size"].dump());
    const auto text_of = [&](const char* key) {
      return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : std::string();
    };
    ClusterRow of{.size = Bytes(row["size"].get<int64_t>()),
                  .type = text_of("type"),
                  .redop = text_of("redop"),
                  .out_of_place = json_time(row, "out_of_place"),
                  .in_place = json_time(row, "in_place")};
    for (const char* side : {"out_of_place", "in_place"})
      if (const auto pointer = json::json_pointer(std::string("/") + side + "/nwrong");
          row.contains(pointer) && row[pointer].is_number_unsigned())
        of.wrong += row[pointer].get<uint64_t>();
    if (!of.time()) fail_input("{}: results[{}] has no time, out_of_place or in_place", measurement.file, i);
    if (of.size > Bytes(0)) measurement.rows.push_back(std::move(of));
  }
}

}  // namespace

ClusterMeasurement read_nccl_tests(const std::filesystem::path& file) {
  ClusterMeasurement measurement{.file = file.string()};
  std::ifstream stream = open_input(file, "what nccl-tests printed");
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') {
    read_json(measurement, text);
  } else {
    std::istringstream lines(text);
    TableReader(measurement).read(lines);
  }
  return measurement;
}

}  // namespace rankwire
