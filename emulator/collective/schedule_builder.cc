#include "emulator/collective/schedule_builder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/message.h"

namespace rankwire {

Schedule make_schedule(std::vector<Step> steps, std::span<const StepEdge> edges) {
  Schedule schedule{.steps = std::move(steps)};
  const size_t count = schedule.steps.size();
  schedule.predecessors.resize(count);
  schedule.successor_begin.resize(count + 1);
  schedule.successors.resize(edges.size());
  for (const auto& [predecessor, successor] : edges) {
    ++schedule.predecessors[successor];
    ++schedule.successor_begin[predecessor + 1];
  }
  for (size_t i = 0; i < count; ++i) schedule.successor_begin[i + 1] += schedule.successor_begin[i];
  std::vector<uint32_t> place(schedule.successor_begin.begin(), schedule.successor_begin.end() - 1);
  for (const auto& [predecessor, successor] : edges) schedule.successors[place[predecessor]++] = successor;
  return schedule;
}

ScheduleBuilder::ScheduleBuilder(const ScheduleRequest& request, const Slicing& slicing)
    : request_(request), slicing_(slicing), position_(request.position), root_(request.root) {}

void ScheduleBuilder::place_members(std::vector<uint32_t> order) {
  order_ = std::move(order);
  const auto place_of = [&](uint32_t position) {
    return static_cast<uint32_t>(std::find(order_.begin(), order_.end(), position) - order_.begin());
  };
  position_ = place_of(request_.position);
  root_ = place_of(request_.root);
}

Extent ScheduleBuilder::share(Extent whole) const {
  if (slicing_.channel_share == Bytes(0)) return partition(whole, channel_, slicing_.channels, request_.element);
  const Bytes begin = std::min(Bytes(channel_ * slicing_.channel_share.count), whole.bytes);
  const bool last = channel_ + 1u == slicing_.channels;
  const Bytes end = last ? whole.bytes : std::min(begin + slicing_.channel_share, whole.bytes);
  return {whole.offset + begin, end - begin};
}

Extent ScheduleBuilder::block(size_t index) const {
  return share({request_.blocks[index], request_.blocks[index + 1] - request_.blocks[index]});
}

std::vector<Extent> ScheduleBuilder::blocks() const {
  std::vector<Extent> blocks(members());
  for (uint32_t i = 0; i < members(); ++i) blocks[i] = block(position_at(i));
  return blocks;
}

std::vector<Extent> ScheduleBuilder::parts() const {
  if (!request_.blocks.empty()) return blocks();
  std::vector<Extent> parts(members());
  for (uint32_t i = 0; i < members(); ++i)
    parts[i] = share(partition({Bytes(0), request_.bytes}, position_at(i), members(), request_.element));
  return parts;
}

std::vector<Extent> ScheduleBuilder::inputs() const {
  if (!request_.blocks.empty()) return blocks();
  std::vector<Extent> inputs(members());
  for (uint32_t i = 0; i < members(); ++i)
    inputs[i] = share({Bytes(position_at(i) * request_.bytes.count), request_.bytes});
  return inputs;
}

Extent ScheduleBuilder::part_between(uint32_t source, uint32_t destination) const {
  if (!request_.blocks.empty()) return block(size_t{position_at(source)} * members() + position_at(destination));
  const Extent input{Bytes(position_at(source) * request_.bytes.count), request_.bytes};
  return share(partition(input, position_at(destination), members(), request_.element));
}

Producers ScheduleBuilder::after_all(const Producers& steps, Extent extent) const {
  return steps.empty() ? Producers() : Producers(slices(extent), steps.back());
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
  const Bytes size = slicing_.slice_of(extent.bytes, request_.element);
  const int64_t count = (extent.bytes.count + size.count - 1) / size.count;
  if (count > static_cast<int64_t>(MessageId::kMaxSlices))
    fail_input("a step of {} bytes needs {} slices of {} bytes, but at most {} can be named", extent.bytes.count, count,
               size.count, MessageId::kMaxSlices);
  return static_cast<uint32_t>(count);
}

uint32_t ScheduleBuilder::slices(std::span<const Extent> data) const {
  return slices(Extent{Bytes(0), size_of(data)});
}

Extent ScheduleBuilder::slice(Extent extent, uint32_t index) const {
  const Bytes size = slicing_.slice_of(extent.bytes, request_.element);
  const Bytes begin(index * size.count);
  return {extent.offset + begin, std::min(size, extent.bytes - begin)};
}

Pieces ScheduleBuilder::slice(std::span<const Extent> data, uint32_t index) const {
  const Extent counted = slice(Extent{Bytes(0), size_of(data)}, index);
  return cut(data, counted.offset, counted.bytes);
}

uint32_t ScheduleBuilder::add(StepKind kind, uint32_t peer, uint32_t step, uint32_t slice, std::span<const Extent> data,
                              std::span<const uint32_t> after) {
  const uint32_t index = add(kind, peer, step, slice, Extent{data.front().offset, size_of(data)}, after);
  if (data.size() == 1) return index;
  scattered_.pieces.insert(scattered_.pieces.end(), data.begin(), data.end());
  steps_[index].scattered = static_cast<uint32_t>(scattered_.piece_begin.size());
  scattered_.piece_begin.push_back(static_cast<uint32_t>(scattered_.pieces.size()));
  return index;
}

uint32_t ScheduleBuilder::add(StepKind kind, uint32_t peer, uint32_t step, uint32_t slice, Extent extent,
                              std::span<const uint32_t> after) {
  if (step >= MessageId::kMaxSteps)
    fail_input("{} bytes among {} members need more than the {} steps that can be named", request_.bytes.count,
               members(), MessageId::kMaxSteps);
  const uint32_t index = static_cast<uint32_t>(steps_.size());
  for (const uint32_t predecessor : after) edges_.emplace_back(predecessor, index);
  steps_.push_back(
      {.kind = kind,
       .channel = channel_,
       .step = static_cast<uint16_t>(step),
       .slice = static_cast<uint16_t>(slice),
       .peer = position_at(peer),
       .offset = extent.offset,
       .bytes = extent.bytes,
       .message = kind == StepKind::kReduce ? Bytes() : nccl_message_size(slicing_.protocol, extent.bytes)});
  return index;
}

Schedule ScheduleBuilder::finish() {
  Schedule schedule = make_schedule(std::move(steps_), edges_);
  schedule.scattered = std::move(scattered_);
  return schedule;
}

}  // namespace rankwire
