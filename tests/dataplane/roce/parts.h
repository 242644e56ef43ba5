// The parts of one transport, without the transport.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/ports/doorbells.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/roce/parts.h"
#include "dataplane/wire/packet.h"
#include "tests/dataplane/roce/pair.h"

namespace rankwire::testing {

/// Both NICs of the plan are here, each behind a lane of its own at 100 Gb/s: connection 0 leads from lane 0 to lane 1,
/// the last one back. Nothing moves but what a test calls. NICs do not announce themselves unless told to.
class PartsTest : public ::testing::Test {
 protected:
  PartsTest() { options_.announcements = Announcements::kOmitted; }

  /// Makes the parts from `options_` and connects all queue pairs to each other. What a lane sends stands at the
  /// other's port.
  RoceParts& make() {
    make_ports(PoolUse::kManyThreads);
    auto [a, b] = make_memory_link(*pool_, kQueueFrames, "link");
    ports_.push_back(std::move(a));
    ports_.push_back(std::move(b));
    return make_parts(nullptr);
  }
  /// The same as in virtual time, where bells tell which lanes have something to do. What a lane sends stands at the
  /// far end of its own link until the test calls `carry`.
  RoceParts& make_with_bells() {
    make_ports(PoolUse::kOneThread);
    bells_ = std::make_unique<Doorbells>(2, BellUse::kOneThread);
    for (uint32_t lane = 0; lane < 2; ++lane) {
      auto [here, there] = make_memory_link(*pool_, kQueueFrames, "link", {}, {bells_.get(), lane});
      ports_.push_back(std::move(here));
      far_ends_.push_back(std::move(there));
    }
    return make_parts(bells_.get());
  }

  /// What the lane has sent so far arrives at the other lane so much later. How many frames.
  size_t carry(uint32_t lane, Duration latency) {
    std::array<Frame, kQueueFrames> frames;
    const size_t n = far_ends_[lane]->receive(Time::never(), frames);
    for (const Frame& frame : std::span(frames).first(n))
      EXPECT_TRUE(far_ends_[1 - lane]->send_ahead(frame.arrival + latency, frame));
    return n;
  }
  /// Takes what has arrived at a port, the oldest first. The payloads have no meaning, since the frames are given back.
  std::vector<ParsedPacket> take_packets(FramePort& port) {
    std::array<Frame, kQueueFrames> frames;
    const size_t n = port.receive(Time::never(), frames);
    std::vector<ParsedPacket> packets;
    for (const Frame& frame : std::span(frames).first(n)) packets.push_back(parse(frame));
    port.release(std::span(frames).first(n));
    return packets;
  }
  /// What has been sent to the lane.
  std::vector<ParsedPacket> take_packets(uint32_t lane) { return take_packets(*ports_[lane]); }

  /// Posts a message of a connection.
  void post(int64_t bytes, Time now = Time(), uint32_t index = 0, uint32_t connection = 0) {
    const Message message{.bytes = Bytes(bytes), .connection = ConnectionId(connection), .index = index};
    ASSERT_EQ(parts_->poster.post(now, {&message, 1}), 1u);
  }
  /// Posts a message to a requester, of which nobody is told.
  void post_silently(uint32_t queue_pair, uint32_t bytes) {
    OutboundMessage message;
    message.bytes = bytes;
    message.queue_pair = queue_pair;
    RequesterPool& pool = parts_->outbound.pool;
    parts_->pairs.requesters[queue_pair].post(pool, pool.messages.put(message));
  }
  /// The requester takes so many of its next packets for sent, of which nobody is told.
  void send_silently(uint32_t queue_pair, uint32_t packets, Time now = Time()) {
    RequesterPool& pool = parts_->outbound.pool;
    Requester& requester = parts_->pairs.requesters[queue_pair];
    for (uint32_t i = 0; i < packets; ++i) requester.sent(pool, requester.next_run(pool, 1), now);
  }
  uint32_t source(uint32_t connection = 0) const { return parts_->pairs.connections[connection].source; }
  uint32_t destination(uint32_t connection = 0) const { return parts_->pairs.connections[connection].destination; }
  /// A WRITE of one packet that the queue pair's responder accepts next: it names message `index`.
  ParsedPacket next_write(uint32_t queue_pair, uint32_t bytes, uint32_t index = 0) const {
    const EndPoint end = parts_->pairs.end_point(queue_pair);
    ParsedPacket packet;
    packet.opcode = Opcode::kWriteOnlyImmediate;
    packet.psn = parts_->pairs.responders[queue_pair].expected_psn();
    packet.ack_request = true;
    packet.address = end.address;
    packet.rkey = end.rkey;
    packet.dma_length = packet.payload_length = bytes;
    packet.pad = -bytes & 3;
    packet.immediate = index;
    return packet;
  }
  /// A READ of so many bytes, of the same kind. Only with ReadAccess::kAlways.
  ParsedPacket next_read(uint32_t queue_pair, uint32_t bytes) const {
    ParsedPacket packet = next_write(queue_pair, 0);
    packet.opcode = Opcode::kReadRequest;
    packet.dma_length = bytes;
    return packet;
  }
  /// The application has room for so many more events only.
  void fill_deliveries(size_t room) {
    Deliveries& deliveries = parts_->deliveries;
    while (deliveries.room() > room) deliveries.deliver_unindexed(destination(), 0, {}, 0);
  }
  std::vector<Event> take_delivered() {
    std::vector<Event> events(2048);
    events.resize(parts_->deliveries.take(events));
    return events;
  }
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
  /// Of answers that the lane owes.
  uint32_t owed(uint32_t lane) const {
    return parts_->lanes[lane].answers.size() + parts_->lanes[lane].repliers.size();
  }
  /// One of the transport's details; 0 when it is not among them.
  uint64_t detail(std::string_view name) const {
    for (const NamedCounter& counter : parts_->figures.details())
      if (counter.name == name) return counter.value;
    return 0;
  }

  static constexpr size_t kQueueFrames = 64;

  RoceOptions options_;
  TransportPlan plan_ = pair_plan(1);
  std::unique_ptr<FramePool> pool_;
  std::unique_ptr<Doorbells> bells_;
  std::vector<std::unique_ptr<FramePort>> ports_;     // by lane
  std::vector<std::unique_ptr<FramePort>> far_ends_;  // by lane, with bells: the other ends of their links
  std::vector<PortBinding> bindings_;
  std::unique_ptr<RoceParts> parts_;

 private:
  static constexpr size_t kFrames = 512;

  void make_ports(PoolUse use) {
    parts_.reset();
    ports_.clear();
    far_ends_.clear();
    pool_ = std::make_unique<FramePool>(kFrames, FramePool::kDefaultCapacity, use);
  }
  RoceParts& make_parts(Doorbells* bells) {
    bindings_.clear();
    for (uint32_t lane = 0; lane < 2; ++lane)
      bindings_.push_back({PortId(lane), ports_[lane].get(), Bandwidth(100'000'000'000)});
    parts_ = std::make_unique<RoceParts>(options_, bindings_, bells, plan_);
    QueuePairs& pairs = parts_->pairs;
    std::vector<EndPoint> ends;
    for (uint32_t i = 0; i < pairs.size(); ++i) ends.push_back(pairs.end_point(i));
    const std::vector<const EndPoint*> peers = pairs.peers_among(ends);
    for (uint32_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(pairs.connect(i, peers[i], parts_->codec.pattern_icrc), "");
    return *parts_;
  }
};

}  // namespace rankwire::testing
