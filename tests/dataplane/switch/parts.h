// The parts of one virtual fabric, without the fabric.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/switch/parts.h"
#include "dataplane/wire/priority.h"

namespace rankwire::testing {

/// IPv4 with UDP, between stations whose addresses are numbers.
struct FrameText {
  uint64_t source = 0, destination = 0;
  uint32_t length = 1000;
  uint8_t dscp = 0;
  uint8_t ecn = 2;  ///< ECT(0)
};

/// Nothing moves but what a test calls: there are no windows and no steps.
class FabricPartsTest : public ::testing::Test {
 protected:
  static constexpr Line kTenGigabit{Bandwidth(10'000'000'000), nanoseconds(100)};
  static constexpr int64_t kThousandByteTime = 819'200;  // ps of 1000 B, 1024 with FCS, preamble and gap, at 10 Gb/s
  static constexpr int64_t kPauseTime = 67'200;          // of 60 B, 84
  static constexpr int64_t kQuantum = 51'200;            // 512 bits
  static constexpr PrioritySet kThree = priority_bit(3), kFour = priority_bit(4);

  static std::vector<Line> lines(size_t hosts) { return std::vector<Line>(hosts, kTenGigabit); }
  /// The address of station n.
  static constexpr uint64_t station(uint64_t n) { return 0x020000000000 + n; }

  /// Makes the parts from `device_` and `options_`; host h has a link of `link_frames_`.
  FabricParts& make(const Topology& topology) {
    std::vector<FramePort*> ends;
    for (size_t h = 0; h < topology.hosts.size(); ++h) {
      auto [host, end] = make_memory_link(pool_, link_frames_, "host");
      hosts_.push_back(std::move(host));
      ends_.push_back(std::move(end));
      ends.push_back(ends_.back().get());
    }
    parts_ = std::make_unique<FabricParts>(topology, ends, std::span(&device_, 1), options_);
    return *parts_;
  }

  Frame write(const FrameText& text) {
    Frame frame;
    EXPECT_EQ(pool_.allocate({&frame, 1}), 1u);
    std::memset(frame.head, 0, 64);
    for (int i = 0; i < 6; ++i) {
      frame.head[i] = static_cast<uint8_t>(text.destination >> (40 - 8 * i));
      frame.head[6 + i] = static_cast<uint8_t>(text.source >> (40 - 8 * i));
    }
    frame.head[12] = 8;
    frame.head[14] = 0x45;
    frame.head[15] = static_cast<uint8_t>(text.dscp << 2 | text.ecn);
    frame.head[23] = 17;
    frame.head_length = static_cast<uint16_t>(text.length);
    return frame;
  }
  /// A frame that the fabric holds: it has come by the port `ingress`, before time 0, and has been read.
  uint32_t hold(uint32_t ingress, uint8_t priority, const FrameText& text = {}) {
    const Frame frame = write(text);
    const uint32_t handle = parts_->tables.packets.take(frame);
    FabricPacket& packet = parts_->tables.packets[handle];
    packet.arrival = Time();
    packet.flow = 0;
    packet.ingress = ingress;
    packet.destination = 0;
    packet.priority = priority;
    packet.ecn_capable = text.ecn != 0;
    return handle;
  }
  /// The first event of the switches' agenda, which has one.
  FabricEvent next_event() {
    FabricAgenda& agenda = parts_->agenda;
    agenda.open(agenda.next() + Duration(1));
    const FabricEvent event = agenda.take();
    agenda.close();
    return event;
  }
  /// Frames that the host has got by `now`.
  size_t receive(uint32_t host, Time now) {
    std::array<Frame, 32> frames;
    const size_t n = hosts_[host]->receive(now, frames);
    hosts_[host]->release(std::span(frames).first(n));
    return n;
  }
  uint64_t drops(uint32_t port, FabricDrop reason) const { return parts_->tables.counters(port).dropped(reason); }

  FabricSwitchOptions device_;
  FabricOptions options_;
  size_t link_frames_ = 64;
  FramePool pool_{256, 1600, PoolUse::kOneThread};
  std::vector<std::unique_ptr<FramePort>> hosts_, ends_;
  std::unique_ptr<FabricParts> parts_;
};

}  // namespace rankwire::testing
