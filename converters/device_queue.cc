#include "converters/device_queue.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "converters/batched_calls.h"

namespace rankwire {
namespace {

/// Two clocks of Kineto's may differ by so much.
constexpr int64_t kSkew = 1'000;

bool is_communication(std::string_view kernel) {
  for (const std::string_view part : {"ncclKernel", "ncclDevKernel", "ncclSymk", "rcclKernel", "rcclDevKernel"}) {
    if (kernel.find(part) != kernel.npos) return true;
  }
  return false;
}

/// Kernels that move data between ranks by themselves, beside NCCL: PyTorch's symmetric memory, the all-reduces of
/// vLLM, SGLang and AITER, DeepEP. They are launched by no call of torch.distributed.
bool bypasses_calls(std::string_view kernel) {
  for (const std::string_view part : {"multimem_all_reduce", "one_shot_all_reduce", "two_shot_all_reduce",
                                      "cross_device_reduce", "::ep::internode::", "::ep::intranode::", "deep_ep::"}) {
    if (kernel.find(part) != kernel.npos) return true;
  }
  return false;
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

/// Of CUDA's runtime and driver, and of HIP.
bool waits_for_all(std::string_view call) {
  return ends_with_any(call, {"DeviceSynchronize", "CtxSynchronize"});
}
bool waits_for_some(std::string_view call) {
  return ends_with_any(call, {"StreamSynchronize", "EventSynchronize"});
}
bool copies(std::string_view call) {
  return call.find("Memcpy") != call.npos;
}

/// The operator that recorded a call, from `index` outwards; kNone when none did.
uint32_t recorder_around(uint32_t index, const OperatorTree& tree, const RecordedCalls& calls) {
  for (; index != OperatorTree::kNone; index = tree.parent(index)) {
    const auto call = calls.find(index);
    if (call != calls.end() && moves_data(call->second)) break;
  }
  return index;
}

/// Indexes of `items` by what `key` makes of them, equal ones in their order.
template <class Item, class Key>
std::vector<uint32_t> sorted_by(const std::vector<Item>& items, Key key) {
  std::vector<uint32_t> indexes(items.size());
  std::iota(indexes.begin(), indexes.end(), 0u);
  std::ranges::stable_sort(indexes, {}, [&](uint32_t index) { return std::invoke(key, items[index]); });
  return indexes;
}

/// A kernel of communication of a thread.
struct Launched {
  int64_t time = INT64_MIN;
  bool ends_batch = false;  ///< itself, or those before it of the same batch
};

}  // namespace

DeviceQueue::DeviceQueue(const KinetoTrace& trace, const OperatorTree& tree, const RecordedCalls& calls)
    : trace_(trace) {
  calls_by_correlation_ = sorted_by(trace.calls, &KinetoRuntimeCall::correlation);
  bool events_recorded = false;
  for (const KinetoSynchronization& synchronization : trace.synchronizations) {
    synchronization_of_.emplace(synchronization.correlation, &synchronization);
    events_recorded = events_recorded || synchronization.kind == KinetoSynchronization::Kind::kStreamWaitEvent;
  }
  launch_all(tree, calls);
  order_streams();
  if (events_recorded) {
    wait_for_events();
  } else {
    wait_as_distributed(calls);
  }
  find_host_waits();
  streams_ = {};
  calls_by_correlation_ = {};
  synchronization_of_ = {};
  launched_ = {};
}

/// The first with the correlation; null when there is none.
const KinetoRuntimeCall* DeviceQueue::call_of(int64_t correlation) const {
  const auto found = std::ranges::lower_bound(calls_by_correlation_, correlation, {},
                                              [&](uint32_t index) { return trace_.calls[index].correlation; });
  if (found == calls_by_correlation_.end() || trace_.calls[*found].correlation != correlation) return nullptr;
  return &trace_.calls[*found];
}

void DeviceQueue::launch_all(const OperatorTree& tree, const RecordedCalls& calls) {
  operations_.reserve(trace_.device.size());
  for (const KinetoDeviceOperation& recorded : trace_.device) {
    DeviceOperation operation{.recorded = &recorded, .launch = recorded.begin};
    if (const KinetoRuntimeCall* const call = call_of(recorded.correlation)) {
      operation.launch = call->begin;
      operation.thread = call->thread;
    }
    operation.communicates = recorded.call != nullptr || is_communication(trace_.names[recorded.name]);
    bypassing_kernels_ += !operation.communicates && bypasses_calls(trace_.names[recorded.name]) ? 1 : 0;
    operations_.push_back(operation);
  }
  std::ranges::stable_sort(operations_, {}, [](const DeviceOperation& operation) {
    return std::tuple(operation.launch, operation.recorded->begin);
  });
  find_calls(tree, calls);
}

// A kernel that is launched within a recorded call is that call's. NCCL launches what is called between the beginning
// and the end of a group (batch_isend_irecv, coalescing managers) at the end, where PyTorch records nothing: such a
// kernel is that of all calls since the thread's kernel of communication before it.
void DeviceQueue::find_calls(const OperatorTree& tree, const RecordedCalls& calls) {
  std::vector<uint32_t> without;  // kernels of which nothing tells at their place
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].communicates && !take_own_call(i, tree, calls)) without.push_back(i);
  }
  if (without.empty()) return;
  BatchedCalls batches(trace_, tree, calls, launched_);
  std::unordered_map<int64_t, Launched> last;  // by thread: its kernel of communication before this one
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    DeviceOperation& operation = operations_[i];
    if (!operation.communicates || !operation.thread) continue;
    Launched& before = last.try_emplace(*operation.thread).first->second;
    const bool in_batch = std::ranges::binary_search(without, i);
    if (in_batch) {
      calls_.set(
          i, batches.between(*operation.thread, before.time, operation.launch, trace_.names[operation.recorded->name]));
    }
    if (in_batch && calls_[i].empty()) ++(before.ends_batch ? further_kernels_ : unknown_kernels_);
    before = {operation.launch, in_batch && (before.ends_batch || !calls_[i].empty())};
  }
  for (const uint32_t i : without) unknown_kernels_ += !operations_[i].thread;
}

