// NCCL's model of how long a ring collective takes in each protocol, by which it chooses one.
#pragma once

#include "base/units.h"
#include "emulator/collective/schedule.h"

namespace rankwire {

/// NCCL 2.30.7, graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime) for rings over an Intel host, Hopper GPUs with
/// NVLink inside a node and one NIC a rank between nodes: base and hop latencies, and the NIC's rate discounted by
/// protocol. `protocol` is not kAuto.
Duration nccl_ring_time(const ScheduleRequest& request, const NcclProfile& profile, NcclProtocol protocol);

/// The profile's protocol, or the one with the least `nccl_ring_time`; the same for all members. Ring collectives only.
NcclProtocol nccl_ring_protocol(const ScheduleRequest& request, const NcclProfile& profile);

/// What NCCL takes for the size of an operation: the larger of a member's input and output
/// (enqueue.cc, ncclFuncMaxSendRecvCount).
Bytes nccl_operation_size(const ScheduleRequest& request);

}  // namespace rankwire
