// A call of torch.distributed as PyTorch records it: `record_param_comms` of host traces, arguments of NCCL's kernels
// in Kineto's.
//
// Source: pytorch/torch/csrc/distributed/c10d/ParamCommsUtils.hpp; facebookresearch/param, et_replay/comm.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "converters/action_kind.h"

namespace rankwire {

/// The kind behind "all_to_allv", "_allgather_base", "allreduce_coalesced", ...
ActionKind call_kind(std::string_view name);

/// Size of an element by PyTorch's names ("Float", "BFloat16", "long int"); absent for others.
std::optional<int64_t> element_size(std::string_view type);

struct PytorchCall {
  ActionKind kind = ActionKind::kOther;
  std::string group;      ///< process group; "" where the recorder did not write it
  int64_t handle = 0;     ///< in its place, the address of the process group in old traces
  int64_t sequence = -1;  ///< counts the calls of a group; a wait has that of what it waits for
  int64_t rank = -1;      ///< position in the group: of the root, or of the peer; otherwise the caller's
  int64_t peer = -1;      ///< rank of the run that kSend and kReceive name, where recorded so
  Bytes input, output;    ///< of this rank
  std::vector<int64_t> input_split, output_split;  ///< kAllToAll: rows for each member; empty: equal parts
  int64_t first_rank = -1, stride = 0;             ///< the group's ranks where they form such a sequence
  int64_t members = 0;                             ///< 0: unknown
  std::vector<int64_t> ranks;                      ///< of the group; empty: unknown
};

/// Whether it is a call that NCCL launches a kernel for.
constexpr bool moves_data(const PytorchCall& call) {
  return call.kind != ActionKind::kOther && call.kind != ActionKind::kWait;
}

/// Calls by the operator that recorded them.
using RecordedCalls = std::unordered_map<uint32_t, PytorchCall>;

/// Reads the `inputs`, `outputs` and `attrs` of a record_param_comms node (JSON, of any schema; the last two may be
/// missing). Absent when they are not what any known schema writes.
std::optional<PytorchCall> parse_recorded_call(simdjson::dom::element inputs,
                                               std::optional<simdjson::dom::element> outputs,
                                               std::optional<simdjson::dom::element> attributes);

}  // namespace rankwire
