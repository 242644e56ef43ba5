#include "emulator/diagnosis/execution_moments.h"

#include <algorithm>

namespace rankwire {

std::vector<ExecutionMoment> moments_from_the_end(const Executions& executions) {
  std::vector<ExecutionMoment> moments;
  moments.reserve(2 * size_t{executions.count()});
  for (uint32_t i = 0; i < executions.count(); ++i) {
    const Executions::Execution& execution = executions.at(i);
    const bool is_empty = execution.start == execution.end;
    const auto order = [&](uint64_t phase, bool is_start) {
      return (is_empty ? 1 : phase) << 33 | uint64_t{~i} << 1 | uint64_t{is_start};
    };
    moments.push_back({execution.end, order(2, false)});
    moments.push_back({execution.start, order(0, true)});
  }
  std::ranges::sort(moments, [](const ExecutionMoment& a, const ExecutionMoment& b) {
    return a.at != b.at ? a.at > b.at : a.order < b.order;
  });
  return moments;
}

}  // namespace rankwire
