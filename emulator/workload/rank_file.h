// One rank's trace as it stands in its file, checked node by node but not yet linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/workload/id_lists.h"
#include "emulator/workload/names.h"
#include "emulator/workload/node_reader.h"
#include "emulator/workload/process_groups.h"
#include "emulator/workload/request_marks.h"
#include "emulator/workload/tolerated.h"
#include "emulator/workload/uneven_blocks.h"
#include "emulator/workload/workload.h"
#include "proto/trace_node.h"

namespace rankwire {

struct RankFile {
  /// A node of kind kCollective.
  struct Call {
    uint32_t node = 0;
    uint32_t group = 0;  ///< index into group_names
    int64_t root = -1;   ///< the root that a rooted collective names, or -1
  };

  std::string path;
  std::vector<Node> nodes;              ///< in file order; group, sequence and order are still to be found
  bool ids_count_up = true;             ///< each node's id is one more than that of the node before it
  std::vector<uint32_t> communicating;  ///< the nodes that communicate, ascending
  std::vector<Call> calls;              ///< in file order
  SplitSizes::value_type splits;        ///< NodeReader::splits of calls that have some
  std::vector<std::string> group_names;
  IdLists data, control;
  std::vector<GroupDefinition> groups;  ///< of METADATA nodes
  std::vector<RequestMark> marks;       ///< in file order
};

/// Adds nodes to a RankFile and remembers the names of groups already met.
class FileBuilder {
 public:
  /// All outlive the builder.
  FileBuilder(RankFile& file, const NodeReader& reader, NameKeeper& names, Tolerated& tolerated)
      : file_(file), reader_(reader), names_(names), tolerated_(tolerated) {}

  /// Takes note of what matters of any node: oddities, the groups of METADATA, and what is said of requests. `place`
  /// counts the nodes of the file from 0. Throws Error(kInput).
  void note(const TraceNode& in, const Node& node, uint32_t place);
  /// Adds a node, but not what it refers to. Throws Error(kInput).
  void keep(const TraceNode& in, const Node& node) {
    file_.nodes.push_back(node);
    complete_last(in);
  }
  /// Reads, notes and adds a node, with the same restriction. Throws Error(kInput).
  void add(const TraceNode& in) {
    Node& node = file_.nodes.emplace_back();
    reader_.read(in, node);
    note(in, node, static_cast<uint32_t>(file_.nodes.size() - 1));
    complete_last(in);
  }

 private:
  /// Keeps the name of the last node, and what is to be found of a collective, if it is one.
  void complete_last(const TraceNode& in);
  void add_groups(const TraceNode& in);
  uint32_t name_index(const std::string& name);

  RankFile& file_;
  const NodeReader& reader_;
  NameKeeper& names_;
  Tolerated& tolerated_;
  std::unordered_map<std::string, uint32_t> index_;
};

/// How much of a file is read.
struct ReadLimits {
  uint64_t most = UINT64_MAX;  ///< of a file of more nodes one node more than that
  size_t expected = 0;         ///< nodes for which room is made at first, such as those of the file before
};

/// Reads the trace of rank `self` of `ranks`. Sizes and durations are already scaled; `names` keeps the nodes' names.
/// Throws Error(kInput) naming file, node and name.
RankFile read_rank_file(const std::string& path, RankId self, uint32_t ranks, const WorkloadOptions& options,
                        ReadLimits limits, NameKeeper& names, Tolerated& tolerated);

}  // namespace rankwire
