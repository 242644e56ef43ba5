// Which points of a sweep or study a process runs, where several share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rankwire {

/// Every `of`-th point, beginning with the `number`-th.
struct PointPart {
  uint32_t number = 1, of = 1;

  bool is_all() const { return of == 1; }
  bool has(size_t point) const { return point % of == number - 1; }
};

/// "3/8", or "auto": what a Slurm array and its tasks, or mpirun, say in the environment, all of it where they say
/// nothing. Throws Error(kInput).
PointPart parse_point_part(std::string_view text);

}  // namespace rankwire
