// Many records that differ in a few keys, as one table and one picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/record/reader.h"
#include "emulator/report/sweep_columns.h"

namespace rankwire {

/// One run of a record: means over its ranks.
struct SweepSide {
  std::string run;  ///< as `sweep_side_name`
  std::string verdict;
  Duration completion;  ///< of the slowest rank
  Duration compute;     ///< with at least one compute, host or memory node at work
  Duration communication;
  Duration exposed;  ///< communication, waiting for other ranks included, that no compute hides
};

/// What a run had come to that did not end by itself.
struct SweepStall {
  std::string kind;                 ///< the class in stalls.json
  std::optional<uint32_t> culprit;  ///< a rank; absent: nobody's doing alone
  std::string text;                 ///< in one sentence
};

/// One combination of values.
struct SweepPoint {
  std::vector<std::string> values;      ///< by key, as they were given
  std::string folder;                   ///< of its record, relative to the sweep's
  std::string verdict = "interrupted";  ///< of the record; "failed" where there is none
  std::string reason;
  std::vector<SweepSide> sides;  ///< in the order in which they ran
  std::optional<double> ratio;   ///< emulated side over reference
  std::optional<SweepStall> stall;
  std::vector<nlohmann::ordered_json> columns;  ///< by Sweep::columns; none of a point without a record
};

struct Sweep {
  std::string name;                  ///< of the configuration
  std::vector<std::string> keys;     ///< dotted keys of the configuration
  std::vector<SweepColumn> columns;  ///< further ones
  std::vector<SweepPoint> points;
};

/// What a run of a record is called: "emulated", "twin", "reference", or of several references the model, of which that
/// at the median stands for `flow` where it has its place.
std::string sweep_side_name(const RunReader& record, const RecordedRun& run);

/// The worst of the points': 0, 3 or 1, see exit_status(verdict).
int exit_status(const Sweep& sweep);

/// A line for each point that did not end well: its values, its verdict and why.
std::vector<std::string> failed_points(const Sweep& sweep);

/// What the record in `folder` says, and the `columns` of its summary. Throws Error(kInput) when there is no record
/// that can be read.
void read_sweep_point(SweepPoint& point, const std::filesystem::path& folder, const std::vector<SweepColumn>& columns);

/// Whether the bars of all points have one scale, or those whose first value is the same.
enum class SweepScale : uint8_t { kCommon, kByFirstValue };

/// Fields are described in docs/metrics.md, "Sweeps".
nlohmann::ordered_json sweep_json(const Sweep& sweep);
/// Verdict, runs, ratio and further columns of a point, as they stand in sweep.json.
nlohmann::ordered_json point_json(const Sweep& sweep, const SweepPoint& point);
/// The columns behind a point's values, and a line of them for each of its runs; of a point without a record one line.
std::string sweep_csv_columns(const std::vector<SweepColumn>& columns);
std::vector<std::string> sweep_csv_lines(const Sweep& sweep, const SweepPoint& point);
/// A row a point and run; of a point without a record one row.
std::string sweep_csv(const Sweep& sweep);
/// For people, aligned. Ends with a newline.
std::string sweep_table(const Sweep& sweep);
/// A page that opens offline: a bar a point and run, of compute and exposed communication, and the table.
std::string sweep_html(const Sweep& sweep);
/// The parts of such a page: what comes before a picture, the picture, and the table.
std::string sweep_page_head(const std::string& title);
std::string sweep_picture(const Sweep& sweep, SweepScale scale);
std::string sweep_html_table(const Sweep& sweep);

}  // namespace rankwire
