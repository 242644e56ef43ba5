// NCCL's model of how long a collective takes by each algorithm and protocol, by which it chooses.
#pragma once

#include "base/units.h"
#include "emulator/collective/schedule.h"

namespace rankwire {

/// NCCL 2.28.3, graph/tuning.cc (ncclTunerConstantsDefaults, ncclTopoTuneModel, ncclTopoGetAlgoTime) for rings over an
/// Intel host, Hopper GPUs with NVLink inside a node and one NIC a rank between nodes: base and hop latencies, and the
/// NIC's rate discounted by protocol. With one rank a node, hops take a tree's latency of the network, where NCCL once
/// discounted the rate of LL128. `protocol` is not kAuto.
Duration nccl_ring_time(const ScheduleRequest& request, const NcclProfile& profile, NcclProtocol protocol);

/// The same of an all-reduce over a double binary tree, with NCCL's correction of its bandwidth for medium sizes. The
/// tree is "balanced" where hosts have several members, else of the pattern to which NCCL gives 85 % of the bandwidth.
Duration nccl_tree_time(const ScheduleRequest& request, const NcclProfile& profile, NcclProtocol protocol);

/// The same of an all-gather or reduce-scatter by PAT, in protocol Simple.
Duration nccl_pat_time(const ScheduleRequest& request, const NcclProfile& profile);

/// Whether NCCL has PAT for the operation: all-gather and reduce-scatter of one rank a node, unless another protocol
/// than Simple is told (init.cc, ncclPatEnable).
bool nccl_has_pat(const ScheduleRequest& request, const NcclProfile& profile);

/// The profile's protocol, or the one with the least `nccl_ring_time`; the same for all members. Ring collectives only.
NcclProtocol nccl_ring_protocol(const ScheduleRequest& request, const NcclProfile& profile);

struct NcclChoice {
  Algorithm algorithm = Algorithm::kRing;  ///< kRing, kDoubleBinaryTree or kPat
  NcclProtocol protocol = NcclProtocol::kSimple;

  bool operator==(const NcclChoice&) const = default;
};

/// The fastest of what the profile's protocol and `told` (kRing, kDoubleBinaryTree, kPat, or kAuto for all) leave, by
/// the model; of equal ones the ring. A ring where PAT is told and NCCL does not have it. Ring collectives and
/// all-reduce; the same for all members.
NcclChoice nccl_choice(const ScheduleRequest& request, const NcclProfile& profile, Algorithm told);

/// log2 of the number, rounded down, as NCCL does.
int64_t nccl_log2(int64_t number);

/// What NCCL takes for the size of an operation: the larger of a member's input and output
/// (enqueue.cc, ncclFuncMaxSendRecvCount).
Bytes nccl_operation_size(const ScheduleRequest& request);

}  // namespace rankwire
