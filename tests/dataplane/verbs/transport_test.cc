// Messages through RDMA devices: every one arrives once and unharmed, and the device is asked for what it should be.
#include "dataplane/verbs/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "base/message.h"
#include "tests/dataplane/verbs/bench.h"

namespace rankwire {
namespace {

using testing::add_clear_to_send;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;
using testing::verbs_plan;
using testing::VerbsBench;

uint64_t delivered_key(const Message& message) {
  const uint64_t key = payload_key(message.id);
  return message.bytes.count >= 8 ? key : key & ((uint64_t{1} << (8 * message.bytes.count)) - 1);
}

// Around a payload word, a share of split_part (128), a segment (256) and some of them.
const std::vector<uint32_t> kMessageSizes = {0, 1, 7, 8, 9, 127, 128, 129, 255, 256, 257, 1000, 4096, 5000};

std::vector<VerbsOptions> every_way() {
  std::vector<VerbsOptions> ways;
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kWriteThenImm, DataVerb::kSendImm, DataVerb::kRead}) {
    for (const uint32_t queue_pairs : {1, 3}) {
      for (const Spread spread : {Spread::kSplit, Spread::kDeal}) {
        for (const PayloadMode payload : {PayloadMode::kPattern, PayloadMode::kChecking}) {
          for (const bool shared : {false, true}) {
            VerbsOptions options;
            options.verb = verb;
            options.queue_pairs = queue_pairs;
            options.spread = spread;
            options.payload = payload;
            options.shared_receive_queue = shared;
            options.send_queue = 8;
            options.signal_every = 4;
            options.receive_queue = 2;
            if (verb != DataVerb::kSendImm) options.max_message = 256;
            const bool splits = queue_pairs > 1 && spread == Spread::kSplit;
            const bool writes = verb == DataVerb::kWriteImm || verb == DataVerb::kWriteThenImm;
            if (shared && (splits || (writes && payload == PayloadMode::kChecking))) continue;
            if (queue_pairs > 1 || spread == Spread::kSplit) ways.push_back(options);
          }
        }
      }
    }
  }
  return ways;
}

void expect_all_once(const VerbsBench& bench, uint32_t connection, uint32_t messages, PayloadMode payload) {
  const std::vector<Event> sent = bench.events_of(EventKind::kSent, connection);
  const std::vector<Event> received = bench.events_of(EventKind::kReceived, connection);
  ASSERT_EQ(sent.size(), messages);
  ASSERT_EQ(received.size(), messages);
  std::set<uint32_t> indexes;
  for (const Event& event : received) {
    const Message message = bench.message(connection, event.index);
    EXPECT_TRUE(indexes.insert(event.index).second) << event.index << " twice";
    EXPECT_FALSE(event.at_source);
    EXPECT_EQ(event.bytes, message.bytes) << event.index;
    EXPECT_EQ(event.received.payload_key, payload == PayloadMode::kChecking ? delivered_key(message) : 0)
        << event.index;
    EXPECT_LE(event.received.delivered, bench.now);
    EXPECT_EQ(event.received.first_rx, Time::never());
  }
  for (const Event& event : sent) {
    EXPECT_EQ(event.bytes, bench.message(connection, event.index).bytes);
    EXPECT_LE(event.sent.posted, event.sent.acked);
    EXPECT_LE(event.sent.acked, bench.now);
    EXPECT_EQ(event.sent.first_tx, Time::never());
    EXPECT_EQ(event.sent.last_tx, Time::never());
  }
}

TEST(VerbsTransport, DeliversEveryMessageOnceInEveryWay) {
  for (const VerbsOptions& options : every_way()) {
    SCOPED_TRACE(::testing::Message() << "verb " << static_cast<int>(options.verb) << ", " << options.queue_pairs
                                      << " queue pairs, spread " << static_cast<int>(options.spread) << ", payload "
                                      << static_cast<int>(options.payload) << ", shared "
                                      << options.shared_receive_queue);
    VerbsBench bench(options, verbs_plan(2, kMessageSizes));
    ASSERT_TRUE(bench.connect().empty());
    // Two iterations; the indexes of point-to-point messages need not be in order.
    const auto messages = static_cast<uint32_t>(2 * kMessageSizes.size());
    for (uint32_t i = 0; i < messages; ++i)
      for (uint32_t connection = 0; connection < 4; ++connection) bench.post(connection, (5 * i + 3) % messages);
    bench.run();
    for (uint32_t connection = 0; connection < 4; ++connection)
      expect_all_once(bench, connection, messages, options.payload);
    const TransportCounters counters = bench.transport().counters();
    EXPECT_EQ(counters.messages_sent, 4 * messages);
    EXPECT_EQ(counters.messages_delivered, 4 * messages);
    EXPECT_EQ(counters.messages_failed, 0u);
    EXPECT_EQ(counters.payload_errors, 0u);
    EXPECT_EQ(bench.detail("work_requests_refused"), 0u);
    EXPECT_EQ(bench.detail("unexpected_receives"), 0u);
    EXPECT_EQ(bench.transport().next_event(), Time::never());
    uint64_t bytes = 0, planned = 0;
    for (const FlowCounters& flow : bench.transport().flows()) bytes += flow.bytes;
    for (const uint32_t size : kMessageSizes) planned += 4 * 2 * size;
    EXPECT_EQ(bytes, planned);
  }
}

