// What RDMA devices say by themselves, and devices that cannot be spoken with any more: no message waits for them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dataplane/verbs/bench.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using testing::verbs_plan;
using testing::VerbsBench;

constexpr uint32_t kPollsBetweenLooks = 16384;

void look(VerbsBench& bench) {
  for (uint32_t i = 0; i < kPollsBetweenLooks; ++i) bench.poll();
}

/// Messages 0 and 1 of every connection are posted and under way for ever.
void hold_everything(VerbsBench& bench) {
  for (auto& [number, queue_pair] : bench.fabric.queue_pairs) queue_pair->held = true;
  for (uint32_t connection = 0; connection < bench.plan().connections.size(); ++connection)
    for (const uint32_t index : {0, 1}) bench.post(connection, index);
  bench.run();
  ASSERT_THAT(bench.events, IsEmpty());
}

auto fails_by(Failure failure) {
  return Field(&Event::failure, failure);
}

TEST(VerbsEvents, AreLookedForNowAndThen) {
  VerbsBench bench(VerbsOptions(), verbs_plan(1, {100}));
  ASSERT_THAT(bench.connect(), IsEmpty());
  const uint64_t before = bench.fabric.looks;
  for (int i = 0; i < 3; ++i) look(bench);
  EXPECT_EQ(bench.fabric.looks - before, 3u * 2) << "two devices";
}

TEST(VerbsEvents, EndTheQueuePairThatTheyName) {
  const std::pair<DeviceEventKind, const char*> kinds[] = {{DeviceEventKind::kQueuePairFatal, "QP_FATAL"},
                                                           {DeviceEventKind::kRequestError, "QP_REQ_ERR"},
                                                           {DeviceEventKind::kAccessError, "QP_ACCESS_ERR"}};
  for (const auto& [kind, name] : kinds) {
    VerbsBench bench(VerbsOptions(), verbs_plan(2, {100}));
    ASSERT_THAT(bench.connect(), IsEmpty());
    hold_everything(bench);
    const uint32_t number = bench.end(0, 0, true).queue_pair;
    bench.fabric.events["fake0"] = {{kind, number}};
    look(bench);
    EXPECT_THAT(bench.events_of(EventKind::kFailed, 0), AllOf(SizeIs(2), Each(fails_by(Failure::kDevice)))) << name;
    EXPECT_THAT(bench.events, SizeIs(2)) << "no other connection";
    EXPECT_TRUE(bench.queue_pair(0, 0, true).in_error());
    EXPECT_TRUE(bench.queue_pair(0, 0, false).in_error());
    EXPECT_THAT(bench.transport().describe(ConnectionId(0)),
                AllOf(HasSubstr(fmt::format("source QP {:#x} of fake0", number)), HasSubstr(name),
                      HasSubstr("ended with another queue pair of the connection")));
    EXPECT_EQ(bench.detail(counter_name(kind)), 1u);
    bench.post(0, 2);
    bench.run();
    EXPECT_THAT(bench.events_of(EventKind::kFailed, 0), AllOf(SizeIs(3), Each(fails_by(Failure::kDevice))));
  }
}

// The number of a queue pair means nothing at another device.
TEST(VerbsEvents, OfAnotherDevicesQueuePairEndNothing) {
  VerbsBench bench(VerbsOptions(), verbs_plan(1, {100}));
  ASSERT_THAT(bench.connect(), IsEmpty());
  bench.fabric.events["fake1"] = {{DeviceEventKind::kQueuePairFatal, bench.end(0, 0, true).queue_pair}};
  bench.post(0, 0);
  look(bench);
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kSent, 0), ElementsAre(0));
}

TEST(VerbsEvents, OfThePortEndItsQueuePairs) {
  VerbsBench bench(VerbsOptions(), verbs_plan(2, {100}));
  ASSERT_THAT(bench.connect(), IsEmpty());
  hold_everything(bench);
  bench.fabric.events["fake0"] = {{DeviceEventKind::kPortError, 2}};
  look(bench);
  EXPECT_THAT(bench.events, IsEmpty()) << "that was the device's other port";
  bench.fabric.events["fake0"] = {{DeviceEventKind::kPortError, 1}};
  look(bench);
  for (const uint32_t sent_there : {0, 2})
    EXPECT_THAT(bench.events_of(EventKind::kFailed, sent_there), AllOf(SizeIs(2), Each(fails_by(Failure::kDevice))));
  for (const uint32_t received_there : {1, 3})
    EXPECT_THAT(bench.events_of(EventKind::kFailed, received_there),
                AllOf(SizeIs(2), Each(fails_by(Failure::kFlushed))));
  EXPECT_THAT(bench.transport().describe(ConnectionId(3)),
              AllOf(HasSubstr("of fake1 to"), HasSubstr("of fake0 to"), HasSubstr("(PORT_ERR)")));
  EXPECT_EQ(bench.detail("event_port_error"), 2u);
}

