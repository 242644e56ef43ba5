#include "emulator/workload/names.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace rankwire {
namespace {

TEST(Names, KeepsTextsWhereTheyAreWhenMoved) {
  Names names;
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  // Of all lengths up to 3000 bytes: 4.5 MB, which are several blocks of the largest size.
  for (size_t n = 0; n <= 3000; ++n) texts.emplace_back(n, static_cast<char>('a' + n % 26));
  for (const std::string& text : texts) views.push_back(names.add(text));
  const Names moved = std::move(names);
  for (size_t n = 0; n < texts.size(); ++n) ASSERT_EQ(views[n], texts[n]);
}

TEST(NameKeeper, KeepsANameOnceThatComesAgain) {
  Names names;
  NameKeeper keeper(names);
  const std::string_view first = keeper.keep("aten::add"), other = keeper.keep("aten::mul");
  EXPECT_EQ(keeper.keep(std::string("aten::add")).data(), first.data());
  EXPECT_EQ(keeper.keep(std::string("aten::mul")).data(), other.data());
  EXPECT_EQ(first, "aten::add");
  EXPECT_EQ(keeper.keep(""), "");
}

// Far more names than are remembered, so that many take the places of others.
TEST(NameKeeper, GivesEveryNameBack) {
  Names names;
  NameKeeper keeper(names);
  for (int n = 0; n < 20'000; ++n) {
    const std::string name = "n" + std::to_string(n % 7001);
    ASSERT_EQ(keeper.keep(name), name);
  }
}

TEST(Names, OwnWhatTheyHaveAdopted) {
  Names all;
  const std::string_view first = all.add("first");
  std::string_view second;
  {
    Names others;
    second = others.add(std::string(100'000, 's'));
    all.adopt(std::move(others));
  }
  const std::string_view third = all.add("third");
  EXPECT_EQ(first, "first");
  EXPECT_EQ(second, std::string(100'000, 's'));
  EXPECT_EQ(third, "third");
}

}  // namespace
}  // namespace rankwire
