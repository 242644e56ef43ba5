#include "converters/pytorch_writer.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

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
    for (std::vector<uint32_t>& after : after_) {
      std::ranges::sort(after);
      after.erase(std::ranges::unique(after).begin(), after.end());
    }
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

std::optional<chakra::CollectiveCommType> collective_of(CallKind kind) {
  switch (kind) {
    case CallKind::kAllReduce:
      return chakra::ALL_REDUCE;
    case CallKind::kReduce:
      return chakra::REDUCE;
    case CallKind::kAllGather:
      return chakra::ALL_GATHER;
    case CallKind::kGather:
      return chakra::GATHER;
    case CallKind::kScatter:
      return chakra::SCATTER;
    case CallKind::kBroadcast:
      return chakra::BROADCAST;
    case CallKind::kAllToAll:
      return chakra::ALL_TO_ALL;
    case CallKind::kReduceScatter:
      return chakra::REDUCE_SCATTER;
    case CallKind::kBarrier:
      return chakra::BARRIER;
    default:
      return std::nullopt;
  }
}

/// The same at both ends, so that messages of different groups between two ranks are told apart.
uint32_t tag_of(const std::string& group) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : group) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash & 0x7FFFFFFFu;
}

}  // namespace

/// A group of which only its calls tell.
void PytorchWriter::define(const PytorchCall& call) {
  if (std::ranges::find(rank_.groups, call.group, &ProcessGroup::name) != rank_.groups.end()) return;
  if (!call.ranks.empty()) {
    rank_.groups.push_back({call.group, call.ranks});
  } else if (call.first_rank >= 0 && call.members > 0 && !call.group.empty()) {
    ProcessGroup group{call.group, {}};
    for (int64_t i = 0; i < call.members; ++i) group.ranks.push_back(call.first_rank + i * call.stride);
    rank_.groups.push_back(std::move(group));
  }
}

void PytorchWriter::define_groups(const DeviceQueue& queue) {
  std::set<int64_t> handles;
  for (const DeviceOperation& operation : queue.operations()) {
    if (operation.call == nullptr) continue;
    if (operation.call->group.empty()) handles.insert(operation.call->handle);
    define(*operation.call);
  }
  if (handles.size() > 1) {
    fail_input(
        "{}: {} process groups communicate, but this PyTorch did not record which ranks they have; record with "
        "2.3 or later",
        rank_.path, handles.size());
  }
  // One name may have been recorded twice, at both places.
  std::set<std::string> seen;
  std::erase_if(rank_.groups, [&](const ProcessGroup& group) { return !seen.insert(group.name).second; });
  if (!rank_.groups.empty()) writer_.groups(print_groups(rank_.groups));
}

const std::string& PytorchWriter::group_name(const PytorchCall& call) const {
  static const std::string all = "0";
  return call.group.empty() ? all : call.group;
}

std::vector<int64_t> PytorchWriter::members(const PytorchCall& call) const {
  const auto group = std::ranges::find(rank_.groups, group_name(call), &ProcessGroup::name);
  if (group != rank_.groups.end() && !group->ranks.empty()) return group->ranks;
  const int64_t count = std::max({rank_.world_size, call.members, static_cast<int64_t>(call.input_split.size())});
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
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
  if (operation.call != nullptr) {
    switch (operation.call->kind) {
      case CallKind::kSend:
      case CallKind::kReceive:
        return write_point_to_point(operation, after);
      case CallKind::kAllToAll:
        if (!operation.call->input_split.empty()) return write_exchange(operation, after);
        [[fallthrough]];
      default:
        return write_collective(operation, after);
    }
  }
  const uint64_t micros = whole_micros(recorded.end - recorded.begin, carried_on_stream_[recorded.stream]);
  return writer_.with("stream", recorded.stream).compute((*names_)[recorded.name], micros, 0, Bytes(0), after);
}

