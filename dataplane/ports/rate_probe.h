// What a port and its driver do with frames at the port's rate, without anybody who is to receive them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "base/units.h"
#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// EtherType of what is sent: Local Experimental EtherType 1 (IEEE Std 802-2014, 9.2.3).
inline constexpr uint16_t kEtherTypeProbe = 0x88B5;

struct ProbedPort {
  FramePort* port = nullptr;  ///< borrowed, in nobody else's use meanwhile
  Bandwidth rate;
  /// Source and destination of its frames. A bridge has learned by then that this station is where a frame comes from,
  /// and filters it (IEEE Std 802.1Q-2018, 8.6.1); a router is not addressed.
  MacAddress address;
  std::optional<uint16_t> vlan = std::nullopt;
};

struct ProbeOptions {
  uint32_t payload = 4096;  ///< bytes behind the Ethernet header
  uint32_t measurements = 4;
  Duration each = milliseconds(25);       ///< line time of the frames of a measurement, of which there is one at least
  Duration patience = milliseconds(100);  ///< beyond which a measurement ends with what was taken
  Duration rest = milliseconds(2);        ///< between two measurements, and after the last one
  Duration catch_up = microseconds(100);  ///< as of a Pacer
};

struct ProbeResult {
  uint64_t frames = 0;    ///< that the port has taken
  uint64_t returned = 0;  ///< of them, that came back: it loops, or something behind it does
  /// Of each measurement by how much longer it was, from its beginning until the line is free behind the last frame,
  /// than the frames are on the line: 0.01 for 1 %. What a port takes into a queue of its own counts as sent.
  std::vector<double> errors;
  Duration slipped;      ///< as of a Pacer
  Duration worst_stall;  ///< furthest that it was behind its schedule, also where it caught up with all of that
};

struct ProbeResults {
  std::vector<ProbeResult> ports;  ///< as they were given
  Duration worst_turn;             ///< longest time between two turns of the loop while frames were to be sent
};

/// Sends from all ports at once, in turns of one loop as a transport has them, and drops what arrives. Paced as a
/// transport's ports are. Ends early, with measurements missing, when `interrupted`. The calling thread is the ports'.
ProbeResults probe_rates(std::span<const ProbedPort> ports, const ProbeOptions& options, Clock& clock,
                         const std::atomic<bool>& interrupted);

}  // namespace rankwire
