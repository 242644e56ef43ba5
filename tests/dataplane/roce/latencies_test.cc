#include "dataplane/roce/latencies.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

TEST(Latencies, EachPortHasItsOwn) {
  Latencies latencies(2);
  latencies.add_round_trip(1, microseconds(8));
  latencies.add_one_way(0, Time() + microseconds(1), Time() + microseconds(4));
  std::vector<PortLatency> read;
  latencies.append_to(read, 0, PortId(7));
  latencies.append_to(read, 1, PortId(9));
  ASSERT_EQ(read.size(), 4u);
  const auto expect = [&](size_t i, PortId port, LatencyKind kind, uint64_t count, Duration most) {
    EXPECT_EQ(read[i].port, port) << i;
    EXPECT_EQ(read[i].kind, kind) << i;
    EXPECT_EQ(read[i].histogram->count(), count) << i;
    EXPECT_EQ(read[i].histogram->max(), most) << i;
  };
  expect(0, PortId(7), LatencyKind::kRoundTrip, 0, Duration());
  expect(1, PortId(7), LatencyKind::kOneWay, 1, microseconds(3));
  expect(2, PortId(9), LatencyKind::kRoundTrip, 1, microseconds(8));
  expect(3, PortId(9), LatencyKind::kOneWay, 0, Duration());
}

TEST(Latencies, ACopyThatWasSentBeforeTheLastIsNotCounted) {
  Latencies latencies(1);
  latencies.add_one_way(0, Time() + microseconds(5), Time() + microseconds(4));
  latencies.add_one_way(0, Time() + microseconds(4), Time() + microseconds(4));
  std::vector<PortLatency> read;
  latencies.append_to(read, 0, PortId(0));
  EXPECT_EQ(read[1].histogram->count(), 1u);
  EXPECT_EQ(read[1].histogram->max(), Duration());
}

// A part of a message that is read may be empty: then there is no response with data.
TEST(Latencies, WhatWasNeverSentIsNotCounted) {
  Latencies latencies(1);
  latencies.add_one_way(0, Time::long_ago(), Time() + microseconds(4));
  std::vector<PortLatency> read;
  latencies.append_to(read, 0, PortId(0));
  EXPECT_EQ(read[1].histogram->count(), 0u);
}

TEST(Latencies, OneMessageOfAStrideIsMeasured) {
  Latencies latencies(1);
  uint32_t measured = 0;
  EXPECT_TRUE(latencies.take_turn()) << "the first, so that a short run has one";
  for (uint32_t i = 0; i < 10 * Latencies::kOneWayStride; ++i) measured += latencies.take_turn();
  EXPECT_EQ(measured, 10u);
}

}  // namespace
}  // namespace rankwire
