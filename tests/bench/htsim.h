// The peer of the twin's benchmark: htsim's RoCE (github.com/Broadcom/csg-htsim), a packet simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/units.h"

namespace rankwire::bench {

/// CPU seconds that htsim takes for a permutation on its three-tier fat-tree of 100 Gb/s and 1 us a link: MTU 4096, PFC
/// (`lossless_input`), ECMP by flow; host h sends `message` to `to[h]`, k^3/4 hosts. Without those of a run that ends
/// after 1 us, which are its set-up. Nothing where the environment variable RANKWIRE_HTSIM, of the program
/// `htsim_roce`, is not set; throws Error when not every flow finishes.
std::optional<double> htsim_seconds(std::span<const uint32_t> to, Bytes message);

}  // namespace rankwire::bench
