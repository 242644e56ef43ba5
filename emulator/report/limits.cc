#include "emulator/report/limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "emulator/report/assessment.h"
#include "emulator/report/band.h"
#include "emulator/report/bandwidth.h"
#include "emulator/report/format.h"
#include "emulator/report/operation_statistics.h"
#include "emulator/report/requests.h"

namespace rankwire {
namespace {

constexpr std::string_view kBandwidth = "busbw.";

bool is_request_time(std::string_view name) {
  return name == "ttft_p99" || name == "tpot_p99" || name == "request_p99";
}

/// Of all executions of a kind of operation, in bits a second.
std::optional<double> mean_bus_bandwidth(const RunReader& record, std::string_view kind) {
  MeanBandwidth mean;
  record.for_each_operation([&](const OperationRow& row) {
    if (row.node.kind != kind || !row.emulated) return;
    const Duration time = row.emulated->duration();
    if (const auto bandwidth = operation_bandwidth(row.node, time)) mean.add(bandwidth->bus, time);
  });
  const std::optional<double> gbps = mean.gbps();
  return gbps ? std::optional(*gbps * 1e9) : std::nullopt;
}

std::optional<double> loss_ppm(const RunReader& record, const RecordedRun& run) {
  const RunReader::WirePackets packets = record.wire_packets(run);
  if (packets.packets == 0) return std::nullopt;
  return 1e6 * static_cast<double>(packets.lost) / static_cast<double>(packets.packets);
}

/// Of a limit of requests.
std::optional<double> request_value(const RequestFigures& figures, std::string_view name) {
  if (name == "attainment") return figures.attainment();
  if (name == "goodput") return figures.rate(figures.within);
  const auto& quantiles = name == "ttft_p99" ? figures.ttft : name == "tpot_p99" ? figures.tpot : figures.latency;
  return quantiles ? std::optional(static_cast<double>(quantiles->p99.ps)) : std::nullopt;
}

bool is_of_requests(std::string_view name) {
  return is_request_time(name) || name == "attainment" || name == "goodput";
}

std::optional<double> value_of(const RunReader& record, const RecordedRun& run, std::string_view name) {
  if (name == "ratio") return predicted_ratio(record);
  if (name == "retransmissions") return static_cast<double>(run.end.counters.retransmitted);
  if (name == "timeouts") return static_cast<double>(run.end.counters.timeouts);
  if (name == "loss_ppm") return loss_ppm(record, run);
  if (name == "message_p99")
    return run.latency ? std::optional(static_cast<double>(run.latency->p99.ps)) : std::nullopt;
  if (is_of_requests(name)) {
    const std::optional<RequestFigures> figures = request_figures(record, run);
    return figures ? request_value(*figures, name) : std::nullopt;
  }
  if (name.starts_with(kBandwidth)) return mean_bus_bandwidth(record, name.substr(kBandwidth.size()));
  return std::nullopt;
}

/// What the ratio is over the ends of the reference's band.
void add_ends(const RunReader& record, LimitResult& result) {
  const std::optional<RatioRange> range = ratio_range(record);
  if (!range) return;
  result.low = range->low, result.high = range->high;
  result.text += fmt::format(" ({:.4g} .. {:.4g} over the band)", range->low, range->high);
}

std::string quantity(std::string_view name, double value) {
  if (name == "message_p99" || is_request_time(name)) return readable(Duration(static_cast<int64_t>(value)));
  if (name.starts_with(kBandwidth)) return readable_gbps(value / 1e9) + " Gbit/s";
  return fmt::format("{:.7g}", value);
}

}  // namespace

bool is_within(const LimitResult& result, double part) {
  const bool is_of_time = result.limit.name == "ratio" || result.limit.name.starts_with(kBandwidth);
  if (!is_of_time || !result.value) return false;
  const auto [less, more] = std::minmax(*result.value, result.limit.value);
  return more < less * (1 + part);
}

bool is_between(const LimitResult& result) {
  return result.low && result.high && *result.low <= result.limit.value && result.limit.value < *result.high;
}

std::vector<LimitResult> limit_results(const RunReader& record) {
  std::vector<LimitResult> results;
  const RecordedRun* const emulated = record.emulated();
  const RecordedRun* const run = emulated != nullptr ? emulated : record.reference();
  if (run == nullptr || !run->ended) return results;
  for (LimitInfo& limit : record.limits()) {
    // Of packets the reference knows nothing, and the ratio is to itself.
    if (emulated == nullptr && !is_of_requests(limit.name)) continue;
    LimitResult result{.limit = std::move(limit), .value = {}, .low = {}, .high = {}, .is_kept = false, .text = {}};
    const std::string& name = result.limit.name;
    const bool is_floor = name.starts_with(kBandwidth) || name == "attainment" || name == "goodput";
    result.value = value_of(record, *run, name);
    if (result.value) {
      result.is_kept = is_floor ? *result.value >= result.limit.value : *result.value <= result.limit.value;
      const char* const how = result.is_kept ? (is_floor ? ", at least" : ", at most")
                              : is_floor     ? " is below"
                                             : " is above";
      result.text = fmt::format("limits.{}: {}{} {}", name, quantity(name, *result.value), how,
                                quantity(name, result.limit.value));
    } else {
      result.text = fmt::format("limits.{}: the run has no such figure", name);
    }
    if (name == "ratio") add_ends(record, result);
    results.push_back(std::move(result));
  }
  return results;
}

std::string unjudged_limits_text(const RunReader& record) {
  const RecordedRun* const reference = record.reference();
  if (record.emulated() != nullptr || reference == nullptr || !reference->ended) return {};
  std::vector<std::string> names;
  for (const LimitInfo& limit : record.limits())
    if (!is_of_requests(limit.name)) names.push_back("limits." + limit.name);
  if (names.empty()) return {};
  return fmt::format("{}: not judged, since nothing was emulated (simulate --twin, or run)", fmt::join(names, ", "));
}

nlohmann::ordered_json limits_json(const RunReader& record) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LimitResult& result : limit_results(record)) {
    list.push_back({{"name", result.limit.name},
                    {"limit", result.limit.value},
                    {"value", result.value ? nlohmann::ordered_json(*result.value) : nlohmann::ordered_json(nullptr)},
                    {"low", result.low ? nlohmann::ordered_json(*result.low) : nlohmann::ordered_json(nullptr)},
                    {"high", result.high ? nlohmann::ordered_json(*result.high) : nlohmann::ordered_json(nullptr)},
                    {"is_kept", result.is_kept},
                    {"text", result.text}});
  }
  return list;
}

}  // namespace rankwire
