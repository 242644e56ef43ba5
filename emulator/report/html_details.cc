#include "emulator/report/html_details.h"

#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

constexpr size_t kMostGroups = 200;
constexpr uint32_t kMostMessages = 100;
using HtmlColumn::kText;

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

std::string html_failures(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto failures = run == nullptr ? std::vector<FailureRow>() : record.failures(*run);
  if (failures.empty()) return {};
  HtmlTable table({{"From rank"},
                   {"To rank"},
                   {"Operation", kText},
                   {"Message", kText},
                   {"Reason", kText},
                   {"State of the connection at the end", kText}});
  const RankNames names(record);
  for (const FailureRow& f : failures) {
    const Connection& c = f.connection;
    table.add({names(c.source), names(c.destination), f.operation, f.message, f.reason, f.state});
  }
  return "<p class=\"note\">The first message that failed on each connection, oldest first.</p>\n" +
         std::move(table).finish();
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

}  // namespace rankwire
