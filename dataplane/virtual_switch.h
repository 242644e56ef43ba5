// The embedded device under test: a learning, store-and-forward Ethernet switch with output queues.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/device.h"
#include "base/random.h"
#include "base/units.h"
#include "dataplane/frame_port.h"
#include "dataplane/frame_store.h"
#include "dataplane/mac_table.h"

namespace rankwire {

/// The switch's end of a link, borrowed, and the rate of that link in both directions (> 0).
struct SwitchPort {
  FramePort* port = nullptr;
  Bandwidth rate;
};

struct SwitchOptions {
  Duration latency;                    ///< from the last bit in to eligibility for output, >= 0
  Duration link_latency;               ///< propagation on the link of every port, >= 0
  Bytes buffer = Bytes(16 << 20);      ///< each output queue, in frame bytes without FCS
  std::optional<Bytes> ecn_threshold;  ///< a frame that finds more than this in its output queue is marked CE
  uint32_t loss_ppm = 0;               ///< random loss of received frames, parts per million, 0 .. 10^6
  uint64_t seed = 1;                   ///< of the random loss
  size_t addresses = 65536;            ///< stations that the switch can learn; beyond them it floods
};

/// Every frame is accounted for: over all ports, rx_frames + flood_copies = tx_frames + tail_drops + random_losses +
/// filtered + frames held by the switch.
struct SwitchPortCounters {
  // As an input.
  uint64_t rx_frames = 0, rx_bytes = 0;  ///< bytes without FCS
  uint64_t random_losses = 0;
  uint64_t filtered = 0;       ///< not forwarded: destination behind the same port, reserved group address, runt
  uint64_t flooded = 0;        ///< frames sent to all other ports: unknown or group destination
  uint64_t flood_copies = 0;   ///< frames that flooding added
  uint64_t copy_failures = 0;  ///< copies not made because the output port's pool was empty
  // As an output.
  uint64_t tx_frames = 0, tx_bytes = 0;
  uint64_t tail_drops = 0;  ///< frames that did not fit into the queue
  uint64_t marks = 0;       ///< frames whose ECN field was changed to CE
  Bytes peak_queue;         ///< most bytes in the queue, the newest frame included
};

/// Time is computed from the frames' arrival stamps, so a late `step` delays what it hands out but not what follows,
/// and virtual and real time agree. A frame that the NIC began to send at `arrival`
///   is in whole at      in = max(arrival + link_latency, input line free) + line_bytes / rate,
///   enters its queue at in + latency, in the order of that time over all inputs (then of port number),
///   leaves from         out = max(in + latency, output line free),
///   and is handed to the output port at out + line_bytes / rate + link_latency.
/// A frame occupies its queue until its first bit leaves; it is dropped when it does not fit. A queue holds at most
/// 65536 frames whatever their size. There is no priority and no flow control; PAUSE and PFC frames end here like all
/// frames to a reserved group address (IEEE 802.1Q-2018, 8.6.3).
///
/// Marking is by instantaneous queue length (DCTCP, Alizadeh et al., SIGCOMM 2010): ECT(0) and ECT(1) of IPv4 and IPv6
/// become CE, behind at most one VLAN tag.
///
/// One thread calls everything. All memory is taken by the constructor.
class VirtualSwitch final : public Device {
 public:
  /// Throws Error(kInput) for values out of range. All ports must be of one kind, and frames of one must be good for
  /// another (FramePort).
  VirtualSwitch(std::span<const SwitchPort> ports, const SwitchOptions& options);

  /// Handles everything that happened up to `now`. A frame that an output port refuses is offered again by the next
  /// step.
  bool step(Time now) noexcept override;
  Time next_event() const noexcept override;

  /// By port, in the order of the constructor.
  std::vector<SwitchPortCounters> counters() const;
  /// Frames that are in the switch or on the lines.
  size_t held() const noexcept;

 private:
  /// The serialization times of a few frame lengths: traffic has few, and the 128-bit division is dear.
  class LineTimes {
   public:
    explicit LineTimes(Bandwidth rate) : rate_(rate) { known_.fill({UINT32_MAX, Duration()}); }
    Duration of(uint32_t length) noexcept {
      Known& known = known_[length / 4 % known_.size()];
      if (known.length != length) known = {length, serialization_time(line_bytes(length), rate_)};
      return known.time;
    }

   private:
    struct Known {
      uint32_t length;
      Duration time;
    };
    Bandwidth rate_;
    std::array<Known, 16> known_;
  };

  struct Port {
    Port(FramePort* end, Bandwidth rate) : port(end), line_times(rate) {}

    FramePort* port;
    LineTimes line_times;
    uint32_t input_limit = 0, output_limit = 0;  ///< frames
    Time input_free = Time::long_ago();          ///< when the line is free again
    Time output_free = Time::long_ago();
    FrameList arriving;                   ///< due: when the frame enters an output queue
    FrameList leaving;                    ///< due: first bit out; frame.arrival: last bit at the NIC
    uint32_t waiting = FrameList::kNone;  ///< the first of `leaving` that still occupies the queue
    Bytes queue;
    SwitchPortCounters counters;
  };
  /// The head of a port's `arriving`.
  struct Candidate {
    Time due;
    uint16_t port;
  };
  static bool later(const Candidate& a, const Candidate& b) { return a.due != b.due ? a.due > b.due : a.port > b.port; }

  void receive(uint16_t input, Time now) noexcept;
  void admit(Time now) noexcept;
  void deliver(Port& output, Time now) noexcept;
  void forward(uint16_t input, Frame frame, Time due) noexcept;
  void flood(uint16_t input, const Frame& frame, Time due) noexcept;
  void enqueue(Port& output, Frame frame, Time due) noexcept;
  void begin_departures(Port& output, Time now) noexcept;
  void push_candidate(uint16_t port) noexcept;
  Candidate pop_candidate() noexcept;

  SwitchOptions options_;
  Random random_;
  MacTable stations_;
  std::vector<Port> ports_;
  std::vector<Candidate> candidates_;  ///< a heap, earliest first
  FrameStore frames_;
  uint64_t handled_ = 0;  ///< frames received, admitted and handed out
};

}  // namespace rankwire
