// Lines as SVG.
#include "emulator/report/line_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rankwire {
namespace {

using ::testing::HasSubstr;

TEST(LineChart, PlacesAreSharedAndTheAxisBeginsAtZero) {
  const std::string svg = line_chart_svg(
      {.title = "t & u", .lines = {{"a", {{"31", 1}, {"62", 0.5}, {"128", 0.25}}}, {"b <", {{"31", 2}, {"128", 1}}}}});
  // Three places from x 50 to 760; the axis from y 276 at 0 to 16 at the largest value, 2.
  EXPECT_THAT(svg, HasSubstr("points=\"50.0,146.0 405.0,211.0 760.0,243.5 \""));
  EXPECT_THAT(svg, HasSubstr("points=\"50.0,16.0 760.0,146.0 \""));
  EXPECT_THAT(svg, HasSubstr("t &amp; u"));
  EXPECT_THAT(svg, HasSubstr("b &lt; 1.00"));
}

TEST(LineChart, LabelsThatWouldOverlapMoveApart) {
  const std::string svg = line_chart_svg({.title = "", .lines = {{"a", {{"x", 1}}}, {"b", {{"x", 1}}}}});
  EXPECT_THAT(svg, HasSubstr("y=\"20.0\" style=\"fill:#4c78a8\">a"));
  EXPECT_THAT(svg, HasSubstr("y=\"34.0\" style=\"fill:#f58518\">b"));
}

// Decades from 1 to 100 over 260: 10 is in the middle, at y 146.
TEST(LineChart, ALogarithmicAxisHasDecades) {
  const std::string svg =
      line_chart_svg({.title = "", .lines = {{"a", {{"x", 2}, {"y", 10}, {"z", 60}}}}, .logarithmic = true});
  EXPECT_THAT(svg, HasSubstr("405.0,146.0 "));
  EXPECT_THAT(svg, HasSubstr("y=\"280.0\">1.000</text>"));
  EXPECT_THAT(svg, HasSubstr("y=\"20.0\">100.0</text>"));
}

TEST(LineChart, SmallValuesKeepTheirDigits) {
  EXPECT_THAT(line_chart_svg({.title = "", .lines = {{"a", {{"x", 0.0125}}}}}), HasSubstr("a 0.0125</text>"));
}

TEST(LineChart, WithoutPointsThereIsNone) {
  EXPECT_EQ(line_chart_svg({}), "");
  EXPECT_EQ(line_chart_svg({.title = "", .lines = {{"a", {}}}}), "");
}

}  // namespace
}  // namespace rankwire
