// What descriptions of a job let a rank do, whatever they call it.
#pragma once

#include <cstdint>
#include <optional>

namespace rankwire {

namespace chakra {
enum CollectiveCommType : int;  // proto/chakra.pb.h, which would come into all that reads configurations
}

enum class ActionKind : uint8_t {
  kCompute,
  kHost,
  kSend,
  kReceive,
  kAllReduce,
  kReduce,
  kAllGather,
  kGather,
  kScatter,
  kBroadcast,
  kAllToAll,
  kReduceScatter,
  kBarrier,
  kWait,   ///< what follows on the caller's stream waits for an earlier call
  kOther,  ///< moves nothing: init, markers of coalesced calls
};

/// "compute", "host", "send", "recv", "all_reduce", ...
const char* to_string(ActionKind kind);
/// As NCCL's functions are called, "AllReduce"; "call" where there is none.
const char* nccl_name(ActionKind kind);
/// Of collectives.
std::optional<chakra::CollectiveCommType> collective_of(ActionKind kind);
/// Whether one of the members is its root.
bool is_rooted(ActionKind kind);

constexpr bool is_message(ActionKind kind) {
  return kind == ActionKind::kSend || kind == ActionKind::kReceive;
}
constexpr bool is_collective(ActionKind kind) {
  return kind >= ActionKind::kAllReduce && kind <= ActionKind::kBarrier;
}

}  // namespace rankwire
