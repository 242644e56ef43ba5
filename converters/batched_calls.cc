#include "converters/batched_calls.h"

#include <algorithm>

namespace rankwire {
namespace {

bool carries(std::string_view kernel, ActionKind kind) {
  if (is_message(kind)) return kernel.find("SendRecv") != kernel.npos;
  return call_kind(kernel) == kind;
}

}  // namespace

BatchedCalls::BatchedCalls(const KinetoTrace& trace, const OperatorTree& tree, const RecordedCalls& calls,
                           const std::unordered_set<uint32_t>& launched) {
  const auto call_of = [&](uint32_t index) -> const PytorchCall* {
    for (const RecordedCalls* some : {&calls, &trace.recorded}) {
      const auto call = some->find(index);
      if (call != some->end() && moves_data(call->second)) return &call->second;
    }
    return nullptr;
  };
  for (const auto& [thread, operators] : tree.threads()) {
    for (const uint32_t index : operators) {
      const PytorchCall* const call = call_of(index);
      if (call == nullptr || launched.contains(index)) continue;
      uint32_t around = tree.parent(index);
      while (around != OperatorTree::kNone && call_of(around) == nullptr) around = tree.parent(around);
      if (around == OperatorTree::kNone) threads_[thread].push_back({trace.operators[index].begin, call});
    }
  }
}

std::vector<const PytorchCall*> BatchedCalls::between(int64_t thread, int64_t begin, int64_t end,
                                                      std::string_view kernel) const {
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return {};
  std::vector<const PytorchCall*> batch;
  const auto first = std::ranges::upper_bound(found->second, begin, {}, &Call::begin);
  auto at = std::ranges::lower_bound(first, found->second.end(), end, {}, &Call::begin);
  while (at != first) {
    const PytorchCall* const call = (--at)->call;
    const bool of_batch =
        batch.empty() || (call->group == batch.front()->group && call->handle == batch.front()->handle);
    if (!carries(kernel, call->kind) || !of_batch) break;
    batch.push_back(call);
  }
  std::ranges::reverse(batch);
  return batch;
}

}  // namespace rankwire
