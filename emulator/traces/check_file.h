// Checks of one file by itself.
#pragma once

#include "emulator/traces/finding.h"
#include "emulator/traces/rank_facts.h"

namespace rankwire {

/// What `element_size` bytes counts as known: nothing is said about element counts then.
struct CheckOptions {
  Bytes element_size = Bytes(1);  ///< what sizes count, as workload.element_size
  std::optional<uint32_t> ranks;  ///< how many the run had, where the traces do not say it
};

/// Adds what is wrong with the file: whether it can be read, ids, dependencies, values, and the order of kernels.
void check_file(const RankFacts& facts, const CheckOptions& options, Findings& findings);

/// Kernels of one stream, in an order that the dependencies allow. Kernels without a stream are taken for one stream of
/// compute and one of communication. Empty when the file does not tell host operations from kernels, or the graph has a
/// cycle.
std::vector<std::vector<uint32_t>> kernel_streams(const RankFacts& facts, const Graph& graph);
/// Whether the kernels have lost the order of their streams: more than half of them, and more than one a stream, are
/// what no other node depends on. SENDs do not count, since nothing on their rank need wait for them.
bool lost_stream_order(const RankFacts& facts, const Graph& graph);
/// Collectives and SENDs that run as kernels although nothing that they depend on, directly or not, is a kernel that
/// computes, while such were launched before them; with the last of those. A RECV has no inputs of its rank.
std::vector<std::pair<uint32_t, uint32_t>> collectives_before_inputs(const RankFacts& facts, const Graph& graph);
/// Host operations with a size whose kernel has the same: (host operation, kernel).
std::vector<std::pair<uint32_t, uint32_t>> double_counted(const RankFacts& facts);

/// `12 "name"`.
std::string node_text(const NodeFacts& node);
/// `node 12 "name" takes 5 us`, in the unit of its file.
std::string duration_text(const NodeFacts& node);

/// Whether the node's comm_size, which counts elements of this size, is more than any operation moves, or negative.
bool has_absurd_size(const NodeFacts& node, Bytes element);
/// Whether the recorded duration is more than 64 bits of picoseconds, which is 106 days.
bool has_absurd_duration(const NodeFacts& node);

}  // namespace rankwire
