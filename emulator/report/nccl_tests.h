// What nccl-tests left of a real cluster: the table that it prints, and the file of its option -J.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/measured_collective.h"
#include "base/units.h"

namespace rankwire {

/// A line of the table.
struct ClusterRow {
  Bytes size;
  std::string type, redop;  ///< empty where the table has no such column
  std::optional<Duration> out_of_place = {}, in_place = {};
  uint64_t wrong = 0;  ///< values that were, of both; 0 also where nothing was checked

  /// Out-of-place, as rankwire measures; where that is not there, in-place.
  std::optional<Duration> time() const { return out_of_place ? out_of_place : in_place; }
};

struct ClusterMeasurement {
  std::string file;
  std::optional<MeasuredCollective> collective = {};  ///< absent where the output does not name its program
  uint32_t ranks = 0;                                 ///< 0: the output does not list them
  std::vector<ClusterRow> rows = {};                  ///< in their order; a size may occur several times
};

/// Reads the text of any version since 2.0, whatever stands around the table, with the prefixes of `mpirun
/// --tag-output` and with columns that later versions add; or JSON of version 3, told by its first character. Throws
/// Error(kInput) that names file and line where the file cannot be read, a line of the table is not whole, or there is
/// no table.
ClusterMeasurement read_nccl_tests(const std::filesystem::path& file);

}  // namespace rankwire