/// What the operator around the launch recorded, else what the kernel itself has. False when neither tells.
bool DeviceQueue::take_own_call(uint32_t index, const OperatorTree& tree, const RecordedCalls& calls) {
  const DeviceOperation& operation = operations_[index];
  const auto take = [&](uint32_t recorder, const PytorchCall& call) {
    if (launched_.insert(recorder).second) {
      calls_.add(index, &call);
    } else {
      ++further_kernels_;
    }
    return true;
  };
  const uint32_t innermost =
      operation.thread ? tree.innermost(*operation.thread, operation.launch) : OperatorTree::kNone;
  const uint32_t recorder = recorder_around(innermost, tree, calls);
  if (recorder != OperatorTree::kNone) return take(recorder, calls.at(recorder));
  const PytorchCall* const own = operation.recorded->call.get();
  const uint32_t other = recorder_around(innermost, tree, trace_.recorded);
  if (own && own->kind != ActionKind::kOther) {
    if (other != OperatorTree::kNone) launched_.insert(other);
    calls_.add(index, own);
    return true;
  }
  return other != OperatorTree::kNone && take(other, trace_.recorded.at(other));
}

void DeviceQueue::order_streams() {
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    std::vector<uint32_t>& stream = streams_[operations_[i].recorded->stream];
    if (!stream.empty()) operations_[i].previous = stream.back();
    stream.push_back(i);
  }
}

std::optional<uint32_t> DeviceQueue::last_before(int64_t stream, int64_t time) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return std::nullopt;
  const auto later =
      std::ranges::lower_bound(found->second, time, {}, [&](uint32_t index) { return operations_[index].launch; });
  if (later == found->second.begin()) return std::nullopt;
  return *std::prev(later);
}

std::vector<uint32_t> DeviceQueue::last_of_all_before(int64_t time) const {
  std::vector<uint32_t> last;
  for (const auto& [stream, operations] : streams_) {
    if (const auto operation = last_before(stream, time)) last.push_back(*operation);
  }
  return last;
}

/// From what was launched before an event was recorded to what the waiting stream was given next.
void DeviceQueue::wait_for_events() {
  for (const KinetoSynchronization& wait : trace_.synchronizations) {
    if (wait.kind != KinetoSynchronization::Kind::kStreamWaitEvent) continue;
    const KinetoRuntimeCall* const call = call_of(wait.correlation);
    const KinetoRuntimeCall* const record = call_of(wait.record_correlation);
    const auto stream = streams_.find(wait.stream);
    if (call == nullptr || record == nullptr || stream == streams_.end()) {
      continue;
    }
    const auto source = last_before(wait.wait_on_stream, record->begin);
    const auto next = std::ranges::upper_bound(stream->second, call->begin, {},
                                               [&](uint32_t index) { return operations_[index].launch; });
    if (source && next != stream->second.end() && *source < *next) after_.add(*next, *source);
  }
}

