// What goes wrong with RDMA devices: before the run an error that says what to do, in the run the end of one
// connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "tests/dataplane/verbs/bench.h"

namespace rankwire {
namespace {

using testing::add_clear_to_send;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::fake_place;
using testing::FakeFabric;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::verbs_plan;
using testing::VerbsBench;

std::string error_of(const VerbsOptions& options, const TransportPlan& plan, const VerbsPlace& place) {
  FakeFabric fabric;
  VerbsTransport transport(options, fabric, {{PortId(0), "p", place}});
  try {
    transport.prepare(plan);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_TRUE(fabric.queue_pairs.empty()) << "a device was touched";
    return error.what();
  }
  return "no error";
}

std::string option_error(const VerbsOptions& options) {
  return error_of(options, verbs_plan(1, {1000}), fake_place(0));
}

TEST(VerbsLimits, AreComparedBeforeADeviceIsTouched) {
  const VerbsOptions options;
  const TransportPlan plan = verbs_plan(10, {1 << 20});  // 20 connections, each with one end on this port
  VerbsPlace place = fake_place(0);
  EXPECT_EQ(error_of(options, plan, place), "no error");
  const auto with = [&](auto change) {
    VerbsPlace less = place;
    change(less);
    return error_of(options, plan, less);
  };
  EXPECT_THAT(with([](VerbsPlace& p) { p.device.limits.queue_pairs = 19; }),
              AllOf(HasSubstr("fake0: 20 queue pairs are needed and it has 19"), HasSubstr("transport.queue_pairs")));
  EXPECT_THAT(with([](VerbsPlace& p) { p.device.limits.work_requests = 63; }),
              HasSubstr("transport.verbs.send_queue is 64 and a queue has at most 63"));
  EXPECT_THAT(
      with([](VerbsPlace& p) { p.device.limits.completions = 127; }),
      AllOf(HasSubstr("128 completions and a completion queue has at most 127"), HasSubstr("transport.receive_queue")));
  // One queue pair a completion queue.
  EXPECT_THAT(with([](VerbsPlace& p) { p.device.limits.completions = 128, p.device.limits.completion_queues = 19; }),
              HasSubstr("20 queue pairs need 20 completion queues and it has 19"));
  EXPECT_THAT(with([](VerbsPlace& p) { p.device.limits.region_bytes = 1 << 20; }),
              HasSubstr("regions of at most 1048576"));
  EXPECT_THAT(with([](VerbsPlace& p) { p.device.limits.regions = 0; }), HasSubstr("it has 0 regions"));
  EXPECT_THAT(with([](VerbsPlace& p) { p.port.active_mtu = 1024; }),
              AllOf(HasSubstr("the path MTU is 4096 bytes and the active MTU of port 1 is 1024"),
                    HasSubstr("transport.mtu"), HasSubstr("fake_net0")));
}

TEST(VerbsLimits, OfReceivesReadsAndSharedQueues) {
  const TransportPlan plan = verbs_plan(10, {1000});
  VerbsOptions options;
  VerbsPlace place = fake_place(0);
  place.device.limits.work_requests = 100;
  options.receive_queue = 200;
  EXPECT_THAT(error_of(options, plan, place), HasSubstr("transport.receive_queue is 200"));
  options = VerbsOptions();
  place = fake_place(0);
  options.verb = DataVerb::kRead;
  options.max_reads = 17;
  EXPECT_THAT(error_of(options, plan, place), AllOf(HasSubstr("17 READs outstanding"), HasSubstr("read_depth")));
  options = VerbsOptions();
  options.shared_receive_queue = true;
  place.device.limits.shared_receives = 20 * 64 - 1;
  EXPECT_THAT(error_of(options, plan, place), HasSubstr("a shared receive queue of 1280 receives"));
  place.device.limits.shared_receives = 20 * 64;
  EXPECT_EQ(error_of(options, plan, place), "no error");
  place.device.limits.shared_receive_queues = 0;
  EXPECT_THAT(error_of(options, plan, place), HasSubstr("it has 0 such queues"));
}

// Checking: 10 connections arrive here with 3 + 1 slots of 1 MiB each, 10 leave with as many: 80 MiB. The pattern is
// there once, and so is the place where it arrives: 2 MiB.
TEST(VerbsLimits, OfMemory) {
  const TransportPlan plan = verbs_plan(10, {1 << 20});
  VerbsOptions options;
  options.memory = 2 << 20;
  EXPECT_EQ(error_of(options, plan, fake_place(0)), "no error");
  options.memory -= 1;
  EXPECT_THAT(error_of(options, plan, fake_place(0)),
              AllOf(HasSubstr("2097152 bytes"), HasSubstr("transport.verbs.memory allows 2097151")));
  options.payload = PayloadMode::kChecking;
  options.memory = 80 << 20;
  EXPECT_EQ(error_of(options, plan, fake_place(0)), "no error");
  options.memory -= 1;
  EXPECT_THAT(error_of(options, plan, fake_place(0)), HasSubstr("83886080 bytes"));
}

TEST(VerbsLimits, OfMessages) {
  VerbsOptions options;
  options.verb = DataVerb::kSendImm;
  options.max_message = 992;
  EXPECT_THAT(option_error(options), AllOf(HasSubstr("SENDs 1000 bytes at once"), HasSubstr("at most 992")));
  options.max_message = 1000;
  EXPECT_EQ(option_error(options), "no error");
  VerbsPlace place = fake_place(0);
  place.port.max_message = 512;
  options.max_message.reset();
  EXPECT_THAT(error_of(options, verbs_plan(1, {1000}), place), HasSubstr("at most 512"));

  TransportPlan plan = verbs_plan(1, {1000});
  plan.message_bytes.pop_back();
  EXPECT_THAT(error_of(VerbsOptions(), plan, fake_place(0)), HasSubstr("2 messages and the sizes of 1"));
  plan = verbs_plan(1, {1000});
  add_clear_to_send(plan, 1, 257);
  EXPECT_THAT(error_of(VerbsOptions(), plan, fake_place(0)), HasSubstr("control messages of 257 bytes"));
  plan = verbs_plan(2, {1000});
  plan.connections[1].reverse_of = ConnectionId(2);
  plan.connections[2].reverse_of = ConnectionId(1);
  EXPECT_THAT(error_of(VerbsOptions(), plan, fake_place(0)), HasSubstr("cannot be the reverse of"));
}

TEST(VerbsOptions, MustFitTogether) {
  const auto error = [](auto change) {
    VerbsOptions options;
    change(options);
    return option_error(options);
  };
  EXPECT_THAT(error([](VerbsOptions& o) { o.verb = DataVerb::kWrite; }), HasSubstr("names no message"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.verb = DataVerb::kSend; }), HasSubstr("names no message"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.mtu = 1500; }), HasSubstr("the path MTU is 1500"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.queue_pairs = 257; }), HasSubstr("the number of queue pairs is 257"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.send_queue = 1; }), HasSubstr("send_queue is 1"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.signal_every = 65; }), HasSubstr("signal_every is 65; it must be 1 to 64"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.receive_queue = 0; }), HasSubstr("receive_queue is 0"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.inline_bytes = 1025; }), HasSubstr("inline is 1025"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.max_message = 255; }), HasSubstr("max_message is 255"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.max_message = 300; }), HasSubstr("must be a multiple of 8"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.dscp = 64; }), HasSubstr("the DSCP is 64"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.service_level = 16; }), HasSubstr("sl is 16"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.hop_limit = 0; }), HasSubstr("the hop limit is 0"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.timeout_exponent = 32; }), HasSubstr("the time-out exponent is 32"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.retry_count = 8; }), HasSubstr("retry_count is 8"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.not_ready_retry_count = 8; }), HasSubstr("rnr_retry is 8"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.not_ready_code = 32; }), HasSubstr("the RNR timer code is 32"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.max_reads = 0; }), HasSubstr("read_depth is 0"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.source_port = SourcePortPolicy::kPerPacket; }), HasSubstr("source_port"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.source_port = SourcePortPolicy::kFixed, o.fixed_source_port = 4791; }),
              HasSubstr("source port 4791"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.shared_receive_queue = true, o.payload = PayloadMode::kChecking; }),
              HasSubstr("not compared yet"));
  EXPECT_THAT(error([](VerbsOptions& o) { o.shared_receive_queue = true, o.queue_pairs = 2; }),
              HasSubstr("transport.spread: deal"));
}

