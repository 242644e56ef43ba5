// Records of NCCL's profiler plug-in "inspector": JSON objects, one a call.
//
//   {"header": {"id": "0x7f8c", "rank": 2, "n_ranks": 8}, "metadata": {"hostname": "h", "pid": 1},
//    "coll_perf": {"coll": "AllReduce", "coll_sn": 7, "coll_msg_size_bytes": 1024, "coll_exec_time_us": 61}}
//   {..., "p2p_perf": {"p2p": "Send", "p2p_sn": 3, "p2p_peer": 1, "p2p_msg_size_bytes": 64, "p2p_exec_time_us": 9}}
//
// Since version 4.3 header and metadata stand in a `dump_stats` object in front of the calls that they are of. Sizes
// are the call's `count` in bytes. Calls of one communicator follow each other, but messages only those between the
// same two ranks in the same direction: what was called as a group is not recorded. Nor is the root of a call: a
// broadcast or reduction is one of rank 0 of its communicator.
//
// Source: NVIDIA/nccl, plugins/profiler/inspector (before: ext-profiler/inspector), README.md and inspector_json.cc.
#pragma once

#include <string>

#include "converters/conversion.h"
#include "converters/nccl_job.h"

namespace rankwire {

/// Adds what the records of a file say, plain, gzip or zstd. Records that the plug-in lost become a warning. Throws
/// Error(kInput) naming file, line and field.
void read_nccl_inspector(const std::string& path, NcclJob& job, Conversion& conversion);

}  // namespace rankwire
