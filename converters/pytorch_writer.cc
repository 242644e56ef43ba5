#include "converters/pytorch_writer.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/sort_unique.h"

namespace rankwire {
namespace {

/// Steps and operations as vertices of one graph, in an order in which each comes after all that it depends on: the
/// earliest that can be next.
class Order {
 public:
  Order(const HostTimeline& timeline, const DeviceQueue& queue) : steps_(timeline.steps().size()) {
    const auto& operations = queue.operations();
    after_.resize(steps_ + operations.size());
    times_.resize(after_.size());
    for (size_t i = 0; i < steps_; ++i) {
      const HostStep& step = timeline.steps()[i];
      times_[i] = step.begin;
      after_[i] = step.after;
      for (const uint32_t operation : step.after_device) after_[i].push_back(vertex_of_operation(operation));
    }
    for (uint32_t i = 0; i < operations.size(); ++i) {
      std::vector<uint32_t>& after = after_[vertex_of_operation(i)];
      times_[vertex_of_operation(i)] = operations[i].launch;
      for (const uint32_t other : operations[i].after) after.push_back(vertex_of_operation(other));
      if (!operations[i].thread) continue;
      const uint32_t step = timeline.step_at(*operations[i].thread, operations[i].launch);
      if (step != HostTimeline::kNone) after.push_back(step);
    }
    for (std::vector<uint32_t>& after : after_) sort_unique(after);
  }

  uint32_t vertex_of_operation(uint32_t operation) const { return static_cast<uint32_t>(steps_ + operation); }
  bool is_step(uint32_t vertex) const { return vertex < steps_; }
  uint32_t operation(uint32_t vertex) const { return static_cast<uint32_t>(vertex - steps_); }
  const std::vector<uint32_t>& after(uint32_t vertex) const { return after_[vertex]; }

  std::vector<uint32_t> sorted() const {
    std::vector<uint32_t> open(after_.size());
    std::vector<std::vector<uint32_t>> next(after_.size());
    using Entry = std::tuple<int64_t, uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (uint32_t vertex = 0; vertex < after_.size(); ++vertex) {
      open[vertex] = static_cast<uint32_t>(after_[vertex].size());
      for (const uint32_t other : after_[vertex]) next[other].push_back(vertex);
      if (open[vertex] == 0) ready.emplace(times_[vertex], vertex);
    }
    std::vector<uint32_t> order;
    while (!ready.empty()) {
      const uint32_t vertex = std::get<1>(ready.top());
      ready.pop();
      order.push_back(vertex);
      for (const uint32_t other : next[vertex]) {
        if (--open[other] == 0) ready.emplace(times_[other], other);
      }
    }
    return order;
  }
  size_t size() const { return after_.size(); }

 private:
  size_t steps_;
  std::vector<std::vector<uint32_t>> after_;
  std::vector<int64_t> times_;
};

}  // namespace

void PytorchWriter::define_groups(const DeviceQueue& queue) {
  std::set<int64_t> handles;
  for (const DeviceOperation& operation : queue.operations()) {
    for (const PytorchCall* call : operation.calls) {
      if (call->group.empty()) handles.insert(call->handle);
      calls_.define(*call);
    }
  }
  if (handles.size() > 1) {
    fail_input(
        "{}: {} process groups communicate, but this PyTorch did not record which ranks they have; "
        "record with one whose host traces have schema 1.0.3 or later",
        path_, handles.size());
  }
  calls_.write_groups();
}

/// Chakra counts whole microseconds. What is cut off one node goes to a later one of its thread or stream, so that many
/// short ones take as long together as they did.
uint64_t PytorchWriter::whole_micros(int64_t duration, int64_t& carried) const {
  carried += duration;
  const int64_t micros = carried / 1000;
  carried -= micros * 1000;
  return static_cast<uint64_t>(micros);
}

NodeWriter::Id PytorchWriter::write_step(const HostStep& step, const Ids& after) {
  const std::string_view name = step.name == HostStep::kGap ? "gap" : std::string_view((*names_)[step.name]);
  const uint64_t micros = whole_micros(step.duration, carried_on_thread_[step.thread]);
  return writer_.on_host().with("tid", step.thread).compute(name, micros, 0, Bytes(0), after);
}

NodeWriter::Id PytorchWriter::write_operation(const DeviceOperation& operation, const Ids& after) {
  const KinetoDeviceOperation& recorded = *operation.recorded;
  const std::string& name = (*names_)[recorded.name];
  const int64_t duration = recorded.end - recorded.begin;
  if (!operation.calls.empty()) {
    return calls_.write_batch(operation.calls, name, static_cast<uint64_t>(duration / 1000), recorded.stream, after);
  }
  const uint64_t micros = whole_micros(duration, carried_on_stream_[recorded.stream]);
  return writer_.with("stream", recorded.stream).compute(name, micros, 0, Bytes(0), after);
}

void PytorchWriter::write(const KinetoTrace& trace, const HostTimeline& timeline, const DeviceQueue& queue) {
  names_ = &trace.names;
  define_groups(queue);
  const Order order(timeline, queue);
  const std::vector<uint32_t> sorted = order.sorted();
  if (sorted.size() != order.size()) {
    fail_input("{}: its times contradict each other: {} operations wait for each other", path_,
               order.size() - sorted.size());
  }
  std::vector<NodeWriter::Id> ids(order.size());
  Ids after;
  for (const uint32_t vertex : sorted) {
    after.clear();
    for (const uint32_t other : order.after(vertex)) after.push_back(ids[other]);
    ids[vertex] = order.is_step(vertex) ? write_step(timeline.steps()[vertex], after)
                                        : write_operation(queue.operations()[order.operation(vertex)], after);
  }
}

}  // namespace rankwire
