// Logs of NCCL and RCCL at NCCL_DEBUG=INFO: NCCL_DEBUG_SUBSYS=COLL has a line for each call, INIT one for each
// communicator.
//
//   host:pid:tid [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 2 cudaDev 0 ... commId 0x9f - Init COMPLETE
//   host:pid:tid [0] NCCL INFO AllReduce: opCount 1f sendbuff 0x7f recvbuff 0x7f count 64 datatype 7 op 0 root 0 comm
//   0x5
//       [nranks=2] stream 0x6
//
// RCCL adds `task` and `globalrank`, which is the rank in the communicator. Lines may have anything in front, such as a
// time or what a launcher marks them with.
//
// Source: NVIDIA/nccl, src/enqueue.cc (ncclEnqueueCheck) and src/init.cc (ncclCommInitRankFunc); ROCm/rccl, the same.
#pragma once

#include <string>

#include "base/error.h"
#include "converters/nccl_job.h"

namespace rankwire {

/// Adds what a log says, plain, gzip or zstd, line by line. What is no call and no communicator is passed over; lines
/// of calls that are broken, as where several processes write to one file, are counted in a warning. Throws
/// Error(kInput) naming file and line.
void read_nccl_log(const std::string& path, NcclJob& job, Warnings& warnings);

}  // namespace rankwire
