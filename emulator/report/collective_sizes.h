// How much each rank has of each collective: where ranks have unlike parts, some wait for others.
#pragma once

#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// A map of the collectives of the traces with the most bytes, names alike but for numbers together, over ranks; empty
/// with fewer than two ranks or without collectives.
std::string html_collective_sizes(const RunReader& record);

}  // namespace rankwire
