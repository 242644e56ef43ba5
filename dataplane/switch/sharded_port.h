// A host's way to a switch of several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/ports/forwarding_port.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/switch/mac_table.h"

namespace rankwire {

/// A switch with output queues alone, and nothing that they share, is as many switches as one likes: each of these
/// shards serves some hosts (FabricOptions::served), and hears all. The host's port has a lane to each, and gives a
/// frame to the shard that serves the station that it is for; frames for a group, and what `transmit` has for stations
/// that are not known, go to all of them in copies, of which there are none where no buffer is left. What the host is
/// sent comes by the lane of its own shard.
///
/// As FramePort otherwise; each lane's other end may be used by a thread of its own. Buffers are the own lane's.
class ShardedPort final : public ForwardingPort {
 public:
  static constexpr uint32_t kMostShards = 64;

  /// `lanes`: by shard, at most kMostShards; frames and buffers of one are good for the others, and they tell `head`.
  /// `shards`: by station, as mac_number has it, which shard serves it; outlives this.
  ShardedPort(std::vector<std::unique_ptr<FramePort>> lanes, uint32_t own, const MacTable& shards);

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override;
  /// Of packets between stations that are known; others go to the own shard.
  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override;
  /// Of all lanes; each frame counts once, whatever number of shards it went to.
  PortCounters counters() const override;

  /// Frames that went to more shards than one, and their bytes: by how much the shards together have received more.
  uint64_t copied_frames() const noexcept { return copied_frames_; }
  uint64_t copied_bytes() const noexcept { return copied_bytes_; }

 private:
  static constexpr uint32_t kAll = UINT32_MAX;

  uint32_t shard_of(const uint8_t* head) noexcept;
  bool send_to_all(Time now, const Frame& frame) noexcept;

  const std::vector<std::unique_ptr<FramePort>> lanes_;
  const uint32_t own_;
  const MacTable& shards_;
  uint64_t recent_ = UINT64_MAX;  ///< a station, and
  uint32_t recent_shard_ = kAll;  ///< its shard
  uint64_t copied_frames_ = 0, copied_bytes_ = 0;
};

}  // namespace rankwire
