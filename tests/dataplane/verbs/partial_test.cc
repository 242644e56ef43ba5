// Queue pairs that end while a message is posted in part, and devices that take less than was asked of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/dataplane/verbs/bench.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using testing::fake_place;
using testing::FakeFabric;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::verbs_plan;
using testing::VerbsBench;

VerbsOptions segments_of_256(uint32_t send_queue) {
  VerbsOptions options;
  options.max_message = 256;
  options.send_queue = options.signal_every = send_queue;
  return options;
}

// Each part has 20 segments. The first queue pair has done the 8 that it has room for when the second fails: nothing
// of its part is under way.
TEST(VerbsFailure, EndsAPartWhosePostedSegmentsHaveAllSucceeded) {
  VerbsOptions options = segments_of_256(8);
  options.queue_pairs = 2;
  for (const PayloadMode payload : {PayloadMode::kPattern, PayloadMode::kChecking}) {
    options.payload = payload;
    VerbsBench bench(options, verbs_plan(1, {2 * 20 * 256}));
    ASSERT_TRUE(bench.connect().empty());
    bench.queue_pair(0, 1, true).next_status = WorkStatus::kRetryExceeded;
    bench.post(0, 0);
    bench.run();
    ASSERT_THAT(bench.events_of(EventKind::kFailed, 0), SizeIs(1));
    EXPECT_THAT(bench.events_of(EventKind::kSent, 0), SizeIs(0));
    EXPECT_EQ(bench.transport().next_event(), Time::never());
  }
}

