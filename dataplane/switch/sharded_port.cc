#include "dataplane/switch/sharded_port.h"

#include <array>
#include <cassert>
#include <utility>

#include "dataplane/ports/copy_frame.h"
#include "dataplane/switch/frames.h"

namespace rankwire {

ShardedPort::ShardedPort(std::vector<std::unique_ptr<FramePort>> lanes, uint32_t own, const MacTable& shards)
    : ForwardingPort(*lanes[own]), lanes_(std::move(lanes)), own_(own), shards_(shards) {
  assert(lanes_.size() <= kMostShards);
}

/// Frames for one station mostly follow each other.
uint32_t ShardedPort::shard_of(const uint8_t* head) noexcept {
  const uint64_t station = destination_of(head);
  if (station == recent_) [[likely]]
    return recent_shard_;
  const auto shard = is_group(station) ? std::nullopt : shards_.port_of(station);
  if (!shard) return kAll;
  recent_ = station;
  recent_shard_ = *shard;
  return recent_shard_;
}

size_t ShardedPort::transmit(Time now, std::span<const Frame> frames) noexcept {
  size_t sent = 0;
  while (sent < frames.size()) {
    const uint32_t shard = shard_of(frames[sent].head);
    if (shard == kAll) {
      if (!send_to_all(now, frames[sent])) return sent;
      ++sent;
      continue;
    }
    size_t end = sent + 1;
    while (end < frames.size() && shard_of(frames[end].head) == shard) ++end;
    const size_t taken = lanes_[shard]->transmit(now, frames.subspan(sent, end - sent));
    sent += taken;
    if (sent < end) return sent;
  }
  return sent;
}

/// Whether the own shard takes it; to one of the others that is full it is lost, as in a switch.
bool ShardedPort::send_to_all(Time now, const Frame& frame) noexcept {
  FrameRoom<kMostShards> room;
  const std::span<Frame> copies = room.frames().first(inner_.allocate(room.frames().first(lanes_.size() - 1)));
  const uint64_t bytes = frame.length();
  for (Frame& copy : copies) copy_frame(frame, copy);
  if (inner_.transmit(now, {&frame, 1}) == 0) {
    inner_.release(copies);
    return false;
  }
  size_t next = 0;
  for (uint32_t shard = 0; shard < lanes_.size() && next < copies.size(); ++shard) {
    if (shard == own_) continue;
    const std::span<Frame> copy = copies.subspan(next++, 1);
    if (lanes_[shard]->transmit(now, copy) == 0) {
      inner_.release(copy);
      continue;
    }
    ++copied_frames_;
    copied_bytes_ += bytes;
  }
  return true;
}

size_t ShardedPort::send(Time now, std::span<FrameBuffer> buffers) noexcept {
  const auto lane_of = [this](FrameBuffer buffer) {
    const uint32_t shard = shard_of(inner_.head(buffer));
    return shard == kAll ? own_ : shard;
  };
  size_t sent = 0;
  while (sent < buffers.size()) {
    const uint32_t shard = lane_of(buffers[sent]);
    size_t end = sent + 1;
    while (end < buffers.size() && lane_of(buffers[end]) == shard) ++end;
    sent += lanes_[shard]->send(now, buffers.subspan(sent, end - sent));
    if (sent < end) return sent;
  }
  return sent;
}

PortCounters ShardedPort::counters() const {
  PortCounters sum = inner_.counters();
  for (uint32_t shard = 0; shard < lanes_.size(); ++shard) {
    if (shard == own_) continue;
    const PortCounters lane = lanes_[shard]->counters();
    sum.tx_frames += lane.tx_frames;
    sum.tx_bytes += lane.tx_bytes;
    sum.tx_refused += lane.tx_refused;
  }
  sum.tx_frames -= copied_frames_;
  sum.tx_bytes -= copied_bytes_;
  return sum;
}

}  // namespace rankwire
