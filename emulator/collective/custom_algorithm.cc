#include "emulator/collective/custom_algorithm.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "emulator/collective/data_flow.h"
#include "emulator/collective/schedule_builder.h"

namespace rankwire {
namespace {

/// Whole: a channel has no share of its own.
Extent block(const ScheduleBuilder& builder, uint32_t index) {
  const uint32_t n = builder.members();
  const auto input = [&](uint32_t member) { return Extent{Bytes(member * builder.bytes().count), builder.bytes()}; };
  switch (builder.operation()) {
    case Operation::kReduceScatter:
      return partition(input(0), index, n, builder.element());
    case Operation::kAllGather:
      return input(index);
    case Operation::kAllToAll:
      return partition(input(index / n), index % n, n, builder.element());
    default:
      return input(0);
  }
}

Pieces data_of(const ScheduleBuilder& builder, const CustomAlgorithm& algorithm, const CustomStep& step) {
  const uint32_t parts = algorithm.chunks / custom_blocks(algorithm.operation, algorithm.size());
  std::vector<Extent> extents;
  for (uint32_t c = step.chunk; c < step.chunk + step.count; ++c)
    extents.push_back(partition(block(builder, c / parts), c % parts, parts, builder.element()));
  return joined(std::move(extents));
}

bool overlap(const Pieces& a, const Pieces& b) {
  for (const Extent& x : a)
    for (const Extent& y : b)
      if (x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes) return true;
  return false;
}

/// A step as it was added.
struct Added {
  Pieces data;
  std::optional<uint32_t> last;  ///< completes its last slice; none without data
};

/// What the step must wait for besides those with which it shares data.
std::vector<uint32_t> waited_for(const std::vector<Added>& added, const CustomStep& step, const Pieces& data) {
  std::vector<uint32_t> steps;
  for (const uint32_t earlier : step.after)
    if (added[earlier].last && !overlap(added[earlier].data, data)) steps.push_back(*added[earlier].last);
  return steps;
}

}  // namespace

uint32_t custom_blocks(Operation operation, uint32_t n) {
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kBroadcast:
    case Operation::kReduce:
      return 1;
    case Operation::kReduceScatter:
    case Operation::kAllGather:
      return n;
    case Operation::kAllToAll:
      return n * n;
    default:
      return 0;
  }
}

void add_custom_algorithm(ScheduleBuilder& builder, const CustomAlgorithm& algorithm) {
  DataFlow flow(builder);
  std::vector<Added> added;
  // A message's step is its number on the connection.
  std::map<std::tuple<uint32_t, uint8_t, StepKind>, uint32_t> numbers;
  for (const CustomStep& step : algorithm.members[builder.position()]) {
    builder.begin_channel(step.channel);
    const Pieces data = data_of(builder, algorithm, step);
    const uint32_t number = numbers[{step.peer, step.channel, step.kind}]++;
    flow.wait_for(waited_for(added, step, data));
    if (step.kind == StepKind::kSend)
      flow.send(step.peer, number, data);
    else if (step.reduce)
      flow.receive_and_reduce(step.peer, number, data);
    else
      flow.receive(step.peer, number, data);
    added.push_back({data, flow.last()});
  }
}

}  // namespace rankwire
