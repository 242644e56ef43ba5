// Runs in which messages are lost, fail or arrive wrongly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "tests/engine/bench.h"

namespace rankwire {
namespace {

using testing::all_reduce_of_three;
using testing::Bench;
using ::testing::HasSubstr;
using testing::WorkloadBuilder;

/// Delivers at once, but does to one connection what the test asks for.
class FaultyTransport final : public Transport {
 public:
  enum class Fault { kLose, kDuplicate, kFail, kFailBeforeDelivery, kWrongPayload };
  FaultyTransport(Fault fault, uint32_t source) : fault_(fault), source_(source) {}

  std::vector<EndPoint> prepare(const TransportPlan& plan) override {
    plan_ = plan;
    return {};
  }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time now, std::span<const Message> messages) noexcept override {
    for (const Message& m : messages) {
      const bool faulty = plan_.connections[m.connection.value].source == RankId(source_);
      if (faulty && fault_ == Fault::kLose) continue;
      Event sent;
      const bool fails = fault_ == Fault::kFail || fault_ == Fault::kFailBeforeDelivery;
      sent.kind = faulty && fails ? EventKind::kFailed : EventKind::kSent;
      sent.failure = sent.kind == EventKind::kFailed ? Failure::kRetryExceeded : Failure::kNone;
      sent.connection = m.connection, sent.index = m.index, sent.bytes = m.bytes;
      const Time acked = sent.kind == EventKind::kFailed ? Time::never() : now;
      sent.sent = {now, now, now, acked};
      events_.push_back(sent);
      if (faulty && fault_ == Fault::kFail) continue;
      Event received = sent;
      received.failure = Failure::kNone;
      received.kind = EventKind::kReceived, received.at_source = false;
      const uint64_t key = payload_key(m.id);
      received.received = {now, now, faulty && fault_ == Fault::kWrongPayload ? key ^ 1 : key, 0};
      events_.push_back(received);
      if (faulty && fault_ == Fault::kDuplicate) events_.push_back(received);
    }
    return messages.size();
  }
  size_t poll(Time, std::span<Event> out) noexcept override {
    size_t n = 0;
    for (; n < out.size() && !events_.empty(); ++n) {
      out[n] = events_.front();
      events_.pop_front();
    }
    return n;
  }
  Time next_event() const noexcept override { return events_.empty() ? Time::never() : Time(); }
  uint64_t activity() const noexcept override { return 0; }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return "the words of the transport"; }
  void close() noexcept override {}

 private:
  const Fault fault_;
  const uint32_t source_;
  TransportPlan plan_;
  std::deque<Event> events_;
};

