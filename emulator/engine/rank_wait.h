// Why a rank of a run that stands still does not go on.
#pragma once

#include <cstdint>

#include "base/id.h"
#include "base/message.h"

namespace rankwire {

enum class WaitKind : uint8_t {
  kMessage,    ///< for a message of `peer`
  kAnswer,     ///< for `peer`, or its transport, to acknowledge a message
  kOrder,      ///< its collective comes behind another of the same group that is not ready
  kPlace,      ///< its collective waits until fewer others run (concurrency.communication)
  kIteration,  ///< for others to end an iteration
};

const char* to_string(WaitKind kind);

struct RankWait {
  static constexpr uint32_t kNoNode = UINT32_MAX;

  WaitKind kind = WaitKind::kMessage;
  RankId rank;
  RankId peer;                ///< kMessage, kAnswer; otherwise invalid
  uint32_t node = kNoNode;    ///< index in the rank's trace
  uint32_t behind = kNoNode;  ///< kOrder: the node that comes first
  uint32_t iteration = 0;     ///< of the node; kIteration: the one that has not begun
  ConnectionId connection;    ///< kMessage, kAnswer; otherwise invalid
  MessageId message;          ///< kMessage, kAnswer
};

}  // namespace rankwire
