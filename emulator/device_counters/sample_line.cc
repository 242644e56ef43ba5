#include "emulator/device_counters/sample_line.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestName = 256;
constexpr int64_t kMostNanoseconds = int64_t{1} << 62;  // 146 years

/// Databases print numbers as texts.
std::optional<uint64_t> whole_number(const Json& json) {
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number_float()) {
    const double value = json.get<double>();
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (value < 0 || value > kExact || value != static_cast<double>(static_cast<uint64_t>(value))) return std::nullopt;
    return static_cast<uint64_t>(value);
  }
  if (!json.is_string()) return std::nullopt;
  const std::string& text = json.get_ref<const std::string&>();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> nanoseconds_of(const Json& json, const char* key) {
  const auto field = json.find(key);
  if (field == json.end() || field->is_null()) return std::nullopt;
  const std::optional<uint64_t> value = whole_number(*field);
  if (!value || *value > static_cast<uint64_t>(kMostNanoseconds))
    fail_run("'{}' is no whole number of nanoseconds from 0 to 2^62", key);
  return static_cast<int64_t>(*value);
}

void require_short(const std::string& name) {
  if (name.empty()) fail_run("'counters' has an empty name");
  if (name.size() > kLongestName)
    fail_run("'counters' has a name of {} bytes; {} are allowed", name.size(), kLongestName);
}

void add_value(DeviceSample& sample, const std::string& port, const std::string& queue, const std::string& name,
               const Json& json) {
  if (json.is_null()) return;
  if (const auto value = whole_number(json)) {
    sample.values.push_back({port, queue, name, *value});
  } else if (sample.skipped.empty()) {
    sample.skipped = fmt::format("{}: {}", port, name);
  }
}

void add_port(DeviceSample& sample, const std::string& port, const Json& counters) {
  require_short(port);
  if (!counters.is_object()) fail_run("'counters' has no object for port '{}'", port);
  for (const auto& [name, value] : counters.items()) {
    require_short(name);
    if (!value.is_object()) {
      add_value(sample, port, {}, name, value);
      continue;
    }
    for (const auto& [queue, of_queue] : value.items()) {
      require_short(queue);
      add_value(sample, port, queue, name, of_queue);
    }
  }
}

}  // namespace

DeviceSample parse_device_sample(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) fail_run("it printed no JSON object");
  DeviceSample sample{.stamp_ns = nanoseconds_of(json, "time_ns"),
                      .arrived_ns = nanoseconds_of(json, "arrived_ns"),
                      .within_ns = nanoseconds_of(json, "within_ns"),
                      .round_trip_ns = nanoseconds_of(json, "round_trip_ns"),
                      .values = {}};
  const auto counters = json.find("counters");
  if (counters == json.end()) {
    if (!sample.round_trip_ns) fail_run("its JSON object has no 'counters'");
    return sample;
  }
  if (!counters->is_object()) fail_run("'counters' is no object of ports");
  for (const auto& [port, of_port] : counters->items()) add_port(sample, port, of_port);
  return sample;
}

}  // namespace rankwire
