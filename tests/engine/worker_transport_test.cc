#include "emulator/engine/worker_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Keeps what is posted, and reports what the test puts into `reports`. Outlives its transport.
struct Ports {
  std::vector<uint32_t> posted;  // indexes
  std::vector<Time> posted_at;
  std::vector<Event> reports;
  size_t room = SIZE_MAX;  // messages that are still taken
  size_t polls = 0;
};

class PortsTransport final : public Transport {
 public:
  explicit PortsTransport(Ports& ports) : ports_(ports) {}
  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time now, std::span<const Message> messages) noexcept override {
    const size_t n = std::min(messages.size(), ports_.room);
    ports_.room -= n;
    for (const Message& message : messages.first(n))
      ports_.posted.push_back(message.index), ports_.posted_at.push_back(now);
    return n;
  }
  size_t poll(Time, std::span<Event> events) noexcept override {
    ++ports_.polls;
    const size_t n = std::min(events.size(), ports_.reports.size());
    std::copy_n(ports_.reports.begin(), n, events.begin());
    ports_.reports.erase(ports_.reports.begin(), ports_.reports.begin() + static_cast<ptrdiff_t>(n));
    return n;
  }
  Time next_event() const noexcept override { return Time::never(); }
  uint64_t activity() const noexcept override { return 0; }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return ""; }
  void close() noexcept override {}

 private:
  Ports& ports_;
};

/// Three workers. Connection 0 is all of worker 0; 1 goes from a rank of worker 0 to one of worker 1, by the ports of
/// these; 2 is the same, but worker 2 has the port of its source. 3 goes from a rank of worker 0, by the port of worker
/// 2, to another machine.
class WorkerTransportTest : public ::testing::Test {
 protected:
  WorkerTransportTest() {
    for (uint32_t worker = 0; worker < 3; ++worker)
      workers_.push_back(std::make_unique<WorkerTransport>(std::make_unique<PortsTransport>(ports_[worker]), worker,
                                                           routes_, exchange_));
  }
  static Message message(uint32_t connection, uint32_t index) {
    return {.bytes = Bytes(1), .connection = ConnectionId(connection), .index = index};
  }
  static Event event(EventKind kind, bool at_source, uint32_t connection, uint32_t index) {
    Event event;
    event.kind = kind, event.at_source = at_source, event.connection = ConnectionId(connection), event.index = index;
    return event;
  }
  static Event sent(uint32_t connection, uint32_t index) { return event(EventKind::kSent, true, connection, index); }
  static Event received(uint32_t connection, uint32_t index) {
    return event(EventKind::kReceived, false, connection, index);
  }
  /// Indexes of what the worker is told.
  std::vector<uint32_t> told(uint32_t worker, Time now, size_t room = 64) {
    std::vector<Event> events(room);
    events.resize(workers_[worker]->poll(now, events));
    std::vector<uint32_t> indexes;
    for (const Event& told : events) indexes.push_back(told.index);
    return indexes;
  }

  const std::vector<WorkerRoute> routes_ = {{}, {0, 1, 0, 1}, {2, 1, 0, 1}, {2, 3, 0, 3}};
  WorkerExchange exchange_{3};
  std::array<Ports, 3> ports_;
  std::vector<std::unique_ptr<WorkerTransport>> workers_;
};

TEST_F(WorkerTransportTest, AMessageIsPostedByTheWorkerOfItsPort) {
  const std::array messages = {message(0, 1), message(2, 2), message(2, 3), message(1, 4)};
  EXPECT_EQ(workers_[0]->post(Time(5), messages), 4u);
  EXPECT_THAT(ports_[0].posted, ElementsAre(1, 4));
  EXPECT_THAT(told(2, Time(9)), IsEmpty());
  EXPECT_THAT(ports_[2].posted, ElementsAre(2, 3));
  EXPECT_THAT(ports_[2].posted_at, ElementsAre(Time(9), Time(9))) << "when it is given to the port";
}

TEST_F(WorkerTransportTest, NobodyIsToldBeforeItHasHappened) {
  ASSERT_EQ(workers_[0]->post(Time(5), std::array{message(2, 2)}), 1u);
  told(2, Time(4));
  EXPECT_THAT(ports_[2].posted, IsEmpty()) << "that worker's turn began before it was posted";
  told(2, Time(5));
  EXPECT_THAT(ports_[2].posted, ElementsAre(2));
  ports_[2].reports = {sent(2, 2)};
  told(2, Time(8));
  EXPECT_THAT(told(0, Time(7)), IsEmpty());
  EXPECT_THAT(told(0, Time(8)), ElementsAre(2));
}

TEST_F(WorkerTransportTest, AnEventGoesToTheWorkerOfItsRank) {
  ports_[2].reports = {sent(2, 1)};
  ports_[1].reports = {received(2, 2), received(1, 3)};
  EXPECT_THAT(told(2, Time(1)), IsEmpty());
  EXPECT_THAT(told(1, Time(1)), ElementsAre(2, 3));
  EXPECT_THAT(told(0, Time(1)), ElementsAre(1));
}

