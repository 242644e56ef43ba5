// Writes one member's schedule, channel after channel, for the algorithms of this directory.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "emulator/collective/pieces.h"
#include "emulator/collective/schedule.h"
#include "emulator/collective/slicing.h"

namespace rankwire {

/// For each slice of an extent, the step that completes the slice at this member. Empty: it is there from the start.
using Producers = std::vector<uint32_t>;

/// (predecessor, successor).
using StepEdge = std::pair<uint32_t, uint32_t>;

/// The schedule of these steps and edges.
Schedule make_schedule(std::vector<Step> steps, std::span<const StepEdge> edges);

/// Every step is added after its predecessors, so a schedule is acyclic by construction. Throws Error(kInput) when a
/// step or slice number does not fit a MessageId.
class ScheduleBuilder {
 public:
  ScheduleBuilder(const ScheduleRequest& request, const Slicing& slicing);

  uint32_t members() const { return request_.members; }
  /// Places of this member and of the root. Algorithms number members by place; on a ring places follow its order, in
  /// all others a place is a position.
  uint32_t position() const { return position_; }
  uint32_t root() const { return root_; }
  const ScheduleRequest& request() const { return request_; }
  Operation operation() const { return request_.operation; }
  Bytes element() const { return request_.element; }
  const Slicing& slicing() const { return slicing_; }
  Bytes bytes() const { return request_.bytes; }
  uint8_t channel() const { return channel_; }
  /// The position `distance` places further on the ring, 0 <= distance <= members.
  uint32_t ahead(uint32_t distance) const { return (position_ + distance) % request_.members; }
  uint32_t behind(uint32_t distance) const { return ahead(request_.members - distance); }

  /// Steps added from here on belong to this channel.
  void begin_channel(uint8_t channel) { channel_ = channel; }
  /// Whether the channel belongs to the second half, which goes backwards or through the second tree.
  bool is_mirrored() const { return channel_ >= slicing_.mirrored_from; }
  /// `order[place]` is the position of the member at that place.
  void place_members(std::vector<uint32_t> order);
  /// The channel's share of an extent of the operation's buffer.
  Extent share(Extent whole) const;
  /// The channel's share of one input buffer.
  Extent input() const { return share({Bytes(0), request_.bytes}); }
  /// The input divided among the members, by place: the channel's share of each part.
  std::vector<Extent> parts() const;
  /// All members' inputs one after another, by place: the channel's share of each.
  std::vector<Extent> inputs() const;
  /// The channel's share of the part of `source`'s input that is meant for `destination`, where the inputs stand one
  /// after another.
  Extent part_between(uint32_t source, uint32_t destination) const;

  /// For each slice of the extent, the last of `steps`: what comes after all of them. Empty when there are none.
  Producers after_all(const Producers& steps, Extent extent) const;

  /// Cuts the extent into slices and sends each as soon as its producer is complete. An empty extent sends nothing.
  void send(uint32_t peer, uint32_t step, Extent extent, const Producers& after);
  Producers receive(uint32_t peer, uint32_t step, Extent extent);
  /// Receives each slice and adds it to the member's own: the producers are the reductions.
  Producers receive_and_reduce(uint32_t peer, uint32_t step, Extent extent);

  /// A message without data, sent when all of `after` are complete.
  void signal(uint32_t peer, uint32_t step, std::span<const uint32_t> after);
  /// Receives such a message and returns the step that does so.
  uint32_t await_signal(uint32_t peer, uint32_t step);

  /// How many slices a message of this data is cut into; 0 when there is none.
  uint32_t slices(std::span<const Extent> data) const;
  Pieces slice(std::span<const Extent> data, uint32_t index) const;  ///< the index-th
  /// One slice of a message as a step of this member, after all of `after`; returns its index.
  uint32_t add(StepKind kind, uint32_t peer, uint32_t step, uint32_t slice, std::span<const Extent> data,
               std::span<const uint32_t> after);

  Schedule finish();

 private:
  /// The channel's share of the index-th of the request's blocks; and of all of a member each, by place.
  Extent block(size_t index) const;
  std::vector<Extent> blocks() const;
  uint32_t slices(Extent extent) const;
  Extent slice(Extent extent, uint32_t index) const;
  uint32_t add(StepKind kind, uint32_t peer, uint32_t step, uint32_t slice, Extent extent,
               std::span<const uint32_t> after);
  uint32_t position_at(uint32_t place) const { return order_.empty() ? place : order_[place]; }

  ScheduleRequest request_;
  Slicing slicing_;
  uint32_t position_, root_;     // places
  std::vector<uint32_t> order_;  // by place: position; empty: the same
  ScatteredData scattered_;
  uint8_t channel_ = 0;
  std::vector<Step> steps_;
  std::vector<StepEdge> edges_;
};

}  // namespace rankwire
