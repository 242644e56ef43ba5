// What a run leaves behind, as fixed-size rows that the engine writes and a recorder stores.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "base/id.h"
#include "base/message.h"
#include "base/time_by_cause.h"
#include "base/units.h"

namespace rankwire {

/// A node of a rank's trace, executed once. `node` is the index of the node in the rank's table of nodes.
struct OperationRecord {
  RankId rank;
  uint32_t node = 0;
  uint32_t iteration = 0;
  uint32_t reserved = 0;
  Time start, end;
};
static_assert(std::is_trivially_copyable_v<OperationRecord> && sizeof(OperationRecord) == 32);

/// One end of a message: the recorder joins both by id.
struct MessageRecord {
  MessageId id;
  Bytes bytes;
  bool at_source = false;
  bool failed = false;
  uint32_t retransmissions = 0;  ///< at the source
  uint32_t marks = 0;            ///< at the destination
  Time first;                    ///< source: posted; destination: first frame arrived
  Time last;                     ///< source: acknowledged; destination: delivered
};
static_assert(std::is_trivially_copyable_v<MessageRecord> && sizeof(MessageRecord) <= 64);

/// Where the time of what one execution of a node sent on one connection went: the sum of its messages' Event::causes.
struct CauseRecord {
  RankId rank;
  uint32_t node = 0;  ///< as OperationRecord::node
  uint32_t iteration = 0;
  ConnectionId connection;
  TimeByCause causes;
};
static_assert(std::is_trivially_copyable_v<CauseRecord> && sizeof(CauseRecord) == 80);

/// When a job was at work: from the time at which its ranks might start to the end of the last node of its last rank.
/// Without a beginning it was not, without an end it did not come to it.
struct JobSpan {
  std::optional<Time> begin, end;

  /// Job completion time, JCT.
  std::optional<Duration> completion() const { return begin && end ? std::optional(*end - *begin) : std::nullopt; }
};

/// Takes rows on the hot path. Never blocks: what it cannot take it counts.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void operations(std::span<const OperationRecord> rows) noexcept = 0;
  virtual void messages(std::span<const MessageRecord> rows) noexcept = 0;
  /// False when `messages` does nothing, so that nobody need make rows for it. Does not change.
  virtual bool wants_messages() const noexcept { return true; }
  virtual void causes(std::span<const CauseRecord>) noexcept {}
  /// As `wants_messages`.
  virtual bool wants_causes() const noexcept { return false; }
};

}  // namespace rankwire
