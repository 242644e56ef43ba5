#include "converters/pytorch_writer.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/sort_unique.h"

namespace rankwire {
namespace {

/// For each of many numbers a list, all in one array.
class Lists {
 public:
  std::span<const uint32_t> operator[](uint32_t list) const {
    return {values_.data() + ends_[list], values_.data() + ends_[list + 1]};
  }
  size_t size() const { return ends_.size() - 1; }
  void reserve(size_t lists) { ends_.reserve(lists + 1); }
  void add(std::span<const uint32_t> list) {
    values_.insert(values_.end(), list.begin(), list.end());
    ends_.push_back(values_.size());
  }

  /// For each number the lists that it is in, ascending. All numbers are less than size().
  Lists inverted() const {
    Lists result;
    result.ends_.assign(ends_.size() + 1, 0);
    for (const uint32_t value : values_) ++result.ends_[value + 2];
    std::partial_sum(result.ends_.begin(), result.ends_.end(), result.ends_.begin());
    result.values_.resize(values_.size());
    for (uint32_t list = 0; list < size(); ++list) {
      for (const uint32_t value : (*this)[list]) result.values_[result.ends_[value + 1]++] = list;
    }
    result.ends_.pop_back();
    return result;
  }

 private:
  std::vector<size_t> ends_{0};
  std::vector<uint32_t> values_;
};

/// Steps and operations as vertices of one graph, in an order in which each comes after all that it depends on: the
/// earliest that can be next.
class Order {
 public:
  Order(const HostTimeline& timeline, const DeviceQueue& queue)
      : steps_(timeline.steps()), operations_(queue.operations()) {
    after_.reserve(steps_.size() + operations_.size());
    std::vector<uint32_t> after;
    const auto add = [&] {
      sort_unique(after);
      after_.add(after);
      after.clear();
    };
    for (uint32_t i = 0; i < steps_.size(); ++i) {
      const auto threads = timeline.after_threads(i);
      after.assign(threads.begin(), threads.end());
      if (steps_[i].previous != HostStep::kNoStep) after.push_back(steps_[i].previous);
      for (const uint32_t operation : timeline.after_device(i)) after.push_back(vertex_of_operation(operation));
      add();
    }
    for (uint32_t i = 0; i < operations_.size(); ++i) {
      const DeviceOperation& operation = operations_[i];
      if (operation.previous != DeviceOperation::kNone) after.push_back(vertex_of_operation(operation.previous));
      for (const uint32_t other : queue.after(i)) after.push_back(vertex_of_operation(other));
      if (operation.thread) {
        const uint32_t step = timeline.step_at(*operation.thread, operation.launch);
        if (step != HostTimeline::kNone) after.push_back(step);
      }
      add();
    }
  }

  uint32_t vertex_of_operation(uint32_t operation) const { return static_cast<uint32_t>(steps_.size() + operation); }
  bool is_step(uint32_t vertex) const { return vertex < steps_.size(); }
  uint32_t operation(uint32_t vertex) const { return static_cast<uint32_t>(vertex - steps_.size()); }
  std::span<const uint32_t> after(uint32_t vertex) const { return after_[vertex]; }

  std::vector<uint32_t> sorted() const {
    std::vector<uint32_t> open(size());
    const Lists next = after_.inverted();
    using Entry = std::tuple<int64_t, uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (uint32_t vertex = 0; vertex < size(); ++vertex) {
      open[vertex] = static_cast<uint32_t>(after_[vertex].size());
      if (open[vertex] == 0) ready.emplace(time(vertex), vertex);
    }
    std::vector<uint32_t> order;
    order.reserve(size());
    while (!ready.empty()) {
      const uint32_t vertex = std::get<1>(ready.top());
      ready.pop();
      order.push_back(vertex);
      for (const uint32_t other : next[vertex]) {
        if (--open[other] == 0) ready.emplace(time(other), other);
      }
    }
    return order;
  }
  size_t size() const { return after_.size(); }

 private:
  int64_t time(uint32_t vertex) const {
    return is_step(vertex) ? steps_[vertex].begin : operations_[operation(vertex)].launch;
  }

  const std::vector<HostStep>& steps_;
  const std::vector<DeviceOperation>& operations_;
  Lists after_;  ///< by vertex
};

}  // namespace

void PytorchWriter::define_groups(const DeviceQueue& queue) {
  std::set<int64_t> handles;
  for (uint32_t i = 0; i < queue.operations().size(); ++i) {
    for (const PytorchCall* call : queue.calls(i)) {
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
/// short ones take as long together as they did; with start times both ends are rounded down, so that nothing begins
/// before what ended when it began. They count from 1, since 0 is none.
RecordedMicros PytorchWriter::micros_of(int64_t begin, int64_t duration, int64_t& carried) const {
  if (start_times_) {
    const int64_t start = std::max<int64_t>(begin, 0) / 1000;
    const int64_t end = std::max<int64_t>(begin + duration, 0) / 1000;
    return {static_cast<uint64_t>(end - start), static_cast<uint64_t>(start + 1)};
  }
  carried += duration;
  const int64_t micros = carried / 1000;
  carried -= micros * 1000;
  return {static_cast<uint64_t>(micros)};
}

NodeWriter::Id PytorchWriter::write_step(const HostStep& step, const Ids& after) {
  const std::string_view name = step.name == HostStep::kGap ? "gap" : std::string_view((*names_)[step.name]);
  const RecordedMicros micros = micros_of(step.begin, step.duration, carried_on_thread_[step.thread]);
  writer_.on_host().with("tid", step.thread).starting(micros.start);
  return writer_.compute(name, micros.duration, 0, Bytes(0), after);
}

NodeWriter::Id PytorchWriter::write_operation(const DeviceOperation& operation, Calls calls, const Ids& after) {
  const KinetoDeviceOperation& recorded = *operation.recorded;
  const std::string& name = (*names_)[recorded.name];
  const int64_t duration = recorded.end - recorded.begin;
  if (!calls.empty()) {
    int64_t alone = 0;
    return calls_.write_batch(calls, name, micros_of(recorded.begin, duration, alone), recorded.stream, after);
  }
  const RecordedMicros micros = micros_of(recorded.begin, duration, carried_on_stream_[recorded.stream]);
  writer_.with("stream", recorded.stream).starting(micros.start);
  return writer_.compute(name, micros.duration, 0, Bytes(0), after);
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
    if (order.is_step(vertex)) {
      ids[vertex] = write_step(timeline.steps()[vertex], after);
    } else {
      const uint32_t operation = order.operation(vertex);
      ids[vertex] = write_operation(queue.operations()[operation], queue.calls(operation), after);
    }
  }
}

}  // namespace rankwire
