// What the NIC sends while it is watched: how much, by the wire.
#pragma once

#include <cstdint>

#include "emulator/nic_check/bench.h"

namespace rankwire {

/// Posts `messages` WRITEs of half the source each, which the peer acknowledges, and lets them begin.
inline PeerEnd& begin_traffic(NicBench& bench, uint32_t messages) {
  PeerEnd& end = bench.open({.depth = messages});
  end.keeps_payload = false;
  for (uint32_t i = 0; i < messages; ++i) bench.post(end, WorkKind::kWrite, NicBench::kSpace / 2);
  bench.run_until([&] { return bench.requests(end).size() >= 64; }, bench.limits().answer);
  bench.require(!bench.requests(end).empty(), {}, "nothing was sent within the limit");
  return end;
}

/// Bits per second, on the line, of the NIC's requests to `end` from now for `time`.
inline double rate_for(NicBench& bench, const PeerEnd& end, Duration time) {
  const size_t from = bench.log().size();
  const Time began = bench.now();
  bench.run_for(time);
  double bits = 0;
  for (const size_t frame : bench.requests(end, from))
    bits += 8 * static_cast<double>(line_bytes(static_cast<uint32_t>(bench.frame(frame).bytes.size())).count);
  return bits / (static_cast<double>((bench.now() - began).ps) / 1e12);
}

}  // namespace rankwire
