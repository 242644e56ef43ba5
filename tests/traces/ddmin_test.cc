#include "emulator/traces/ddmin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ItemList numbers(uint32_t size) {
  ItemList items(size);
  std::iota(items.begin(), items.end(), 0U);
  return items;
}

bool has_all(const ItemList& part, const ItemList& needed) {
  return std::ranges::includes(part, needed);
}

bool always() {
  return true;
}

TEST(Ddmin, FindsTheExampleOfThePaper) {
  // Zeller and Hildebrandt, section 3.1: of eight, 1, 7 and 8 fail together.
  const auto shows = [](const ItemList& part) { return has_all(part, {0, 6, 7}); };
  EXPECT_THAT(minimal_part(numbers(8), shows, always), ElementsAre(0, 6, 7));
}

TEST(Ddmin, FindsOneInLogarithmicTime) {
  size_t calls = 0;
  const auto shows = [&](const ItemList& part) {
    ++calls;
    return has_all(part, {700});
  };
  EXPECT_THAT(minimal_part(numbers(1024), shows, always), ElementsAre(700));
  EXPECT_LE(calls, 1 + 2 * 10U);  // the empty part, then at most two halves for each power of two
}

TEST(Ddmin, StopsWhereNothingIsNeeded) {
  EXPECT_THAT(minimal_part(
                  numbers(9), [](const ItemList&) { return true; }, always),
              IsEmpty());
}

TEST(Ddmin, NoSingleItemCanBeLeftOut) {
  // Every third, and of the others one at least.
  const auto shows = [](const ItemList& part) {
    return has_all(part, {0, 3, 6, 9}) && std::ranges::any_of(part, [](uint32_t i) { return i % 3 != 0; });
  };
  const ItemList part = minimal_part(numbers(12), shows, always);
  EXPECT_TRUE(shows(part));
  for (size_t i = 0; i < part.size(); ++i) {
    ItemList less = part;
    less.erase(less.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_FALSE(shows(less));
  }
}

TEST(Ddmin, GivesTheBestSoFarWhenItMayNotGoOn) {
  int calls = 0;
  const auto shows = [&](const ItemList& part) {
    ++calls;
    return has_all(part, {0, 1});
  };
  const ItemList part = minimal_part(numbers(64), shows, [&] { return calls < 3; });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(part.size(), 16U);  // half of the half
}

}  // namespace
}  // namespace rankwire
