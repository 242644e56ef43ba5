#include "emulator/collective/schedule_builder.h"

#include <algorithm>

#include "base/error.h"
#include "base/message.h"

namespace rankwire {

ScheduleBuilder::ScheduleBuilder(const ScheduleRequest& request, const ScheduleOptions& options)
    : request_(request),
      options_(options),
      slice_size_(options.chunk.count / request.element.count * request.element.count) {}

Extent ScheduleBuilder::share(Extent whole) const {
  return partition(whole, channel_, options_.channels, request_.element);
}

std::vector<Extent> ScheduleBuilder::parts() const {
  std::vector<Extent> parts(members());
  for (uint32_t i = 0; i < members(); ++i)
    parts[i] = share(partition({Bytes(0), request_.bytes}, i, members(), request_.element));
  return parts;
}

std::vector<Extent> ScheduleBuilder::inputs() const {
  std::vector<Extent> inputs(members());
  for (uint32_t i = 0; i < members(); ++i) inputs[i] = share({Bytes(i * request_.bytes.count), request_.bytes});
  return inputs;
}

Extent ScheduleBuilder::part_between(uint32_t source, uint32_t destination) const {
  const Extent input{Bytes(source * request_.bytes.count), request_.bytes};
  return share(partition(input, destination, members(), request_.element));
}

void ScheduleBuilder::send(uint32_t peer, uint32_t step, Extent extent, const Producers& after) {
  for (uint32_t s = 0; s < slices(extent); ++s) {
    const auto predecessors = after.empty() ? std::span<const uint32_t>() : std::span(&after[s], 1);
    add(StepKind::kSend, peer, step, s, slice(extent, s), predecessors);
  }
}

Producers ScheduleBuilder::receive(uint32_t peer, uint32_t step, Extent extent) {
  Producers producers(slices(extent));
  for (uint32_t s = 0; s < producers.size(); ++s)
    producers[s] = add(StepKind::kReceive, peer, step, s, slice(extent, s), {});
  return producers;
}

Producers ScheduleBuilder::receive_and_reduce(uint32_t peer, uint32_t step, Extent extent) {
  Producers producers = receive(peer, step, extent);
  for (uint32_t s = 0; s < producers.size(); ++s)
    producers[s] = add(StepKind::kReduce, peer, step, s, slice(extent, s), std::span(&producers[s], 1));
  return producers;
}

void ScheduleBuilder::signal(uint32_t peer, uint32_t step, std::span<const uint32_t> after) {
  add(StepKind::kSend, peer, step, 0, Extent{}, after);
}

uint32_t ScheduleBuilder::await_signal(uint32_t peer, uint32_t step) {
  return add(StepKind::kReceive, peer, step, 0, Extent{}, {});
}

uint32_t ScheduleBuilder::slices(Extent extent) const {
  const int64_t count = (extent.bytes.count + slice_size_.count - 1) / slice_size_.count;
  if (count > static_cast<int64_t>(MessageId::kMaxSlices))
    fail_input("a step of {} bytes needs {} slices of {} bytes, but at most {} can be named: use a larger chunk",
               extent.bytes.count, count, slice_size_.count, MessageId::kMaxSlices);
  return static_cast<uint32_t>(count);
}

Extent ScheduleBuilder::slice(Extent extent, uint32_t index) const {
  const Bytes begin(index * slice_size_.count);
  return {extent.offset + begin, std::min(slice_size_, extent.bytes - begin)};
}

uint32_t ScheduleBuilder::add(StepKind kind, uint32_t peer, uint32_t step, uint32_t slice, Extent extent,
                              std::span<const uint32_t> after) {
  if (step >= MessageId::kMaxSteps)
    fail_input("a group of {} members needs more than the {} steps that can be named", members(), MessageId::kMaxSteps);
  const uint32_t index = static_cast<uint32_t>(steps_.size());
  for (const uint32_t predecessor : after) edges_.emplace_back(predecessor, index);
  steps_.push_back({.kind = kind,
                    .channel = channel_,
                    .step = static_cast<uint16_t>(step),
                    .slice = static_cast<uint16_t>(slice),
                    .peer = peer,
                    .offset = extent.offset,
                    .bytes = extent.bytes});
  return index;
}

Schedule ScheduleBuilder::finish() const {
  Schedule schedule{.steps = steps_,
                    .predecessors = std::vector<uint16_t>(steps_.size()),
                    .successor_begin = std::vector<uint32_t>(steps_.size() + 1),
                    .successors = std::vector<uint32_t>(edges_.size())};
  for (const auto& [predecessor, successor] : edges_) {
    ++schedule.predecessors[successor];
    ++schedule.successor_begin[predecessor + 1];
  }
  for (size_t i = 0; i < steps_.size(); ++i) schedule.successor_begin[i + 1] += schedule.successor_begin[i];
  std::vector<uint32_t> place(schedule.successor_begin.begin(), schedule.successor_begin.end() - 1);
  for (const auto& [predecessor, successor] : edges_) schedule.successors[place[predecessor]++] = successor;
  return schedule;
}

}  // namespace rankwire
