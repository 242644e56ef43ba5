#include "emulator/report/html_transport.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "base/transport_counters.h"
#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/histogram_picture.h"
#include "emulator/report/html_table.h"
#include "emulator/report/latency.h"
#include "emulator/report/port_names.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/time_shares.h"

namespace rankwire {
namespace {

constexpr size_t kListedRanks = 64;
/// Stands in the column "Where the time went" of a run that did not record it, so that a reader knows how to.
constexpr const char* kCausesOff = "needs record.causes: on";
using HtmlColumn::kText;

Bytes bytes_of(uint64_t count) {
  return Bytes(static_cast<int64_t>(count));
}

/// "-" where causes were recorded, or the run has none: then there is nothing to know of this row.
const char* missing_causes(const RunReader& record) {
  return record.emulated() == nullptr || !record.causes_of_groups(*record.emulated()).empty() ? "-" : kCausesOff;
}

std::string microseconds_text(Duration duration) {
  return fmt::format("{:.3f}", static_cast<double>(duration.ps) / 1e6);
}

/// Mean rate over the run; "-" where it has no duration.
std::string rate_text(uint64_t bytes, Duration completion) {
  if (completion <= Duration()) return "-";
  return readable_gbps(static_cast<double>(bytes) * 8 * 1e3 / static_cast<double>(completion.ps));
}

std::string latency_table(const RunReader& record, const RecordedRun& run, std::span<const LatencyRow> latencies) {
  const std::map<PortId, std::string> names = port_names(record, run);
  HtmlTable table("latency", {{"Port", kText},
                              {"Latency", kText},
                              {"Packets"},
                              {"Min us"},
                              {"Mean us"},
                              {"P50 us"},
                              {"P90 us"},
                              {"P99 us"},
                              {"P99.9 us"},
                              {"Max us"},
                              {"Clock", kText}});
  for (const LatencyRow& l : latencies) {
    const auto name = names.find(l.port);
    table.add({!l.port.valid()       ? "all ports"
               : name == names.end() ? fmt::to_string(l.port.value)
                                     : name->second,
               readable(l.kind), l.count, microseconds_text(l.min), microseconds_text(l.mean), microseconds_text(l.p50),
               microseconds_text(l.p90), microseconds_text(l.p99), microseconds_text(l.p999), microseconds_text(l.max),
               describe_clock(run, l)});
  }
  return std::move(table).finish();
}

}  // namespace

std::string html_latency(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto latencies = run == nullptr ? std::vector<LatencyRow>() : record.latencies(*run);
  if (latencies.empty()) return {};
  std::string html =
      "<p class=\"note\">Round trip: from a packet that asks for an acknowledgement given to the port until the "
      "acknowledgement of just this packet has arrived. One way: from a message's last packet given to the port until "
      "it has arrived, where both ends are here. Quantiles are at most 3.2 % above the true value.</p>\n" +
      latency_table(record, *run, latencies);
  for (const LatencyKind kind : {LatencyKind::kRoundTrip, LatencyKind::kOneWay}) {
    const LatencyRow* all = latency_of_all_ports(latencies, kind);
    if (all == nullptr) continue;
    html += fmt::format("<p class=\"note\">All ports, {}: {} packets, heights on a logarithmic scale; clock: {}.</p>\n",
                        readable(kind), all->count, describe_clock(*run, *all));
    html += "<div class=\"wide\">" + histogram_svg(*all) + "</div>\n";
  }
  return html;
}

std::string html_counters(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  if (run == nullptr || !run->ended) return {};
  HtmlTable table("transport", {{"Counter", kText}, {"Value"}});
  size_t shown = 0;
  const auto add = [&](const std::string& name, uint64_t value) {
    if (value == 0) return;
    table.add({name, value});
    ++shown;
  };
  for (const CounterField& counter : transport_counters()) add(counter.name, run->end.counters.*counter.field);
  for (const DetailRow& detail : run->end.details) add(detail.name, detail.value);
  if (shown == 0) return {};
  return "<p class=\"note\">What is not listed is 0.</p>\n" + std::move(table).finish();
}

std::string html_rank_traffic(const RunReader& record, const FlowStatistics& flows) {
  const std::vector<RankTraffic>& ranks = flows.ranks();
  const RecordedRun* run = principal_run(record);
  if (ranks.empty() || run == nullptr) return {};
  const std::vector<RankNic> nics = record.rank_nics(*run);
  const std::map<PortId, std::string> names = port_names(record, *run);
  std::vector<size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto weight = [&](size_t rank) {
    const FlowTotals &s = ranks[rank].source, &d = ranks[rank].destination;
    return std::pair(s.retransmitted + d.retransmitted, s.bytes + d.bytes);
  };
  std::ranges::stable_sort(order, std::greater<>(), weight);
  order.resize(std::min(order.size(), kListedRanks));

  HtmlTable table("rank traffic", {{"Rank"},
                                   {"Port", kText},
                                   {"Address", kText},
                                   {"Messages sent"},
                                   {"Bytes sent"},
                                   {"Packets sent"},
                                   {"Retransmitted"},
                                   {"NAKs"},
                                   {"RNR NAKs"},
                                   {"Time-outs"},
                                   {"Messages received"},
                                   {"Bytes received"},
                                   {"CE marks"},
                                   {"CNPs sent"},
                                   {"CNPs handled"},
                                   {"Where the time went", kText}});
  const RankNames rank_names(record);
  const char* const causes_missing = missing_causes(record);
  for (const size_t rank : order) {
    const bool known = rank < nics.size();
    const auto port = known ? names.find(nics[rank].port) : names.end();
    const FlowTotals &s = ranks[rank].source, &d = ranks[rank].destination;
    table.add({rank_names(rank), port == names.end() ? "-" : port->second, known ? nics[rank].ip : "-", s.messages,
               bytes_of(s.bytes), s.packets, s.retransmitted, s.naks, s.rnr_naks, s.timeouts, d.messages,
               bytes_of(d.bytes), d.marks, ranks[rank].rdma.np_cnp_sent, ranks[rank].rdma.rp_cnp_handled,
               s.causes ? shares_text(*s.causes) : causes_missing});
  }
  return "<p class=\"note\">On the wire; a message that is split over several queue pairs counts at each.</p>\n" +
         html_shown_of(order.size(), ranks.size(), "ranks.csv") + std::move(table).finish();
}

std::string html_flows(const RunReader& record, const FlowStatistics& flows) {
  const std::vector<RecordedFlow> slowest = flows.slowest();
  if (slowest.empty()) return {};
  HtmlTable table("queue pairs", {{"Group", kText}, {"From rank"}, {"To rank"},   {"Channel"},
                                  {"Path", kText},  {"Member"},    {"Source QP"}, {"Destination QP"},
                                  {"Messages"},     {"Bytes"},     {"Packets"},   {"Retransmitted"},
                                  {"NAKs"},         {"RNR NAKs"},  {"Time-outs"}, {"CE marks"},
                                  {"P50"},          {"P99"},       {"Max"},       {"Where the time went", kText}});
  const RankNames names(record);
  const char* const causes_missing = missing_causes(record);
  for (const RecordedFlow& row : slowest) {
    const Connection& c = row.flow.connection;
    const FlowCounters& n = row.flow.counters;
    const auto at = [&](Duration MessageLatency::*field) {
      return row.latency ? std::optional((*row.latency).*field) : std::nullopt;
    };
    const std::string group = row.flow.group.empty() ? "point-to-point" : row.flow.group;
    table.add({c.control ? group + ", clear-to-send" : group,
               names(c.source),
               names(c.destination),
               uint32_t{c.channel},
               to_string(c.path),
               uint32_t{n.member},
               n.source_qp,
               n.destination_qp,
               n.messages,
               bytes_of(n.bytes),
               n.packets,
               n.retransmitted,
               n.naks,
               n.rnr_naks,
               n.timeouts,
               n.marks,
               at(&MessageLatency::p50),
               at(&MessageLatency::p99),
               at(&MessageLatency::max),
               n.causes ? shares_text(*n.causes) : causes_missing});
  }
  return "<p class=\"note\">Message completion time of the connection: posted at the source to delivered at the "
         "destination. The slowest first.</p>\n" +
         html_shown_of(slowest.size(), flows.queue_pairs(), "flows.csv") + std::move(table).finish();
}

std::string html_ports(const RunReader& record, const FlowStatistics& flows) {
  const RecordedRun* run = principal_run(record);
  const auto ports = run == nullptr ? std::vector<PortCounters>() : record.ports(*run);
  if (ports.empty()) return {};
  std::map<PortId, TimeByCause> causes = causes_of_ports(flows.ranks(), record.rank_nics(*run));
  HtmlTable table("ports", {{"Port", kText},
                            {"Frames sent"},
                            {"Bytes sent"},
                            {"Mean Gb/s sent"},
                            {"Frames received"},
                            {"Bytes received"},
                            {"Mean Gb/s received"},
                            {"Refused"},
                            {"Missed"},
                            {"Dropped"},
                            {"Marked CE"},
                            {"CNPs sent"},
                            {"CNPs handled"},
                            {"Where the time went", kText}});
  const Duration completion = run->end.completion;
  const char* const causes_missing = missing_causes(record);
  for (const PortCounters& p : ports) {
    // Once a port, in the row of its first queue.
    const auto of_port = causes.extract(p.port);
    table.add({p.name, p.tx_frames, bytes_of(p.tx_bytes), rate_text(p.tx_bytes, completion), p.rx_frames,
               bytes_of(p.rx_bytes), rate_text(p.rx_bytes, completion), p.tx_refused, p.rx_missed, p.dropped, p.marked,
               p.rdma.np_cnp_sent, p.rdma.rp_cnp_handled, of_port ? shares_text(of_port.mapped()) : causes_missing});
  }
  return std::move(table).finish();
}

}  // namespace rankwire