TEST(VerbsFailure, EndsItsOwnConnectionOnly) {
  VerbsBench bench(VerbsOptions(), verbs_plan(2, {100}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 0, true).next_status = WorkStatus::kRetryExceeded;
  for (uint32_t i = 0; i < 5; ++i)
    for (const uint32_t connection : {0, 1, 2, 3}) bench.post(connection, i);
  bench.run();
  const std::vector<Event> failed = bench.events_of(EventKind::kFailed, 0);
  ASSERT_THAT(failed, SizeIs(5));
  EXPECT_EQ(failed[0].index, 0u);
  EXPECT_EQ(failed[0].failure, Failure::kRetryExceeded);
  EXPECT_TRUE(failed[0].at_source);
  for (size_t i = 1; i < failed.size(); ++i) EXPECT_EQ(failed[i].failure, Failure::kFlushed);
  for (const uint32_t connection : {1, 2, 3}) {
    EXPECT_THAT(bench.events_of(EventKind::kReceived, connection), SizeIs(5)) << connection;
    EXPECT_THAT(bench.events_of(EventKind::kSent, connection), SizeIs(5)) << connection;
  }
  // The other end of the connection has ended too, and later messages fail at once.
  EXPECT_TRUE(bench.queue_pair(0, 0, false).in_error());
  bench.post(0, 5);
  bench.run();
  EXPECT_EQ(bench.events_of(EventKind::kFailed, 0).back().failure, Failure::kFlushed);
  EXPECT_EQ(bench.transport().counters().messages_failed, 6u);
}

TEST(VerbsFailure, IsDescribed) {
  VerbsBench bench(VerbsOptions(), verbs_plan(1, {100}));
  ASSERT_TRUE(bench.connect().empty());
  bench.post(0, 6);
  bench.run();
  bench.queue_pair(0, 0, true).next_status = WorkStatus::kRemoteAccess;
  bench.post(0, 7);
  bench.run();
  const uint32_t source = bench.end(0, 0, true).queue_pair, destination = bench.end(0, 0, false).queue_pair;
  EXPECT_THAT(bench.transport().describe(ConnectionId(0)),
              AllOf(HasSubstr(fmt::format("source QP {:#x} of fake0 to {:#x} at 198.18.0.2", source, destination)),
                    HasSubstr("remote access error (status 10, vendor error 0x81, message 7)")));
  EXPECT_EQ(bench.detail("status_remote_access"), 1u);
  EXPECT_EQ(bench.events_of(EventKind::kFailed, 0)[0].failure, Failure::kRemoteAccess);
}

TEST(VerbsFailure, StatusesAreToldApart) {
  EXPECT_EQ(failure_of(WorkStatus::kSuccess), Failure::kNone);
  EXPECT_EQ(failure_of(WorkStatus::kFlushed), Failure::kFlushed);
  EXPECT_EQ(failure_of(WorkStatus::kRetryExceeded), Failure::kRetryExceeded);
  EXPECT_EQ(failure_of(WorkStatus::kNotReadyExceeded), Failure::kNotReadyExceeded);
  EXPECT_EQ(failure_of(WorkStatus::kRemoteInvalid), Failure::kRemoteInvalid);
  EXPECT_EQ(failure_of(WorkStatus::kRemoteAccess), Failure::kRemoteAccess);
  EXPECT_EQ(failure_of(WorkStatus::kRemoteOperation), Failure::kRemoteOperational);
  EXPECT_EQ(failure_of(WorkStatus::kLocalProtection), Failure::kRemoteInvalid);
}

// All parts of a message are lost with one of them, and so are the queue pairs that carry them.
TEST(VerbsFailure, EndsAllQueuePairsOfASplitConnection) {
  for (const DataVerb verb : {DataVerb::kWriteImm, DataVerb::kSendImm, DataVerb::kRead}) {
    VerbsOptions options;
    options.queue_pairs = 3;
    options.verb = verb;
    VerbsBench bench(options, verbs_plan(2, {3000}));
    ASSERT_TRUE(bench.connect().empty());
    bench.queue_pair(0, 1, true).next_status = WorkStatus::kNotReadyExceeded;
    for (uint32_t i = 0; i < 4; ++i)
      for (const uint32_t connection : {0, 2}) bench.post(connection, i);
    bench.run();
    const std::vector<Event> failed = bench.events_of(EventKind::kFailed, 0);
    ASSERT_THAT(failed, SizeIs(4)) << static_cast<int>(verb);
    EXPECT_TRUE(std::ranges::any_of(failed, [](const Event& e) { return e.failure == Failure::kNotReadyExceeded; }));
    for (uint32_t member = 0; member < 3; ++member) EXPECT_TRUE(bench.queue_pair(0, member, true).in_error());
    EXPECT_THAT(bench.events_of(EventKind::kReceived, 2), SizeIs(4));
  }
}

// Dealt messages have nothing to do with the other queue pairs of their connection.
TEST(VerbsFailure, LeavesTheOthersOfADealtConnection) {
  VerbsOptions options;
  options.queue_pairs = 2;
  options.spread = Spread::kDeal;
  VerbsBench bench(options, verbs_plan(1, {100}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 1, true).next_status = WorkStatus::kRetryExceeded;
  for (uint32_t i = 0; i < 6; ++i) bench.post(0, i);
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kReceived, 0), ElementsAre(0, 2, 4));
  EXPECT_THAT(bench.events_of(EventKind::kFailed, 0), SizeIs(3));
}

