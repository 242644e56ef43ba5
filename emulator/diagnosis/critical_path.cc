#include "emulator/diagnosis/critical_path.h"

#include <algorithm>

#include "emulator/record/bulk_reader.h"

namespace rankwire {
CriticalPath critical_path(const RunReader& record, const Executions& executions, std::optional<uint32_t> last) {
  CriticalPath path;
  const BulkReader reader(record.folder());
  NodeLookup nodes = reader.nodes();
  std::optional<uint32_t> next = last.value_or(executions.last());
  path.completion = executions.at(*next).end - Time();
  while (next) {
    const Executions::Execution& execution = executions.at(*next);
    const Executions::Release release = executions.release(*next);
    CriticalStep& step = path.steps.emplace_back();
    step.node = nodes.find(execution.rank, execution.node);
    step.iteration = execution.iteration, step.execution = *next;
    step.from = release.at, step.to = execution.end;
    next = executions.before(release.by);
    step.before = step.from - (next ? executions.at(*next).end : Time());
  }
  std::ranges::reverse(path.steps);
  return path;
}

}  // namespace rankwire
