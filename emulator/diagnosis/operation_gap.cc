#include "emulator/diagnosis/operation_gap.h"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "emulator/diagnosis/critical_path.h"
#include "emulator/diagnosis/slower_step.h"

namespace rankwire {
namespace {

/// Of each operation where it stands in `executions`.
std::vector<std::optional<uint32_t>> find(const Executions& executions, std::span<const OperationRow> operations) {
  std::map<std::tuple<RankId, uint32_t, uint32_t>, size_t> wanted;
  for (size_t i = 0; i < operations.size(); ++i)
    wanted.emplace(std::tuple(operations[i].node.rank, operations[i].iteration, operations[i].node.node), i);
  std::vector<std::optional<uint32_t>> found(operations.size());
  for (uint32_t i = 0; i < executions.count(); ++i) {
    const Executions::Execution& execution = executions.at(i);
    const auto place = wanted.find({execution.rank, execution.iteration, execution.node});
    if (place != wanted.end()) found[place->second] = i;
  }
  return found;
}

CriticalStep step_of(const OperationRow& row, const Executions& executions, uint32_t index) {
  return {.node = row.node,
          .iteration = row.iteration,
          .execution = index,
          .before = {},
          .from = executions.release(index).at,
          .to = executions.at(index).end};
}

}  // namespace

std::vector<OperationGap> operation_gaps(const RunReader& record, const RecordedRun& run,
                                         std::span<const OperationRow> operations, const Executions& emulated,
                                         const Executions& reference) {
  const auto here = find(emulated, operations), there = find(reference, operations);
  std::vector<OperationGap> gaps;
  std::vector<CriticalStep> steps(operations.size());
  std::vector<SlowerStep> slower;
  std::vector<size_t> places;  // of those, in `gaps`
  for (size_t i = 0; i < operations.size(); ++i) {
    if (!here[i] || !there[i]) continue;
    steps[i] = step_of(operations[i], emulated, *here[i]);
    const CriticalStep other = step_of(operations[i], reference, *there[i]);
    const Executions::Execution &own = emulated.at(*here[i]), &expected = reference.at(*there[i]);
    OperationGap& gap = gaps.emplace_back();
    gap.rank = own.rank, gap.node = own.node, gap.iteration = own.iteration;
    gap.gap = (own.end - own.start) - (expected.end - expected.start);
    gap.late_peer = (steps[i].from - own.start) - (other.from - expected.start);
    if (const uint32_t by = emulated.release(*here[i]).by; by != *here[i]) gap.waited_for = emulated.at(by).rank;
    if (const Duration extra = steps[i].length() - other.length(); extra > Duration()) {
      slower.push_back({&steps[i], extra}), places.push_back(gaps.size() - 1);
    } else {
      gap.parts[static_cast<size_t>(GapCause::kFaster)] = extra;
    }
  }
  const std::vector<GapParts> parts = parts_of_slower(record, run, emulated, slower);
  for (size_t i = 0; i < slower.size(); ++i) gaps[places[i]].parts = parts[i];
  return gaps;
}

}  // namespace rankwire
