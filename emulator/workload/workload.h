// What the ranks do: every rank's trace as a validated graph of nodes, and the groups they communicate in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/data_type.h"
#include "base/error.h"
#include "base/id.h"
#include "base/units.h"
#include "emulator/workload/names.h"
#include "emulator/workload/references.h"
#include "emulator/workload/request_marks.h"
#include "emulator/workload/uneven_blocks.h"

namespace rankwire {

struct TraceNode;

enum class NodeKind : uint8_t {
  kNone,     ///< takes no time and uses no resource: metadata, invalid, deselected, duplicate of a collective
  kCompute,  ///< on the accelerator
  kHost,     ///< on the host CPU (is_cpu_op)
  kMemory,   ///< MEM_LOAD, MEM_STORE; storage, data batches and checkpoints of the proposed schema
  kCollective,
  kSend,
  kReceive,
};

/// Wire values of Chakra's CollectiveCommType (schema 0.0.4, 1.0.0).
enum class CollectiveKind : uint8_t {
  kAllReduce = 0,
  kReduce = 1,
  kAllGather = 2,
  kGather = 3,
  kScatter = 4,
  kBroadcast = 5,
  kAllToAll = 6,
  kReduceScatter = 7,
  kReduceScatterBlock = 8,
  kBarrier = 9,
};

/// Which memory a node of kind kMemory moves data to or from, its attribute `tensor_loc`.
enum class MemoryPlace : uint8_t {
  kUnspecified = 0,
  kLocal = 1,
  kRemote = 2,
  kPool = 3,  ///< shared by several hosts; not in Chakra's enumeration
  kStorage,   ///< by the type of the node
};

/// Where the duration of a node comes from.
enum class TimedBy : uint8_t {
  kNothing,  ///< nodes that communicate, and those that take no time
  kRecorded,
  kRooflineArithmetic,  ///< the roofline, bound by arithmetic
  kRooflineMemory,      ///< the roofline, bound by memory
  kTable,               ///< a table of measured kernels
  kMemory,              ///< the size, and what memory is like
  kStorage,             ///< the size, and what storage is like
  kDefault,             ///< nothing is known of its work
};

/// What sends or receives messages.
constexpr bool is_communication(NodeKind kind) {
  return kind == NodeKind::kCollective || kind == NodeKind::kSend || kind == NodeKind::kReceive;
}

const char* to_string(NodeKind kind);
/// "all_reduce", "all_gather", ...
const char* to_string(CollectiveKind kind);
/// "recorded", "roofline_arithmetic", "roofline_memory", "table", "memory", "storage", "default"; "" for kNothing.
const char* to_string(TimedBy model);

/// What a node works on, in one byte: the data type of a compute node, or the memory of a memory node.
class WorkSubject {
 public:
  constexpr WorkSubject() = default;
  constexpr explicit WorkSubject(DataType type) : value_(static_cast<uint8_t>(type)) {}
  constexpr explicit WorkSubject(MemoryPlace place) : value_(static_cast<uint8_t>(place)) {}

  constexpr DataType data_type() const { return static_cast<DataType>(value_); }     ///< of kCompute
  constexpr MemoryPlace memory() const { return static_cast<MemoryPlace>(value_); }  ///< of kMemory