// Connection 0 has no messages in an iteration, and as many as somebody posts.
TEST(VerbsTransport, DeliversWhatNoIterationHasInEveryWay) {
  TransportPlan plan = verbs_plan(1, kMessageSizes);
  plan.connections[0].messages_per_iteration = 0;
  plan.message_bytes = kMessageSizes;
  plan.unplanned_bytes = [](ConnectionId connection, uint32_t index) {
    return Bytes(kMessageSizes[(connection.value + 5 * index) % kMessageSizes.size()]);
  };
  for (const VerbsOptions& options : every_way()) {
    SCOPED_TRACE(::testing::Message() << "verb " << static_cast<int>(options.verb) << ", " << options.queue_pairs
                                      << " queue pairs, spread " << static_cast<int>(options.spread) << ", payload "
                                      << static_cast<int>(options.payload));
    VerbsBench bench(options, plan);
    ASSERT_TRUE(bench.connect().empty());
    constexpr uint32_t kMessages = 100;
    for (uint32_t i = 0; i < kMessages; ++i) {
      bench.post(0, i);
      bench.post(1, i);
    }
    bench.run();
    for (const uint32_t connection : {0, 1}) expect_all_once(bench, connection, kMessages, options.payload);
    EXPECT_EQ(bench.transport().counters().payload_errors, 0u);
    EXPECT_EQ(bench.detail("unexpected_receives"), 0u);
  }
}

TEST(VerbsTransport, CarriesClearToSendAgainstTheData) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kSendImm, DataVerb::kRead}) {
    for (const PayloadMode payload : {PayloadMode::kPattern, PayloadMode::kChecking}) {
      for (const uint32_t queue_pairs : {1, 2}) {
        VerbsOptions options;
        options.verb = verb;
        options.payload = payload;
        options.queue_pairs = queue_pairs;
        TransportPlan plan = verbs_plan(1, {3000});
        add_clear_to_send(plan, 4, 64);
        VerbsBench bench(options, plan);
        ASSERT_TRUE(bench.connect().empty());
        // Of two iterations, in an order of its own; then the next two in the same slots.
        for (const uint32_t base : {0, 8}) {
          for (const uint32_t index : {3, 0, 1, 2, 7, 6, 5, 4}) bench.post(1, base + index);
          bench.post(0, base);
          bench.run();
        }
        std::vector<uint32_t> indexes = bench.indexes_of(EventKind::kReceived, 1);
        std::ranges::sort(indexes);
        EXPECT_THAT(indexes, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        EXPECT_THAT(bench.events_of(EventKind::kSent, 1), SizeIs(16));
        for (const Event& event : bench.events_of(EventKind::kReceived, 1)) EXPECT_EQ(event.bytes, Bytes(64));
        EXPECT_THAT(bench.indexes_of(EventKind::kReceived, 0), ElementsAre(0, 8));
        EXPECT_EQ(bench.transport().counters().payload_errors, 0u);
      }
    }
  }
}

// Two iterations of 4 over one queue pair: 8 slots, each with room for 64 bytes.
TEST(VerbsTransport, OffersASlotForEachControlMessageThatCanBeUnderWay) {
  TransportPlan plan = verbs_plan(1, {3000});
  add_clear_to_send(plan, 4, 40);
  VerbsBench bench(VerbsOptions(), plan);
  EXPECT_EQ(bench.end(0, 0, true).slots, 8u);
  EXPECT_EQ(bench.end(0, 0, true).slot_bytes, 64u);
  ASSERT_TRUE(bench.connect().empty());
  for (uint32_t i = 0; i < 8; ++i) bench.post(1, i);
  bench.run();
  std::set<uint64_t> places;
  const EndPoint& source = bench.end(0, 0, true);
  for (const auto& chain : bench.queue_pair(0, 0, false).chains)
    for (const SendWork& work : chain) {
      EXPECT_EQ(work.kind, WorkKind::kWrite);
      EXPECT_EQ(work.bytes, 40u);
      EXPECT_EQ(work.remote_key, source.rkey);
      places.insert(work.remote_address - source.address);
    }
  EXPECT_THAT(places, ElementsAre(0, 64, 128, 192, 256, 320, 384, 448));
}

TEST(VerbsTransport, ReportsADamagedPayload) {
  VerbsOptions options;
  options.payload = PayloadMode::kChecking;
  VerbsBench bench(options, verbs_plan(1, {1000}));
  ASSERT_TRUE(bench.connect().empty());
  bench.post(0, 0);
  bench.poll();
  bench.fabric.run();
  reinterpret_cast<uint8_t*>(bench.end(0, 0, false).address)[500] ^= 1;
  bench.run();
  ASSERT_THAT(bench.events_of(EventKind::kReceived, 0), SizeIs(1));
  EXPECT_EQ(bench.transport().counters().payload_errors, 1u);
  EXPECT_EQ(bench.events_of(EventKind::kReceived, 0)[0].received.payload_key, ~delivered_key(bench.message(0, 0)));
}

