// What is read of the frames that hosts send, and the stations that are known by it.
#pragma once

#include <cstdint>

#include "dataplane/switch/frames.h"
#include "dataplane/switch/mac_table.h"
#include "dataplane/switch/options.h"
#include "dataplane/switch/packets.h"
#include "dataplane/switch/tables.h"
#include "dataplane/wire/frame.h"

namespace rankwire {

/// Reads a frame once for all switches on its way, and writes into its packet: destination, flow, priority, whether it
/// can be marked. Stations are known from FabricOptions::stations or learned from the sources of frames, one table for
/// all switches. No allocation after construction. One thread.
class FrameReader {
 public:
  /// `tables` are borrowed.
  FrameReader(FabricTables& tables, const FabricOptions& options);

  /// Reads the headers of a host's frame while they are in the caches, unless the frame tells where a station is, is
  /// for others than one host, or stations move: they may before it is in the switch. Then its destination is kUnread.
  void read_early(uint32_t port, const Frame& frame, FabricPacket& packet) noexcept;
  /// Whether the first switch has to `classify` the frame: it has not been read, or may have been before a station
  /// moved.
  bool must_classify(const FabricPacket& packet) const noexcept {
    return packet.destination == FabricPacket::kUnread || moved_;
  }
  /// Reads the frame, which is in the switch of the host's port `port`, and learns from it. Its destination is a host's
  /// or kFlooded. False when it goes no further: a runt, or to a reserved group address.
  bool classify(uint32_t port, const Frame& frame, FabricPacket& packet) noexcept;

 private:
  uint16_t host_of(uint32_t port) const noexcept { return static_cast<uint16_t>(port - tables_.first_host_port); }
  bool is_known(uint32_t port, uint64_t source) noexcept;
  void note_headers(uint32_t port, const Frame& frame, const FrameHeaders& headers, FabricPacket& packet) noexcept;

  FabricTables& tables_;
  const bool alone_;  ///< one switch is all of the fabric
  const LoadBalancingOptions balancing_;
  MacTable stations_;   ///< behind hosts
  bool moved_ = false;  ///< one of them has been behind another host before
};

}  // namespace rankwire
