// One rank's trace as it stands in its file, checked node by node but not yet linked.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/workload/process_groups.h"
#include "emulator/workload/references.h"
#include "emulator/workload/tolerated.h"
#include "emulator/workload/workload.h"
#include "proto/trace_node.h"

namespace rankwire {

struct RankFile {
  static constexpr uint32_t kNoName = UINT32_MAX;

  std::string path;
  std::vector<Node> nodes;         ///< in file order; group, sequence and order are still to be found
  std::vector<uint32_t> group_of;  ///< by node: index into group_names; kNoName unless kCollective
  std::vector<std::string> group_names;
  std::vector<int64_t> root_of;  ///< by node: the root that a rooted collective names, or -1
  References data, control;
  std::vector<GroupDefinition> groups;  ///< of METADATA nodes
};

/// Adds nodes to a RankFile and remembers the names of groups already met.
class FileBuilder {
 public:
  /// Both outlive the builder.
  FileBuilder(RankFile& file, Tolerated& tolerated) : file_(file), tolerated_(tolerated) {}

  /// Takes note of what matters of any node: oddities, and the groups of METADATA. Throws Error(kInput).
  void note(const TraceNode& in, const Node& node);
  /// Adds a node, but not what it refers to.
  void keep(const TraceNode& in, Node&& node);

 private:
  void add_groups(const TraceNode& in);
  uint32_t name_index(const std::string& name);

  RankFile& file_;
  Tolerated& tolerated_;
  std::unordered_map<std::string, uint32_t> index_;
};

/// Reads the trace of rank `self` of `ranks`. Sizes and durations are already scaled. Of a file of more than `most`
/// nodes it reads one node more than that. Throws Error(kInput) naming file, node and name.
RankFile read_rank_file(const std::string& path, RankId self, uint32_t ranks, const WorkloadOptions& options,
                        uint64_t most, Tolerated& tolerated);

}  // namespace rankwire
