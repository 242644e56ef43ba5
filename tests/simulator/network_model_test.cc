#include "emulator/simulator/network_model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "tests/simulator/star.h"

namespace rankwire {
namespace {

constexpr EventKind kSent = EventKind::kSent, kReceived = EventKind::kReceived;

NetworkModel prepared(const Star& star) {
  NetworkModel model(star.network());
  model.prepare(star.plan());
  return model;
}

/// With turns of so much at the way out of every port.
NetworkModel with_turns(const Star& star, Bytes turn) {
  Network network = star.network();
  for (const Route& route : network.routes) network.links[route.links.front().link.value].turn = turn;
  NetworkModel model(std::move(network));
  model.prepare(star.plan());
  return model;
}

// 10000 bytes at MTU 4096: three frames, 10000 + 3 * 82 + 20 = 10266 bytes on the line, 821280 ps at 80 ps a byte. The
// first frame has 4096 + 82 + RETH 16 = 4194, which the switch stores before it sends: 335520 ps. The others follow it
// without a gap, and the last one, which is shorter, does not overtake them.
TEST(NetworkModel, TimesASingleMessage) {
  const Star star(2);
  NetworkModel model = prepared(star);
  const Message message = star.message(0, 1, Bytes(10000), 7);
  ASSERT_EQ(model.post(Time(1000), {&message, 1}), 1u);
  const std::vector<Event> events = drain(model, Time(1000));
  ASSERT_EQ(events.size(), 2u);

  const Event& received = events[0];
  EXPECT_EQ(received.kind, kReceived);
  EXPECT_FALSE(received.at_source);
  EXPECT_EQ(received.connection, message.connection);
  EXPECT_EQ(received.index, 7u);
  EXPECT_EQ(received.bytes, Bytes(10000));
  EXPECT_EQ(received.received.delivered, Time(1000 + 821'280 + 1'200'000 + 335'520));
  EXPECT_EQ(received.received.first_rx, Time::never());
  EXPECT_EQ(received.received.payload_key, payload_key(message.id));

  const Event& sent = events[1];
  EXPECT_EQ(sent.kind, kSent);
  EXPECT_TRUE(sent.at_source);
  EXPECT_EQ(sent.sent.posted, Time(1000));
  EXPECT_EQ(sent.sent.first_tx, Time(1000));
  EXPECT_EQ(sent.sent.last_tx, Time(1000 + 821'280));
  EXPECT_EQ(sent.sent.acked, received.received.delivered + kOneWay);

  EXPECT_EQ(model.counters().messages_sent, 1u);
  EXPECT_EQ(model.counters().messages_delivered, 1u);
  EXPECT_EQ(model.flows()[message.connection.value].bytes, 10000u);
  EXPECT_EQ(model.flows()[message.connection.value].messages, 1u);
}

// Of four connections it has the second and the last, and what is told of them bears the plan's numbers.
TEST(NetworkModel, HasTheConnectionsThatItsNetworkNames) {
  TransportPlan plan{.ranks = 2, .messages_in_flight = 4};
  for (uint32_t c = 0; c < 4; ++c) {
    plan.connections.push_back({.id = ConnectionId(c),
                                .source = RankId(0),
                                .destination = RankId(1),
                                .path = c % 2 == 1 ? Path::kLocal : Path::kWire});
  }
  NetworkModel model(local_network(plan, Bandwidth(800'000'000'000), Duration(500'000)));
  EXPECT_TRUE(model.connect(model.prepare(plan)).empty());
  const Message message{.bytes = Bytes(10000), .connection = ConnectionId(3)};
  EXPECT_EQ(model.post(Time(), {&message, 1}), 1u);
  const std::vector<Event> events = drain(model);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].connection, ConnectionId(3));
  EXPECT_EQ(events[0].received.delivered, Time(100'000 + 500'000));  // 10000 bytes at 10 ps a byte, and the latency
  const std::vector<FlowCounters> flows = model.flows();
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].connection, ConnectionId(1));
  EXPECT_EQ(flows[0].bytes, 0u);
  EXPECT_EQ(flows[1].connection, ConnectionId(3));
  EXPECT_EQ(flows[1].bytes, 10000u);
}