void DeviceQueue::wait_as_distributed(const RecordedCalls& calls) {
  struct Waiting {
    int64_t begin, thread, sequence;
  };
  std::vector<Waiting> waiting;
  for (const auto& [index, call] : calls) {
    const KinetoOperator& recorder = trace_.operators[index];
    if (call.kind == ActionKind::kWait) waiting.push_back({recorder.begin, recorder.thread, call.sequence});
  }
  std::ranges::sort(waiting, {}, &Waiting::begin);

  std::unordered_map<int64_t, uint32_t> last_work;                 // by thread
  std::unordered_map<int64_t, uint32_t> last_of_sequence;          // by sequence
  std::unordered_map<int64_t, std::vector<uint32_t>> outstanding;  // by thread: what its next work waits for
  auto wait = waiting.begin();
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    DeviceOperation& operation = operations_[i];
    for (; wait != waiting.end() && wait->begin <= operation.launch; ++wait) {
      const auto source = last_of_sequence.find(wait->sequence);
      if (source != last_of_sequence.end()) outstanding[wait->thread].push_back(source->second);
    }
    if (!operation.thread) continue;
    if (operation.communicates) {
      const auto before = last_work.find(*operation.thread);
      if (before != last_work.end()) after_.add(i, before->second);
      for (const PytorchCall* call : calls_[i]) last_of_sequence[call->sequence] = i;
    } else {
      std::vector<uint32_t>& sources = outstanding[*operation.thread];
      after_.set(i, std::exchange(sources, {}));
      last_work[*operation.thread] = i;
    }
  }
}

std::vector<uint32_t> DeviceQueue::waited_for(const KinetoRuntimeCall& call) const {
  using Kind = KinetoSynchronization::Kind;
  if (const auto found = synchronization_of_.find(call.correlation); found != synchronization_of_.end()) {
    const KinetoSynchronization& wait = *found->second;
    if (wait.kind == Kind::kContext) return last_of_all_before(call.begin);
    std::optional<uint32_t> last;
    if (wait.kind == Kind::kStream) last = last_before(wait.stream, call.begin);
    if (wait.kind == Kind::kEvent) {
      const KinetoRuntimeCall* const record = call_of(wait.record_correlation);
      if (record != nullptr) {
        last = last_before(wait.wait_on_stream, record->begin);
      }
    }
    if (last) return {*last};
    return {};
  }
  std::vector<uint32_t> last = last_of_all_before(call.begin);
  if (waits_for_all(trace_.names[call.name])) return last;
  // Which stream is not known: the one whose work ended while the host waited, and latest.
  std::erase_if(last, [&](uint32_t i) {
    return operations_[i].recorded->end <= call.begin || operations_[i].recorded->end > call.end + kSkew;
  });
  if (last.empty()) return {};
  return {std::ranges::max(last, {}, [&](uint32_t i) { return operations_[i].recorded->end; })};
}

void DeviceQueue::find_host_waits() {
  const auto correlation = [](const DeviceOperation& operation) { return operation.recorded->correlation; };
  const std::vector<uint32_t> by_correlation = sorted_by(operations_, correlation);
  for (const KinetoRuntimeCall& call : trace_.calls) {
    const std::string& name = trace_.names[call.name];
    std::vector<uint32_t> on;
    if (waits_for_all(name) || waits_for_some(name)) {
      on = waited_for(call);
    } else if (copies(name)) {
      // A copy from or to pageable memory returns when it is done.
      const auto behind = std::ranges::upper_bound(by_correlation, call.correlation, {},
                                                   [&](uint32_t i) { return correlation(operations_[i]); });
      if (behind != by_correlation.begin() && correlation(operations_[*std::prev(behind)]) == call.correlation) {
        on.push_back(*std::prev(behind));
      }
    }
    std::erase_if(on, [&](uint32_t i) { return operations_[i].recorded->end > call.end + kSkew; });
    if (!on.empty()) waits_.push_back({call.name, call.thread, call.begin, call.end, std::move(on)});
  }
  std::ranges::stable_sort(waits_, {}, &HostWait::begin);
}

}  // namespace rankwire
