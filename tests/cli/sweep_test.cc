// What `simulate --sweep` is told, as settings.
#include "emulator/cli/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    parse_sweep_axis(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "none";
}

TEST(Sweep, ValuesOfOneKey) {
  const SweepAxis axis = parse_sweep_axis("transport.window=16,32");
  EXPECT_THAT(axis.keys, ElementsAre("transport.window"));
  EXPECT_THAT(axis.values, ElementsAre(ElementsAre("16"), ElementsAre("32")));
}

TEST(Sweep, CommasWithinBracketsAndEqualsSignsBelongToTheValue) {
  const SweepAxis axis = parse_sweep_axis("workload.traces=[a=1.et, b.et],[c.et, {d, e}]");
  EXPECT_THAT(axis.values, ElementsAre(ElementsAre("[a=1.et, b.et]"), ElementsAre("[c.et, {d, e}]")));
}

TEST(Sweep, KeysThatChangeTogether) {
  const SweepAxis axis = parse_sweep_axis("ports.count+workload.generate.data_parallel=2+4,4+8");
  EXPECT_THAT(axis.keys, ElementsAre("ports.count", "workload.generate.data_parallel"));
  EXPECT_THAT(axis.values, ElementsAre(ElementsAre("2", "4"), ElementsAre("4", "8")));
}

TEST(Sweep, WhatIsNoSweep) {
  EXPECT_THAT(error_of("transport.window"), HasSubstr("key=value"));
  EXPECT_THAT(error_of("=1,2"), HasSubstr("key=value"));
  EXPECT_THAT(error_of("seed=1,,2"), HasSubstr("'' is not a value"));
  EXPECT_THAT(error_of("a+b=1+2,3"), HasSubstr("'3' is not 2 values"));
}

TEST(Sweep, EveryCombinationOnceTheLastAxisFastest) {
  const auto settings = sweep_settings({parse_sweep_axis("a=1,2"), parse_sweep_axis("b+c=3+4,5+6")});
  EXPECT_THAT(settings, ElementsAre(ElementsAre("a=1", "b=3", "c=4"), ElementsAre("a=1", "b=5", "c=6"),
                                    ElementsAre("a=2", "b=3", "c=4"), ElementsAre("a=2", "b=5", "c=6")));
}

TEST(Sweep, AKeyIsSweptOnceAndPointsAreBounded) {
  EXPECT_THROW(sweep_settings({parse_sweep_axis("a=1,2"), parse_sweep_axis("a=3")}), Error);
  const std::vector<std::vector<std::string>> hundred(100, {"1"});
  const SweepAxis a{{"a"}, hundred}, b{{"b"}, hundred}, c{{"c"}, {{"1"}, {"2"}}};
  EXPECT_EQ(sweep_settings({a, b}).size(), 10'000u);
  EXPECT_THROW(sweep_settings({a, b, c}), Error);
}

}  // namespace
}  // namespace rankwire
