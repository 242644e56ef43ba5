#include "emulator/report/tables.h"

#include <algorithm>

#include "base/transport_counters.h"
#include "emulator/report/bandwidth.h"
#include "emulator/report/format.h"
#include "emulator/report/jobs.h"

namespace rankwire {
namespace {

constexpr size_t kFlushAt = 1 << 16;

bool has_bytes(const NodeInfo& node) {
  return node.kind != "compute" && node.kind != "host" && node.kind != "unknown";
}

std::string rdma_columns() {
  std::string columns;
  for (const RdmaCounterField& counter : rdma_counters()) columns += fmt::format(",{}", counter.name);
  return columns;
}

std::string rdma_fields(const RdmaCounters& counters) {
  std::string fields;
  for (const RdmaCounterField& counter : rdma_counters()) fields += fmt::format(",{}", counters.*counter.field);
  return fields;
}

std::string cause_columns() {
  std::string columns;
  for (size_t i = 0; i < kCauses; ++i) columns += fmt::format(",{}_ps", to_string(static_cast<Cause>(i)));
  return columns;
}

std::string cause_fields(const std::optional<TimeByCause>& causes) {
  std::string fields;
  for (size_t i = 0; i < kCauses; ++i) fields += causes ? fmt::format(",{}", causes->spent[i].ps) : ",";
  return fields;
}

}  // namespace

OperationsCsv::OperationsCsv(const std::filesystem::path& file) : out_(file) {
  out_ << "job,iteration,rank,node,name,kind,group,bytes,emulated_start_ps,emulated_end_ps,reference_start_ps,"
          "reference_end_ps,recorded_ps,algbw_gbps,busbw_gbps,timed_by"
       << cause_columns() << ",path,band_p5_ps,band_median_ps,band_p95_ps,ratio_low,ratio_median,ratio_high\n";
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
  const auto end = fmt::appender(buffer_);
  if (times) {
    fmt::format_to(end, "{},{},", times->start.ps, times->end.ps);
  } else {
    fmt::format_to(end, ",,");
  }
}

void OperationsCsv::band(const OperationRow& row, const ReferenceBand* band) {
  const auto end = fmt::appender(buffer_);
  if (band == nullptr) {
    fmt::format_to(end, ",,,,,,");
    return;
  }
  fmt::format_to(end, ",{},{},{}", band->low.ps, band->median.ps, band->high.ps);
  for (const Duration reference : {band->high, band->median, band->low}) {
    const auto ratio = row.emulated ? ratio_of(row.emulated->duration(), reference) : std::nullopt;
    fmt::format_to(end, ",{}", ratio ? readable_ratio(ratio) : "");
  }
}

void OperationsCsv::add(const OperationRow& row, std::string_view path, const ReferenceBand* band) {
  const NodeInfo& node = row.node;
  const auto end = fmt::appender(buffer_);
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
    fmt::format_to(end, ",{},{},", readable_gbps(bandwidth->algorithm), readable_gbps(bandwidth->bus));
  } else {
    fmt::format_to(end, ",,,");
  }
  fmt::format_to(end, "{}{},{}", node.timed_by, cause_fields(row.causes), path == "-" ? "" : path);
  this->band(row, band);
  buffer_.push_back('\n');
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

FlowsCsv::FlowsCsv(const std::filesystem::path& file) : out_(file) {
  out_ << "fidelity,connection,job,group,source,destination,channel,path,control,member,source_qp,destination_qp,"
          "messages,bytes,packets,retransmitted,naks,rnr_naks,timeouts,marks,completed,p50_ps,p95_ps,p99_ps,p999_ps,"
          "max_ps"
       << cause_columns() << rdma_columns() << ",arrived,acks_tx,naks_tx,acks_rx,unacknowledged\n";
}

void FlowsCsv::add(const RecordedRun& run, const RecordedFlow& row) {
  const Connection& c = row.flow.connection;
  const FlowCounters& n = row.flow.counters;
  const auto end = fmt::appender(buffer_);
  fmt::format_to(end, "{},{},{},{},{},{},{},{},{},{},{},{},", to_string(run.start.fidelity), c.id.value, c.job.value,
                 csv_field(row.flow.group), c.source.value, c.destination.value, c.channel, to_string(c.path),
                 int{c.control}, n.member, n.source_qp, n.destination_qp);
  fmt::format_to(end, "{},{},{},{},{},{},{},{},", n.messages, n.bytes, n.packets, n.retransmitted, n.naks, n.rnr_naks,
                 n.timeouts, n.marks);
  if (const auto& l = row.latency) {
    fmt::format_to(end, "{},{},{},{},{},{}", l->count, l->p50.ps, l->p95.ps, l->p99.ps, l->p999.ps, l->max.ps);
  } else {
    fmt::format_to(end, ",,,,,");
  }
  fmt::format_to(end, "{}{},{}", cause_fields(n.causes), rdma_fields(n.source_end + n.destination_end),
                 n.arrived ? fmt::to_string(*n.arrived) : "");
  if (n.answers) {
    fmt::format_to(end, ",{},{},{}", n.answers->acks_tx, n.answers->naks_tx, n.answers->acks_rx);
  } else {
    fmt::format_to(end, ",,,");
  }
  fmt::format_to(end, ",{}\n", n.arrived ? fmt::to_string(n.unacknowledged) : "");
  if (buffer_.size() > kFlushAt) flush();
}

void FlowsCsv::flush() {
  out_ << std::string_view(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void FlowsCsv::commit() {
  flush();
  out_.commit();
}

std::string ranks_csv(const RunReader& record, std::span<const FlowStatistics> flows) {
  std::string csv = "fidelity,rank,port,ip";
  for (const char* end : {"source", "destination"}) {
    for (const char* name :
         {"messages", "bytes", "packets", "retransmitted", "naks", "rnr_naks", "timeouts", "marks"}) {
      csv += fmt::format(",{}_{}", end, name);
    }
  }
  csv += fmt::format("{}{},job,completion_ps,band_p5_ps,band_median_ps,band_p95_ps\n", rdma_columns(), cause_columns());
  const std::vector<ReferenceBand> bands = rank_bands(record);
  for (size_t r = 0; r < record.runs().size(); ++r) {
    const RecordedRun& run = record.runs()[r];
    const std::vector<RankNic> nics = record.rank_nics(run);
    std::vector<RankTraffic> ranks = flows[r].ranks();
    const std::vector<Duration>& completions = run.end.per_rank;
    ranks.resize(std::max(ranks.size(), completions.size()));
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      csv += fmt::format("{},{},", to_string(run.start.fidelity), rank);
      csv += rank < nics.size() ? fmt::format("{},{}", nics[rank].port.value, nics[rank].ip) : ",";
      for (const FlowTotals& t : {ranks[rank].source, ranks[rank].destination}) {
        csv += fmt::format(",{},{},{},{},{},{},{},{}", t.messages, t.bytes, t.packets, t.retransmitted, t.naks,
                           t.rnr_naks, t.timeouts, t.marks);
      }
      csv += rdma_fields(ranks[rank].rdma) + cause_fields(ranks[rank].source.causes);
      csv += fmt::format(",{},{}", job_of_rank(record, RankId(static_cast<uint32_t>(rank))),
                         rank < completions.size() ? fmt::to_string(completions[rank].ps) : "");
      csv += rank < bands.size()
                 ? fmt::format(",{},{},{}\n", bands[rank].low.ps, bands[rank].median.ps, bands[rank].high.ps)
                 : ",,,\n";
    }
  }
  return csv;
}

std::string latency_csv(const RunReader& record) {
  std::string csv =
      "fidelity,port,kind,count,min_ps,mean_ps,p50_ps,p90_ps,p99_ps,p999_ps,max_ps,hardware_time,error_ps\n";
  for (const RecordedRun& run : record.runs()) {
    for (const LatencyRow& l : record.latencies(run)) {
      csv +=
          fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", to_string(run.start.fidelity),
                      l.port.valid() ? fmt::to_string(l.port.value) : "", to_string(l.kind), l.count, l.min.ps,
                      l.mean.ps, l.p50.ps, l.p90.ps, l.p99.ps, l.p999.ps, l.max.ps, int{l.hardware_time}, l.error.ps);
    }
  }
  return csv;
}

std::string ports_csv(const RunReader& record, std::span<const FlowStatistics> flows) {
  std::string csv =
      "fidelity,port,name,tx_frames,tx_bytes,rx_frames,rx_bytes,tx_refused,rx_missed,dropped,marked,hardware_time,"
      "arrival_error_ps,pause_tx,pause_rx,paused_0_ps,paused_1_ps,paused_2_ps,paused_3_ps,paused_4_ps,paused_5_ps,"
      "paused_6_ps,paused_7_ps";
  csv += fmt::format(",rx_icrc_encapsulated{}{},worker,slipped_ps\n", rdma_columns(), cause_columns());
  for (size_t r = 0; r < record.runs().size(); ++r) {
    const RecordedRun& run = record.runs()[r];
    std::map<PortId, TimeByCause> causes = causes_of_ports(flows[r].ranks(), record.rank_nics(run));
    for (const PortCounters& p : record.ports(run)) {
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", to_string(run.start.fidelity), p.port.value,
                         csv_field(p.name), p.tx_frames, p.tx_bytes, p.rx_frames, p.rx_bytes, p.tx_refused, p.rx_missed,
                         p.dropped, p.marked, int{p.hardware_time}, p.arrival_error.ps, p.pause_tx, p.pause_rx);
      for (const Duration paused : p.paused) csv += fmt::format(",{}", paused.ps);
      // Once a port, in the row of its first queue.
      const auto of_port = causes.extract(p.port);
      csv += fmt::format(",{}", p.rx_icrc_encapsulated) + rdma_fields(p.rdma) +
             cause_fields(of_port ? std::optional(of_port.mapped()) : std::nullopt) +
             fmt::format(",{},{}\n", p.worker ? fmt::to_string(*p.worker) : "", p.slipped.ps);
    }
  }
  return csv;
}

}  // namespace rankwire
