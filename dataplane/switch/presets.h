// Switches as their makers and authors publish them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "dataplane/switch/options.h"
#include "fabric/topology.h"

namespace rankwire {

/// The port that a preset's thresholds follow from.
struct PresetPort {
  Line line;
  uint32_t ports = 1;  ///< of the switch
};

/// Options of a published switch, without its latency; nothing for an unknown name.
///
/// "tomahawk5": Arista 7060X6 (Broadcom Tomahawk 5, 51.2 Tb/s) as SONiC sets it up for 400 Gb/s ports
/// (sonic-buildimage, device/arista/x86_64-arista_7060x6_64pe, pg_profile_lookup.ini and buffers_defaults): shared
/// lossless pool 165,660,324 B, each group 18,796 B of reserve and 612,140 B of headroom (5 .. 150 m), XON 3,556 B
/// below the limit, alpha 1; priorities 3 and 4 lossless; WRED of AZURE_LOSSLESS: 1 MiB, 2 MiB, 5 %; PFC watchdog 200
/// ms. The alpha of lossy queues, 1, is ours.
///
/// "hpcc_ns3": the switch of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control, switch-mmu.cc, run.py):
/// 12 MiB less a reserve of 4 KiB and headroom of 3 x rate x link latency a port, alpha 1/8, XON 3 KiB below; all
/// priorities but 0 lossless; RED at dequeue with Kmin 100 KB x rate / 25 Gb/s, Kmax 4 x Kmin, 20 %, not of priority 0.
std::optional<FabricSwitchOptions> find_fabric_preset(std::string_view name, const PresetPort& port);

}  // namespace rankwire
