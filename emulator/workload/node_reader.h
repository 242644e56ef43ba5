// From a node as its file has it to a node of the workload.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "emulator/workload/workload.h"
#include "proto/trace_node.h"

namespace rankwire {

/// No operation of a real workload moves more; a larger number is a broken trace.
inline constexpr int64_t kMaxOperationBytes = int64_t{1} << 50;

/// Of a chakra::NodeType.
bool is_communication(uint32_t type);
/// Of a chakra::NodeType: STORAGE_NODE 8, BATCH_NODE 9 and CHECKPOINT_NODE 10, which are proposed for Chakra and not in
/// its schema.
constexpr bool is_storage(uint32_t type) {
  return type >= 8 && type <= 10;
}
/// What the node is. Communication on the CPU without type and size is kNone: PyTorch's c10d operators are typed so,
/// and the kernel that they launch carries the traffic. Throws as the functions of proto/attributes.h.
NodeKind kind_of(const TraceNode& in);
/// The process group that a collective names, "" where it names none. Throws in the same way.
std::string group_name(const TraceNode& in);
/// What the node computes in: its attribute `dtype` ("BFloat16", "bf16", ...), else the first type of its inputs in
/// which devices compute ("Tensor(c10::BFloat16)"), else its outputs'; kUnknown when none of them says. Throws in the
/// same way.
DataType data_type_of(const TraceNode& in);

/// Turns the nodes of rank `self` of `ranks` into nodes whose sizes and durations are scaled; group, sequence and order
/// are still to be found. Errors are Error(kInput) and begin with the node; the caller adds the file.
class NodeReader {
 public:
  /// `options` outlives the reader.
  NodeReader(RankId self, uint32_t ranks, const WorkloadOptions& options);

  RankId self() const { return self_; }
  /// Overwrites `out`, whose name is a view of that of `in`.
  void read(const TraceNode& in, Node& out) const;
  /// Of a collective, the sizes in its attribute `comm_splits`, scaled one by one; empty where it has none.
  std::vector<Bytes> splits(const TraceNode& in) const;

 private:
  void read_work(const TraceNode& in, Node& out) const;
  void read_collective(const TraceNode& in, Node& out) const;
  void read_point_to_point(const TraceNode& in, Node& out) const;
  RankId peer(const TraceNode& in, const char* attribute) const;
  void check_self(const TraceNode& in, const char* attribute) const;
  Bytes size(const TraceNode& in, const char* attribute, int64_t elements) const;
  Bytes required_size(const TraceNode& in) const;
  Bytes divided_size(const TraceNode& in, CollectiveKind kind, const std::vector<int64_t>& splits) const;

  RankId self_;
  uint32_t ranks_;
  const WorkloadOptions& options_;
  Bytes round_to_;
};

}  // namespace rankwire
