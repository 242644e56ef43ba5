// RFC 2544, section 26.1: the highest rate at which nothing is lost.
#pragma once

#include <cstdint>
#include <functional>

namespace rankwire {

/// The highest share of the line rate, 0 .. 1, at which `holds`: 1 is tried first, then halves of what is left, until
/// the step is `resolution` or less; 0 where not even `resolution` holds. `holds` is taken to hold below any share at
/// which it does.
double highest_share(const std::function<bool(double share)>& holds, double resolution);

/// The largest of the whole numbers 1 .. `most` for which `holds`, doubled until it does not and then halved in; 0
/// where 1 does not.
uint64_t largest_count(const std::function<bool(uint64_t count)>& holds, uint64_t most);

}  // namespace rankwire
