#include "emulator/report/operation_gaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/gap_parts.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

/// Those that communication has.
constexpr std::array kOfOperations = {GapCause::kRecovering,      GapCause::kReceiverNotReady,
                                      GapCause::kPaused,          GapCause::kCongestionControl,
                                      GapCause::kWindow,          GapCause::kPort,
                                      GapCause::kAcknowledgement, GapCause::kPathLatency,
                                      GapCause::kQueueingOwnJob,  GapCause::kQueueingOthers,
                                      GapCause::kUnexplained,     GapCause::kFaster,
                                      GapCause::kOtherChain,      GapCause::kAcknowledgementFrames};

constexpr size_t kShownGaps = 16;

Duration part_of(const OperationGap& gap, GapCause cause) {
  return gap.parts[static_cast<size_t>(cause)];
}

}  // namespace

const OperationGap* gap_of(const Diagnosis& diagnosis, const OperationRow& operation) {
  const auto found = std::ranges::find_if(diagnosis.operations, [&](const OperationGap& gap) {
    return gap.rank == operation.node.rank && gap.node == operation.node.node && gap.iteration == operation.iteration;
  });
  return found == diagnosis.operations.end() ? nullptr : &*found;
}

nlohmann::ordered_json operation_gap_json(const OperationGap* gap) {
  using Json = nlohmann::ordered_json;
  if (gap == nullptr) return nullptr;
  Json json = {{"gap_ps", gap->gap.ps},
               {"late_peer_ps", gap->late_peer.ps},
               {"waited_for_rank", gap->waited_for.valid() ? Json(gap->waited_for.value) : Json(nullptr)}};
  for (const GapCause cause : kOfOperations) json[fmt::format("{}_ps", to_string(cause))] = part_of(*gap, cause).ps;
  return json;
}

std::string operation_gap_text(const RankNames& names, const OperationGap* gap) {
  if (gap == nullptr) return {};
  std::vector<GapPart> parts = named_parts(gap->parts);
  std::string whom = "others, less than in the reference";
  if (gap->waited_for.valid()) whom = names.titled(gap->waited_for.value);
  parts.insert(parts.begin(), {"waiting for " + whom, gap->late_peer});
  return parts_text(std::move(parts));
}

std::string html_operation_gaps(const RunReader& record, const OperationStatistics& operations,
                                const Diagnosis& diagnosis) {
  if (diagnosis.operations.empty()) return {};
  using HtmlColumn::kText;
  HtmlTable table("operation gaps", {{"Operation", kText},
                                     {"Kind", kText},
                                     {"Group", kText},
                                     {"Worst rank"},
                                     {"Iteration"},
                                     {"Extra time"},
                                     {"Parts of it", kText}});
  const RankNames names(record);
  const std::vector<OperationRow> rows = operations.deviations();
  const size_t shown = std::min(rows.size(), kShownGaps);
  for (const OperationRow& row : std::span(rows).first(shown)) {
    const OperationGap* gap = gap_of(diagnosis, row);
    if (gap == nullptr) continue;
    table.add({row.node.name, row.node.kind, row.node.group, names(row.node.rank), row.iteration, signed_time(gap->gap),
               operation_gap_text(names, gap)},
              html_operation(row));
  }
  return std::move(table).finish() + html_shown_of(shown, rows.size(), "slow_operations.csv");
}

std::string slow_operations_csv(const OperationStatistics& operations, const Diagnosis& diagnosis) {
  std::string csv =
      "job,rank,iteration,node,name,kind,group,emulated_ps,reference_ps,gap_ps,waited_for_rank,late_peer_ps";
  for (const GapCause cause : kOfOperations) csv += fmt::format(",{}_ps", to_string(cause));
  csv += "\n";
  for (const OperationRow& row : operations.deviations()) {
    const Duration emulated = row.emulated->duration(), reference = row.reference->duration();
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{}", row.node.job.value, row.node.rank.value, row.iteration,
                       row.node.id, csv_field(row.node.name), row.node.kind, csv_field(row.node.group), emulated.ps,
                       reference.ps, (emulated - reference).ps);
    const OperationGap* gap = gap_of(diagnosis, row);
    csv += gap != nullptr && gap->waited_for.valid() ? fmt::format(",{}", gap->waited_for.value) : ",";
    csv += gap != nullptr ? fmt::format(",{}", gap->late_peer.ps) : ",";
    for (const GapCause cause : kOfOperations)
      csv += gap != nullptr ? fmt::format(",{}", part_of(*gap, cause).ps) : ",";
    csv += "\n";
  }
  return csv;
}

}  // namespace rankwire
