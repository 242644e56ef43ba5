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

// Room is made for all ranks below: 16 GB of numbers alone. Rank 2 is none of the run's two either.
TEST_F(Plausibility, NamesTableRowAndColumnOfARankThatCannotBe) {
  EXPECT_THAT(
      after("UPDATE operations SET rank=4000000000 WHERE rowid=3"),
      HasSubstr("run.sqlite: table operations, row with rowid 3: rank is 4000000000, where runs write 0 .. 1;"));
  EXPECT_THAT(after("UPDATE operations SET rank=2 WHERE rowid=3"), HasSubstr("rank is 2, where runs write 0 .. 1;"));
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

// A rank may compute a thousand nodes at once, so that together they take longer than anything in a run can.
TEST_F(Plausibility, TakesSumsOverNodesAsLargeAsTheyGet) {
  EXPECT_EQ(after("INSERT INTO compute_times VALUES(1, 0, 'recorded', 1024, 9223372036854775807);"
                  "INSERT INTO compute_variation VALUES(1, 0, -9223372036854775807, 0, 9223372036854775807)"),
            "");
  EXPECT_THAT(after("UPDATE compute_times SET time_ps=-1"), HasSubstr("table compute_times"));
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
  EXPECT_THAT(after("UPDATE jobs SET job=5 WHERE job=1"),
              HasSubstr("table jobs, row with job 5: job is 5, where runs write 0 .. 1;"));
  EXPECT_THAT(after("DELETE FROM jobs WHERE job=5"),
              HasSubstr("table nodes, row with rank 1, node 0: job is 1, where runs write 0 .. 0;"));
  EXPECT_THAT(after("UPDATE nodes SET job=0; UPDATE jobs SET job=1000000"),
              HasSubstr("table jobs, row with job 1000000: job is 1000000, where runs write 0 .. 0;"));
}

// Job 2 is the background's one entry, whose traffic ends at rank 2: both have what is beside the traces only.
TEST_F(Plausibility, TakesTheBackgroundBehindJobsAndRanks) {
  EXPECT_EQ(after("INSERT INTO jobs VALUES(0, 'a', 0, 1, 1, NULL, 0, 'red'), (1, 'b', 1, 1, 1, 0, 0, 'blue');"
                  "INSERT INTO background VALUES(2, 'noise', 'pairs', 1, 64, NULL, 1, 0, NULL);"
                  "INSERT INTO background_ends VALUES(2, 'p0');"
                  "INSERT INTO shared_links VALUES(1, 'up', 0, 1, 9, 5, 90, 50);"
                  "INSERT INTO failures VALUES(1, 7, 0, 2, '', '', 'late', '')"),
            "");
  EXPECT_THAT(after("UPDATE failures SET source=131072"), HasSubstr("source is 131072, where runs write 0 .. 131071;"));
  EXPECT_THAT(after("UPDATE failures SET source=0; UPDATE shared_links SET job=2"),
              HasSubstr("table shared_links, row with rowid 1: job is 2, where runs write 0 .. 1;"));
  EXPECT_THAT(after("UPDATE shared_links SET job=0, other=77"), HasSubstr("other is 77, where runs write 0 .. 1;"));
  EXPECT_THAT(after("UPDATE shared_links SET other=1; UPDATE jobs SET follows=2 WHERE job=1"),
              HasSubstr("follows is 2, where runs write 0 .. 1;"));
  EXPECT_THAT(after("UPDATE jobs SET follows=NULL; UPDATE background SET job=77777"),
              HasSubstr("table background, row with job 77777: job is 77777, where runs write 2 .. 2;"));
  EXPECT_EQ(after("UPDATE background SET job=2; UPDATE nodes SET job=2 WHERE rank=1"), "");
  EXPECT_THAT(after("DELETE FROM background"), HasSubstr("table nodes, row with rank 1, node 0: job is 2, where runs"));
}

TEST_F(Plausibility, TakesNoEndBeforeItsBegin) {
  EXPECT_EQ(after("INSERT INTO job_spans VALUES(1, 0, 7, 7), (2, 0, NULL, -5)"), "");
  EXPECT_THAT(
      after("UPDATE job_spans SET end_ps=6 WHERE run=1"),
      HasSubstr("table job_spans, row with run 1, job 0: end_ps is 6, where runs write no less than begin_ps;"));
  EXPECT_THAT(after("UPDATE job_spans SET end_ps=7; UPDATE operations SET end_ps=-6 WHERE rowid=2"),
              HasSubstr("table operations, row with rowid 2: end_ps is -6, where runs write no less than start_ps;"));
}

}  // namespace
}  // namespace rankwire
