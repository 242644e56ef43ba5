#include "emulator/report/tables.h"

#include <iterator>

#include "emulator/report/bandwidth.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr size_t kFlushAt = 1 << 16;

bool has_bytes(const NodeInfo& node) {
  return node.kind != "compute" && node.kind != "host" && node.kind != "unknown";
}

std::string latency_fields(const std::optional<MessageLatency>& latency) {
  if (!latency) return ",,,,,";
  return fmt::format("{},{},{},{},{},{}", latency->count, latency->p50.ps, latency->p95.ps, latency->p99.ps,
                     latency->p999.ps, latency->max.ps);
}

}  // namespace

OperationsCsv::OperationsCsv(const std::filesystem::path& file) : out_(file) {
  out_ << "job,iteration,rank,node,name,kind,group,bytes,emulated_start_ps,emulated_end_ps,reference_start_ps,"
          "reference_end_ps,recorded_ps,algbw_gbps,busbw_gbps\n";
}

void OperationsCsv::field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    buffer_.append(text.data(), text.data() + text.size());
  } else {
    const std::string quoted = csv_field(text);
    buffer_.append(quoted.data(), quoted.data() + quoted.size());
  }
  buffer_.push_back(',');
}

void OperationsCsv::times(const std::optional<OperationTimes>& times) {
  const auto end = std::back_inserter(buffer_);
  if (times) {
    fmt::format_to(end, "{},{},", times->start.ps, times->end.ps);
  } else {
    fmt::format_to(end, ",,");
  }
}

void OperationsCsv::add(const OperationRow& row) {
  const NodeInfo& node = row.node;
  const auto end = std::back_inserter(buffer_);
  if (node.job.valid()) fmt::format_to(end, "{}", node.job.value);
  fmt::format_to(end, ",{},{},{},", row.iteration, node.rank.value, node.id);
  for (const std::string* text : {&node.name, &node.kind, &node.group}) field(*text);
  if (has_bytes(node)) fmt::format_to(end, "{}", node.bytes.count);
  buffer_.push_back(',');
  times(row.emulated);
  times(row.reference);
  if (node.recorded) fmt::format_to(end, "{}", node.recorded->ps);
  const Duration time = row.emulated ? row.emulated->duration() : row.reference->duration();
  if (const auto bandwidth = operation_bandwidth(node, time)) {
    fmt::format_to(end, ",{:.3f},{:.3f}\n", bandwidth->algorithm, bandwidth->bus);
  } else {
    fmt::format_to(end, ",,\n");
  }
  if (buffer_.size() > kFlushAt) flush();
}

void OperationsCsv::flush() {
  out_ << std::string_view(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void OperationsCsv::commit() {
  flush();
  out_.commit();
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
