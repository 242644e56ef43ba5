#include "emulator/report/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Sections, AreAllPrintedWhereTheyFit) {
  const FittedText fitted = rankwire::fitted({{.name = "a", .lines = {"a1", "a2"}, .rank = 3}, {.name = "b"}}, 2);
  EXPECT_EQ(fitted.text, "a1\na2\n");
  EXPECT_THAT(fitted.left_out, IsEmpty());
}

// Of four lines the verdict has one, the table, which matters more, two, and one is left for what stands before it.
TEST(Sections, ThatMatterMostTakeTheRoomAndAllKeepTheirOrder) {
  const FittedText fitted = rankwire::fitted({{.name = "verdict", .lines = {"ok"}},
                                              {.name = "path", .lines = {"p1", "p2", "p3"}, .rank = 9},
                                              {.name = "table", .lines = {"heading", "row"}, .rank = 1, .least = 2}},
                                             4);
  EXPECT_EQ(fitted.text, "ok\np1\nheading\nrow\n");
  EXPECT_THAT(fitted.left_out, ElementsAre("2 lines of path"));
}

TEST(Sections, AHeadingDoesNotStandAloneAndItsLineGoesToAnother) {
  const FittedText fitted = rankwire::fitted(
      {{.name = "table", .lines = {"heading", "row"}, .rank = 1, .least = 2}, {.name = "b", .lines = {"b"}, .rank = 2}},
      1);
  EXPECT_EQ(fitted.text, "b\n");
  EXPECT_THAT(fitted.left_out, ElementsAre("table"));
}

TEST(Sections, OfTheFirstRankArePrintedWithoutRoom) {
  const FittedText fitted =
      rankwire::fitted({{.name = "a", .lines = {"a1", "a2"}}, {.name = "b", .lines = {"b"}, .rank = 1}}, 1);
  EXPECT_EQ(fitted.text, "a1\na2\n");
  EXPECT_THAT(fitted.left_out, ElementsAre("b"));
}

TEST(Sections, LinesOfATextHaveNoEnds) {
  EXPECT_THAT(lines_of("a\n\nb"), ElementsAre("a", "", "b"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("a"));
  EXPECT_THAT(lines_of(""), IsEmpty());
}

}  // namespace
}  // namespace rankwire