// Each READ that the destination has under way ends with an event there too.
TEST(VerbsEvents, OfADeadDeviceLeaveNothingWaiting) {
  for (const DeviceEventKind kind :
       {DeviceEventKind::kDeviceFatal, DeviceEventKind::kCompletionQueueError, DeviceEventKind::kSharedReceivesError}) {
    VerbsOptions options;
    options.verb = DataVerb::kRead;
    VerbsBench bench(options, verbs_plan(1, {1000}));
    ASSERT_THAT(bench.connect(), IsEmpty());
    bench.queue_pair(0, 0, false).held = true;
    for (const uint32_t index : {0, 1}) bench.post(0, index);
    bench.run();
    ASSERT_THAT(bench.queue_pair(0, 0, false).chains, SizeIs(1)) << "READs";
    bench.fabric.events["fake1"] = {{kind, 0}};
    look(bench);
    uint32_t at_destination = 0;
    for (const Event& event : bench.events_of(EventKind::kFailed, 0)) at_destination += event.at_source ? 0 : 1;
    EXPECT_EQ(at_destination, 2u);
    EXPECT_THAT(bench.events, SizeIs(4));
    EXPECT_EQ(bench.transport().next_event(), Time::never());
    EXPECT_THAT(bench.transport().describe(ConnectionId(0)), HasSubstr(to_string(kind)));
  }
}

TEST(VerbsEvents, ThatHarmNobodyAreCounted) {
  VerbsBench bench(VerbsOptions(), verbs_plan(1, {100}));
  ASSERT_THAT(bench.connect(), IsEmpty());
  bench.fabric.events["fake0"] = {{DeviceEventKind::kPortActive, 1},
                                  {DeviceEventKind::kGidChange, 1},
                                  {DeviceEventKind::kGidChange, 1},
                                  {DeviceEventKind::kLidChange, 1}};
  look(bench);
  bench.post(0, 0);
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kSent, 0), ElementsAre(0));
  EXPECT_EQ(bench.detail("event_port_active"), 1u);
  EXPECT_EQ(bench.detail("event_gid_change"), 2u);
  EXPECT_EQ(bench.detail("event_lid_change"), 1u);
  EXPECT_THAT(bench.transport().describe(ConnectionId(0)), Not(HasSubstr("error")));
}

TEST(VerbsEvents, FromBeforeTheConnectionsEndNone) {
  VerbsBench bench(VerbsOptions(), verbs_plan(1, {100}));
  bench.fabric.events["fake0"] = {{DeviceEventKind::kPortError, 1}, {DeviceEventKind::kPortActive, 1}};
  ASSERT_THAT(bench.connect(), IsEmpty());
  look(bench);
  bench.post(0, 0);
  bench.run();
  EXPECT_THAT(bench.indexes_of(EventKind::kSent, 0), ElementsAre(0));
  EXPECT_EQ(bench.detail("event_port_error"), 1u);
}

TEST(VerbsFailure, OfACompletionQueueEndsItsDevice) {
  VerbsBench bench(VerbsOptions(), verbs_plan(1, {100}));
  ASSERT_THAT(bench.connect(), IsEmpty());
  hold_everything(bench);
  bench.fabric.unpollable = {"fake0"};
  bench.run();
  EXPECT_THAT(bench.events_of(EventKind::kFailed, 0), AllOf(SizeIs(2), Each(fails_by(Failure::kDevice))));
  EXPECT_THAT(bench.events_of(EventKind::kFailed, 1), AllOf(SizeIs(2), Each(fails_by(Failure::kFlushed))));
  EXPECT_THAT(bench.transport().describe(ConnectionId(0)), HasSubstr("a completion queue cannot be polled"));
  bench.run();
  EXPECT_EQ(bench.detail("completion_polls_failed"), 1u) << "it is not asked again";
  EXPECT_EQ(bench.transport().next_event(), Time::never());
}

// Queue pair 1 of a split connection fails; queue pair 0 should end with it, and does not.
TEST(VerbsFailure, OfAQueuePairThatDoesNotEndIsNotAwaited) {
  VerbsOptions options;
  options.queue_pairs = 2;
  VerbsBench bench(options, verbs_plan(1, {3000}));
  ASSERT_THAT(bench.connect(), IsEmpty());
  testing::FakeQueuePair& stuck = bench.queue_pair(0, 0, true);
  stuck.held = stuck.refuses_to_end = true;
  bench.queue_pair(0, 1, true).next_status = WorkStatus::kRetryExceeded;
  bench.post(0, 0);
  bench.run();
  EXPECT_THAT(bench.events_of(EventKind::kFailed, 0), AllOf(SizeIs(1), Each(fails_by(Failure::kRetryExceeded))));
  EXPECT_EQ(bench.detail("error_states_refused"), 1u);
  EXPECT_THAT(bench.transport().describe(ConnectionId(0)), HasSubstr("the device refused to end the queue pair"));
  // What it says later is not heeded.
  stuck.held = false;
  stuck.next_status = WorkStatus::kRemoteAccess;
  bench.run();
  EXPECT_EQ(bench.detail("status_remote_access"), 1u);
  EXPECT_THAT(bench.events, SizeIs(1));
  EXPECT_THAT(bench.transport().describe(ConnectionId(0)), Not(HasSubstr("remote access")));
  EXPECT_EQ(bench.transport().next_event(), Time::never());
}

}  // namespace
}  // namespace rankwire
