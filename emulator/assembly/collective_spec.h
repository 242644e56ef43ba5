// A measurement of one collective from a few words: the configuration that says the same, and what it costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "emulator/assembly/run.h"
#include "emulator/input/config.h"

namespace rankwire {

/// What is left out is as `workload.generate.collective` has it, in the configuration or by default.
struct CollectiveSpec {
  std::string operation;            ///< as find_measured knows it
  std::string config;               ///< file with ports, fabric, mapping, transport, ...; empty: the ports below
  std::optional<uint32_t> ranks;    ///< default: one a port; with `config` as many as its hosts hold
  std::vector<std::string> ports;   ///< "NAME=DEVICE,NAME=DEVICE", each device without commas
  std::vector<std::string> port;    ///< "NAME=DEVICE", one each. DEVICE: as `ports[].device`, or verbs:NAME
  std::optional<std::string> rate;  ///< line rate of the ports; default: 1Gbps of ports of the embedded switch
  std::optional<std::string> smallest, largest;  ///< "8", "128M" of 1024^2, "128MiB"
  std::optional<std::string> step;               ///< as those, in place of `factor`
  std::optional<uint32_t> factor, warmup, iterations, root, channels;
  std::optional<uint32_t> threads, npus;  ///< of a host, and ranks of each: consecutive ranks; default: as mapped
  std::optional<uint32_t> average;        ///< place in measured_averages()
  std::optional<std::string> datatype, redop, algorithm, chunk, profile, spread;
  uint32_t check = 0;  ///< above 0: payload is compared
  bool barrier = false;
  std::vector<std::string> settings;  ///< key=value, of everything else
};

/// "8", "128M" as nccl-tests reads sizes (K, M, G, T by powers of 1024), or a size as configurations have them. Throws
/// Error(kInput) naming `option`.
Bytes parse_collective_size(std::string_view text, std::string_view option);

/// Throws Error(kInput) for what is wrong with the spec, which names the option, and as `load_config` does. Without
/// ports the ranks, or the hosts that `threads` and `npus` make of them, have each a port of the embedded switch, at
/// most 16 that more share.
RunConfig collective_config(const CollectiveSpec& spec);

/// What a measurement costs, before it is planned.
struct CollectiveDemand {
  uint64_t sizes = 0;
  uint64_t calls = 0;  ///< of one rank, those that warm up included
  Bytes bytes;         ///< payload of all ranks, about
  Duration time;       ///< at line rate, without latencies
};
/// Of a configuration that generates a collective.
CollectiveDemand collective_demand(const RunConfig& config);

inline constexpr Bytes kMostCollectiveBytes = Bytes(256LL << 30);
inline constexpr Duration kMostCollectiveTime = seconds(300);  ///< of an emulated run
inline constexpr uint64_t kMostCollectiveCalls = 2'000'000;    ///< of all ranks

/// Throws Error(kInput) that says what it costs where that is more than the above.
void require_moderate(const RunConfig& config, RunKind kind);

}  // namespace rankwire
