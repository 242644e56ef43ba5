// The folder of a sweep's or study's points, of one process or shared by several, each with a part of the points.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "emulator/assembly/run_folder.h"
#include "emulator/cli/point_part.h"
#include "emulator/cli/point_runs.h"
#include "emulator/report/sweep_columns.h"

namespace rankwire {

class PointFolder {
 public:
  /// Of all points it is as RunFolder makes it. Parts share the folder `choice.out`, on one machine or several:
  /// whichever comes first writes `plan.json`, what `points` are, and the others compare it. Throws Error(kInput) where
  /// it is not named, or holds anything else than parts of the same points.
  PointFolder(const PointPart& part, const FolderChoice& choice, const std::vector<PointRun>& points);

  const std::filesystem::path& path() const { return path_; }
  /// Calls `write` for the tables of all points, once those of other parts are read as far as they have ended; no other
  /// part does so meanwhile, so that the last one has them all. Returns how far all have come, "part 3 of 8; ...", of
  /// all points nothing. Throws Error(kRun) where another one takes longer than a minute.
  std::string finish(const std::vector<PointRun>& points, const std::vector<SweepColumn>& columns,
                     const std::function<void()>& write) const;
  /// The worst of the statuses of the points that are this process' own.
  int status(const std::vector<PointRun>& points) const;

 private:
  void alone(const std::function<void()>& write) const;

  const PointPart part_;
  std::unique_ptr<RunFolder> whole_;  ///< of all points
  std::filesystem::path path_;
};

}  // namespace rankwire
