#include <algorithm>
#include <map>

#include "emulator/record/run_record.h"

namespace rankwire {
namespace {

LatencyRow row_of(PortId port, LatencyKind kind, const Histogram& histogram) {
  LatencyRow row{.port = port,
                 .kind = kind,
                 .count = histogram.count(),
                 .min = histogram.min(),
                 .mean = histogram.mean(),
                 .p50 = histogram.quantile(0.5),
                 .p90 = histogram.quantile(0.9),
                 .p99 = histogram.quantile(0.99),
                 .p999 = histogram.quantile(0.999),
                 .max = histogram.max()};
  histogram.for_each_bucket([&](const Histogram::Bucket& bucket) { row.buckets.push_back(bucket); });
  return row;
}

}  // namespace

const char* to_string(LatencyKind kind) {
  return kind == LatencyKind::kRoundTrip ? "round_trip" : "one_way";
}

std::vector<LatencyRow> latency_rows(std::span<const PortLatency> latencies, std::span<const PortCounters> ports) {
  std::vector<LatencyRow> rows;
  for (const LatencyKind kind : {LatencyKind::kRoundTrip, LatencyKind::kOneWay}) {
    Histogram all;
    // A port that workers share has one of each.
    std::map<PortId, Histogram> by_port;
    for (const PortLatency& latency : latencies) {
      if (latency.kind != kind || latency.histogram->count() == 0) continue;
      all.merge(*latency.histogram);
      by_port[latency.port].merge(*latency.histogram);
    }
    std::vector<LatencyRow> of_ports;
    for (const auto& [id, histogram] : by_port) {
      LatencyRow& row = of_ports.emplace_back(row_of(id, kind, histogram));
      const auto port = std::ranges::find(ports, id, &PortCounters::port);
      if (port == ports.end()) continue;
      row.hardware_time = port->hardware_time;
      row.error = port->arrival_error;
    }
    if (of_ports.empty()) continue;
    LatencyRow& total = rows.emplace_back(row_of(PortId::invalid(), kind, all));
    total.hardware_time = std::ranges::all_of(of_ports, &LatencyRow::hardware_time);
    total.error = std::ranges::max(of_ports, {}, &LatencyRow::error).error;
    std::ranges::move(of_ports, std::back_inserter(rows));
  }
  return rows;
}

}  // namespace rankwire
