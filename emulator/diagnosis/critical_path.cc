#include "emulator/diagnosis/critical_path.h"

#include <algorithm>
#include <map>
#include <utility>

namespace rankwire {
namespace {

/// Nodes are read in the order in which the record has them.
void describe(const RunReader& record, std::vector<CriticalStep>& steps) {
  std::multimap<std::pair<RankId, uint32_t>, CriticalStep*> wanted;
  for (CriticalStep& step : steps) wanted.emplace(std::pair(step.node.rank, step.node.node), &step);
  record.for_each_node([&](const NodeInfo& node) {
    const auto [begin, end] = wanted.equal_range({node.rank, node.node});
    for (auto it = begin; it != end; ++it) it->second->node = node;
  });
}

}  // namespace

CriticalPath critical_path(const RunReader& record, const Executions& executions, std::optional<uint32_t> last) {
  CriticalPath path;
  std::optional<uint32_t> next = last.value_or(executions.last());
  path.completion = executions.at(*next).end - Time();
  while (next) {
    const Executions::Execution& execution = executions.at(*next);
    const Executions::Release release = executions.release(*next);
    CriticalStep& step = path.steps.emplace_back();
    step.node.rank = execution.rank, step.node.node = execution.node;
    step.node.name = fmt::format("node {}", execution.node), step.node.kind = "unknown";
    step.iteration = execution.iteration, step.execution = *next;
    step.from = release.at, step.to = execution.end;
    next = executions.before(release.by);
    step.before = step.from - (next ? executions.at(*next).end : Time());
  }
  std::ranges::reverse(path.steps);
  describe(record, path.steps);
  return path;
}

}  // namespace rankwire
