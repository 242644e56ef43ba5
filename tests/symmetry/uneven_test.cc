// Runs without any symmetry left, against a recurrence that follows from the algorithm alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "tests/symmetry/both_runs.h"

namespace rankwire {
namespace {

/// A ring all-reduce, in one slice a block and channel, in which rank `late` begins later than the others and the port
/// of rank 0 is slower. Times in ps, in floating point.
struct UnevenRing {
  uint32_t ranks;
  int64_t block;             ///< bytes of a channel's message
  int channels;              ///< rings of the same order, which share the lines and so do the same at all times
  double begin, late_begin;  ///< when ranks begin
  uint32_t late;
  double byte = 80, slow_byte = 0;  ///< time on the lines of kRate, and on those of rank 0's port
  double latency = 500'000;         ///< 100 ns to the switch, its 300 ns, 100 ns from it

  static constexpr int64_t kMtu = 1024;

  double on_line(uint32_t rank) const { return rank == 0 ? slow_byte : byte; }

  struct Passage {
    double sent, delivered;  ///< since the first bit
  };
  /// A message from a rank to the next, frame by frame: the switch forwards each when all of it is there and the one
  /// before has gone. 82 bytes a frame beside the payload, a RETH of 16 in the first, an immediate of 4 in the last.
  /// The source is done when the slower of the two lines would have taken everything, at the channel's share of it.
  Passage passage(uint32_t source) const {
    const double up = on_line(source), down = on_line((source + 1) % ranks);
    double bytes = 0, there = 0, gone = 0;
    for (int64_t left = block; left > 0; left -= kMtu) {
      const double frame =
          static_cast<double>(std::min(left, kMtu) + 82 + (left == block ? 16 : 0) + (left <= kMtu ? 4 : 0));
      bytes += frame;
      there += frame * up;
      gone = std::max(gone, there) + frame * down;
    }
    const double alone = bytes * std::max(up, down), shared = alone * channels;
    return {.sent = shared, .delivered = shared + (gone - alone) + latency};
  }

  /// When each rank's all-reduce ends: with the last of its steps, the last receipt or the last acknowledgement. In
  /// step k, of 2 (n - 1), a rank sends on what it has received in step k - 1, when it has sent what it sent then.
  std::vector<double> ends() const {
    std::vector<Passage> passages;
    for (uint32_t r = 0; r < ranks; ++r) passages.push_back(passage(r));
    std::vector<double> received, sent, delivered(ranks);
    for (uint32_t r = 0; r < ranks; ++r) received.push_back(r == late ? late_begin : begin);
    sent = received;
    for (uint32_t k = 0; k < 2 * (ranks - 1); ++k) {
      for (uint32_t r = 0; r < ranks; ++r) {
        const double start = std::max(received[r], sent[r]);
        sent[r] = start + passages[r].sent;
        delivered[r] = start + passages[r].delivered;
      }
      for (uint32_t r = 0; r < ranks; ++r)
        received[r] = std::max(delivered[(r + ranks - 1) % ranks], r == late ? late_begin : begin);
    }
    std::vector<double> ends;
    for (uint32_t r = 0; r < ranks; ++r) ends.push_back(std::max(received[r], delivered[r] + latency));
    return ends;
  }
};

class Uneven : public ::testing::TestWithParam<int> {};

// 1024 ranks, 1 GiB, one port 1 % slower, one rank 1 us late. Nothing can be folded, so what is simulated is the whole.
TEST_P(Uneven, ALateRankAndASlowPortAreThoseOfTheRecurrence) {
  constexpr uint32_t kRanks = 1024, kLate = 700;
  constexpr int64_t kBytes = 1 << 30;
  const int channels = GetParam();
  testing::WorkloadBuilder builder(kRanks);
  const GroupId world = builder.group("world", members(0, kRanks, 1));
  for (uint32_t r = 0; r < kRanks; ++r) {
    const uint32_t before = builder.compute(r, microseconds(r == kLate ? 11 : 10));
    builder.collective(r, CollectiveKind::kAllReduce, world, kBytes, {before});
  }
  const ScheduleOptions schedule{.channels = static_cast<uint32_t>(channels), .chunk = Bytes(kBytes)};
  const BothRuns runs = on_star(builder.build(), schedule, {}, kRanks, 1, Bandwidth(99'000'000'000));
  EXPECT_FALSE(runs.folded());
  const Told whole = runs.whole();

  // 8 bits at 99 Gb/s.
  const UnevenRing ring{.ranks = kRanks,
                        .block = kBytes / kRanks / channels,
                        .channels = channels,
                        .begin = 10e6,
                        .late_begin = 11e6,
                        .late = kLate,
                        .slow_byte = 8e12 / 99e9};
  const std::vector<double> expected = ring.ends();
  ASSERT_EQ(whole.operations.size(), 2 * kRanks);
  // The model rounds up to 1 ps what a message takes on the slow lines, twice, and no rank waits for more messages than
  // there are steps; a share of a line is rounded down to 1 bit/s, which is less than 1e-10 of it.
  const double rounding = 2.0 * 2 * (kRanks - 1) + 1e-10 * expected.front();
  double last = 0, worst = 0;
  for (const auto& [rank, iteration, node, start, end] : whole.operations) {
    last = std::max(last, expected[rank]);
    const bool reduces = start >= 10'000'000;
    if (!reduces) continue;
    worst = std::max(worst, std::abs(static_cast<double>(end) - expected[rank]));
    EXPECT_NEAR(static_cast<double>(end), expected[rank], rounding) << rank;
  }
  EXPECT_NEAR(static_cast<double>(whole.total.ps), last, rounding);
  std::printf("%.6f ms, of the recurrence %.6f ms; of any rank at most %.0f ps apart\n",
              static_cast<double>(whole.total.ps) / 1e9, last / 1e9, worst);

  // Which is not what an even ring takes, 80 ps a byte everywhere and nobody late: 91.2 us a step, of 1024 frames on
  // one line, one on the next and 0.5 us, where the slow line takes 91.5 us without a pause.
  UnevenRing even = ring;
  even.late_begin = even.begin, even.slow_byte = even.byte;
  EXPECT_GT(last, 1.003 * std::ranges::max(even.ends()));
}

INSTANTIATE_TEST_SUITE_P(Channels, Uneven, ::testing::Values(1, 4));

}  // namespace
}  // namespace rankwire
