#include "emulator/suite/gate_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/bandwidth.h"
#include "emulator/report/operation_statistics.h"
#include "emulator/suite/jct_ratio.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

struct KindTimes {
  std::vector<int64_t> times;  ///< ps
  MeanBandwidth bandwidth;
};

/// The nearest rank: the least value that so many percent do not exceed. `sorted` is not empty.
int64_t percentile(const std::vector<int64_t>& sorted, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

Json operations_of(const RunReader& record) {
  std::map<std::string, KindTimes> kinds;
  record.for_each_operation([&](const OperationRow& row) {
    if (!row.emulated) return;
    KindTimes& kind = kinds[row.node.kind];
    const Duration time = row.emulated->duration();
    kind.times.push_back(time.ps);
    if (const auto bandwidth = operation_bandwidth(row.node, time)) kind.bandwidth.add(bandwidth->bus, time);
  });
  Json json = Json::object();
  for (auto& [name, kind] : kinds) {
    std::ranges::sort(kind.times);
    const std::optional<double> gbps = kind.bandwidth.gbps();
    json[name] = {{"count", kind.times.size()},           {"p50_ps", percentile(kind.times, 50)},
                  {"p95_ps", percentile(kind.times, 95)}, {"p99_ps", percentile(kind.times, 99)},
                  {"max_ps", kind.times.back()},          {"busbw_gbps", gbps ? Json(*gbps) : Json(nullptr)}};
  }
  return json;
}

Json losses_of(const RunReader& record, const RecordedRun& run) {
  const RunReader::WirePackets packets = record.wire_packets(run);
  if (packets.packets == 0) return nullptr;
  return {{"packets", packets.packets},
          {"lost", packets.lost},
          {"ppm", 1e6 * static_cast<double>(packets.lost) / static_cast<double>(packets.packets)}};
}

Json ports_of(const RunReader& record, const RecordedRun& run) {
  Json list = Json::array();
  for (const PortCounters& port : record.ports(run)) {
    list.push_back({{"name", port.name},
                    {"tx_frames", port.tx_frames},
                    {"tx_bytes", port.tx_bytes},
                    {"rx_frames", port.rx_frames},
                    {"rx_bytes", port.rx_bytes},
                    {"tx_refused", port.tx_refused},
                    {"rx_missed", port.rx_missed},
                    {"dropped", port.dropped},
                    {"marked", port.marked},
                    {"pause_tx", port.pause_tx},
                    {"pause_rx", port.pause_rx}});
  }
  return list;
}

}  // namespace

Json gate_figures(const RunReader& record, Json summary, std::span<const Gate> gates) {
  const RecordedRun* const emulated = record.emulated();
  const bool has_ended = emulated != nullptr && emulated->ended;
  const std::optional<Duration> completion = completion_of(record, principal_run(record));
  summary["completion_time_ps"] = completion ? Json(completion->ps) : Json(nullptr);
  summary["losses"] = has_ended ? losses_of(record, *emulated) : Json(nullptr);
  summary["ports"] = has_ended ? ports_of(record, *emulated) : Json(nullptr);
  summary["operations"] = nullptr;
  const auto asks = [](const Gate& gate) { return gate.path.starts_with("operations"); };
  if (has_ended && std::ranges::any_of(gates, asks)) summary["operations"] = operations_of(record);
  const auto asks_ratio = [](const Gate& gate) { return gate.path.starts_with("jct_ratio"); };
  if (std::ranges::any_of(gates, asks_ratio)) summary.update(jct_ratio_figures(record, summary));
  return summary;
}

}  // namespace rankwire
