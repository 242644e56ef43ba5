// Whether operations went over the wire: their bandwidth is not the ports' where they did not.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "emulator/record/reader.h"

namespace rankwire {

/// Of the emulated run, or of the reference where there is none.
class TrafficPaths {
 public:
  explicit TrafficPaths(const RunReader& record);

  /// "wire", "local", "both", or "-" where nothing is known: of the node's process group, or of its rank's SENDs.
  std::string of(const NodeInfo& node) const;
  /// The same of all groups of the job whose names have the pattern (append_pattern); of all its SENDs where it is
  /// empty.
  std::string of_pattern(const std::string& pattern, JobId job) const;

 private:
  struct Path {
    bool wire = false, local = false;
  };
  static std::string text(const Path& path);

  std::map<std::pair<JobId, std::string>, Path> groups_, patterns_;
  std::map<uint32_t, Path> sends_;
};

}  // namespace rankwire