 private:
  uint8_t value_ = static_cast<uint8_t>(DataType::kUnknown);
};

/// A node of one rank's trace, after selection, scaling and the compute model.
struct Node {
  uint64_t id = 0;  ///< the trace's own; differs from rank to rank
  NodeKind kind = NodeKind::kNone;
  CollectiveKind collective = CollectiveKind::kAllReduce;
  WorkSubject subject;
  TimedBy timed_by = TimedBy::kNothing;  ///< where `duration` comes from
  GroupId group;                         ///< kCollective
  RankId peer;               ///< kSend: destination, kReceive: source (ranks of the run); kCollective: root or invalid
  uint32_t sequence = 0;     ///< kCollective: n-th of its group in file order; kSend, kReceive: n-th of (src, dst, tag)
  uint32_t tag_ordinal = 0;  ///< kSend, kReceive: ordinal of the tag among the sorted tags of (source, destination)
  uint32_t run_order = 0;    ///< kCollective: its place in the order in which the group runs its collectives
  int64_t tag = 0;
  Bytes bytes;                       ///< communication: the rank's input, scaled to whole elements; kMemory: size moved
  int64_t operations = 0;            ///< num_ops (flops), 0 when absent
  Bytes tensor;                      ///< tensor_size in bytes, not scaled; 0 when absent
  std::optional<Duration> recorded;  ///< the trace's own duration, unscaled
  Duration duration;      ///< what compute, host and memory nodes take; set from `recorded` (scaled) or by a model
  std::string_view name;  ///< owned by Workload::names, or by who has handed out the node
};

/// Of a trace that stays in its file, what is known beside the nodes that are kept.
struct StreamedTrace {
  uint32_t part = 0;             ///< index in Workload::streaming
  uint32_t nodes = 0;            ///< of the file
  uint64_t operations = 0;       ///< those that are not kept and do anything
  std::vector<uint32_t> places;  ///< by kept node: its place in the file, from 0
  /// Kept nodes that depend on nothing less than WorkloadOptions::stream_reach places before them, and so may become
  /// ready before the file is read to where they stand; ascending.
  std::vector<uint32_t> far;
  References parents;            ///< by `far`: the ids that it depends on
  std::vector<uint64_t> absent;  ///< ids that nodes refer to and the file does not have, which count as complete
};

/// One rank's graph. `successors_of(i)` are the nodes that depend on node i; `dependencies[i]` counts distinct
/// dependencies. Nodes stand in file order. Of a trace that stays in its file, only nodes that communicate and those
/// that `streamed->far` names are here, and there is no graph.
struct RankTrace {
  std::string file;
  JobId job = JobId(0);
  std::optional<StreamedTrace> streamed;
  bool aggregates = false;    ///< an aggregation node's, beyond the ranks of the trace; see aggregation.h
  bool in_order = false;      ///< as far as is known: no node stands before one that it depends on
  bool ids_count_up = false;  ///< as far as is known: each node's id is one more than that of the node before it
  std::vector<Node> nodes;
  std::vector<uint32_t> communicating;  ///< the nodes that communicate, or did before the selection; ascending
  std::vector<uint32_t> times;          ///< by node, of Workload::folded: for how many it stands; else empty
  std::vector<uint32_t> dependencies;
  std::vector<uint32_t> successor_begin;  ///< nodes.size() + 1 offsets into `successors`
  std::vector<uint32_t> successors;

  uint32_t times_of(size_t node) const { return times.empty() ? 1 : times[node]; }
  std::span<const uint32_t> successors_of(uint32_t node) const {
    return {successors.data() + successor_begin[node], successors.data() + successor_begin[node + 1]};
  }
};

/// A process group; the order of `members` is the order of the ring.
struct Group {
  std::string name;
  JobId job;
  std::vector<RankId> members;
  /// The members and then the aggregators that serve them; empty where there are none. See aggregation.h.
  std::vector<RankId> participants;
  std::vector<uint32_t> aggregation;  ///< by position among the participants, as ScheduleRequest::aggregation has it

