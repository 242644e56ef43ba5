// Pictures of an inspection inside its page: inline SVG of bounded size in the colours of the page.
#pragma once

#include <cstddef>
#include <string>

#include "emulator/traces/inspect.h"

namespace rankwire {

/// How many ranks have a row or column of their own; of more, neighbours are put together.
inline constexpr size_t kMostDrawnRanks = 64;

/// Bytes of each kind and group by rank, the darker the more of what the rank of the row has that moves most. At most
/// 40 rows, most bytes first. Empty without bytes.
std::string size_map_svg(const Inspection& inspection);

/// A bar for each rank from its begin to its end: computation, exposed communication, copies, idle. Empty without
/// times.
std::string time_bars_svg(const Inspection& inspection);

}  // namespace rankwire