NodeWriter::Id PytorchWriter::write_collective(const DeviceOperation& operation, const Ids& after) {
  const PytorchCall& call = *operation.call;
  const KinetoDeviceOperation& recorded = *operation.recorded;
  const auto kind = collective_of(call.kind);
  if (!kind) fail(call, "no collective");
  const bool rooted = call.kind == CallKind::kReduce || call.kind == CallKind::kGather ||
                      call.kind == CallKind::kScatter || call.kind == CallKind::kBroadcast;
  Bytes size = call.input;
  if (rooted && call.rank >= 0) {
    const std::vector<int64_t> ranks = members(call);
    if (static_cast<size_t>(call.rank) >= ranks.size()) {
      fail(call, "root {} of a group of {}", call.rank, ranks.size());
    }
    writer_.with("root", ranks[static_cast<size_t>(call.rank)]);
    // Only the root of a scatter has an input: the outputs of all.
    if (call.kind == CallKind::kScatter) size = Bytes(call.output.count * static_cast<int64_t>(ranks.size()));
  }
  return writer_.lasting(static_cast<uint64_t>((recorded.end - recorded.begin) / 1000))
      .with("stream", recorded.stream)
      .collective((*names_)[recorded.name], *kind, group_name(call), size, after);
}

uint32_t PytorchWriter::peer(const PytorchCall& call) const {
  int64_t peer = call.peer;
  if (peer < 0) {
    const std::vector<int64_t> ranks = members(call);
    if (call.rank < 0 || static_cast<size_t>(call.rank) >= ranks.size()) {
      fail(call, "peer {} of a group of {}", call.rank, ranks.size());
    }
    peer = ranks[static_cast<size_t>(call.rank)];
  }
  return static_cast<uint32_t>(peer);
}

NodeWriter::Id PytorchWriter::write_point_to_point(const DeviceOperation& operation, const Ids& after) {
  const PytorchCall& call = *operation.call;
  const KinetoDeviceOperation& recorded = *operation.recorded;
  const std::string& name = (*names_)[recorded.name];
  const uint32_t tag = tag_of(group_name(call));
  const bool sends = call.kind == CallKind::kSend;
  const Bytes size = sends || call.output.count == 0 ? call.input : call.output;
  writer_.lasting(static_cast<uint64_t>((recorded.end - recorded.begin) / 1000)).with("stream", recorded.stream);
  return sends ? writer_.send(name, rank_.rank, peer(call), tag, size, after)
               : writer_.receive(name, peer(call), rank_.rank, tag, size, after);
}

/// An all-to-all of unequal parts: a message to each member and one from each, as NCCL does it.
NodeWriter::Id PytorchWriter::write_exchange(const DeviceOperation& operation, const Ids& after) {
  const PytorchCall& call = *operation.call;
  const KinetoDeviceOperation& recorded = *operation.recorded;
  const std::string& name = (*names_)[recorded.name];
  const std::vector<int64_t> ranks = members(call);
  const auto row = [&](const std::vector<int64_t>& split, Bytes all) {
    if (split.size() != ranks.size()) fail(call, "{} splits in a group of {}", split.size(), ranks.size());
    const int64_t rows = std::accumulate(split.begin(), split.end(), int64_t{0});
    const bool negative = std::ranges::any_of(split, [](int64_t part) { return part < 0; });
    if (negative || (rows == 0 ? all.count != 0 : all.count % rows != 0)) {
      fail(call, "{} bytes in {} rows", all.count, rows);
    }
    return rows == 0 ? 0 : all.count / rows;
  };
  const int64_t sent = row(call.input_split, call.input), received = row(call.output_split, call.output);
  const uint32_t tag = tag_of(group_name(call));
  const auto recorded_so = [&]() -> NodeWriter& { return writer_.with("stream", recorded.stream); };
  Ids parts;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto other = static_cast<uint32_t>(ranks[i]);
    if (other == rank_.rank) continue;
    const Bytes out(call.input_split[i] * sent), in(call.output_split[i] * received);
    if (out.count > 0) parts.push_back(recorded_so().send(name, rank_.rank, other, tag, out, after));
    if (in.count > 0) parts.push_back(recorded_so().receive(name, other, rank_.rank, tag, in, after));
  }
  return recorded_so().compute(name, 0, 0, Bytes(0), parts.empty() ? after : parts);
}

void PytorchWriter::write(const KinetoTrace& trace, const HostTimeline& timeline, const DeviceQueue& queue) {
  names_ = &trace.names;
  define_groups(queue);
  const Order order(timeline, queue);
  const std::vector<uint32_t> sorted = order.sorted();
  if (sorted.size() != order.size()) {
    fail_input("{}: its times contradict each other: {} operations wait for each other", rank_.path,
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
