#include "converters/action_kind.h"

#include <array>

#include "proto/chakra.pb.h"

namespace rankwire {
namespace {

struct ActionTraits {
  ActionKind kind;
  const char* name;
  const char* nccl = "call";
  chakra::CollectiveCommType collective = chakra::ALL_REDUCE;  ///< of collectives
  bool rooted = false;
};

constexpr std::array kActionTraits = {
    ActionTraits{ActionKind::kCompute, "compute"},
    ActionTraits{ActionKind::kHost, "host"},
    ActionTraits{ActionKind::kSend, "send", "Send"},
    ActionTraits{ActionKind::kReceive, "recv", "Recv"},
    ActionTraits{ActionKind::kAllReduce, "all_reduce", "AllReduce", chakra::ALL_REDUCE},
    ActionTraits{ActionKind::kReduce, "reduce", "Reduce", chakra::REDUCE, true},
    ActionTraits{ActionKind::kAllGather, "all_gather", "AllGather", chakra::ALL_GATHER},
    ActionTraits{ActionKind::kGather, "gather", "Gather", chakra::GATHER, true},
    ActionTraits{ActionKind::kScatter, "scatter", "Scatter", chakra::SCATTER, true},
    ActionTraits{ActionKind::kBroadcast, "broadcast", "Broadcast", chakra::BROADCAST, true},
    ActionTraits{ActionKind::kAllToAll, "all_to_all", "AlltoAll", chakra::ALL_TO_ALL},
    ActionTraits{ActionKind::kReduceScatter, "reduce_scatter", "ReduceScatter", chakra::REDUCE_SCATTER},
    ActionTraits{ActionKind::kBarrier, "barrier", "call", chakra::BARRIER},
    ActionTraits{ActionKind::kWait, "wait"},
    ActionTraits{ActionKind::kOther, "other"},
};

constexpr bool in_order() {
  for (size_t i = 0; i < kActionTraits.size(); ++i) {
    if (static_cast<size_t>(kActionTraits[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order());

const ActionTraits& action_traits(ActionKind kind) {
  return kActionTraits[static_cast<size_t>(kind)];
}

}  // namespace

const char* to_string(ActionKind kind) {
  return action_traits(kind).name;
}

const char* nccl_name(ActionKind kind) {
  return action_traits(kind).nccl;
}

std::optional<chakra::CollectiveCommType> collective_of(ActionKind kind) {
  return is_collective(kind) ? std::optional(action_traits(kind).collective) : std::nullopt;
}

bool is_rooted(ActionKind kind) {
  return action_traits(kind).rooted;
}

}  // namespace rankwire
