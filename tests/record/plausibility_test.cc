#include "emulator/record/plausibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "emulator/record/database.h"
#include "emulator/record/recorder.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A record of two ranks with one node each, and three executions.
class Plausibility : public ::testing::Test {
 protected:
  Plausibility() {
    RunRecorder recorder(folder_.path());
    const NodeInfo nodes[] = {{.rank = RankId(0), .kind = "compute", .bytes = {}, .job = JobId(0)},
                              {.rank = RankId(1), .kind = "compute", .bytes = {}, .job = JobId(0)}};
    recorder.nodes(nodes);
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "virtual", .ranks = 2, .seed = 1});
    const OperationRecord rows[] = {{.rank = RankId(0), .node = 0, .start = Time(), .end = Time(10)},
                                    {.rank = RankId(1), .node = 0, .start = Time(-5), .end = Time(12)},
                                    {.rank = RankId(1), .node = 0, .iteration = 1, .start = Time(12), .end = Time(20)}};
    run.sink().operations(rows);
    run.end({.verdict = "ok", .completion = Duration(20)});
  }

  /// What is said after `sql` has changed the record; empty where nothing is.
  std::string after(const std::string& sql) {
    Database(folder_.path() / "run.sqlite", Database::Access::kCreate).execute(sql);
    try {
      require_plausible(folder_.path());
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return {};
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Plausibility, TakesWhatARunWrites) {
  EXPECT_EQ(after("SELECT 1"), "");
}

// Room is made for all ranks below: 16 GB of numbers alone.
TEST_F(Plausibility, NamesTableRowAndColumnOfARankThatCannotBe) {
  EXPECT_THAT(
      after("UPDATE operations SET rank=4000000000 WHERE rowid=3"),
      AllOf(HasSubstr("run.sqlite: table operations, row with rowid 3: rank is 4000000000"), HasSubstr("0 .. 131071")));
}

TEST_F(Plausibility, NamesTheKeyOfARowWithoutANumber) {
  EXPECT_THAT(after("UPDATE nodes SET node=3000000000 WHERE rank=1"),
              HasSubstr("table nodes, row with rank 1, node 3000000000: node is 3000000000"));
}

TEST_F(Plausibility, TakesNoTimeThatCannotBeAddedUp) {
  EXPECT_THAT(after("UPDATE operations SET end_ps=9223372036854775807 WHERE rowid=1"),
              HasSubstr("table operations, row with rowid 1: end_ps is 9223372036854775807"));
}

// -1 would be drawn as 18446744073709551615.
TEST_F(Plausibility, TakesNoCountBelowZero) {
  EXPECT_THAT(after("INSERT INTO details VALUES(1, 'pacing_slips', -1)"),
              HasSubstr("table details, row with rowid 1: value is -1, where runs write 0 .. "));
  EXPECT_EQ(after("UPDATE details SET value=7"), "");
  EXPECT_THAT(after("INSERT INTO ports VALUES(1, 0, 'p0', 0, 0, 0, -64, 0, 0, 0, 0, 0, 0)"),
              HasSubstr("table ports, row with rowid 1: rx_bytes is -64"));
  EXPECT_THAT(after("UPDATE ports SET rx_bytes=0, rx_missed=-2"), HasSubstr("rx_missed is -2"));
  EXPECT_THAT(after("UPDATE ports SET rx_missed=0, marked=-3"), HasSubstr("marked is -3"));
  EXPECT_EQ(after("UPDATE ports SET marked=9223372036854775807"), "");
}

TEST_F(Plausibility, TakesNoTextForANumber) {
  EXPECT_THAT(after("UPDATE runs SET completion_ps='soon'"),
              HasSubstr("table runs, row with run 1: completion_ps is soon"));
}

// Readers make room for jobs by their number, and look for those of nodes.
TEST_F(Plausibility, TakesJobsThatAreNumberedWithoutGaps) {
  const std::string two =
      "INSERT INTO jobs VALUES(0, 'a', 0, 1, 1, NULL, 0, 'red'), (1, 'b', 1, 1, 1, NULL, 0, 'blue');"
      "UPDATE nodes SET job=1 WHERE rank=1;";
  EXPECT_EQ(after(two), "");
  EXPECT_THAT(after("UPDATE jobs SET job=5 WHERE job=1"), HasSubstr("table jobs: 2 rows, but the last is job 5"));
  EXPECT_THAT(after("DELETE FROM jobs WHERE job=5"), HasSubstr("table jobs: 1 rows, but there are nodes of job 1"));
  EXPECT_THAT(after("UPDATE jobs SET job=1000000"), HasSubstr("job is 1000000, where runs write 0 .. 127"));
}

}  // namespace
}  // namespace rankwire
