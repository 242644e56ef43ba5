#include "dataplane/switch/agenda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/random.h"

namespace rankwire {
namespace {

constexpr uint32_t kAgendaPorts = 7;

/// Of everything that one group does: a sorted set.
struct AgendaModel {
  using Key = std::tuple<int64_t, uint32_t, uint32_t>;  // time, turn, argument

  void push(FabricAgenda& agenda, int64_t at, uint32_t port, uint32_t argument) {
    agenda.push(Time(at), FabricEventKind::kArrive, port, argument);
    events.emplace(at, FabricEvent{Time(at), port, FabricEventKind::kArrive, 0}.turn(), argument);
  }
  std::set<Key> events;
};

FabricEvent take_next(FabricAgenda& agenda) {
  if (!agenda.is_open()) agenda.open(Time::never());
  return agenda.take();
}

/// Delays from within a window (512 ps .. 4.3 ms, here) to many windows ahead, and some into the past.
TEST(FabricAgenda, TakesWhatOneGroupDoesInTheOrderOfTimeAndTurn) {
  for (const int64_t reach : {600LL, 500'000LL, 70'000'000LL}) {
    for (const int64_t delay : {1'000LL, 400'000LL, 30'000'000LL, 5'000'000'000LL}) {
      FabricAgenda agenda(std::vector<uint32_t>(kAgendaPorts), Duration(reach), 1000);
      AgendaModel model;
      Random random(static_cast<uint64_t>(reach + delay));
      int64_t now = -5'000'000'000'000;
      uint32_t number = 0;
      for (int i = 0; i < 20'000; ++i) {
        ASSERT_EQ(agenda.size(), model.events.size());
        if (model.events.size() < 1000 &&
            (model.events.empty() || random.below(1000) < 550 - model.events.size() / 10)) {
          const int64_t at = now + static_cast<int64_t>(random.below(delay)) - 100;
          model.push(agenda, at, number % kAgendaPorts, number);
          ++number;
          continue;
        }
        const auto [at, turn, argument] = *model.events.begin();
        ASSERT_EQ(agenda.next(), Time(at));
        const FabricEvent event = take_next(agenda);
        ASSERT_EQ(event.at, Time(at));
        ASSERT_EQ(event.turn(), turn);
        now = std::max(now, at);
        model.events.erase({at, turn, event.argument()});
      }
    }
  }
}

/// A window of 9 slots of 2^15 ps, the most of which fit into 300,000 ps, and 3,000 groups, more than a digit tells
/// apart, with few and with many events in it. Groups push events of their own for the same window while it is open,
/// and of others for later ones; limits cut windows short.
TEST(FabricAgenda, TakesAWindowGroupByGroup) {
  constexpr uint32_t kGroups = 3000;
  constexpr int64_t kWindow = 9 << 15;
  std::vector<uint32_t> groups(2 * kGroups);
  for (uint32_t port = 0; port < groups.size(); ++port) groups[port] = port / 2;
  FabricAgenda agenda(groups, Duration(300'000), 100'000);
  Random random(3);
  std::multimap<int64_t, uint32_t> model;
  const auto push = [&](int64_t at, uint32_t port) {
    agenda.push(Time(at), FabricEventKind::kWake, port, port);
    model.emplace(at, port);
  };
  int64_t begin = 0;
  for (int round = 0; round < 80; ++round) {
    for (uint64_t i = random.below(round % 2 == 0 ? 6'000 : 60); i > 0 && model.size() < 60'000; --i)
      push(begin + static_cast<int64_t>(random.below(round % 3 == 0 ? 4'000 : 3 * kWindow)),
           static_cast<uint32_t>(random.below(groups.size())));
    if (model.empty()) continue;
    ASSERT_EQ(agenda.next(), Time(model.begin()->first));
    const int64_t end = agenda.end_of_window(agenda.next()).ps;
    ASSERT_EQ(end % kWindow, 0);
    ASSERT_LE(end - model.begin()->first, kWindow);
    const int64_t limit =
        std::min<int64_t>(end, model.begin()->first + 1 + static_cast<int64_t>(random.below(kWindow)));
    agenda.open(Time(limit));
    std::tuple<uint32_t, int64_t, uint32_t> last{0, INT64_MIN, 0};
    while (agenda.is_open()) {
      const FabricEvent event = agenda.take();
      const std::tuple key(groups[event.port()], event.at.ps, event.turn());
      ASSERT_LE(last, key);
      ASSERT_LT(event.at.ps, limit);
      last = key;
      const auto [low, high] = model.equal_range(event.at.ps);
      const auto found = std::find_if(low, high, [&](const auto& entry) { return entry.second == event.argument(); });
      ASSERT_NE(found, high);
      model.erase(found);
      // Of the same switch, from the present on, in this window or later.
      if (random.below(3) == 0)
        push(event.at.ps + 1 + static_cast<int64_t>(random.below(2 * kWindow)), event.port() ^ 1);
    }
    agenda.close();
    ASSERT_EQ(agenda.size(), model.size());
    if (!model.empty()) {
      ASSERT_GE(model.begin()->first, limit);
    }
    begin = limit;
  }
}

/// Nothing ends the windows of a single group but the limit: 300 events, one every fifth of a window, and one that is
/// pushed for a later window while the first is open.
TEST(FabricAgenda, OpensOneGroupsWindowsUpToTheLimit) {
  constexpr int64_t kReach = 1 << 16;
  FabricAgenda agenda({0, 0}, Duration(kReach), 301);
  for (uint32_t i = 0; i < 300; ++i) agenda.push(Time(i * kReach / 5), FabricEventKind::kArrive, i % 2, i);
  agenda.open(Time(250 * kReach / 5));
  agenda.push(Time(200 * kReach / 5 + 1), FabricEventKind::kWake, 0);
  for (uint32_t i = 0; i < 250; ++i) {
    ASSERT_TRUE(agenda.is_open());
    ASSERT_EQ(agenda.take().argument(), i);
    if (i == 200) {
      ASSERT_EQ(agenda.take().kind(), FabricEventKind::kWake);
    }
  }
  EXPECT_FALSE(agenda.is_open());
  EXPECT_EQ(agenda.next(), Time(250 * kReach / 5));
}

/// In whatever order 400 events of 40 times are pushed, they are taken alike; and no port is always first.
TEST(FabricAgenda, DrawsTheOrderOfWhatIsAtOneTime) {
  std::vector<std::pair<int64_t, uint32_t>> events;
  for (uint32_t port = 0; port < 10; ++port)
    for (int64_t at = 0; at < 40; ++at) events.emplace_back(at * 7'000, port);
  std::vector<std::pair<int64_t, uint32_t>> first;
  Random random(1);
  for (int round = 0; round < 5; ++round) {
    for (size_t i = events.size() - 1; i > 0; --i) std::swap(events[i], events[random.below(i + 1)]);
    FabricAgenda agenda(std::vector<uint32_t>(10), Duration(1'000'000), 400);
    for (const auto& [at, port] : events) agenda.push(Time(at), FabricEventKind::kArrive, port);
    std::vector<std::pair<int64_t, uint32_t>> taken;
    while (agenda.size() > 0) {
      const FabricEvent event = take_next(agenda);
      taken.emplace_back(event.at.ps, event.port());
    }
    if (round == 0) first = taken;
    EXPECT_EQ(taken, first);
  }
  std::set<uint32_t> winners;
  for (size_t i = 0; i < first.size(); i += 10) winners.insert(first[i].second);
  EXPECT_GE(winners.size(), 8u);  // of 10 ports, in 40 draws; fewer: less than once in 10,000
}

TEST(FabricAgenda, ShowsWhatIsBehindInTheWindow) {
  FabricAgenda agenda({0, 1}, Duration(1 << 12), 300);
  for (uint32_t i = 0; i < 200; ++i) agenda.push(Time(i * 10), FabricEventKind::kArrive, i % 2, i);
  agenda.open(Time::never());
  // The first group's are the even ones.
  for (uint32_t i = 0; i < 200; ++i) {
    for (const uint32_t n : {0u, 1u, FabricAgenda::kMostBehind}) {
      const FabricEvent& event = agenda.behind(n);
      const uint32_t place = i + n;
      ASSERT_EQ(event.kind() == FabricEventKind::kArrive, place < 200);
      if (place < 200) {
        EXPECT_EQ(event.argument(), place < 100 ? 2 * place : 2 * (place - 100) + 1);
      }
    }
    agenda.take();
  }
}

/// A window in which two events always wait: the third to come is between them, and more pass than there is room for at
/// once.
TEST(FabricAgenda, KeepsTheOrderOfWhatComesWhileAWindowIsOpen) {
  FabricAgenda agenda({0}, Duration(1 << 20), 3);
  agenda.push(Time(0), FabricEventKind::kArrive, 0, 0);
  agenda.open(Time::never());
  agenda.take();
  agenda.push(Time(10), FabricEventKind::kArrive, 0, 1);
  for (uint32_t i = 1; i < 1000; ++i) {
    agenda.push(Time(10 * i + 10), FabricEventKind::kArrive, 0, i + 1);
    agenda.push(Time(10 * i + 5), FabricEventKind::kWake, 0, i);
    EXPECT_EQ(agenda.take().argument(), i);
    EXPECT_EQ(agenda.next(), Time(10 * i + 5));
    EXPECT_EQ(agenda.take().kind(), FabricEventKind::kWake);
  }
  EXPECT_EQ(agenda.size(), 1u);
}

TEST(FabricAgenda, IsEmptyAtNever) {
  FabricAgenda agenda({0}, Duration(1), 4);
  EXPECT_EQ(agenda.next(), Time::never());
  agenda.push(Time(5), FabricEventKind::kWake, 0);
  EXPECT_EQ(agenda.next(), Time(5));
  EXPECT_EQ(take_next(agenda).kind(), FabricEventKind::kWake);
  EXPECT_EQ(agenda.next(), Time::never());
  EXPECT_EQ(agenda.end_of_window(Time::never()), Time::never());
}

}  // namespace
}  // namespace rankwire
