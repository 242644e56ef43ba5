#include "base/link_loads.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emulator/simulator/network_model.h"
#include "tests/simulator/star.h"

namespace rankwire {
namespace {

// 10000 bytes at MTU 4096 are 10266 on the line (network_model_test), 821280 ps alone at 80 ps a byte.
constexpr Bytes kLoaded(10000);
constexpr Duration kAlone(821'280);

/// When the message from rank 0 to rank 1 has left its source, which posts it at 0.
Duration transmission(NetworkModel& model, const Star& star) {
  const Message message = star.message(0, 1, kLoaded);
  model.post(Time(), {&message, 1});
  for (const Event& event : drain(model))
    if (event.kind == EventKind::kSent) return event.sent.last_tx - Time();
  return {};
}

NetworkModel with_links(const Star& star) {
  NetworkModel model(star.network());
  model.prepare(star.plan());
  return model;
}

TEST(LinkLoads, TakeTheirShareOfALink) {
  const Star star(4);
  NetworkModel model = with_links(star);
  model.begin_load(star.connection(0, 2), Time());
  EXPECT_EQ(transmission(model, star), kAlone * 2);
}

TEST(LinkLoads, OfAConnectionAreOneFlowHoweverManyMessages) {
  const Star star(4);
  NetworkModel model = with_links(star);
  model.begin_load(star.connection(0, 2), Time());
  model.begin_load(star.connection(0, 2), Time());
  model.begin_load(star.connection(3, 1), Time());
  // Each of the two loads shares another of its two links.
  EXPECT_EQ(transmission(model, star), kAlone * 2);
}

TEST(LinkLoads, EndWithTheLastMessage) {
  const Star star(4);
  NetworkModel model = with_links(star);
  const ConnectionId load = star.connection(0, 2);
  model.begin_load(load, Time());
  model.begin_load(load, Time());
  model.end_load(load, Time());
  const Message message = star.message(0, 1, kLoaded);
  model.post(Time(), {&message, 1});
  std::vector<Event> none(4);
  while (model.next_event() < Time() + kAlone) ASSERT_EQ(model.poll(model.next_event(), none), 0u);
  model.end_load(load, Time() + kAlone);
  // Half has been sent in that time, and the other half takes half of what all takes alone.
  const std::vector<Event> sent = of_kind(drain(model, Time() + kAlone), EventKind::kSent);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent.front().sent.last_tx, Time() + kAlone + Duration(kAlone.ps / 2));
}

/// What it was told, as "3: 50 at 0": of connection 3, Gbit/s, at ps.
class KeptHolds final : public HeldSenders {
 public:
  void hold(ConnectionId connection, Bandwidth rate, Time now) noexcept override {
    told.push_back(std::to_string(connection.value) + ": " + std::to_string(rate.bits_per_second / 1'000'000'000) +
                   " at " + std::to_string((now - Time()).ps));
  }

  std::vector<std::string> told;
};

struct HeldModel {
  explicit HeldModel(const Star& star) : model(star.network()) {
    model.hold_loads(holds);
    model.prepare(star.plan());
  }
  void post(const Message& message, Time now = Time()) { model.post(now, {&message, 1}); }

  KeptHolds holds;
  NetworkModel model;
};

std::string held(ConnectionId connection, const char* what) {
  return std::to_string(connection.value) + ": " + what;
}

// Together the two take the line's 100 Gbit/s, half each, until the modelled one has left.
TEST(LinkLoads, AreHeldWhereTheyShareAFullLinkWithAModelledMessage) {
  const Star star(4);
  HeldModel of(star);
  const ConnectionId load = star.connection(0, 2);
  of.model.begin_load(load, Time());
  of.model.settle(Time());
  EXPECT_TRUE(of.holds.told.empty()) << "alone it is not";
  of.post(star.message(0, 1, kLoaded));
  of.model.settle(Time());
  EXPECT_EQ(of.holds.told, std::vector{held(load, "50 at 0")});
  drain(of.model);
  EXPECT_EQ(of.holds.told, (std::vector{held(load, "50 at 0"), held(load, "0 at 1642560")}));
}

TEST(LinkLoads, AreLetGoWhenTheyEnd) {
  const Star star(4);
  HeldModel of(star);
  const ConnectionId load = star.connection(0, 2);
  of.post(star.message(0, 1, kLoaded));
  of.model.begin_load(load, Time());
  of.model.settle(Time());
  of.model.end_load(load, Time(7));
  EXPECT_EQ(of.holds.told, (std::vector{held(load, "50 at 0"), held(load, "0 at 7")}));
}

// Three into rank 2 have a third each there. What they leave of rank 0's line is more than the modelled message can
// have of rank 1's, into which three go as well: that line is not full, and rank 2's carries loads alone.
TEST(LinkLoads, AreNotHeldWhereThereIsRoom) {
  const Star star(4);
  HeldModel of(star);
  for (const uint32_t source : {0u, 1u, 3u}) of.model.begin_load(star.connection(source, 2), Time());
  for (const uint32_t source : {0u, 2u, 3u}) of.post(star.message(source, 1, kLoaded));
  of.model.settle(Time());
  EXPECT_TRUE(of.holds.told.empty());
}

// Two messages of rank 0 leave a third to the load, and when the wire takes another from there, a quarter.
TEST(LinkLoads, AreHeldToWhatTheyHaveNow) {
  const Star star(5);
  HeldModel of(star);
  const ConnectionId load = star.connection(0, 2), other = star.connection(0, 4);
  of.model.begin_load(load, Time());
  of.post(star.message(0, 1, kLoaded));
  of.post(star.message(0, 3, kLoaded));
  of.model.settle(Time());
  of.model.begin_load(other, Time(5));
  of.model.settle(Time(5));
  EXPECT_EQ(of.holds.told, (std::vector{held(load, "33 at 0"), held(load, "25 at 5"), held(other, "25 at 5")}));
}

TEST(LinkLoads, ElsewhereDisturbNobody) {
  const Star star(4);
  NetworkModel model = with_links(star);
  model.begin_load(star.connection(2, 3), Time());
  model.begin_load(star.connection(1, 0), Time());
  EXPECT_EQ(transmission(model, star), kAlone);
}

}  // namespace
}  // namespace rankwire
