// The transport alone, in parts that one thread or several drive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/port_tally.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/roce/options.h"

namespace rankwire::bench {

struct Load {
  uint32_t mtu = 1024;
  uint32_t connections = 4096;
  uint32_t turn = 16;  ///< packets that a queue pair sends in a row
  ReceiveCheck check = ReceiveCheck::kWholeFrame;
  uint32_t lead = 1;                ///< bursts sent before the receiver looks
  std::span<PortTally> tally = {};  ///< of two ports, as RoceOptions has it
};

/// One end of a stream of messages: whoever drives it takes turns. Every message that is acknowledged is followed by
/// the next.
class StreamEnd {
 public:
  virtual ~StreamEnd() = default;
  virtual void turn() noexcept = 0;
  /// Data packets sent since the last call; 0 of a receiver.
  virtual uint64_t sent() noexcept = 0;
  /// Throws Error when something was repeated, lost or wrong, or nothing was sent.
  virtual void expect_clean() const = 0;
};

/// Into a port that drops what it is given; acknowledgements are made up. The port outlives it.
std::unique_ptr<StreamEnd> stream_into_nothing(FramePort& port, const Load& load);

/// The two ends of a stream around a link, which outlives them: requests, the check of every frame at the other end and
/// its answers, completions and the next messages.
struct Loop {
  Loop(FramePort& near, FramePort& far, const Load& load);
  std::unique_ptr<StreamEnd> source, destination;
};

/// Data packets a second around a link with one core for both ends. Throws Error when anything was repeated or lost.
double transport_loop_rate(FramePort& near, FramePort& far, uint32_t mtu, uint32_t connections);

}  // namespace rankwire::bench