TEST_F(WorkerTransportTest, BothEndsHearOfAMessageThatItsSourceGivesUp) {
  ports_[2].reports = {event(EventKind::kFailed, true, 2, 1)};
  ports_[0].reports = {event(EventKind::kFailed, true, 1, 2), event(EventKind::kFailed, true, 0, 3)};
  told(2, Time(1));
  EXPECT_THAT(told(0, Time(1)), ElementsAre(1, 2, 3));
  EXPECT_THAT(told(1, Time(1)), ::testing::UnorderedElementsAre(1, 2));
}

TEST_F(WorkerTransportTest, AnotherMachineIsToldNothing) {
  ports_[2].reports = {event(EventKind::kFailed, true, 3, 1), sent(3, 2)};
  for (uint32_t turn = 0; turn < 2; ++turn) told(2, Time(1));
  EXPECT_THAT(told(0, Time(1)), ElementsAre(1, 2));
  EXPECT_THAT(told(1, Time(1)), IsEmpty());
}

TEST_F(WorkerTransportTest, WhatTheDestinationGivesUpIsItsOwn) {
  ports_[1].reports = {event(EventKind::kFailed, false, 1, 1)};
  EXPECT_THAT(told(1, Time(1)), ElementsAre(1));
  EXPECT_THAT(told(0, Time(1)), IsEmpty());
}

TEST_F(WorkerTransportTest, TimeByCauseGoesWithItsEvent) {
  TimeByCause causes;
  causes[Cause::kPaused] = nanoseconds(7);
  ports_[2].reports = {sent(2, 1)};
  ports_[2].reports[0].causes = &causes;
  told(2, Time(1));
  causes = {};  // the transport's, until its next poll
  std::array<Event, 4> events;
  ASSERT_EQ(workers_[0]->poll(Time(1), events), 1u);
  ASSERT_NE(events[0].causes, nullptr);
  EXPECT_EQ((*events[0].causes)[Cause::kPaused], nanoseconds(7));
}

TEST_F(WorkerTransportTest, WhatFindsTheRingFullIsPostedLater) {
  std::vector<Message> messages;
  const auto capacity = static_cast<uint32_t>(WorkerExchange::ring_capacity(3));
  for (uint32_t i = 0; i <= capacity; ++i) messages.push_back(message(2, i));
  messages.push_back(message(0, 7777));
  EXPECT_EQ(workers_[0]->post(Time(1), messages), capacity) << "what is taken is a prefix";
  EXPECT_THAT(ports_[0].posted, IsEmpty());
  told(2, Time(1));
  EXPECT_EQ(workers_[0]->post(Time(2), std::span(messages).subspan(capacity)), 2u);
  told(2, Time(2));
  EXPECT_EQ(ports_[2].posted.size(), capacity + 1);
  EXPECT_THAT(ports_[0].posted, ElementsAre(7777));
}

TEST_F(WorkerTransportTest, WhatThePortsDoNotTakeStaysInTheRing) {
  ports_[2].room = 1;
  ASSERT_EQ(workers_[0]->post(Time(1), std::array{message(2, 1), message(2, 2)}), 2u);
  told(2, Time(1));
  EXPECT_THAT(ports_[2].posted, ElementsAre(1));
  ports_[2].room = 5;
  told(2, Time(2));
  EXPECT_THAT(ports_[2].posted, ElementsAre(1, 2));
}

// Nobody takes the events until the ring is full: the ports are polled on, but asked for no more of them.
TEST_F(WorkerTransportTest, EventsThatFindTheRingFullAreToldLaterAndInOrder) {
  const auto capacity = static_cast<uint32_t>(WorkerExchange::ring_capacity(3));
  for (uint32_t i = 0; i < capacity + 100; ++i) ports_[2].reports.push_back(sent(2, i));
  for (uint32_t turn = 0; turn < capacity; ++turn) told(2, Time(1));
  EXPECT_EQ(ports_[2].polls, capacity);
  EXPECT_FALSE(ports_[2].reports.empty()) << "what has no room stays with the ports";
  std::vector<uint32_t> all;
  for (Time now(2); all.size() < capacity + 100 && now < Time(1'000); now += Duration(1)) {
    for (const uint32_t index : told(0, now)) all.push_back(index);
    told(2, now);
  }
  ASSERT_EQ(all.size(), capacity + 100);
  for (uint32_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i);
}

// A worker with no room for its own events takes what others post all the same, so that two never wait for each other.
TEST_F(WorkerTransportTest, MessagesAreTakenWithoutRoomForEvents) {
  ASSERT_EQ(workers_[0]->post(Time(1), std::array{message(2, 1)}), 1u);
  EXPECT_EQ(workers_[2]->poll(Time(1), {}), 0u);
  EXPECT_THAT(ports_[2].posted, ElementsAre(1));
  EXPECT_EQ(workers_[2]->activity(), 1u);
}

}  // namespace
}  // namespace rankwire
