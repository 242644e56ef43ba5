// How much traffic this machine can embed: a small run over the embedded switch, made before the real one.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/transport.h"
#include "base/units.h"
#include "emulator/input/config.h"

namespace rankwire {

/// What a small run carried, all ports together.
struct EmbeddedTraffic {
  Duration time;               ///< run time, without its set-up
  uint64_t data_packets = 0;   ///< sent in that time, each counted once
  uint64_t retransmitted = 0;  ///< packets that were sent again, in addition
  uint64_t timeouts = 0;       ///< of queue pairs that waited for an acknowledgement
  Bytes wire;                  ///< of all frames with FCS, preamble and gap, acknowledgements and repeats included
  double second_half = 1;  ///< rate of its second half over that of all: at first memory is touched, which takes time

  double packets_per_second() const;  ///< data packets of the second half; `time` > 0
  double wire_bits_per_second() const;
};

struct EmbeddedRate {
  SwitchCore core = SwitchCore::kShared;  ///< it ran with
  EmbeddedTraffic traffic;
  std::string failure;  ///< why the traffic says nothing, in one line; empty when it does
};

/// What a configuration's embedded switch can carry here.
struct Embedding {
  uint32_t ports = 0;               ///< of the small runs: those of the configuration, or the first of them
  uint32_t mtu = 0;                 ///< path MTU, bytes
  std::vector<EmbeddedRate> rates;  ///< the configuration's `switch.core` first; after others comes `shared`
  std::string failure;              ///< why there are no rates, in one line; empty when there are
};

/// Of all runs of a measurement together.
struct EmbeddingTime {
  Duration measured = milliseconds(600);  ///< run time, which they share evenly
  Duration most = milliseconds(1400);     ///< with set-up; a run that is not done by then is killed
};

/// Whether an emulated run of the configuration passes through the embedded switch.
bool runs_embedded(const RunConfig& config);

/// Measures with runs like that of `config`: its switch or fabric, transport, congestion control, checks and record.
/// What differs: a rank behind each port sends all the time to one behind another; ports and the fabric's cables are
/// faster than anything here, in the proportions of `config`, and congestion control begins as fast; nothing is lost,
/// impaired, slowed down or captured on purpose. Ports of the one switch are left out beyond 16, and where their frames
/// would take more than 384 MiB. A fabric keeps all of its ports, and is not measured where they do not fit, or where
/// its rates are in a file.
///
/// Each run is a process of its own, forked from this one, which must have no other threads: DPDK starts once a
/// process, a run that hangs can be killed, and its memory goes with it. `folder` is made for their files, and stays.
/// What goes wrong is in the result; `interrupted` ends a run. `config` is valid, and `runs_embedded`.
Embedding measure_embedding(const RunConfig& config, const std::filesystem::path& folder, const EmbeddingTime& time,
                            const std::atomic<bool>& interrupted);

/// The data packets that a run sent, each counted once. With VerbName::kRead what counts as sent again are READ
/// requests, which are no data packets; which responses went again is not known, so that those count again, and the two
/// short messages that go with each message count, too.
uint64_t data_packets_once(const TransportCounters& counters, VerbName verb);

/// The sum of the ports' rates on the wall, bit/s.
double rates_of_ports(const RunConfig& config);
/// How many ports may send at their rates at once within so many bit/s, whichever they are.
uint32_t ports_within(const RunConfig& config, double bits_per_second);

}  // namespace rankwire