// In checking mode a queue pair with 2 receives may have 2 messages that nobody has compared, and the next one under
// way: three slots. The receiver's messages must not be touched before it has looked at them.
TEST(VerbsTransport, HoldsTheSenderBackUntilThePayloadIsCompared) {
  VerbsOptions options;
  options.payload = PayloadMode::kChecking;
  options.receive_queue = 2;
  VerbsBench bench(options, verbs_plan(1, {4000}), {{0}, {1}});
  EXPECT_EQ(bench.end(0, 0, false).slots, 3u);
  EXPECT_GE(bench.end(0, 0, false).slot_bytes, 4000u);
  ASSERT_TRUE(bench.connect().empty());
  for (uint32_t i = 0; i < 10; ++i) bench.post(0, i);
  for (int i = 0; i < 20; ++i) {
    bench.poll(0);
    bench.fabric.run();
  }
  EXPECT_THAT(bench.indexes_of(EventKind::kSent, 0), ElementsAre(0, 1));
  EXPECT_GT(bench.queue_pair(0, 0, true).not_ready, 0u);
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kReceived, 0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(bench.transport(1).counters().payload_errors, 0u);
}

TEST(VerbsTransport, HoldsSplitMessagesBackUntilAllPartsAreThere) {
  VerbsOptions options;
  options.payload = PayloadMode::kChecking;
  options.receive_queue = 2;
  options.queue_pairs = 2;
  VerbsBench bench(options, verbs_plan(1, {4000, 300, 2000}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 1, true).held = true;
  for (uint32_t i = 0; i < 9; ++i) bench.post(0, i);
  bench.run();
  EXPECT_TRUE(bench.events.empty());
  // The first queue pair has used its receives, and gets none back before the second has delivered its parts.
  EXPECT_EQ(bench.transport().flows()[0].messages, 2u);
  bench.queue_pair(0, 1, true).held = false;
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kReceived, 0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(bench.transport().counters().payload_errors, 0u);
}

// The source offers up to 9 messages at once, the destination has places for 2: the others wait.
TEST(VerbsTransport, FetchesNoMoreAtOnceThanItHasPlacesFor) {
  VerbsOptions source;
  source.verb = DataVerb::kRead;
  source.payload = PayloadMode::kChecking;
  source.receive_queue = 8;
  VerbsOptions destination = source;
  destination.receive_queue = 1;
  VerbsBench bench({source, destination}, verbs_plan(1, {3000}), {{0}, {1}});
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 0, false).held = true;
  for (uint32_t i = 0; i < 20; ++i) bench.post(0, i);
  bench.run();
  EXPECT_EQ(bench.detail("work_requests", 1), 2u);
  bench.queue_pair(0, 0, false).held = false;
  bench.run();
  EXPECT_THAT(bench.events_of(EventKind::kReceived, 0), SizeIs(20));
  EXPECT_EQ(bench.transport(1).counters().payload_errors, 0u);
}

TEST(VerbsTransport, RegistersOneCopyOfThePatternForAllMessages) {
  VerbsOptions options;
  VerbsBench few(options, verbs_plan(1, {1 << 20})), many(options, verbs_plan(32, {1 << 20}));
  EXPECT_EQ(few.transport().registered_bytes(), many.transport().registered_bytes());
  EXPECT_EQ(many.end(7, 0, false).address, many.end(8, 0, false).address);
  EXPECT_EQ(few.end(0, 0, false).slots, 1u);
}

TEST(VerbsTransport, TakesNoMoreMessagesThanThePlanHasInFlight) {
  TransportPlan plan = verbs_plan(1, {100});
  plan.messages_in_flight = 3;
  VerbsBench bench(VerbsOptions(), plan);
  ASSERT_TRUE(bench.connect().empty());
  std::vector<Message> messages;
  for (uint32_t i = 0; i < 5; ++i) messages.push_back(bench.message(0, i));
  EXPECT_EQ(bench.transport().post(bench.now, messages), 3u);
  EXPECT_EQ(bench.transport().counters().post_refused, 2u);
  bench.run();
  EXPECT_EQ(bench.transport().post(bench.now, std::span(messages).subspan(3)), 2u);
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kReceived, 0), ElementsAre(0, 1, 2, 3, 4));
}

TEST(VerbsTransport, TellsWhatThePortsCountedSincePrepare) {
  VerbsBench bench(VerbsOptions(), verbs_plan(1, {100}));
  bench.fabric.port_counters["fake1"] = {{"counters.port_xmit_data", 25}, {"counters.port_xmit_packets", 7}};
  const std::vector<PortCounters> ports = bench.transport().ports();
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[1].name, "port1");
  EXPECT_EQ(ports[1].tx_frames, 7u);
  EXPECT_EQ(ports[1].tx_bytes, 100u);  // words of four bytes
  EXPECT_EQ(ports[0].tx_bytes, 0u);
}

}  // namespace
}  // namespace rankwire
