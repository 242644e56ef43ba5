// The parts of one transport, without the transport.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/roce/parts.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire::testing {

/// Both NICs of the plan are here, each behind a lane of its own: connection 0 leads from lane 0 to lane 1, connection
/// 1 back. Nothing moves but what a test calls.
class PartsTest : public ::testing::Test {
 protected:
  /// Makes the parts from `options_` and connects all queue pairs to each other.
  RoceParts& make() {
    parts_ = std::make_unique<RoceParts>(options_, bindings_, nullptr, plan_);
    QueuePairs& pairs = parts_->pairs;
    std::vector<EndPoint> ends;
    for (uint32_t i = 0; i < pairs.size(); ++i) ends.push_back(pairs.end_point(i));
    const std::vector<const EndPoint*> peers = pairs.peers_among(ends);
    for (uint32_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(pairs.connect(i, peers[i], parts_->codec.pattern_icrc), "");
    return *parts_;
  }
  /// Posts a message of connection 0.
  void post(int64_t bytes, Time now = Time(), uint32_t index = 0) {
    const Message message{.bytes = Bytes(bytes), .connection = ConnectionId(0), .index = index};
    ASSERT_EQ(parts_->poster.post(now, {&message, 1}), 1u);
  }
  uint32_t source() const { return parts_->pairs.connections[0].source; }
  uint32_t destination() const { return parts_->pairs.connections[0].destination; }
  /// The requests of a queue pair that have not finished, the oldest first.
  std::vector<OutboundMessage> requests_of(uint32_t queue_pair) const {
    std::vector<OutboundMessage> requests;
    const MessagePool& pool = parts_->outbound.pool.messages;
    for (uint32_t slot = parts_->pairs.requesters[queue_pair].oldest_message(); slot != OutboundMessage::kNone;
         slot = pool[slot].next)
      requests.push_back(pool[slot]);
    return requests;
  }
  std::vector<Event> take_sent(Time now = Time()) {
    std::vector<Event> events(16);
    events.resize(parts_->reports.take(events, now));
    return events;
  }

  RoceOptions options_;
  TransportPlan plan_ = pair_plan(1);
  std::unique_ptr<RoceParts> parts_;

 private:
  FramePool pool_{64};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> link_ = make_memory_link(pool_, 16, "link");
  const std::vector<PortBinding> bindings_{{PortId(0), link_.first.get(), Bandwidth(100'000'000'000)},
                                           {PortId(1), link_.second.get(), Bandwidth(100'000'000'000)}};
};

}  // namespace rankwire::testing
