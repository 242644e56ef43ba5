#include <gtest/gtest.h>

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

TEST(LinkLoads, ElsewhereDisturbNobody) {
  const Star star(4);
  NetworkModel model = with_links(star);
  model.begin_load(star.connection(2, 3), Time());
  model.begin_load(star.connection(1, 0), Time());
  EXPECT_EQ(transmission(model, star), kAlone);
}

}  // namespace
}  // namespace rankwire