// What was delivered before stays delivered, though its completions are polled together with those of the failure.
TEST(VerbsFailure, KeepsWhatHasSucceeded) {
  VerbsOptions options;
  options.queue_pairs = 2;
  options.payload = PayloadMode::kChecking;
  options.receive_queue = 8;
  VerbsBench bench(options, verbs_plan(1, {3000}));
  ASSERT_TRUE(bench.connect().empty());
  for (uint32_t i = 0; i < 3; ++i) bench.post(0, i);
  bench.poll();
  bench.fabric.run();  // nobody looks
  bench.queue_pair(0, 1, true).next_status = WorkStatus::kRetryExceeded;
  bench.post(0, 3);
  bench.queue_pair(0, 0, true).held = bench.queue_pair(0, 1, true).held = true;
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kReceived, 0), ElementsAre(0, 1, 2));
  bench.queue_pair(0, 0, true).held = bench.queue_pair(0, 1, true).held = false;
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kSent, 0), ElementsAre(0, 1, 2));
  ASSERT_THAT(bench.events_of(EventKind::kFailed, 0), SizeIs(1));
  EXPECT_EQ(bench.events_of(EventKind::kFailed, 0)[0].index, 3u);
  EXPECT_EQ(bench.transport().counters().payload_errors, 0u);
}