// One frame without payload: 82 + 20 = 102 bytes, 8160 ps on each of the two links.
TEST(NetworkModel, SendsAMessageWithoutBytesAsOneFrame) {
  const Star star(2);
  NetworkModel model = prepared(star);
  const Message message = star.message(0, 1, Bytes(0));
  model.post(Time(), {&message, 1});
  const std::vector<Event> events = drain(model);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].received.delivered, Time() + Duration(2 * 8160) + kOneWay);
  EXPECT_EQ(events[0].received.payload_key, 0u);
}

// Local routes have no frames: 10000 bytes at 800 Gbit/s (10 ps a byte) and the latency of 500 ns; nothing for 0 bytes,
// which do not delay what follows either.
TEST(NetworkModel, LocalMessagesHaveNoFraming) {
  const Star star(2, Path::kLocal);
  NetworkModel model = prepared(star);
  const Message messages[] = {star.message(0, 1, Bytes(0), 0), star.message(0, 1, Bytes(10000), 1),
                              star.message(0, 1, Bytes(0), 2), star.message(0, 1, Bytes(10000), 3)};
  EXPECT_EQ(model.post(Time(), messages), 4u);
  const std::vector<Event> events = of_kind(drain(model), kReceived);
  ASSERT_EQ(events.size(), 4u);
  const Duration times[] = {Duration(0), Duration(100'000), Duration(100'000), Duration(200'000)};
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(events[i].index, i);
    EXPECT_EQ(events[i].received.delivered, Time() + times[i] + nanoseconds(500));
  }
}

// A link of 7 Gbit/s, no framing: a byte takes 8000 / 7 = 1142.86 ps. Each message ends at a whole picosecond, where
// the next one begins.
TEST(NetworkModel, RoundsEveryMessageUpToAPicosecond) {
  const Star star(2);
  const Route route{.links = {{LinkId(0)}}, .framing = {}};
  NetworkModel model({.links = {{"link", Bandwidth(7'000'000'000), Duration(5), {}}}, .routes = {route, route}});
  model.prepare(star.plan());
  const Message messages[] = {star.message(0, 1, Bytes(1), 0), star.message(0, 1, Bytes(1), 1)};
  model.post(Time(), messages);
  const std::vector<Event> received = of_kind(drain(model), kReceived);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].received.delivered, Time(1143 + 5));
  EXPECT_EQ(received[1].received.delivered, Time(2286 + 5));
}

TEST(NetworkModel, ShortPayloadsCarryTheBeginningOfTheKey) {
  const Star star(2);
  NetworkModel model = prepared(star);
  const Message message = star.message(0, 1, Bytes(3));
  model.post(Time(), {&message, 1});
  EXPECT_EQ(drain(model)[0].received.payload_key, payload_key(message.id) & 0xFFFFFF);
}

// Messages of 4096 bytes: 4096 + 82 + 20 = 4198 bytes on the line, 335840 ps at the full rate.
constexpr Duration kFull{335'840};
/// From the last bit at the source until delivery: the latencies and the frame once more.
constexpr Duration kTail = kOneWay + kFull;

TEST(NetworkModel, SendsTheMessagesOfAConnectionOneAfterAnother) {
  const Star star(2);
  NetworkModel model = prepared(star);
  const Message messages[] = {star.message(0, 1, Bytes(4096), 5), star.message(0, 1, Bytes(4096), 3),
                              star.message(0, 1, Bytes(4096), 4)};
  model.post(Time(), messages);
  const std::vector<Event> sent = of_kind(drain(model), kSent);
  ASSERT_EQ(sent.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sent[i].index, messages[i].index);
    EXPECT_EQ(sent[i].sent.posted, Time());
    EXPECT_EQ(sent[i].sent.first_tx, Time() + kFull * i);
    EXPECT_EQ(sent[i].sent.last_tx, Time() + kFull * (i + 1));
    EXPECT_EQ(sent[i].sent.acked, Time() + kFull * (i + 1) + kTail + kOneWay);
  }
}

// An empty message leaves 8160 ps after a full frame, but the switch is still sending that one: it cannot overtake.
TEST(NetworkModel, DeliversInOrderOnAConnection) {
  const Star star(2);
  NetworkModel model = prepared(star);
  const Message messages[] = {star.message(0, 1, Bytes(4096), 0), star.message(0, 1, Bytes(0), 1)};
  model.post(Time(), messages);
  const std::vector<Event> received = of_kind(drain(model), kReceived);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].index, 0u);
  EXPECT_EQ(received[0].received.delivered, Time() + kFull + kTail);
  EXPECT_EQ(received[1].received.delivered, Time() + kFull + kTail);
}

// Ranks 0 and 1 send to rank 3 at 0, each at half the rate. Rank 2 joins at 503760 ps = 1.5 full times; by then each
// has sent 3/4 of its message. From there each has a third of the rate and needs 3/4 of a full time: 0 and 1 end
// at 2.25. Rank 2 has sent 1/4 by then and sends the other 3/4 alone: it ends at 3.0, as the line was never idle. A
// third of 10^11 bit/s is rounded down by 1/3 bit/s, which costs less than 1 ps here.
TEST(NetworkModel, SharesAPortFairlyAsFlowsComeAndGo) {
  const Star star(4);
  NetworkModel model = prepared(star);
  const Message first[] = {star.message(0, 3, Bytes(4096)), star.message(1, 3, Bytes(4096))};
  const Message third = star.message(2, 3, Bytes(4096));
  model.post(Time(), first);
  Event none[1];
  EXPECT_EQ(model.poll(Time(), none), 0u);
  EXPECT_EQ(model.next_event(), Time() + kFull * 2);
  const Time joined(503'760);
  model.post(joined, {&third, 1});
  const std::vector<Event> sent = of_kind(drain(model, joined), kSent);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_NEAR(sent[0].sent.last_tx.ps, 755'640, 1);
  EXPECT_EQ(sent[1].sent.last_tx, sent[0].sent.last_tx);
  EXPECT_EQ(sent[2].connection, third.connection);
  EXPECT_NEAR(sent[2].sent.last_tx.ps, 3 * kFull.ps, 1);
}

// 0 -> 1 and 0 -> 2 share the way out of 0 (50 each); 3 -> 2 takes what 0 -> 2 leaves of the way into 2: 50. When 0 ->
// 1 (half the line bytes of the others) is done, nothing changes for the others, whose bottleneck is the way into 2.
TEST(NetworkModel, AFlowIsHeldByItsNarrowestLink) {
  const Star star(4);
  NetworkModel model = prepared(star);
  const Message messages[] = {star.message(0, 1, Bytes(1997)), star.message(0, 2, Bytes(4096)),
                              star.message(3, 2, Bytes(4096))};
  model.post(Time(), messages);
  const std::vector<Event> sent = of_kind(drain(model), kSent);
  ASSERT_EQ(sent.size(), 3u);
  // 1997 padded to 2000, + 102 = 2102 bytes at 50 Gbit/s, 160 ps a byte.
  EXPECT_EQ(sent[0].sent.last_tx, Time(336'320));
  EXPECT_EQ(sent[1].sent.last_tx, Time() + kFull * 2);
  EXPECT_EQ(sent[2].sent.last_tx, Time() + kFull * 2);
}

// Messages of 4096 bytes are one frame of 4198 on the line, kFull: they go one by one, in the order in which they were
// posted, also those of one connection.
TEST(NetworkModel, MessagesThatFitIntoATurnGoOneByOne) {
  const Star star(4);
  NetworkModel model = with_turns(star, Bytes(4198));
  const Message messages[] = {star.message(0, 1, Bytes(4096)), star.message(0, 2, Bytes(4096)),
                              star.message(0, 1, Bytes(4096), 1), star.message(0, 3, Bytes(4096))};
  model.post(Time(), messages);
  Event none[1];
  EXPECT_EQ(model.poll(Time(), none), 0u);
  EXPECT_EQ(model.describe(messages[1].connection),
            "model: 1 messages queued, message 0 of 4096 bytes waits for its turn at the port");
  const std::vector<Event> sent = of_kind(drain(model), kSent);
  ASSERT_EQ(sent.size(), 4u);
  // The second of connection 0 -> 1 has its turn when it could begin, which is after the first: behind all others.
  const ConnectionId order[] = {messages[0].connection, messages[1].connection, messages[3].connection,
                                messages[2].connection};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(sent[i].connection, order[i]);
    EXPECT_EQ(sent[i].sent.first_tx, Time() + kFull * i);
    EXPECT_EQ(sent[i].sent.last_tx, Time() + kFull * (i + 1));
  }
}

// A turn is half a message. The second begins when the first has sent half, and from then on each has half the line:
// the first ends when the second has sent half of its own, at 1.5, and that has the line for the rest.
TEST(NetworkModel, LargeMessagesShareTheLineAfterATurn) {
  const Star star(3);
  NetworkModel model = with_turns(star, Bytes(2099));
  const Message messages[] = {star.message(0, 1, Bytes(4096)), star.message(0, 2, Bytes(4096))};
  model.post(Time(), messages);
  const std::vector<Event> sent = of_kind(drain(model), kSent);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].sent.first_tx, Time(kFull.ps / 2));
  EXPECT_EQ(sent[0].sent.last_tx, Time(kFull.ps / 2 * 3));
  EXPECT_EQ(sent[1].sent.last_tx, Time() + kFull * 2);
}

// 0 -> 2 and 1 -> 2 meet on the way into 2, and have half of it each. The turn of 0 -> 2 is over after its own time at
// the line's rate, so that 0 -> 1 begins then, with the half that 0 -> 2 leaves of the way out of 0: nothing is idle.
TEST(NetworkModel, ATurnIsOverAlsoWhereItsMessageIsHeldUp) {
  const Star star(3);
  NetworkModel model = with_turns(star, Bytes(4198));
  const Message messages[] = {star.message(0, 2, Bytes(4096)), star.message(1, 2, Bytes(4096)),
                              star.message(0, 1, Bytes(4096))};
  model.post(Time(), messages);
  const std::vector<Event> sent = of_kind(drain(model), kSent);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].sent.last_tx, Time() + kFull * 2);
  EXPECT_EQ(sent[1].sent.last_tx, Time() + kFull * 2);
  EXPECT_EQ(sent[2].sent.first_tx, Time() + kFull);
  EXPECT_EQ(sent[2].sent.last_tx, Time(kFull.ps / 2 * 5)) << "half of it until 2, the rest alone";
}

// Of 33 frames of 4096 bytes each 32 are acknowledged, and the rest: two frames of 86 bytes, 13,760 ps, out of the port
// of rank 1, before what it posts when the message has been delivered, but not before what it has begun.
TEST(NetworkModel, AcknowledgementsGoOutBeforeWhatIsPostedNext) {
  const Star star(3);
  Network network = star.network();
  network.acknowledgements.resize(network.routes.size());
  const Message message = star.message(0, 1, Bytes(33 * 4096));
  const Message begun = star.message(1, 2, Bytes(1 << 20)), next = star.message(1, 0, Bytes(8));
  network.acknowledgements[message.connection.value] = {
      .link = network.routes[next.connection.value].links.front().link, .frame = Bytes(86), .every = 32};
  for (const bool is_busy : {false, true}) {
    NetworkModel model(network);
    model.prepare(star.plan());
    model.post(Time(), {&message, 1});
    if (is_busy) model.post(Time(), {&begun, 1});
    Event event[1];
    while (model.poll(model.next_event(), event) == 0) {
    }
    EXPECT_EQ(event[0].connection, message.connection);
    const Time delivered = event[0].received.delivered;
    model.post(delivered, {&next, 1});
    for (const Event& sent : of_kind(drain(model, delivered), kSent)) {
      if (sent.connection == message.connection) {
        EXPECT_EQ(sent.sent.acked, delivered + kOneWay + Duration(86 * 80 * 2)) << "a frame, at each of two hops";
        continue;
      }
      const Time expected = sent.connection == next.connection ? delivered + Duration(13'760) : Time();
      EXPECT_EQ(sent.sent.first_tx, expected);
    }
  }
}

// An offer of 24 bytes goes to rank 1, a request of 16 comes back: 106 and 98 bytes of frame at each of two hops. Of
// two messages at once the second is asked for while the first is on its way. The word of 4 bytes that they are there,
// 86 on the line, is what rank 0 waits for.
TEST(NetworkModel, WhatIsFetchedGoesWhenItHasBeenAskedFor) {
  const Star star(2);
  Network network = star.network();
  network.fetching = {.offer = Bytes(24), .request = Bytes(16), .finish = Bytes(4)};
  NetworkModel model(network);
  model.prepare(star.plan());
  const Message messages[] = {star.message(0, 1, Bytes(10000), 0), star.message(0, 1, Bytes(10000), 1)};
  model.post(Time(1000), messages);
  EXPECT_EQ(model.describe(messages[0].connection),
            "model: 2 messages queued, message 0 of 10000 bytes waits until its destination fetches it");
  const std::vector<Event> sent = of_kind(drain(model, Time(1000)), kSent);
  ASSERT_EQ(sent.size(), 2u);
  const Time asked = Time(1000) + kOneWay * 2 + Duration((106 + 98) * 80 * 2);
  const Duration line(821'280);  // as of a single message
  const Duration finish = kOneWay + Duration(86 * 80 * 2);
  for (const int64_t i : {0, 1}) {
    const Event::Sent& times = sent[static_cast<size_t>(i)].sent;
    EXPECT_EQ(times.posted, Time(1000));
    EXPECT_EQ(times.first_tx, asked + line * i);
    EXPECT_EQ(times.acked, asked + line * (i + 1) + Duration(1'200'000 + 335'520) + finish);
  }
}

TEST(NetworkModel, RefusesWhatDoesNotFitAndCountsIt) {
  const Star star(2, Path::kWire, 2);
  NetworkModel model = prepared(star);
  const Message messages[] = {star.message(0, 1, Bytes(8), 0), star.message(0, 1, Bytes(8), 1),
                              star.message(0, 1, Bytes(8), 2)};
  EXPECT_EQ(model.post(Time(), messages), 2u);
  EXPECT_EQ(model.counters().post_refused, 1u);
  EXPECT_EQ(drain(model).size(), 4u);
  EXPECT_EQ(model.post(Time(microseconds(10).ps), messages), 2u) << "acknowledged messages free their places";
}

TEST(NetworkModel, NeedsToBeToldOfNoEnd) {
  const Star star(3);
  NetworkModel model(star.network());
  EXPECT_TRUE(model.prepare(star.plan()).empty());
  EXPECT_TRUE(model.connect({}).empty());
}

// 1000 bytes without framing over a link of 100 Gbit/s (80 ps a byte), then half over each of two of 25 Gbit/s: 500
// bytes at 320 ps a byte. The parallel links' longer latency counts.
TEST(NetworkModel, SpreadsAMessageOverParallelLinks) {
  const Star star(2);
  const Route route{.links = {{LinkId(0), 0}, {LinkId(1), 1, LinkUse::kWhole / 2}, {LinkId(2), 1, LinkUse::kWhole / 2}},
                    .framing = {}};
  NetworkModel model({.links = {{"up", kRate, Duration(7), {}},
                                {"a", Bandwidth(25'000'000'000), Duration(10), {}},
                                {"b", Bandwidth(25'000'000'000), Duration(20), {}}},
                      .routes = {route, route}});
  model.prepare(star.plan());
  const Message message = star.message(0, 1, Bytes(1000));
  model.post(Time(), {&message, 1});
  const std::vector<Event> received = of_kind(drain(model), kReceived);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].received.delivered, Time(500 * 320 + 27));
}

// A frame of 1000 bytes over 100, 400, 50 and 100 Gbit/s: 80, 20, 160 and 80 ns; its first 88 bytes 7.04, 1.76
// and 14.08 ns. Each switch takes 30 ns, each line 5. The flow is done after 160 ns, at the rate of the bottleneck.
//   store and forward: 80 + (5 + 30) + 20 + (5 + 30) + 160 + (5 + 30) + 80 + 5 = 450
//   cut through: the second link begins at 7.04 + 35 = 42.04, the third at 42.04 + 1.76 + 35 = 78.8 and ends at 238.8,
//   the fourth begins at 78.8 + 14.08 + 35 = 127.88 and ends no earlier than the frame is there, at max(207.88, 243.8),
//   whose last bit arrives 5 ns later: 248.8
TEST(NetworkModel, CutThroughForwardsWhatIsStillArriving) {
  const Star star(2);
  const std::vector<LinkUse> links = {{LinkId(0), 0}, {LinkId(1), 1}, {LinkId(2), 2}, {LinkId(3), 3}};
  for (const auto& [cut_through, expected] : {std::pair(false, 450'000), std::pair(true, 248'800)}) {
    const Route route{.links = links, .framing = {.payload = Bytes(1000)}, .cut_through = cut_through};
    const Duration line = nanoseconds(5), device = nanoseconds(30);
    NetworkModel model({.links = {{"a", kRate, line + device, device},
                                  {"b", Bandwidth(400'000'000'000), line + device, device},
                                  {"c", Bandwidth(50'000'000'000), line + device, device},
                                  {"d", kRate, line, {}}},
                        .routes = {route, route}});
    model.prepare(star.plan());
    const Message message = star.message(0, 1, Bytes(1000));
    model.post(Time(), {&message, 1});
    const std::vector<Event> received = of_kind(drain(model), kReceived);
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].received.delivered, Time(expected));
  }
}

TEST(NetworkModel, RefusesANetworkThatCannotCarryThePlan) {
  const Star star(3);
  Network network = star.network();
  network.routes[2].links.clear();
  EXPECT_THROW(NetworkModel{network}, Error);
  network = star.network();
  network.links[0].bandwidth = Bandwidth(1);
  EXPECT_THROW(NetworkModel{network}, Error) << "two connections leave port 0";
  NetworkModel model(star.network());
  EXPECT_THROW(model.prepare(Star(2).plan()), Error);
}

TEST(NetworkModel, DescribesAConnection) {
  const Star star(2);
  NetworkModel model = prepared(star);
  EXPECT_EQ(model.describe(ConnectionId(0)), "model: idle, 0 messages sent");
  const Message messages[] = {star.message(0, 1, Bytes(100), 4), star.message(0, 1, Bytes(100), 5)};
  model.post(Time(3), messages);
  model.poll(Time(3), {});
  EXPECT_EQ(model.describe(ConnectionId(0)),
            "model: 2 messages queued, sending message 4 of 100 bytes since 3 ps at 100000000000 bit/s");
}

/// Random messages between 6 ranks, all posted in the first 10 us.
std::vector<std::pair<Time, Message>> random_posts(const Star& star) {
  Random random(5);
  std::vector<std::pair<Time, Message>> posts;
  Time now;
  for (uint32_t i = 0; i < 500; ++i) {
    const auto source = static_cast<uint32_t>(random.below(6));
    const auto destination = static_cast<uint32_t>((source + 1 + random.below(5)) % 6);
    posts.emplace_back(now, star.message(source, destination, Bytes(static_cast<int64_t>(random.below(20'000))), i));
    if (random.below(2) == 0) now += Duration(static_cast<int64_t>(random.below(40'000)));
  }
  return posts;
}

/// Index, kind and times of each event, to be compared.
std::vector<std::array<int64_t, 4>> summary(const std::vector<Event>& events) {
  std::vector<std::array<int64_t, 4>> rows;
  for (const Event& e : events) {
    if (e.kind == kSent)
      rows.push_back({e.index, e.sent.first_tx.ps, e.sent.last_tx.ps, e.sent.acked.ps});
    else
      rows.push_back({e.index, -1, -1, e.received.delivered.ps});
  }
  return rows;
}

void expect_late_poll_gives_what_timely_polls_give(const Star& star, NetworkModel stepped, NetworkModel jumped) {
  const auto posts = random_posts(star);
  std::vector<Event> timely, late(2000);
  Event batch[3];
  for (const auto& [time, message] : posts) {
    for (Time next = stepped.next_event(); next <= time; next = stepped.next_event()) {
      const size_t n = stepped.poll(next, batch);
      timely.insert(timely.end(), batch, batch + n);
      if (n == 0 && next == time) break;
    }
    ASSERT_EQ(stepped.post(time, {&message, 1}), 1u);
    ASSERT_EQ(jumped.post(time, {&message, 1}), 1u);
  }
  const std::vector<Event> rest = drain(stepped, posts.back().first);
  timely.insert(timely.end(), rest.begin(), rest.end());
  late.resize(jumped.poll(Time() + seconds(1), late));
  EXPECT_EQ(late.size(), 1000u);
  EXPECT_EQ(summary(timely), summary(late));
}

// A loop in real time that wakes up long after many events sees them as one that wakes up for each of them.
TEST(NetworkModel, ALatePollGivesWhatTimelyPollsGive) {
  const Star star(6);
  expect_late_poll_gives_what_timely_polls_give(star, prepared(star), prepared(star));
  const Bytes turn(4198);
  expect_late_poll_gives_what_timely_polls_give(star, with_turns(star, turn), with_turns(star, turn));
}

// The line into a rank carries no more than its rate, and is never idle while something waits for it alone.
TEST(NetworkModel, NoLinkCarriesMoreThanItsRate) {
  const Star star(6);
  NetworkModel model = prepared(star);
  int64_t into[6] = {};
  for (const auto& [time, message] : random_posts(star)) {
    Message now = message;
    into[now.id.destination] += line_size(now.bytes, Star::framing()).count;
    ASSERT_EQ(model.post(Time(), {&now, 1}), 1u);
  }
  Time last[6] = {};
  for (const Event& event : of_kind(drain(model), kSent)) {
    const uint32_t destination = star.plan().connections[event.connection.value].destination.value;
    last[destination] = std::max(last[destination], event.sent.last_tx);
  }
  for (int r = 0; r < 6; ++r) EXPECT_GE(last[r], Time() + serialization_time(Bytes(into[r]), kRate));
}

/// A star of three whose connections lose their way, and find it again.
class NetworkModelReroutes : public ::testing::Test {
 protected:
  void lose(uint32_t source, int64_t from_ps, int64_t until_ps = -1) {
    const uint32_t connection = star_.connection(source, 1).value;
    network_.reroutes.push_back({Time(from_ps), connection, {}});
    if (until_ps >= 0) network_.reroutes.push_back({Time(until_ps), connection, network_.routes[connection].links});
  }
  NetworkModel prepared() {
    NetworkModel model(network_);
    model.prepare(star_.plan());
    return model;
  }

  const Star star_{3};
  Network network_ = star_.network();
};

// As TimesASingleMessage: 821280 ps on the line, 1535520 ps beyond. 600000 ps of it are lost.
TEST_F(NetworkModelReroutes, AConnectionWithoutAWayWaits) {
  lose(0, 400'000, 1'000'000);
  NetworkModel model = prepared();
  const Message message = star_.message(0, 1, Bytes(10000));
  model.post(Time(), {&message, 1});
  const std::vector<Event> events = drain(model);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].received.delivered, Time(821'280 + 600'000 + 1'535'520));
  EXPECT_EQ(events[1].sent.last_tx, Time(821'280 + 600'000));
}

// Each of the two has half of the line to rank 1, 160 ps a byte, so by 800 ns 5000 of its 10266 bytes. Then one has all
// of it, 80 ps a byte, and the other the rest when it is back.
TEST_F(NetworkModelReroutes, TheOthersShareWhatItLeaves) {
  lose(2, 800'000, 2'000'000);
  NetworkModel model = prepared();
  for (const uint32_t source : {0u, 2u}) {
    const Message message = star_.message(source, 1, Bytes(10000));
    model.post(Time(), {&message, 1});
  }
  const std::vector<Event> events = of_kind(drain(model), kSent);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].sent.last_tx, Time(800'000 + 5266 * 80));
  EXPECT_EQ(events[1].sent.last_tx, Time(2'000'000 + 5266 * 80));
}

// Rank 2's connection to 1 takes the links of rank 0's from 800 ns on: both then share them, as above.
TEST_F(NetworkModelReroutes, AnotherWayIsSharedWithItsUsers) {
  const uint32_t connection = star_.connection(2, 0).value;
  network_.reroutes.push_back({Time(800'000), connection, network_.routes[star_.connection(0, 1).value].links});
  NetworkModel model = prepared();
  const Message mine = star_.message(2, 0, Bytes(10000)), other = star_.message(0, 1, Bytes(10000));
  model.post(Time(), {&mine, 1});
  model.post(Time(800'000), {&other, 1});
  const std::vector<Event> events = of_kind(drain(model, Time(800'000)), kSent);
  ASSERT_EQ(events.size(), 2u);
  // 266 bytes at half of the rate are left of the first, after which the other has the links for itself.
  EXPECT_EQ(events[0].sent.last_tx, Time(800'000 + 266 * 160));
  EXPECT_EQ(events[1].sent.last_tx, Time(800'000 + 266 * 160 + (10266 - 266) * 80));
}

TEST_F(NetworkModelReroutes, WithoutAWayForEverNothingIsLeftToHappen) {
  lose(0, 400'000);
  NetworkModel model = prepared();
  const Message message = star_.message(0, 1, Bytes(10000));
  model.post(Time(), {&message, 1});
  EXPECT_TRUE(drain(model).empty());
  EXPECT_NE(model.describe(message.connection).find("waits for a cable to come back"), std::string::npos);
  // What is posted then waits as well.
  const Message later = star_.message(0, 1, Bytes(10));
  model.post(Time(1'000'000), {&later, 1});
  EXPECT_TRUE(drain(model, Time(1'000'000)).empty());
}

}  // namespace
}  // namespace rankwire