// Room for three: a WRITE and its immediate, which asks for a completion, and the WRITE of the second part, which does
// not and has succeeded.
TEST(VerbsFailure, EndsAWriteWhoseImmediateIsNotPosted) {
  VerbsOptions options;
  options.verb = DataVerb::kWriteThenImm;
  options.send_queue = options.signal_every = 3;
  options.queue_pairs = 2;
  VerbsBench bench(options, verbs_plan(1, {1000}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 1, true).next_status = WorkStatus::kRetryExceeded;
  for (uint32_t i = 0; i < 3; ++i) bench.post(0, i);
  bench.run();
  EXPECT_THAT(bench.events_of(EventKind::kFailed, 0), SizeIs(3));
  EXPECT_EQ(bench.transport().next_event(), Time::never());
}

// Messages of 12 segments, 8 of which have succeeded when the device refuses the third or the first of the next chain,
// of the other 4 and 4 of the next message.
TEST(VerbsFailure, EndsAMessageWhoseOtherSegmentsAreRefused) {
  for (const size_t refuses_from : {2, 0}) {
    VerbsBench bench(segments_of_256(8), verbs_plan(1, {12 * 256}));
    ASSERT_TRUE(bench.connect().empty());
    for (uint32_t i = 0; i < 3; ++i) bench.post(0, i);
    bench.poll();
    bench.fabric.run();
    bench.queue_pair(0, 0, true).refuses_from = refuses_from;
    bench.run();
    const std::vector<Event> failed = bench.events_of(EventKind::kFailed, 0);
    ASSERT_THAT(failed, SizeIs(3)) << refuses_from;
    for (const Event& event : failed)
      EXPECT_EQ(event.failure, event.index < 2 ? failure_of(WorkStatus::kGeneral) : Failure::kFlushed);
    EXPECT_EQ(bench.detail("work_requests_refused"), 8 - refuses_from);
    EXPECT_THAT(bench.transport().describe(ConnectionId(0)), HasSubstr("message 0"));
    EXPECT_EQ(bench.transport().next_event(), Time::never());
  }
}

// A message of 40 segments, 8 of which have succeeded when the device refuses the next 8; the others were never given.
TEST(VerbsFailure, EndsAMessageThatIsRefusedInItsMiddle) {
  VerbsBench bench(segments_of_256(8), verbs_plan(1, {40 * 256}));
  ASSERT_TRUE(bench.connect().empty());
  bench.post(0, 0);
  bench.poll();
  bench.fabric.run();
  bench.queue_pair(0, 0, true).refuses_from = 0;
  bench.run();
  ASSERT_THAT(bench.events_of(EventKind::kFailed, 0), SizeIs(1));
  EXPECT_EQ(bench.events_of(EventKind::kFailed, 0)[0].failure, failure_of(WorkStatus::kGeneral));
}

TEST(VerbsFailure, OfADeviceThatTakesNoWorkEndsTheQueuePair) {
  VerbsOptions options;
  options.send_queue = options.signal_every = 8;
  VerbsBench bench(options, verbs_plan(2, {100}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 0, true).refuses_from = 3;
  for (uint32_t i = 0; i < 6; ++i)
    for (const uint32_t connection : {0, 2}) bench.post(connection, i);
  bench.run();
  EXPECT_THAT(bench.events_of(EventKind::kFailed, 0), SizeIs(6));
  EXPECT_THAT(bench.events_of(EventKind::kReceived, 2), SizeIs(6));
  EXPECT_EQ(bench.detail("work_requests_refused"), 3u);
  EXPECT_THAT(bench.transport().describe(ConnectionId(0)), HasSubstr("general error"));
}

TEST(VerbsFailure, OfADeviceThatTakesNoReceivesEndsTheQueuePair) {
  VerbsBench bench(VerbsOptions(), verbs_plan(2, {100}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 0, false).receives().takes = 0;
  for (uint32_t i = 0; i < 5; ++i)
    for (const uint32_t connection : {0, 2}) bench.post(connection, i);
  bench.run();
  EXPECT_EQ(bench.detail("receives_refused"), 5u);
  EXPECT_EQ(bench.detail("work_requests_refused"), 0u);
  EXPECT_TRUE(bench.queue_pair(0, 0, true).in_error());
  EXPECT_THAT(bench.transport().describe(ConnectionId(0)),
              HasSubstr("general error (status 21, vendor error 0x0, rec"));
  bench.post(0, 5);
  bench.post(2, 5);
  bench.run();
  EXPECT_THAT(bench.events_of(EventKind::kFailed, 0), SizeIs(1));
  EXPECT_THAT(bench.events_of(EventKind::kReceived, 2), SizeIs(6));
}

// At port 1 connections 0 and 2 arrive; what leaves there needs no receives.
TEST(VerbsFailure, OfASharedQueueThatTakesNoReceivesEndsAllWhoShareIt) {
  VerbsOptions options;
  options.shared_receive_queue = true;
  VerbsBench bench(options, verbs_plan(2, {100}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 0, false).receives().takes = 0;
  bench.post(0, 0);
  bench.run();
  for (const uint32_t connection : {0, 2}) EXPECT_TRUE(bench.queue_pair(connection, 0, false).in_error());
  for (const uint32_t connection : {1, 3}) EXPECT_FALSE(bench.queue_pair(connection, 0, false).in_error());
}

TEST(VerbsFailure, OfADeviceThatTakesTooFewReceivesIsSaidBeforeTheRun) {
  FakeFabric fabric;
  fabric.takes_receives = 63;
  VerbsTransport transport(VerbsOptions(), fabric, {{PortId(0), "p", fake_place(0)}});
  try {
    transport.prepare(verbs_plan(1, {100}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kRun);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("fake0: it refused 1 receives"), HasSubstr("transport.receive_queue")));
  }
}

// Three queue pairs share 3 x 2 receives, and one of them fails with one in its hands.
TEST(VerbsFailure, GivesASharedReceiveBack) {
  VerbsOptions options;
  options.shared_receive_queue = true;
  options.receive_queue = 2;
  VerbsBench bench(options, verbs_plan(3, {100}));
  ASSERT_TRUE(bench.connect().empty());
  bench.queue_pair(0, 0, false).next_receive = WorkStatus::kLocalProtection;
  bench.post(0, 0);
  bench.run();
  EXPECT_EQ(bench.events_of(EventKind::kFailed, 0)[0].failure, Failure::kRemoteOperational);
  EXPECT_EQ(bench.queue_pair(2, 0, false).receives().queue().size(), 6u);
  for (uint32_t i = 0; i < 20; ++i) bench.post(2, i);
  bench.run();
  EXPECT_THAT(bench.events_of(EventKind::kReceived, 2), SizeIs(20));
}

}  // namespace
}  // namespace rankwire
