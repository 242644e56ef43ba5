// Units of the figures of a summary, which the ends of their names tell.
#pragma once

#include <optional>
#include <string_view>

namespace rankwire {

/// How many of a figure's own units one of `unit` is: 10^9 for "ms" of "completion_time_ps.base". The last part of the
/// path that ends in a unit tells of what it is: time
/// ("_ps", "_ns", "_us", "_s": ps, ns, us, ms, s), size ("bytes": B, KB .. TiB), rate ("_gbps", "_bps": bps .. Tbps,
/// and as bit/s, Gbit/s), parts ("ppm": ppm, %) or a bare number, which takes % as hundredths. An empty `unit` is the
/// figure's own. Throws Error(kInput) where it is not of the figure's kind, naming those that are.
double units_in(std::string_view path, std::string_view unit);

}  // namespace rankwire
