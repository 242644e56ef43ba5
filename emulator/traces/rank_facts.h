// One rank's trace as it stands in its file, broken or not: what checks and pictures of traces are made from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/workload/graph.h"
#include "emulator/workload/node_reader.h"
#include "emulator/workload/process_groups.h"
#include "emulator/workload/references.h"
#include "emulator/workload/workload.h"
#include "proto/trace_stream.h"

namespace rankwire {

/// What a node says. Absent is what it does not say.
struct NodeFacts {
  static constexpr uint32_t kNoName = UINT32_MAX;

  uint64_t id = 0;
  std::string name;
  uint32_t type = 0;  ///< chakra::NodeType
  NodeKind kind = NodeKind::kNone;
  bool on_cpu = false;
  bool has_splits = false;  ///< kCollective: an attribute `comm_splits`, so that members' inputs may differ
  std::optional<int64_t> collective, size, source, destination, root, tensor, operations;  ///< sizes as written
  std::optional<int64_t> stream;                                                           ///< or thread
  int64_t tag = 0;
  uint64_t start = 0, duration = 0;  ///< in `unit`s, 0 when absent
  Duration unit = microseconds(1);
  uint32_t group = kNoName;                       ///< kCollective: index into group_names
  int64_t input_elements = 0, element_bytes = 0;  ///< communication: of the tensors among its inputs, 0 when unknown
  int64_t group_size = 0;                         ///< communication: of its group as its inputs say, 0 when they do not

  /// Runs on the accelerator: a kernel in the language of GPUs.
  bool is_kernel() const { return !on_cpu && kind != NodeKind::kNone && kind != NodeKind::kMemory; }
  bool communicates() const {
    return kind == NodeKind::kCollective || kind == NodeKind::kSend || kind == NodeKind::kReceive;
  }
  /// Duration::max() where it does not fit.
  Duration recorded() const;
  std::optional<Time> started() const;
};

/// A problem that reading met.
struct ReadFault {
  std::optional<uint32_t> node;  ///< index; absent where it is the file's
  std::string text;
};

/// Which lists of dependencies carry the graph.
enum class Carrier : uint8_t { kData, kControl };

struct RankFacts {
  std::string path;
  uint32_t rank = 0;
  TraceSchema schema = TraceSchema::k004;
  uint64_t origin = 0;         ///< what `count_from_first` has taken off all start times
  bool names_tensors = false;  ///< a node has inputs or outputs, or attributes of these names
  std::optional<TraceMetadata> metadata;
  std::vector<NodeFacts> nodes;  ///< in file order, as far as the file can be read
  References data, control;
  std::vector<std::string> group_names;
  std::vector<GroupDefinition> groups;              ///< of METADATA nodes
  std::vector<ReadFault> faults;                    ///< values that are not what they must be
  std::string unreadable;                           ///< why reading ended before the end of the file, or ""
  std::unordered_map<uint64_t, uint32_t> index_of;  ///< the first node with an id
  /// By node that has the attribute `comm_splits`: its numbers.
  std::unordered_map<uint32_t, std::vector<int64_t>> splits;
  /// The set has no data dependencies at all: control dependencies carry its graph. Set by `choose_carrier`.
  Carrier carrier = Carrier::kData;

  /// Reading ended within a frame, a packed stream or a JSON text, behind at least one node.
  bool truncated() const;
  const References& carried() const { return carrier == Carrier::kData ? data : control; }
  /// Nothing where the file has no such node.
  std::optional<uint32_t> find(uint64_t id) const;
  /// The metadata attribute of this name, or "".
  std::string attribute(std::string_view name) const;
  /// Sizes are counts of elements: STAGE writes them, and no metadata says that they have been converted.
  bool counts_elements() const;
};

/// The metadata attribute that says what sizes are in a trace of a producer that counts elements: "bytes".
inline constexpr const char* kSizeUnit = "size_unit";

/// Reads the file of `rank`. Never throws for what the file holds.
RankFacts read_facts(const std::string& path, uint32_t rank);

/// Takes as much off all start times that they fit into a Time: profilers count from 1970. Nothing where they do.
void count_from_first(std::span<RankFacts> ranks);

/// Data dependencies carry the graph of a set unless no file has any.
void choose_carrier(std::span<RankFacts> ranks);

/// Sets `dependencies` to the nodes that `node` depends on, ascending, by what carries the graph: without those that
/// repeat, do not resolve, or are the node itself.
void dependencies_of(const RankFacts& facts, uint32_t node, std::vector<uint32_t>& dependencies);

/// The graph of these: edges from a dependency to the node that has it.
Graph dependency_graph(const RankFacts& facts);

/// The vertices of a graph so that every edge leads forward, the lowest id first where there is a choice; shorter than
/// the graph when that has a cycle.
std::vector<uint32_t> order_by_id(const RankFacts& facts, const Graph& graph);

}  // namespace rankwire
