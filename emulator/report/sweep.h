// Many records that differ in a few keys, as one table and one picture.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// One run of a record: means over its ranks.
struct SweepSide {
  std::string run;  ///< "twin", "reference", or of several references the model
  std::string verdict;
  Duration completion;  ///< of the slowest rank
  Duration compute;     ///< with at least one compute, host or memory node at work
  Duration exposed;     ///< communication, waiting for other ranks included, that no compute hides
};

/// One combination of values.
struct SweepPoint {
  std::vector<std::string> values;      ///< by key, as they were given
  std::string folder;                   ///< of its record, relative to the sweep's
  std::string verdict = "interrupted";  ///< of the record; "failed" where there is none
  std::string reason;
  std::vector<SweepSide> sides;  ///< in the order in which they ran
  std::optional<double> ratio;   ///< emulated side over reference
};

struct Sweep {
  std::string name;               ///< of the configuration
  std::vector<std::string> keys;  ///< dotted keys of the configuration
  std::vector<SweepPoint> points;
};

/// What the record in `folder` says. Throws Error(kInput) when there is none that can be read.
void read_sweep_point(SweepPoint& point, const std::filesystem::path& folder);

/// Fields are described in docs/metrics.md, "Sweeps".
nlohmann::ordered_json sweep_json(const Sweep& sweep);
/// A row a point and run; of a point without a record one row.
std::string sweep_csv(const Sweep& sweep);
/// For people. Ends with a newline.
std::string sweep_table(const Sweep& sweep);
/// A page that opens offline: a bar a point and run, of compute and exposed communication, and the table.
std::string sweep_html(const Sweep& sweep);

}  // namespace rankwire
