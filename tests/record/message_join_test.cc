#include "emulator/record/message_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

MessageId id(uint32_t sequence, uint32_t source = 0) {
  MessageId m;
  m.group = 2;
  m.sequence = sequence;
  m.source = source;
  m.destination = 1;
  return m;
}

MessageRecord sent(MessageId m, int64_t posted, int64_t acked) {
  return {.id = m,
          .bytes = Bytes(100),
          .at_source = true,
          .retransmissions = 3,
          .first = Time(posted),
          .last = Time(acked)};
}

MessageRecord received(MessageId m, int64_t first, int64_t delivered) {
  return {.id = m, .bytes = Bytes(100), .marks = 4, .first = Time(first), .last = Time(delivered)};
}

TEST(MessageJoin, PutsBothEndsTogetherWhicheverComesFirst) {
  for (const bool source_first : {true, false}) {
    MessageJoin join({});
    const MessageRecord a = sent(id(1), 10, 90), b = received(id(1), 40, 70);
    EXPECT_EQ(join.add(source_first ? a : b), nullptr);
    const JoinedMessage* message = join.add(source_first ? b : a);
    ASSERT_NE(message, nullptr);
    EXPECT_TRUE(message->complete());
    EXPECT_EQ(message->completion(), Duration(60));  // posted 10, delivered 70
    EXPECT_EQ(message->acked, Time(90));
    EXPECT_EQ(message->first_rx, Time(40));
    EXPECT_EQ(message->retransmissions, 3u);
    EXPECT_EQ(message->marks, 4u);
    EXPECT_EQ(join.unjoined(), 0u);
  }
}

TEST(MessageJoin, KeepsTheSlowestInOrder) {
  MessageJoin join({.kept = 2});
  for (const int64_t completion : {30, 10, 50, 20, 40}) {
    const MessageId m = id(static_cast<uint32_t>(completion));
    join.add(sent(m, 0, 100));
    join.add(received(m, 1, completion));
  }
  std::vector<int64_t> kept;
  for (const JoinedMessage& message : join.kept()) kept.push_back(message.completion().ps);
  EXPECT_THAT(kept, ElementsAre(50, 40));
}

TEST(MessageJoin, MemoryIsBoundedAndWhatHasNoRoomIsReturnedAlone) {
  MessageJoin join({.pending = 1});
  EXPECT_EQ(join.add(sent(id(1), 0, 9)), nullptr);
  const JoinedMessage* alone = join.add(sent(id(2), 5, 9));
  ASSERT_NE(alone, nullptr);
  EXPECT_FALSE(alone->complete());
  EXPECT_EQ(alone->posted, Time(5));
  EXPECT_EQ(alone->delivered, Time::never());
  EXPECT_NE(join.add(received(id(1), 1, 2)), nullptr) << "the half that waited is still joined";
  EXPECT_EQ(join.unjoined(), 1u);
}

TEST(MessageJoin, AFailedMessageIsKeptAndNotTimed) {
  MessageJoin join({});
  MessageRecord failed = sent(id(1), 0, 100);
  failed.failed = true;
  join.add(failed);
  ASSERT_EQ(join.kept().size(), 1u);
  EXPECT_TRUE(join.kept()[0].failed);
  EXPECT_EQ(join.total().count, 0u);
}

TEST(MessageJoin, EachFlowHasItsOwnHistogram) {
  MessageJoin join({});
  for (uint32_t i = 1; i <= 20; ++i) {
    // Values below 32 ps have buckets of one: flow 3 -> 1 completes in 1..10, flow 5 -> 1 in 11..20.
    const MessageId m = id(i, i <= 10 ? 3 : 5);
    join.add(sent(m, 0, 100));
    join.add(received(m, 0, i));
  }
  const auto flows = join.flows();
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].first.source, 3u);
  EXPECT_EQ(flows[0].second.p50, Duration(5));   // rank ceil(0.5 x 10) = 5th of 1..10
  EXPECT_EQ(flows[1].second.p50, Duration(15));  // 5th of 11..20
  EXPECT_EQ(flows[1].second.p99, Duration(20));  // ceil(9.9) = 10th
  EXPECT_EQ(join.total().p50, Duration(10));     // 10th of 1..20
  EXPECT_EQ(join.total().p95, Duration(19));     // 19th
  EXPECT_EQ(join.total().max, Duration(20));
}

// Before and after it keeps all buckets, what a flow says is what a histogram of the same values says.
TEST(MessageJoin, AFlowOfManyMessagesIsLikeOneOfFew) {
  Histogram expected;
  SmallHistogram histogram;
  for (uint32_t i = 1; i <= 2 * SmallHistogram::kFew; ++i) {
    const Duration value(int64_t{i} * i * 1009);
    expected.add(value);
    histogram.add(value);
    const Histogram whole = histogram.whole();
    ASSERT_EQ(whole.count(), i);
    ASSERT_EQ(whole.min(), expected.min());
    ASSERT_EQ(whole.max(), expected.max());
    ASSERT_EQ(whole.mean(), expected.mean());
    for (const double q : {0.01, 0.5, 0.99}) ASSERT_EQ(whole.quantile(q), expected.quantile(q)) << i << " values";
  }
}