  /// Whose traffic an operation of the group is, by position.
  std::span<const RankId> positions() const { return participants.empty() ? members : participants; }
};

/// `size` scaled and rounded up to whole elements; 0 stays 0. The one function that scales sizes, so that both ends of
/// a message agree.
Bytes scaled_size(Bytes size, Scale scale, Bytes element);
Duration scaled_duration(Duration duration, Scale scale);

enum class DependencyPolicy : uint8_t {
  kAuto,  ///< data_deps; ctrl_deps when no node of the whole set has data_deps
  kData,
  kControl,
  kBoth,
};

/// Which nodes keep their work; the others become kNone, so that dependencies through them remain. Empty lists select
/// everything. A node must match each non-empty list.
struct Selection {
  std::vector<std::string> names;   ///< shell patterns (fnmatch) of node names
  std::vector<std::string> groups;  ///< names of process groups; compute nodes are not affected
  std::vector<std::string> kinds;   ///< to_string(NodeKind) or to_string(CollectiveKind)
};

struct WorkloadOptions {
  /// Trace files by rank, or one prefix P that stands for P.<rank>.et and the like (see trace_files.h).
  std::vector<std::string> traces;
  std::string groups_file;  ///< process-group JSON {"name": [ranks]}; empty: METADATA nodes and "all ranks" only
  /// comm_size and tensor_size count elements of this many bytes; 1 where the trace counts bytes.
  Bytes element_size = Bytes(1);
  /// Sizes are rounded up to whole multiples of this when scaled. Defaults to element_size when 0.
  Bytes round_to = Bytes(0);
  DependencyPolicy dependencies = DependencyPolicy::kAuto;
  Scale bytes;
  Scale compute;
  Selection select;
  /// Of more nodes than these, in all files together, only those that communicate are kept in memory; the others are
  /// read from the files when they are needed.
  uint64_t stream_above = UINT64_MAX;
  /// How far behind what it depends on a node may stand without being kept, in places; > 1. See NodeStream.
  uint32_t stream_reach = 16384;
  /// For who looks at a workload and does not run it: of traces above `stream_above` each rank keeps one node of those
  /// that communicate alike, where it can be told so that they could run. See Workload::folded.
  bool fold = false;
  /// Called for each node as its file has it, in the order of the files; `place` counts from 0. For what Node leaves
  /// out; not of traces that stay in their files.
  std::function<void(RankId rank, uint32_t place, const TraceNode& node)> observe;
};

/// Which lists carry the graph of the whole set. A list that carries it must resolve; a control dependency beside data
/// dependencies may point to a node that the producer left out, such as the root of a call stack, and is then dropped.
struct DependencyUse {
  bool data = false;
  bool control = false;
  bool control_must_resolve = false;
};

/// How nodes are read again that are not kept, of the ranks whose traces were loaded together.
struct Streaming {
  WorkloadOptions options;
  DependencyUse use;
  uint32_t first_rank = 0, ranks = 0;  ///< of the run: those of the traces count from 0
  /// Sets `duration` where a model does so; may be empty. Whoever sets it applies it to the kept nodes.
  std::function<void(RankId, Node&)> model;
};

/// One of the workloads that share a run. Its ranks are neighbours, and its groups are of its ranks alone.
struct Job {
  std::string name;
  uint32_t first_rank = 0, ranks = 0;
  uint32_t iterations = 1;
  JobId after;               ///< the job at whose end its time begins to count; invalid: the beginning of the run
  Duration start;            ///< counted from there
  bool idle = false;         ///< it never begins, and nobody waits for it
  Bytes element = Bytes(1);  ///< every communication size is a multiple of it
};

struct Workload {
  std::vector<RankTrace> ranks;      ///< by RankId
  Names names;                       ///< of their nodes
  std::vector<Group> groups;         ///< by GroupId
  Bytes element = Bytes(1);          ///< where there are no `jobs`: every communication size is a multiple of it
  UnevenBlocks blocks;               ///< of collectives whose nodes have the attribute `comm_splits`
  std::vector<Streaming> streaming;  ///< of traces that stay in their files
  /// Nodes are the first of those that communicate alike, without sequence, tag and order: it can be placed and
  /// planned, and not run.
  bool folded = false;
  Bytes folded_names;              ///< what the names of all nodes that communicate take, where it is folded
  std::vector<RequestMark> marks;  ///< rank by rank, in file order
  /// By JobId. Empty: all ranks are one job, JobId(0), without a name, which begins with the run.
  std::vector<Job> jobs;

  Bytes element_of(JobId job) const { return jobs.empty() ? element : jobs[job.value].element; }
  /// `otherwise` is what holds for the one job of a run that does not name it.
  uint32_t iterations_of(JobId job, uint32_t otherwise) const {
    return jobs.empty() ? otherwise : jobs[job.value].iterations;
  }
  bool is_idle(JobId job) const { return !jobs.empty() && jobs[job.value].idle; }

  /// Of a collective whose blocks are not equal, else empty; see UnevenBlocks.
  std::span<const Bytes> blocks_of(const Node& node) const {
    return node.kind == NodeKind::kCollective ? blocks.of(node.group, node.sequence) : std::span<const Bytes>();
  }
};

/// Reads, validates and links all ranks. Throws Error(kInput) naming file, node and name for: an unreadable or
/// truncated file, duplicate ids, missing parents, cycles (also across ranks, through collectives and SEND/RECV),
/// unmatched SEND/RECV, a rank outside a group that it calls, and a collective whose members disagree in kind, size or
/// number. What is tolerated (self dependencies, dropped references to nodes that no policy needs, CPU duplicates) is
/// counted in `warnings`.
///
/// Above `stream_above` nodes the files are read twice at most, with bounded memory beside the kept nodes, and it is an
/// error, too, when references reach too far (see NodeStream). Traces whose collectives cannot run in the order of the
/// files are loaded whole all the same, with a warning. With `fold` memory is bounded but for two bytes of each node
/// that communicates, unless a selection, splits, nodes that stand before those that they depend on, many different
/// ones, or something that is wrong ask for all of them.
Workload load_workload(const WorkloadOptions& options, Warnings& warnings);

}  // namespace rankwire
