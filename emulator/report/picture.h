// When the ranks of a record were busy, as numbers and as one inline SVG of bounded size.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/record/reader.h"
#include "emulator/report/activity.h"
#include "emulator/report/timeline_columns.h"

namespace rankwire {

/// One side of a record, by rank.
struct SideActivity {
  static constexpr uint32_t kMostDrawn = 32;  ///< ranks that have columns

  std::vector<RankActivity> ranks;
  std::vector<std::array<TimelineColumns, 2>> columns;  ///< by Activity: where a node was at work
};

/// Both sides (emulated, reference) on one axis from 0 to the last end on either.
struct RecordActivity {
  Time end;
  std::array<SideActivity, 2> sides;
};

RecordActivity read_activity(const RunReader& record);
/// The same for whoever reads all executions anyway: first of no side, then each side is given its executions, in order
/// of (rank, start).
RecordActivity no_activity(const RunReader& record);
void add_activity(RecordActivity& activity, size_t side, RankId rank, std::string_view kind, OperationTimes times);

/// A row a rank and side, emulated above reference; compute in its upper and communication in its lower half. A column
/// is drawn when an operation overlaps it: at most 25,600 rectangles, however many operations there are. Empty when no
/// operation took time. Colours are those of the style sheet's classes ec, ex (emulated) and rc, rx (reference).
std::string timeline_svg(const RunReader& record, const RecordActivity& activity);

}  // namespace rankwire
