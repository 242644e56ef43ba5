#include "feeder/dependency_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Slot = DependencyWindow::Slot;
using Ids = std::vector<uint64_t>;

/// Completes a node and returns the ids of those that have become ready.
Ids complete(DependencyWindow& window, Slot slot) {
  Ids ready;
  window.complete(slot, [&](Slot child) { ready.push_back(window.id(child)); });
  return ready;
}

TEST(DependencyWindow, ANodeIsReadyWhenAllItDependsOnIsComplete) {
  DependencyWindow window;
  const Slot a = window.add(10, Ids{});
  const Slot b = window.add(20, Ids{});
  const Slot c = window.add(30, Ids{10, 20, 10});
  EXPECT_TRUE(window.is_ready(a) && window.is_ready(b));
  EXPECT_FALSE(window.is_ready(c));
  EXPECT_THAT(complete(window, a), IsEmpty());
  EXPECT_THAT(complete(window, b), ElementsAre(30));
  EXPECT_EQ(window.live(), 1u);
}

TEST(DependencyWindow, RemembersWhatIsComplete) {
  DependencyWindow window;
  complete(window, window.add(7, Ids{}));
  EXPECT_TRUE(window.is_ready(window.add(8, Ids{7})));
  EXPECT_TRUE(window.knows(7));
  EXPECT_EQ(window.add(7, Ids{}), DependencyWindow::kNone);
  EXPECT_EQ(window.add(8, Ids{}), DependencyWindow::kNone);
}

TEST(DependencyWindow, KeepsAPlaceForWhatIsStillToBeAdded) {
  DependencyWindow window;
  const Slot child = window.add(1, Ids{2});
  EXPECT_FALSE(window.knows(2));
  EXPECT_EQ(window.live(), 1u);
  EXPECT_THAT(window.awaited(), ElementsAre(2));
  const Slot parent = window.add(2, Ids{});
  EXPECT_THAT(window.awaited(), IsEmpty());
  EXPECT_FALSE(window.is_ready(child));
  EXPECT_THAT(complete(window, parent), ElementsAre(1));
}

TEST(DependencyWindow, DropsAndCountsDependenciesOnItself) {
  DependencyWindow window;
  EXPECT_TRUE(window.is_ready(window.add(1, Ids{1, 1})));
  EXPECT_EQ(window.self_dependencies(), 2u);
}

TEST(DependencyWindow, NamesWhatIsMissingUnlessItIsOptional) {
  DependencyWindow window;
  window.add(1, Ids{9, 8}, Ids{9, 7});
  window.add(2, Ids{}, Ids{7});
  EXPECT_THAT(window.unresolved(), ElementsAre(DependencyWindow::Unresolved{1, 8}, DependencyWindow::Unresolved{1, 9}));
  EXPECT_THAT(window.awaited(), ElementsAre(7, 8, 9));
  Ids ready;
  // 1 on 7, 8 and 9, 2 on 7.
  EXPECT_EQ(window.drop_awaited([&](Slot child) { ready.push_back(window.id(child)); }), 4u);
  EXPECT_THAT(ready, ::testing::UnorderedElementsAre(1, 2));
  EXPECT_THAT(window.awaited(), IsEmpty());
}

TEST(DependencyWindow, FindsACycleAmongThoseThatHangOnIt) {
  DependencyWindow window;
  window.add(1, Ids{5});
  window.add(2, Ids{1, 4});
  window.add(3, Ids{2});
  window.add(4, Ids{3});
  window.add(5, Ids{});
  EXPECT_THAT(complete(window, 1), ElementsAre(1));  // 5's place was kept in slot 1, behind its child's
  EXPECT_THAT(complete(window, 0), IsEmpty());
  // 2 waits for 4, 4 for 3, 3 for 2: the order in which they would have to run.
  const Ids cycle = window.cycle();
  EXPECT_THAT(cycle, ::testing::AnyOf(ElementsAre(2, 3, 4), ElementsAre(3, 4, 2), ElementsAre(4, 2, 3)));
}

TEST(DependencyWindow, HasNoCycleWithoutOne) {
  DependencyWindow window;
  window.add(1, Ids{});
  window.add(2, Ids{1});
  window.add(3, Ids{2, 1});
  EXPECT_THAT(window.cycle(), IsEmpty());
}

TEST(DependencyWindow, UsesSlotsAgain) {
  DependencyWindow window;
  Slot last = window.add(0, Ids{});
  for (uint64_t id = 1; id < 10'000; ++id) {
    const Slot next = window.add(id, Ids{id - 1});
    EXPECT_THAT(complete(window, last), ElementsAre(id));
    last = next;
  }
  EXPECT_EQ(window.capacity(), 2u);
}

TEST(DependencyWindow, ALongListOfOneIdCostsNoMoreThanSorting) {
  DependencyWindow window;
  const Ids many(1'000'000, 3);
  const Slot child = window.add(4, many);
  EXPECT_THAT(complete(window, window.add(3, Ids{})), ElementsAre(4));
  EXPECT_TRUE(window.is_ready(child));
}

TEST(DependencyWindow, BeginsAgainWhenCleared) {
  DependencyWindow window;
  window.add(1, Ids{1, 2});
  complete(window, window.add(2, Ids{}));
  window.clear();
  EXPECT_EQ(window.live(), 0u);
  EXPECT_EQ(window.self_dependencies(), 0u);
  EXPECT_FALSE(window.knows(1));
  EXPECT_TRUE(window.is_ready(window.add(1, Ids{})));
}

}  // namespace
}  // namespace rankwire