// A message of many segments that fails in the middle of them, behind one that succeeded.
TEST(VerbsFailure, NamesTheMessageWhoseSegmentFailed) {
  VerbsOptions options;
  options.max_message = 256;
  options.send_queue = options.signal_every = 8;
  VerbsBench bench(options, verbs_plan(1, {256, 20 * 256, 256}));
  ASSERT_TRUE(bench.connect().empty());
  for (uint32_t i = 0; i < 3; ++i) bench.post(0, i);
  bench.poll();
  bench.queue_pair(0, 0, true).execute();
  bench.queue_pair(0, 0, true).execute();
  bench.queue_pair(0, 0, true).next_status = WorkStatus::kRemoteOperation;
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kSent, 0), ElementsAre(0));
  std::vector<Event> failed = bench.events_of(EventKind::kFailed, 0);
  std::ranges::sort(failed, {}, &Event::index);
  ASSERT_THAT(failed, SizeIs(2));
  EXPECT_EQ(failed[0].index, 1u);
  EXPECT_EQ(failed[0].failure, Failure::kRemoteOperational);
  EXPECT_EQ(failed[1].failure, Failure::kFlushed);
  EXPECT_THAT(bench.transport().describe(ConnectionId(0)), HasSubstr("message 1"));
}

// The destination asks for the data, so it is told too when it cannot have them.
TEST(VerbsFailure, OfAReadIsReportedAtBothEnds) {
  VerbsOptions options;
  options.verb = DataVerb::kRead;
  VerbsBench bench(options, verbs_plan(1, {1000}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 0, false).next_status = WorkStatus::kRemoteAccess;
  for (uint32_t i = 0; i < 3; ++i) bench.post(0, i);
  bench.run();
  uint32_t at_source = 0, at_destination = 0;
  for (const Event& event : bench.events_of(EventKind::kFailed, 0)) ++(event.at_source ? at_source : at_destination);
  EXPECT_EQ(at_source, 3u);
  EXPECT_EQ(at_destination, 3u);
  EXPECT_EQ(bench.transport().next_event(), Time::never());
}

TEST(VerbsFailure, OfAnUnreachablePeerIsFoundOutOnce) {
  VerbsBench bench(VerbsOptions(), verbs_plan(5, {100}));
  bench.fabric.silent.insert(IpAddress(Ipv4Address{0xC6120002}));
  const std::vector<ConnectFailure> failures = bench.connect();
  ASSERT_THAT(failures, SizeIs(10));
  EXPECT_THAT(failures[0].reason, HasSubstr("fake0: nobody answers"));
  EXPECT_EQ(bench.transport().not_ready().size(), 10u);
  // The first of this port's ten queue pairs asks three times; those of the other port find this one at once.
  EXPECT_EQ(bench.fabric.connects, 13u);
  bench.post(0, 0);
  bench.run();
  ASSERT_THAT(bench.events_of(EventKind::kFailed, 0), SizeIs(1));
  EXPECT_EQ(bench.events[0].failure, Failure::kUnreachable);
}

// Ctrl-C while the kernel asks for the first: it is not asked again, and nobody else is asked.
TEST(VerbsFailure, OfAllThatAnInterruptionCameBefore) {
  std::atomic<bool> interrupted{false};
  VerbsOptions options;
  options.interrupted = &interrupted;
  VerbsBench bench(options, verbs_plan(5, {100}));
  bench.fabric.silent.insert(IpAddress(Ipv4Address{0xC6120002}));
  bench.fabric.on_connect = [&] { interrupted = true; };
  const std::vector<ConnectFailure> failures = bench.connect();
  EXPECT_EQ(bench.fabric.connects, 1u);
  ASSERT_THAT(failures, SizeIs(20)) << "ten connections, each with two ends";
  EXPECT_EQ(failures[0].reason, "fake0: nobody answers");
  EXPECT_EQ(failures[1].reason, "fake1: not tried: the run was interrupted");
}

TEST(VerbsFailure, OfAllThatTheDeadlineCameBefore) {
  VerbsOptions options;
  options.connect_deadline = Duration(0);
  VerbsBench bench(options, verbs_plan(1, {100}));
  const std::vector<ConnectFailure> failures = bench.connect();
  EXPECT_EQ(bench.fabric.connects, 0u);
  ASSERT_THAT(failures, SizeIs(4)) << "two connections, each with two ends";
  EXPECT_EQ(failures[0].reason, "fake0: not tried: the 0 s of run.deadline had passed");
}

TEST(VerbsFailure, OfAPeerOfAnotherKindIsExplained) {
  VerbsBench bench(VerbsOptions(), verbs_plan(1, {100}));
  std::vector<EndPoint>& ends = bench.ends;
  const auto reason_with = [&](auto change) {
    const std::vector<EndPoint> good = ends;
    for (EndPoint& end : ends) change(end);
    const std::vector<ConnectFailure> failures = bench.connect();
    ends = good;
    return failures.empty() ? "none" : failures[0].reason;
  };
  EXPECT_THAT(reason_with([](EndPoint& e) { e.slots = 0; }), HasSubstr("no memory to write to"));
  EXPECT_THAT(reason_with([](EndPoint& e) { e.psn = 1 << 24; }), HasSubstr("must have 24 bits"));
  EXPECT_THAT(reason_with([](EndPoint& e) { e.ip = *parse_ip("2001:db8::1"); }), HasSubstr("not of one IP version"));
  ends.resize(1);
  EXPECT_THAT(reason_with([](EndPoint&) {}), HasSubstr("its other end is not known"));
}

// 10 of the 20 queue pairs receive, 64 each: any completion queue may have to hold those 640 and 64 of each queue pair
// that sends to it.
TEST(VerbsLimits, OfCompletionsOfSharedReceives) {
  const TransportPlan plan = verbs_plan(10, {1000});
  VerbsOptions options;
  options.shared_receive_queue = true;
  VerbsPlace place = fake_place(0);
  place.device.limits.completions = 640 + 63;
  EXPECT_THAT(error_of(options, plan, place), AllOf(HasSubstr("704 completions and a completion queue has at most 703"),
                                                    HasSubstr("transport.verbs.shared_receive_queue off")));
  place.device.limits.completions = 640 + 2 * 64;
  place.device.limits.completion_queues = 9;
  EXPECT_THAT(error_of(options, plan, place), HasSubstr("20 queue pairs need 10 completion queues and it has 9"));
  place.device.limits.completion_queues = 10;
  FakeFabric fabric;
  VerbsTransport transport(options, fabric, {{PortId(0), "p", place}});
  transport.prepare(plan);
  EXPECT_EQ(fabric.completion_queues, std::vector<uint32_t>(10, 640 + 2 * 64));
}

}  // namespace
}  // namespace rankwire
