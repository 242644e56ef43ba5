// Both ends of every message put together, and what is worth keeping of them. Off the hot path; one thread.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "base/record.h"
#include "base/small_histogram.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// What distinguishes flows in message identities: those of one directed connection share it.
struct MessageFlow {
  uint32_t job = 0, group = 0, source = 0, destination = 0, channel = 0;
  bool control = false;  ///< MessageId::control
  auto operator<=>(const MessageFlow&) const = default;
};

/// What is recorded of a run's messages besides those that are recorded one by one.
struct MessageSummary {
  MessageLatency total;                                       ///< of all but control messages
  std::vector<Histogram::Bucket> buckets;                     ///< of the same, those that are not empty
  std::vector<std::pair<MessageFlow, MessageLatency>> flows;  ///< in the order of MessageFlow's fields
  std::vector<JoinedMessage> kept;                            ///< the slowest, slowest first, then those that failed
};

MessageLatency latency_of(const Histogram& histogram);
/// Those that are not empty, smallest values first.
std::vector<Histogram::Bucket> buckets_of(const Histogram& histogram);

/// Joins halves by MessageId in bounded memory: at most `pending_limit` halves wait for the other one, `kMaxFlows`
/// flows have a histogram of their own (later flows count in the total only), and `kept_limit` slowest and as many
/// failed messages are kept. Control messages count in their flow alone, and of them only those that failed are kept:
/// they carry no data, and there is one for each message that does.
class MessageJoin {
 public:
  static constexpr size_t kMaxFlows = 4096;

  struct Limits {
    size_t kept = 1000;
    size_t pending = 1 << 18;
  };

  explicit MessageJoin(Limits limits) : limits_(limits) {}

  /// Takes a half. Returns the message when it is complete, or when it can wait no longer: alone, with the other end
  /// unknown. The pointer is valid until the next call.
  const JoinedMessage* add(const MessageRecord& half);

  /// The halves that still wait, in no particular order.
  std::vector<JoinedMessage> remaining() const;
  uint64_t unjoined() const { return overflowed_ + pending_.size(); }

  /// The slowest complete messages, slowest first, then the first ones that failed in order of arrival.
  std::vector<JoinedMessage> kept() const;
  MessageLatency total() const;
  /// In order of MessageFlow's fields.
  std::vector<std::pair<MessageFlow, MessageLatency>> flows() const;
  MessageSummary summary() const { return {total(), buckets_of(total_), flows(), kept()}; }

 private:
  struct IdHash {
    size_t operator()(const MessageId& id) const noexcept { return payload_key(id); }
  };
  struct FlowHash {
    size_t operator()(const MessageFlow& key) const noexcept;
  };
  void keep(const JoinedMessage& message);

  const Limits limits_;
  std::unordered_map<MessageId, JoinedMessage, IdHash> pending_;
  std::unordered_map<MessageFlow, SmallHistogram, FlowHash> histograms_;
  Histogram total_;
  std::vector<JoinedMessage> slowest_;  // a heap with the fastest of them on top
  std::vector<JoinedMessage> failed_;
  JoinedMessage current_;
  uint64_t overflowed_ = 0;
};

}  // namespace rankwire
