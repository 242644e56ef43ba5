#include "emulator/report/tables.h"

#include "emulator/report/bandwidth.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

std::string start_and_end(const std::optional<OperationTimes>& times) {
  return times ? fmt::format("{},{}", times->start.ps, times->end.ps) : ",";
}

bool has_bytes(const NodeInfo& node) {
  return node.kind != "compute" && node.kind != "host" && node.kind != "unknown";
}

std::string latency_fields(const std::optional<MessageLatency>& latency) {
  if (!latency) return ",,,,,";
  return fmt::format("{},{},{},{},{},{}", latency->count, latency->p50.ps, latency->p95.ps, latency->p99.ps,
                     latency->p999.ps, latency->max.ps);
}

}  // namespace

std::string operations_csv_header() {
  return "job,iteration,rank,node,name,kind,group,bytes,emulated_start_ps,emulated_end_ps,reference_start_ps,"
         "reference_end_ps,recorded_ps,algbw_gbps,busbw_gbps\n";
}

std::string operations_csv_line(const OperationRow& row) {
  const NodeInfo& node = row.node;
  std::string line =
      fmt::format("{},{},{},{},{},{},{},{},{},{},", node.job.valid() ? fmt::to_string(node.job.value) : "",
                  row.iteration, node.rank.value, node.id, csv_field(node.name), csv_field(node.kind),
                  csv_field(node.group), has_bytes(node) ? fmt::to_string(node.bytes.count) : "",
                  start_and_end(row.emulated), start_and_end(row.reference));
  if (node.recorded) line += fmt::to_string(node.recorded->ps);
  const Duration time = row.emulated ? row.emulated->duration() : row.reference->duration();
  if (const auto bandwidth = operation_bandwidth(node, time)) {
    return line + fmt::format(",{:.3f},{:.3f}\n", bandwidth->algorithm, bandwidth->bus);
  }
  return line + ",,\n";
}

std::string flows_csv(const RunReader& record) {
  std::string csv =
      "fidelity,connection,job,group,source,destination,channel,path,messages,bytes,packets,retransmitted,naks,"
      "timeouts,marks,completed,p50_ps,p95_ps,p99_ps,p999_ps,max_ps\n";
  for (const RecordedRun& run : record.runs()) {
    for (const RecordedFlow& row : record.flows(run)) {
      const Connection& c = row.flow.connection;
      const FlowCounters& n = row.flow.counters;
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", to_string(run.start.fidelity), c.id.value,
                         c.job.value, csv_field(row.flow.group), c.source.value, c.destination.value, c.channel,
                         c.path == Path::kWire ? "wire" : "local", n.messages, n.bytes, n.packets, n.retransmitted,
                         n.naks, n.timeouts, n.marks, latency_fields(row.latency));
    }
  }
  return csv;
}

std::string ports_csv(const RunReader& record) {
  std::string csv = "fidelity,port,name,tx_frames,tx_bytes,rx_frames,rx_bytes,tx_refused,rx_missed,dropped,marked\n";
  for (const RecordedRun& run : record.runs()) {
    for (const PortCounters& p : record.ports(run)) {
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", to_string(run.start.fidelity), p.port.value,
                         csv_field(p.name), p.tx_frames, p.tx_bytes, p.rx_frames, p.rx_bytes, p.tx_refused, p.rx_missed,
                         p.dropped, p.marked);
    }
  }
  return csv;
}

}  // namespace rankwire