// A clear-to-send travels from the data's destination to its source and so has the pair of another data flow: 1 -> 3
// carries data that completes in 10 and control that completes in 25.
TEST(MessageJoin, ControlMessagesCountInAFlowOfTheirOwnAlone) {
  MessageJoin join({});
  for (const bool control : {false, true}) {
    MessageId m = id(1, 3);
    m.control = control;
    join.add(sent(m, 0, 100));
    const JoinedMessage* joined = join.add(received(m, 0, control ? 25 : 10));
    ASSERT_NE(joined, nullptr) << "the identities differ, so the halves do not mix";
    EXPECT_EQ(joined->completion(), Duration(control ? 25 : 10));
  }
  const auto flows = join.flows();
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_FALSE(flows[0].first.control);
  EXPECT_EQ(flows[0].second.max, Duration(10));
  EXPECT_TRUE(flows[1].first.control);
  EXPECT_EQ(flows[1].second.max, Duration(25));
  EXPECT_EQ(join.total().count, 1u);
  EXPECT_EQ(join.total().max, Duration(10));
  ASSERT_EQ(join.kept().size(), 1u);
  EXPECT_EQ(join.kept()[0].id, id(1, 3));
}

struct Detail {
  MessageDetail detail;
  size_t rows;
};

class MessageRows : public ::testing::TestWithParam<Detail> {};

// Five messages of which one has only its source: `all` stores five rows, `sampled` with two kept the two slowest
// complete ones, `none` nothing.
TEST_P(MessageRows, AreStoredAsConfigured) {
  testing::TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path(), {.messages = GetParam().detail, .slowest = 2});
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated});
    RecordSink& sink = run.sink();
    for (uint32_t i = 1; i <= 4; ++i) {
      sink.messages(std::vector{sent(id(i), 0, 100), received(id(i), 0, 10 * i)});
    }
    sink.messages(std::vector{sent(id(5), 0, 100)});
    RunEnd end;
    end.flows = {{.connection = {.id = ConnectionId(0),
                                 .job = JobId(0),
                                 .group = GroupId(2),
                                 .source = RankId(0),
                                 .destination = RankId(1)},
                  .group = "dp",
                  .counters = {.messages = 5}}};
    run.end(end);
  }
  Database database(folder / "run.sqlite", Database::Access::kRead);
  EXPECT_EQ(database.integer("SELECT count(*) FROM messages"), static_cast<int64_t>(GetParam().rows));

  const RunReader reader(folder.path());
  const RecordedRun& run = *reader.emulated();
  std::vector<RecordedFlow> flows;
  reader.for_each_flow(run, [&](const RecordedFlow& flow) { flows.push_back(flow); });
  ASSERT_EQ(flows.size(), 1u);
  EXPECT_EQ(flows[0].flow.group, "dp");
  EXPECT_EQ(run.loss.messages, 0u);
  if (GetParam().detail == MessageDetail::kNone) {
    EXPECT_FALSE(run.latency);
    EXPECT_FALSE(flows[0].latency);
    return;
  }
  EXPECT_EQ(run.loss.unjoined, 1u);
  EXPECT_EQ(run.latency->count, 4u);
  EXPECT_EQ(run.latency->max, Duration(40));
  EXPECT_EQ(flows[0].latency->count, 4u);
  const auto slowest = reader.slowest_messages(run, 2);
  ASSERT_EQ(slowest.size(), 2u);
  EXPECT_EQ(slowest[0].id, id(4));
  EXPECT_EQ(slowest[0].completion(), Duration(40));
  EXPECT_EQ(slowest[1].completion(), Duration(30));
}

INSTANTIATE_TEST_SUITE_P(All, MessageRows,
                         ::testing::Values(Detail{MessageDetail::kNone, 0}, Detail{MessageDetail::kSampled, 2},
                                           Detail{MessageDetail::kAll, 5}));

// Who knows all messages beforehand tells their summary, and the record is that of one who told each.
TEST(MessageSummary, IsRecordedLikeTheMessagesThemselves) {
  std::vector<std::string> records;
  for (const bool at_once : {false, true}) {
    testing::TemporaryFolder folder;
    {
      RunRecorder recorder(folder.path(), {.slowest = 2});
      RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual"});
      RecordSink& sink = run.sink();
      MessageJoin join({.kept = 2});
      for (uint32_t i = 1; i <= 4; ++i) {
        const MessageRecord halves[] = {sent(id(i, i % 2), 0, 100), received(id(i, i % 2), 0, 10 * i)};
        if (!at_once) sink.messages(halves);
        for (const MessageRecord& half : halves) join.add(half);
      }
      if (at_once) run.messages(join.summary());
      run.end({});
    }
    Database database(folder / "run.sqlite", Database::Access::kRead);
    std::string& text = records.emplace_back();
    for (const char* columns : {"source || ' ' || sequence || ' ' || delivered_ps FROM messages",
                                "ifnull(source, '-') || ' ' || count || ' ' || max_ps FROM message_latency"}) {
      Statement rows = database.prepare(std::string("SELECT ") + columns);
      while (rows.step()) text += rows.text(0) + "\n";
    }
  }
  // The slowest two, then all messages, and those of each source: 4 and 2 from rank 0, 3 and 1 from rank 1.
  EXPECT_EQ(records[0], "0 4 40\n1 3 30\n- 4 40\n0 2 40\n1 2 30\n");
  EXPECT_EQ(records[1], records[0]);
}

}  // namespace
}  // namespace rankwire
