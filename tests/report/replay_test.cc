#include "emulator/report/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tests/report/sample_record.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Replay : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_sample(folder_.path()); }
  ReplayFigures figures() const { return replay_figures(RunReader(folder_.path())); }
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "base.csv") << text;
    return folder_ / "base.csv";
  }

  testing::TemporaryFolder folder_;
};

// Two ranks all-reduce 1 MB, 40 us emulated: 25 GB/s by 2 x 1 / 2. What they compute is no kernel.
TEST_F(Replay, ListsCollectivesOfTheEmulatedSide) {
  const ReplayFigures all = figures();
  ASSERT_EQ(all.size(), 1u);
  const auto& [kernel, figure] = *all.begin();
  EXPECT_EQ(kernel, (ReplayKernel{"all_reduce", Bytes(1'000'000), 2}));
  EXPECT_EQ(figure.calls, 2u);
  EXPECT_EQ(figure.mean, microseconds(40));
  EXPECT_DOUBLE_EQ(*figure.bus, 25);
  EXPECT_THAT(replay_text(all, {}), ContainsRegex("all_reduce +1000000 +2 +2 +40\\.00 +25\\.00 \\(-\\) +-\n"));
}

// Half the time of the base, and twice its bandwidth.
TEST_F(Replay, StandsBesideABase) {
  ReplayFigures base = figures();
  base.begin()->second.mean = microseconds(80);
  base.begin()->second.bus = 12.5;
  EXPECT_THAT(replay_text(figures(), base), HasSubstr("25.00 (12.50)    0.500\n"));
  EXPECT_THAT(replay_csv(figures(), base), HasSubstr("\nall_reduce,1000000,2,2,40000000,25,80000000,12.5,0.5\n"));
}

TEST_F(Replay, ReadsWhatItHasWritten) {
  const ReplayFigures base = read_replay(file(replay_csv(figures(), figures())));
  ASSERT_EQ(base.size(), 1u);
  EXPECT_EQ(base.begin()->first, figures().begin()->first);
  EXPECT_EQ(base.begin()->second.mean, microseconds(40));
  EXPECT_EQ(base.begin()->second.bus, 25);
  EXPECT_EQ(read_replay(folder_.path()).begin()->second.mean, microseconds(40));
}

// A call of 90 us warms up, one of 10 us counts.
TEST(ReplayOfMeasured, LeavesOutCallsThatWarmUp) {
  const testing::TemporaryFolder folder;
  RunRecorder recorder(folder.path());
  recorder.configuration("{}", "0.1.0", {});
  recorder.nodes(std::vector{testing::sample_node(0, 0, "all_reduce size=64 warmup 0", "all_reduce"),
                             testing::sample_node(0, 1, "all_reduce size=64 iteration 0", "all_reduce")});
  const auto at = testing::at_microsecond;
  {
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 1});
    run.sink().operations(
        std::vector{testing::sample_operation(0, 0, at(0), at(90)), testing::sample_operation(0, 1, at(90), at(100))});
    run.end(testing::sample_end(microseconds(100)));
  }
  const ReplayFigures figures = replay_figures(RunReader(folder.path()));
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures.begin()->second.calls, 1u);
  EXPECT_EQ(figures.begin()->second.mean, microseconds(10));
}

TEST_F(Replay, NamesTheLineThatIsNotWhole) {
  const std::string whole = replay_csv(figures(), {});
  const auto refusal = [&](const std::string& text) -> std::string {
    try {
      read_replay(file(text));
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(refusal(whole), "");
  EXPECT_THAT(refusal(whole + "all_reduce,8\n"), HasSubstr("base.csv:3: is not a line"));
  EXPECT_THAT(refusal(whole + "all_reduce,8,2,1,fast,,,,\n"), HasSubstr("base.csv:3: is not a line"));
  EXPECT_THAT(refusal("rank,time\n"), HasSubstr("base.csv:1: is not a replay.csv"));
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
}

}  // namespace
}  // namespace rankwire
