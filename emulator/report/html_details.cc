#include "emulator/report/html_details.h"

#include <algorithm>

#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

constexpr size_t kMostGroups = 200, kMostFlows = 500;
constexpr uint32_t kMostMessages = 100;
constexpr auto kText = HtmlColumn::kText;

std::string sizes(const OperationGroup& group) {
  if (group.smallest == group.largest) return readable(group.largest);
  return readable(group.smallest) + " to " + readable(group.largest);
}

}  // namespace

std::string html_groups(const OperationStatistics& operations) {
  const auto groups = operations.groups(kMostGroups);
  if (groups.empty()) return {};
  HtmlTable table({{"Operation", kText},
                   {"Kind", kText},
                   {"Group", kText},
                   {"Executions"},
                   {"Size"},
                   {"Emulated mean"},
                   {"Reference mean"},
                   {"Ratio"},
                   {"Longest"},
                   {"In the trace"},
                   {"busbw Gbit/s"}});
  for (const OperationGroup* g : groups) {
    const auto bandwidth = g->bus.gbps();
    table.add({g->name, g->kind, g->group, g->count, g->largest == Bytes(0) ? "-" : sizes(*g), g->emulated.duration(),
               g->reference.duration(), readable_ratio(g->ratio()), g->worst, g->recorded.duration(),
               bandwidth ? fmt::format("{:.3f}", *bandwidth) : "-"});
  }
  return "<p class=\"note\"># stands for any number. Those with the most time in all first; means over ranks and "
         "iterations.</p>\n" +
         html_shown_of(groups.size(), operations.group_count(), "operations.csv") + std::move(table).finish();
}

std::string html_messages(const RunReader& record) {
  const RecordedRun* run = principal_run(record);
  const auto messages = run == nullptr ? std::vector<JoinedMessage>() : record.slowest_messages(*run, kMostMessages);
  if (messages.empty()) return {};
  HtmlTable table(
      {{"Completion"}, {"Message", kText}, {"Bytes"}, {"Posted"}, {"Delivered"}, {"Retransmissions"}, {"CE marks"}});
  for (const JoinedMessage& m : messages) {
    table.add({m.completion(), to_string(m.id), m.bytes, m.posted - Time(0), m.delivered - Time(0), m.retransmissions,
               m.marks});
  }
  return std::move(table).finish();
}

std::string html_flows(const RunReader& record) {
  const RecordedRun* run = principal_run(record);
  if (run == nullptr) return {};
  auto flows = record.flows(*run);
  if (flows.empty()) return {};
  const auto slowest = [](const RecordedFlow& f) { return f.latency ? f.latency->max : Duration(0); };
  std::stable_sort(flows.begin(), flows.end(), [&](const auto& a, const auto& b) { return slowest(a) > slowest(b); });
  const size_t all = flows.size();
  flows.resize(std::min(all, kMostFlows));
  HtmlTable table({{"Group", kText},
                   {"From rank"},
                   {"To rank"},
                   {"Channel"},
                   {"Path", kText},
                   {"Messages"},
                   {"Bytes"},
                   {"Packets"},
                   {"Retransmitted"},
                   {"NAKs"},
                   {"Time-outs"},
                   {"CE marks"},
                   {"P50"},
                   {"P99"},
                   {"Max"}});
  for (const RecordedFlow& row : flows) {
    const Connection& c = row.flow.connection;
    const FlowCounters& n = row.flow.counters;
    const auto at = [&](Duration MessageLatency::*field) {
      return row.latency ? std::optional((*row.latency).*field) : std::nullopt;
    };
    table.add({row.flow.group.empty() ? "point-to-point" : row.flow.group, c.source.value, c.destination.value,
               uint32_t{c.channel}, c.path == Path::kWire ? "wire" : "local", n.messages,
               Bytes(static_cast<int64_t>(n.bytes)), n.packets, n.retransmitted, n.naks, n.timeouts, n.marks,
               at(&MessageLatency::p50), at(&MessageLatency::p99), at(&MessageLatency::max)});
  }
  return "<p class=\"note\">Message completion time: posted at the source to delivered at the destination.</p>\n" +
         html_shown_of(flows.size(), all, "flows.csv") + std::move(table).finish();
}

std::string html_ports(const RunReader& record) {
  const RecordedRun* run = principal_run(record);
  const auto ports = run == nullptr ? std::vector<PortCounters>() : record.ports(*run);
  if (ports.empty()) return {};
  HtmlTable table({{"Port", kText},
                   {"Frames sent"},
                   {"Bytes sent"},
                   {"Frames received"},
                   {"Bytes received"},
                   {"Refused"},
                   {"Missed"},
                   {"Dropped"},
                   {"Marked CE"}});
  for (const PortCounters& p : ports) {
    table.add({p.name, p.tx_frames, Bytes(static_cast<int64_t>(p.tx_bytes)), p.rx_frames,
               Bytes(static_cast<int64_t>(p.rx_bytes)), p.tx_refused, p.rx_missed, p.dropped, p.marked});
  }
  return std::move(table).finish();
}

}  // namespace rankwire