TEST(Run, AStallSaysWhoWaitsForWhom) {
  Bench bench(all_reduce_of_three(3'000));
  FaultyTransport transport(FaultyTransport::Fault::kLose, 1);
  const RunResult result = bench.run_over(transport);
  EXPECT_EQ(result.verdict, Verdict::kStalled);
  EXPECT_THAT(result.reason, HasSubstr("not every rank has finished"));
  ASSERT_FALSE(result.waiting.empty());
  EXPECT_THAT(result.waiting, ::testing::Contains(HasSubstr("rank 2 in 'collective' (node 1, all_reduce of group "
                                                            "'world', iteration 0) waits for rank 1 to send step 0")));
  EXPECT_THAT(result.waiting.front(), HasSubstr("the words of the transport"));
}

TEST(Run, AStallNamesCollectivesThatAreHeldBack) {
  // Rank 0 never gets to its first collective of the pair because nobody sends; its second is ready.
  WorkloadBuilder builder(2);
  const GroupId pair = builder.group("pair", {0, 1});
  const uint32_t never = builder.receive(0, 1, 0, 100);
  builder.collective(0, CollectiveKind::kAllReduce, pair, 100, {never});
  builder.collective(0, CollectiveKind::kAllReduce, pair, 100);
  builder.send(1, 0, 0, 100);
  builder.collective(1, CollectiveKind::kAllReduce, pair, 100);
  builder.collective(1, CollectiveKind::kAllReduce, pair, 100);
  Bench bench(builder.build());
  FaultyTransport transport(FaultyTransport::Fault::kLose, 1);
  const RunResult result = bench.run_over(transport);
  EXPECT_EQ(result.verdict, Verdict::kStalled);
  EXPECT_THAT(result.waiting, ::testing::Contains(HasSubstr("rank 0 holds 'collective' (node 3) back")));
}

TEST(Run, AFailedMessageEndsTheRunWithItsName) {
  Bench bench(all_reduce_of_three(3'000));
  FaultyTransport transport(FaultyTransport::Fault::kFail, 1);
  const RunResult result = bench.run_over(transport);
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_THAT(result.reason, HasSubstr("rank 1 -> 2 step 0"));
  EXPECT_THAT(result.reason, HasSubstr("retry count exceeded"));
  const auto failed = std::ranges::find(bench.rows.messages_, true, &MessageRecord::failed);
  ASSERT_NE(failed, bench.rows.messages_.end());
  EXPECT_EQ(failed->id.source, 1u);
  EXPECT_EQ(failed->last, Time::never());
}

TEST(Run, AFailedPairDoesNotHoldUpTheOthersWhenToldSo) {
  Bench bench(all_reduce_of_three(3'000), {.messages = {.on_failure = OnFailure::kContinue}});
  FaultyTransport transport(FaultyTransport::Fault::kFail, 1);
  bench.run_over(transport);
  EXPECT_TRUE(bench.engine.finished());
  for (Duration time : bench.engine.rank_times()) EXPECT_EQ(time, Duration(0));  // everything happens at once
  EXPECT_EQ(bench.engine.communication().counters().failed, 4u);                 // rank 1's 2(n-1) messages
  EXPECT_EQ(bench.engine.communication().counters().delivered, 8u);              // of the two others
}

// Of a ring only rank 1's connection to rank 2 fails, four times; its first message is kept.
TEST(Run, AFailedConnectionIsKeptOnceWithItsFirstMessage) {
  Bench bench(all_reduce_of_three(3'000), {.messages = {.on_failure = OnFailure::kContinue}});
  FaultyTransport transport(FaultyTransport::Fault::kFail, 1);
  bench.run_over(transport);
  const Communication& messages = bench.engine.communication();
  ASSERT_EQ(messages.failures().size(), 1u);
  const Event& failure = messages.failures().front();
  EXPECT_EQ(bench.plan.transport.connections[failure.connection.value].source, RankId(1));
  EXPECT_EQ(failure.index, 0u);
  EXPECT_EQ(failure.failure, Failure::kRetryExceeded);
  EXPECT_EQ(messages.operation_name(failure), "collective");
  EXPECT_THAT(messages.message_text(failure), HasSubstr("rank 1 -> 2 step 0"));
}

// An all-to-all of 70 ranks in which rank 1's messages to the 69 others fail.
TEST(Run, OfManyFailedConnectionsTheFirstAreKept) {
  constexpr uint32_t kRanks = 70;
  WorkloadBuilder builder(kRanks);
  std::vector<uint32_t> members(kRanks);
  for (uint32_t r = 0; r < kRanks; ++r) members[r] = r;
  const GroupId world = builder.group("world", members);
  for (uint32_t r = 0; r < kRanks; ++r) builder.collective(r, CollectiveKind::kAllToAll, world, kRanks);
  Bench bench(builder.build(), {.messages = {.on_failure = OnFailure::kContinue}});
  FaultyTransport transport(FaultyTransport::Fault::kFail, 1);
  bench.run_over(transport);
  EXPECT_EQ(bench.engine.communication().counters().failed, kRanks - 1);
  EXPECT_EQ(bench.engine.communication().failures().size(), FirstFailures::kMost);
}

TEST(Run, AMessageThatArrivesAfterItsSourceGaveUpIsNoDuplicate) {
  Bench bench(all_reduce_of_three(3'000), {.messages = {.on_failure = OnFailure::kContinue}});
  FaultyTransport transport(FaultyTransport::Fault::kFailBeforeDelivery, 1);
  bench.run_over(transport);
  EXPECT_TRUE(bench.engine.finished());
  EXPECT_EQ(bench.engine.communication().counters().failed, 4u);
  EXPECT_EQ(bench.engine.communication().counters().duplicated, 0u);
}

TEST(Run, ASecondDeliveryIsCountedAndIgnored) {
  Bench bench(all_reduce_of_three(3'000));
  FaultyTransport transport(FaultyTransport::Fault::kDuplicate, 1);
  EXPECT_EQ(bench.run_over(transport).verdict, Verdict::kOk);
  EXPECT_EQ(bench.engine.communication().counters().delivered, 12u);
  EXPECT_EQ(bench.engine.communication().counters().duplicated, 4u);
}

TEST(Run, APayloadThatIsNotTheMessagesIsAnError) {
  for (int64_t bytes : {3'000, 9}) {  // messages of 1000 bytes, and of 3: shorter than the key
    Bench bench(all_reduce_of_three(bytes), {.messages = {.payload_keys = PayloadKeys::kCompared}});
    FaultyTransport transport(FaultyTransport::Fault::kWrongPayload, 1);
    bench.run_over(transport);
    EXPECT_EQ(bench.engine.communication().counters().payload_errors, 4u);
    EXPECT_THAT(bench.engine.communication().wrong_messages(),
                ::testing::ElementsAre(::testing::Pair("collective", 4u)));
  }
}

}  // namespace
}  // namespace rankwire
