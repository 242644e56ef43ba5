// The work requests and attributes that a transport gives to RDMA devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/dataplane/verbs/bench.h"

namespace rankwire {
namespace {

using testing::add_clear_to_send;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::FakeQueuePair;
using ::testing::SizeIs;
using testing::verbs_plan;
using testing::VerbsBench;

std::vector<SendWork> all_work(const FakeQueuePair& queue_pair) {
  std::vector<SendWork> all;
  for (const auto& chain : queue_pair.chains) all.insert(all.end(), chain.begin(), chain.end());
  return all;
}

/// One message of so many bytes, and the work requests of its first queue pair.
std::vector<SendWork> work_of_one(const VerbsOptions& options, uint32_t bytes) {
  VerbsBench bench(options, verbs_plan(1, {bytes}));
  EXPECT_TRUE(bench.connect().empty());
  bench.post(0, 0);
  bench.run();
  EXPECT_EQ(bench.events_of(EventKind::kReceived, 0).size(), 1u);
  return all_work(bench.queue_pair(0, 0, true));
}

template <class T>
std::vector<T> each(const std::vector<SendWork>& work, T SendWork::*field) {
  std::vector<T> values;
  for (const SendWork& item : work) values.push_back(item.*field);
  return values;
}

TEST(VerbsWork, SegmentsAWriteWithTheImmediateOnTheLast) {
  VerbsOptions options;
  options.max_message = 304;
  options.inline_bytes = 0;
  const std::vector<SendWork> work = work_of_one(options, 1000);
  EXPECT_THAT(each(work, &SendWork::kind),
              ElementsAre(WorkKind::kWrite, WorkKind::kWrite, WorkKind::kWrite, WorkKind::kWriteImmediate));
  EXPECT_THAT(each(work, &SendWork::bytes), ElementsAre(304, 304, 304, 88));
  EXPECT_THAT(each(work, &SendWork::signalled), ElementsAre(false, false, false, true));
  for (size_t i = 1; i < work.size(); ++i) {
    EXPECT_EQ(work[i].address - work[0].address, 304 * i);
    EXPECT_EQ(work[i].remote_address - work[0].remote_address, 304 * i);
  }
}

// A message of exactly the limit is one work request, one byte more makes two.
TEST(VerbsWork, SegmentsAboveTheLimitOnly) {
  VerbsOptions options;
  options.max_message = 4096;
  EXPECT_THAT(each(work_of_one(options, 4096), &SendWork::bytes), ElementsAre(4096));
  EXPECT_THAT(each(work_of_one(options, 4097), &SendWork::bytes), ElementsAre(4096, 1));
  EXPECT_THAT(each(work_of_one(options, 0), &SendWork::bytes), ElementsAre(0));
}

TEST(VerbsWork, WritesThenGivesTheImmediateAlone) {
  VerbsOptions options;
  options.verb = DataVerb::kWriteThenImm;
  options.max_message = 512;
  const std::vector<SendWork> work = work_of_one(options, 1000);
  EXPECT_THAT(each(work, &SendWork::kind), ElementsAre(WorkKind::kWrite, WorkKind::kWrite, WorkKind::kWriteImmediate));
  EXPECT_THAT(each(work, &SendWork::bytes), ElementsAre(512, 488, 0));
  EXPECT_THAT(each(work, &SendWork::signalled), ElementsAre(false, false, true));
}

TEST(VerbsWork, ReadsInSegments) {
  VerbsOptions options;
  options.verb = DataVerb::kRead;
  options.max_message = 400;
  VerbsBench bench(options, verbs_plan(1, {1000}));
  ASSERT_TRUE(bench.connect().empty());
  bench.post(0, 0);
  bench.run();
  const std::vector<SendWork> offer = all_work(bench.queue_pair(0, 0, true));
  EXPECT_THAT(each(offer, &SendWork::kind), ElementsAre(WorkKind::kSend));
  EXPECT_THAT(each(offer, &SendWork::bytes), ElementsAre(sizeof(ReadyToSend)));
  const std::vector<SendWork> fetch = all_work(bench.queue_pair(0, 0, false));
  EXPECT_THAT(each(fetch, &SendWork::kind),
              ElementsAre(WorkKind::kRead, WorkKind::kRead, WorkKind::kRead, WorkKind::kSend));
  EXPECT_THAT(each(fetch, &SendWork::bytes), ElementsAre(400, 400, 200, sizeof(GetFinished)));
  EXPECT_THAT(each(fetch, &SendWork::signalled), ElementsAre(false, false, true, true));
  EXPECT_EQ(fetch[2].remote_address - fetch[0].remote_address, 800u);
}

// 40 segments: the 16th and the 32nd ask for a completion, and the last, which ends the message.
TEST(VerbsWork, AsksForACompletionEverySoOften) {
  VerbsOptions options;
  options.max_message = 256;
  options.signal_every = 16;
  const std::vector<SendWork> work = work_of_one(options, 40 * 256);
  ASSERT_THAT(work, SizeIs(40));
  for (size_t i = 0; i < work.size(); ++i) EXPECT_EQ(work[i].signalled, i == 15 || i == 31 || i == 39) << i;
}

// More segments than the send queue holds: the completions that come in between make room.
TEST(VerbsWork, SendsMessagesOfMoreSegmentsThanTheQueueHolds) {
  VerbsOptions options;
  options.max_message = 256;
  options.send_queue = options.signal_every = 4;
  options.payload = PayloadMode::kChecking;
  EXPECT_THAT(work_of_one(options, 100 * 256), SizeIs(100));
}

TEST(VerbsWork, SendsShortPayloadsByValue) {
  VerbsOptions options;
  options.inline_bytes = 64;
  EXPECT_THAT(each(work_of_one(options, 64), &SendWork::by_value), ElementsAre(true));
  EXPECT_THAT(each(work_of_one(options, 65), &SendWork::by_value), ElementsAre(false));
  options.inline_bytes = 0;
  EXPECT_THAT(each(work_of_one(options, 8), &SendWork::by_value), ElementsAre(false));
}

// A burst of 10 messages is one chain with one doorbell; 150 are chains of 64, 64 and 22.
TEST(VerbsWork, PostsABurstWithOneDoorbell) {
  VerbsOptions options;
  options.send_queue = 256;
  VerbsBench bench(options, verbs_plan(1, {100}));
  ASSERT_TRUE(bench.connect().empty());
  for (uint32_t i = 0; i < 10; ++i) bench.post(0, i);
  bench.poll();
  EXPECT_EQ(bench.queue_pair(0, 0, true).doorbells, 1u);
  EXPECT_THAT(bench.queue_pair(0, 0, true).chains, ElementsAre(SizeIs(10)));
  bench.run();
  for (uint32_t i = 10; i < 160; ++i) bench.post(0, i);
  for (int i = 0; i < 3; ++i) bench.poll();
  EXPECT_THAT(bench.queue_pair(0, 0, true).chains, ElementsAre(SizeIs(10), SizeIs(64), SizeIs(64), SizeIs(22)));
  EXPECT_EQ(bench.detail("doorbells"), 4u);
  EXPECT_EQ(bench.detail("work_requests"), 160u);
  bench.run();
  EXPECT_THAT(bench.events_of(EventKind::kReceived, 0), SizeIs(160));
}

TEST(VerbsWork, WaitsInOrderForAFullQueueAndHoldsNobodyElseUp) {
  VerbsOptions options;
  options.send_queue = options.signal_every = 4;
  VerbsBench bench(options, verbs_plan(2, {100}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 0, true).held = true;
  for (uint32_t i = 0; i < 20; ++i) {
    bench.post(0, i);
    bench.post(2, i);
  }
  bench.run();
  EXPECT_THAT(all_work(bench.queue_pair(0, 0, true)), SizeIs(4));
  EXPECT_THAT(bench.events_of(EventKind::kReceived, 0), SizeIs(0));
  EXPECT_THAT(bench.events_of(EventKind::kReceived, 2), SizeIs(20));
  EXPECT_NE(bench.transport()
                .describe(ConnectionId(0))
                .find("4 of 4 work requests not completed, the oldest of message "
                      "0, message 4 waits to be posted"),
            std::string::npos)
      << bench.transport().describe(ConnectionId(0));
  bench.queue_pair(0, 0, true).held = false;
  bench.run();
  std::vector<uint32_t> in_order(20);
  for (uint32_t i = 0; i < 20; ++i) in_order[i] = i;
  EXPECT_EQ(bench.indexes_of(EventKind::kReceived, 0), in_order);
  EXPECT_EQ(bench.detail("work_requests_refused"), 0u);
}

// Parts of 384 = ceil(ceil(1000 / 3) / 128) x 128 bytes, each at its offset in the place of the message.
TEST(VerbsWork, SplitsAMessageOverItsQueuePairs) {
  VerbsOptions options;
  options.queue_pairs = 3;
  VerbsBench bench(options, verbs_plan(1, {1000}));
  ASSERT_TRUE(bench.connect().empty());
  bench.post(0, 0);
  bench.run();
  const uint32_t bytes[] = {384, 384, 232};
  for (uint32_t member = 0; member < 3; ++member) {
    const std::vector<SendWork> work = all_work(bench.queue_pair(0, member, true));
    ASSERT_THAT(work, SizeIs(1));
    EXPECT_EQ(work[0].bytes, bytes[member]);
    EXPECT_EQ(work[0].remote_address, bench.end(0, member, false).address + 384 * member);
    EXPECT_EQ(work[0].immediate, 0u);
  }
}

TEST(VerbsWork, DealsMessagesToQueuePairsInTurn) {
  VerbsOptions options;
  options.queue_pairs = 3;
  options.spread = Spread::kDeal;
  VerbsBench bench(options, verbs_plan(1, {100}));
  ASSERT_TRUE(bench.connect().empty());
  for (uint32_t i = 0; i < 7; ++i) bench.post(0, i);
  bench.run();
  EXPECT_THAT(each(all_work(bench.queue_pair(0, 0, true)), &SendWork::immediate), ElementsAre(0, 3, 6));
  EXPECT_THAT(each(all_work(bench.queue_pair(0, 1, true)), &SendWork::immediate), ElementsAre(1, 4));
  EXPECT_THAT(each(all_work(bench.queue_pair(0, 2, true)), &SendWork::immediate), ElementsAre(2, 5));
}

// The peer's slots count the messages of the queue pair, in the order of posting, whatever their indexes are.
TEST(VerbsWork, WritesToThePeersSlotsInTurn) {
  VerbsOptions options;
  options.payload = PayloadMode::kChecking;
  options.receive_queue = 2;
  VerbsBench bench(options, verbs_plan(1, {1000}));
  ASSERT_TRUE(bench.connect().empty());
  for (const uint32_t index : {4, 3, 2, 1, 0}) bench.post(0, index);
  bench.run();
  const EndPoint& peer = bench.end(0, 0, false);
  EXPECT_EQ(peer.slot_bytes, 1024u);  // 1000, to the cache line
  std::vector<uint64_t> slots;
  for (const SendWork& work : all_work(bench.queue_pair(0, 0, true)))
    slots.push_back((work.remote_address - peer.address) / peer.slot_bytes);
  EXPECT_THAT(slots, ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(bench.indexes_of(EventKind::kReceived, 0), ElementsAre(4, 3, 2, 1, 0));
}

TEST(VerbsWork, GivesEveryAttributeToTheQueuePair) {
  VerbsOptions options;
  options.mtu = 2048;
  options.dscp = 46;
  options.ecn = Ecn::kCapable1;
  options.service_level = 5;
  options.hop_limit = 33;
  options.timeout_exponent = 18;
  options.retry_count = 3;
  options.not_ready_retry_count = 6;
  options.not_ready_code = 14;
  options.max_reads = 9;
  options.source_port = SourcePortPolicy::kFixed;
  options.fixed_source_port = 0xC123;
  options.send_queue = 100;
  options.receive_queue = 50;
  options.inline_bytes = 128;
  VerbsBench bench(options, verbs_plan(1, {100}));
  ASSERT_TRUE(bench.connect().empty());
  const EndPoint &local = bench.end(0, 0, true), &peer = bench.end(0, 0, false);
  const FakeQueuePair& source = bench.queue_pair(0, 0, true);
  const QueuePairPath& path = source.path();
  EXPECT_EQ(path.port, 1u);
  EXPECT_EQ(path.gid_index, 3u);
  EXPECT_EQ(path.remote_gid, peer.ip);
  EXPECT_EQ(path.remote_queue_pair, peer.queue_pair);
  EXPECT_EQ(path.remote_psn, peer.psn);
  EXPECT_EQ(path.local_psn, local.psn);
  EXPECT_EQ(path.mtu, 2048u);
  EXPECT_EQ(path.flow_label, 0x123u);    // linux_source_port(0x123) is 0xC123
  EXPECT_EQ(path.traffic_class, 0xB9u);  // 46 << 2 | 1
  EXPECT_EQ(path.hop_limit, 33u);
  EXPECT_EQ(path.service_level, 5u);
  EXPECT_EQ(path.timeout_exponent, 18u);
  EXPECT_EQ(path.retry_count, 3u);
  EXPECT_EQ(path.not_ready_retry_count, 6u);
  EXPECT_EQ(path.not_ready_code, 14u);
  EXPECT_EQ(path.initiated_reads, 9u);
  EXPECT_EQ(path.answered_reads, 9u);
  EXPECT_EQ(source.size().sends, 100u);
  EXPECT_EQ(bench.queue_pair(0, 0, false).size().receives, 50u);
  EXPECT_EQ(source.size().inline_bytes, 128u);
  EXPECT_NE(local.psn, peer.psn);
}

// What a flow label makes of the UDP source port is Linux's rule.
TEST(VerbsWork, MarksTheQueuePairsOfAJobWithItsDscp) {
  VerbsOptions options;
  options.dscp = 46, options.ecn = Ecn::kCapable1;
  options.job_dscps = {{JobId(3), 8}};
  TransportPlan plan = verbs_plan(1, {100});
  plan.connections[0].job = JobId(0), plan.connections[1].job = JobId(3);
  VerbsBench bench(options, plan);
  ASSERT_TRUE(bench.connect().empty());
  for (const bool at_source : {false, true}) {
    EXPECT_EQ(bench.queue_pair(0, 0, at_source).path().traffic_class, 46 << 2 | 1);
    EXPECT_EQ(bench.queue_pair(1, 0, at_source).path().traffic_class, 8 << 2 | 1);
  }
  options.job_dscps = {{JobId(3), 64}};
  EXPECT_THROW(check_options(options), Error);
}

TEST(VerbsWork, FindsTheFlowLabelOfEverySourcePort) {
  VerbsOptions options;
  EXPECT_EQ(flow_label(options), 0u);
  options.source_port = SourcePortPolicy::kFixed;
  for (uint32_t port = 0xC000; port <= 0xFFFF; ++port) {
    options.fixed_source_port = static_cast<uint16_t>(port);
    ASSERT_NE(flow_label(options), 0u);
    ASSERT_EQ(linux_source_port(flow_label(options)), port);
  }
}

// An emulated NIC whose address the port has uses that one, any other the port's.
TEST(VerbsWork, UsesTheAddressOfTheEmulatedNicWhereThePortHasIt) {
  testing::FakeFabric fabric;
  VerbsPlace place = testing::fake_place(0);
  place.port.gids.push_back({.index = 9, .ip = Ipv4Address{0x0A000009}, .mac = {{2, 9, 9, 9, 9, 9}}});
  TransportPlan plan = verbs_plan(1, {100});
  plan.nics[0].ip = Ipv4Address{0x0A000009};
  plan.nics[1].port = PortId(0);
  plan.nics[1].ip = Ipv4Address{0x0A0000FF};
  VerbsTransport transport(VerbsOptions(), fabric, {{PortId(0), "p", place}});
  const std::vector<EndPoint> ends = transport.prepare(plan);
  ASSERT_EQ(ends.size(), 4u);  // two connections
  for (const EndPoint& end : ends) {
    const bool first_nic = end.at_source == (end.connection.value == 0);
    EXPECT_EQ(end.ip, IpAddress(first_nic ? Ipv4Address{0x0A000009} : Ipv4Address{0xC6120001}));
    EXPECT_EQ(end.mac.bytes[1], first_nic ? 9 : 0);
  }
  ASSERT_TRUE(transport.connect(ends).empty());
  EXPECT_EQ(fabric.queue_pair(ends[0].queue_pair).path().gid_index, 9u);
}

// 65536 entries for queue pairs of 64 sends and 64 receives: 512 queue pairs a completion queue; on each device 2000
// ends of connections: 512 + 512 + 512 + 464.
TEST(VerbsWork, MakesAsManyCompletionQueuesAsAreNeeded) {
  VerbsBench bench(VerbsOptions(), verbs_plan(1000, {100}));
  EXPECT_THAT(bench.fabric.completion_queues,
              ElementsAre(65536, 65536, 65536, 464 * 128, 65536, 65536, 65536, 464 * 128));
}

}  // namespace
}  // namespace rankwire
