#include "emulator/report/html_details.h"

#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/jobs.h"
#include "emulator/report/operation_bands.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/traffic_paths.h"

namespace rankwire {
namespace {

constexpr size_t kMostGroups = 200;
constexpr uint32_t kMostMessages = 100;
using HtmlColumn::kText;

std::string sizes(const OperationGroup& group) {
  if (group.smallest == group.largest) return readable(group.largest);
  return readable(group.smallest) + " to " + readable(group.largest);
}

/// Of the means, against the median, and against the 95 % and the 5 % quantile of the reference's.
HtmlCell band_cell(const OperationGroup& group, const ReferenceBand* band) {
  const std::optional<Duration> emulated = group.emulated.duration();
  if (!emulated || band == nullptr) return "-";
  const std::optional<double> ratio = ratio_of(*emulated, band->median);
  if (!ratio) return "-";
  const std::string text =
      fmt::format("{}, {} .. {}", readable_ratio(ratio), readable_ratio(ratio_of(*emulated, band->high)),
                  readable_ratio(ratio_of(*emulated, band->low)));
  return HtmlCell::valued(text, static_cast<int64_t>(*ratio * 1e6));
}

}  // namespace

std::string html_groups(const RunReader& record, const OperationStatistics& operations) {
  const auto groups = operations.groups(kMostGroups);
  if (groups.empty()) return {};
  HtmlTable table("operations", {{"Operation", kText},
                                 {"Kind", kText},
                                 {"Group", kText},
                                 {"Executions"},
                                 {"Size"},
                                 {"Emulated mean"},
                                 {"Reference mean"},
                                 {"Ratio"},
                                 {"Ratio to the band"},
                                 {"Longest"},
                                 {"In the trace"},
                                 {"busbw Gbit/s"},
                                 {"Path", kText}});
  const TrafficPaths paths(record);
  const JobNames jobs(record);
  OperationBands bands(record);
  for (const OperationGroup* g : groups) {
    const auto bandwidth = g->bus.gbps();
    const bool with_path =
        !g->group.empty() || g->kind == "send";  // where a receive comes from, its group does not say
    table.add({g->name, g->kind, jobs.with_job(g->group, g->job), g->count,
               g->largest == Bytes(0) ? "-" : HtmlCell::valued(sizes(*g), g->largest.count), g->emulated.duration(),
               g->reference.duration(), readable_ratio(g->ratio()),
               band_cell(*g, bands.of_pattern(g->name, g->kind, g->group, g->job)), g->worst, g->recorded.duration(),
               bandwidth ? readable_gbps(*bandwidth) : "-", with_path ? paths.of_pattern(g->group, g->job) : "-"},
              html_operations(g->name, g->kind));
  }
  return "<p class=\"note\"># stands for any number. Those with the most time in all first; means over ranks and "
         "iterations.</p>\n" +
         html_shown_of(groups.size(), operations.group_count(), "operations.csv") + std::move(table).finish();
}

std::string html_failures(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto failures = run == nullptr ? std::vector<FailureRow>() : record.failures(*run);
  if (failures.empty()) return {};
  HtmlTable table("failures", {{"From rank"},
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
  // A connection that could not be made has no message.
  return (is_unconnected(failures.front()) ? "<p class=\"note\">Connections that could not be made.</p>\n"
                                           : "<p class=\"note\">The first message that failed on each connection, "
                                             "oldest first.</p>\n") +
         std::move(table).finish();
}

std::string html_messages(const RunReader& record) {
  const RecordedRun* run = principal_run(record);
  const auto messages = run == nullptr ? std::vector<JoinedMessage>() : record.slowest_messages(*run, kMostMessages);
  if (messages.empty()) return {};
  HtmlTable table("messages", {{"Completion"},
                               {"Operation", kText},
                               {"Kind", kText},
                               {"Group", kText},
                               {"Iteration"},
                               {"From rank"},
                               {"To rank"},
                               {"Step"},
                               {"Channel"},
                               {"Slice"},
                               {"Bytes"},
                               {"Posted"},
                               {"Delivered"},
                               {"Retransmissions"},
                               {"CE marks"}});
  const RankNames names(record);
  const auto named = [](const std::string& text) { return text.empty() ? "-" : text; };
  for (const JoinedMessage& m : messages) {
    const bool point_to_point = m.id.group == MessageId::kPointToPoint;
    const std::string group = point_to_point ? "point-to-point" : named(m.group);
    table.add({m.completion(), named(m.operation), named(m.kind), m.id.control ? group + ", clear-to-send" : group,
               uint64_t{m.id.iteration}, names(m.id.source), names(m.id.destination), uint64_t{m.id.step},
               uint64_t{m.id.channel}, uint64_t{m.id.slice}, m.bytes, m.posted - Time(0), m.delivered - Time(0),
               m.retransmissions, m.marks},
              html_operations(m.operation, m.kind) +
                  fmt::format(" data-rank=\"{}\" data-iteration=\"{}\"", m.id.source, m.id.iteration));
  }
  return std::move(table).finish();
}

}  // namespace rankwire
