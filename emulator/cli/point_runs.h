// Many runs of one configuration: simulations at a time, each a process of its own, emulated ones one after the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "emulator/assembly/open_ports.h"
#include "emulator/assembly/run.h"
#include "emulator/cli/point_part.h"
#include "emulator/report/sweep.h"

namespace rankwire {

/// `rankwire simulate CONFIG --set ...` or `rankwire run CONFIG --set ...`, whose run folder `point->folder` is.
struct PointRun {
  std::string config;
  std::vector<std::string> settings;  ///< as `--set` takes them
  SweepPoint* point;                  ///< filled from the record, or told why there is none; not owned
};

struct PointRunOptions {
  std::filesystem::path folder;  ///< exists; that of a point is in it, and while it runs POINT.log
  RunKind kind = RunKind::kModels;
  uint32_t jobs = 1;  ///< processes at a time, > 0; of several each has one thread (`simulation.threads`), unless told
  std::vector<std::string> others;        ///< folders of points that another call runs, and whose runs stay
  std::vector<SweepColumn> columns = {};  ///< of the points' summaries, to be read as well
  PointPart part = {};                    ///< those that are run; the others' are read where they have ended
  OpenPorts* open = nullptr;  ///< of all emulated runs of this process, where other calls follow; null: the call's own
};

/// Removes the runs that the folder holds of points that are neither among these nor others. Returns when all have
/// ended, with progress at a terminal. After an interrupt those that run are interrupted as well, no more are begun,
/// and points without a record stay as they were. Emulated runs follow each other in this process over ports that stay
/// open (points_in_turn.h), unless something is in the way of that, which is logged. Throws Error(kRun) when none can
/// be started.
void run_points(const PointRunOptions& options, const std::vector<PointRun>& runs);

}  // namespace rankwire
