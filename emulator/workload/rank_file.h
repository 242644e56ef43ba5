// One rank's trace as it stands in its file, checked node by node but not yet linked.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/workload/process_groups.h"
#include "emulator/workload/tolerated.h"
#include "emulator/workload/workload.h"
#include "proto/trace_node.h"

namespace rankwire {

/// No operation of a real workload moves more; a larger number is a broken trace.
inline constexpr int64_t kMaxOperationBytes = int64_t{1} << 50;

/// Of a chakra::NodeType.
bool is_communication(uint32_t type);
/// What the node is. Communication on the CPU without type and size is kNone: PyTorch's c10d operators are typed so,
/// and the kernel that they launch carries the traffic. Throws as the functions of proto/attributes.h.
NodeKind kind_of(const TraceNode& in);
/// The process group that a collective names, "" where it names none. Throws in the same way.
std::string group_name(const TraceNode& in);

/// The ids that each node refers to, as written.
class References {
 public:
  template <class Ids>
  void add_node(const Ids& ids) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    begin_.push_back(ids_.size());
  }
  std::span<const uint64_t> of(size_t node) const {
    return {ids_.data() + begin_[node], ids_.data() + begin_[node + 1]};
  }
  bool empty() const { return ids_.empty(); }

 private:
  std::vector<size_t> begin_{0};
  std::vector<uint64_t> ids_;
};

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

/// Reads the trace of rank `self` of `ranks`. Sizes and durations are already scaled. Throws Error(kInput) naming file,
/// node and name.
RankFile read_rank_file(const std::string& path, RankId self, uint32_t ranks, const WorkloadOptions& options,
                        Tolerated& tolerated);

}  // namespace rankwire
