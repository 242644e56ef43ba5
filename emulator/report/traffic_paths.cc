#include "emulator/report/traffic_paths.h"

#include "emulator/report/assessment.h"
#include "emulator/report/format.h"

namespace rankwire {

TrafficPaths::TrafficPaths(const RunReader& record) {
  const RecordedRun* const run = principal_run(record);
  if (run == nullptr) return;
  for (const TrafficPath& path : record.traffic_paths(*run)) {
    std::string pattern;
    append_pattern(pattern, path.group);
    Path& own = path.source.valid() ? sends_[path.source.value] : groups_[{path.job, path.group}];
    for (Path* known : {&own, &patterns_[{path.job, pattern}]}) known->wire |= path.wire, known->local |= path.local;
  }
}

std::string TrafficPaths::of(const NodeInfo& node) const {
  if (!node.group.empty()) {
    const auto at = groups_.find({node.job, node.group});
    return at == groups_.end() ? "-" : text(at->second);
  }
  if (node.kind != "send") return "-";
  const auto at = sends_.find(node.rank.value);
  return at == sends_.end() ? "-" : text(at->second);
}

std::string TrafficPaths::of_pattern(const std::string& pattern, JobId job) const {
  const auto at = patterns_.find({job, pattern});
  return at == patterns_.end() ? "-" : text(at->second);
}

std::string TrafficPaths::text(const Path& path) {
  return path.wire && path.local ? "both" : path.wire ? "wire" : path.local ? "local" : "-";
}

}  // namespace rankwire
