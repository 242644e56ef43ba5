// The plainest fabric: one learning, store-and-forward switch with output queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "dataplane/switch/virtual_fabric.h"

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
  std::optional<SeriesOptions> series;
  FabricObserver* observer = nullptr;  ///< see FabricOptions
  Doorbells* bells = nullptr;          ///< the same
  std::vector<bool> served;            ///< the same
};

/// One queue a port: no priorities and no flow control, but PAUSE is obeyed. Marking is by instantaneous queue length
/// (DCTCP, Alizadeh et al., SIGCOMM 2010). Port numbers are those of `ports`. Throws Error(kInput) for values out of
/// range.
std::unique_ptr<VirtualFabric> make_star_switch(std::span<const SwitchPort> ports, const SwitchOptions& options);

}  // namespace rankwire
