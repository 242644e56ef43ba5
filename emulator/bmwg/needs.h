// What a test needs that a suite may not have: said before anything is sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "emulator/bmwg/bench.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/parameters.h"

namespace rankwire {

// Each says why a test can only be skipped; empty: it can be run.

std::string lacks_two_ports(const BmwgBench& bench, const BmwgParameters& parameters);
/// One of `ratios` to one takes a port more than that.
std::string lacks_incasts(const BmwgBench& bench, const BmwgParameters& parameters);
/// None of `accelerators` is 2 to what the hosts hold.
std::string lacks_accelerators(const BmwgBench& bench, const BmwgParameters& parameters);
/// Those of `accelerators`, one number, that there are NPUs for.
uint32_t ranks_that_fit(const BmwgBench& bench, const BmwgParameters& parameters);
/// Two ranks, of as many as there are up to `accelerators`.
std::string lacks_two_ranks(const BmwgBench& bench, const BmwgParameters& parameters);
/// Of embedded switches, which pause in `fabric.lossless` alone; what a device does the lab has configured.
std::string lacks_lossless_priority(const BmwgBench& bench);

// Each says which value a test cannot be carried out with; absent: none.

/// `sizes` or `size` of which each of `accelerators` has a part, an element at least.
std::optional<RefusedValue> refuses_empty_parts(const BmwgBench& bench, const BmwgParameters& parameters);
/// `load` or one of `loads` of nothing, where it is what is measured.
std::optional<RefusedValue> refuses_no_load(const BmwgBench& bench, const BmwgParameters& parameters);

}  // namespace rankwire
