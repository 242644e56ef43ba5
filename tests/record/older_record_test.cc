// Records that earlier programs wrote: what is there is read, and what is not is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "emulator/record/database.h"
#include "emulator/record/plausibility.h"
#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

void execute(const TemporaryFolder& folder, const std::string& sql) {
  Database(folder / "run.sqlite", Database::Access::kCreate).execute(sql);
}

TEST(OlderRecord, TheFirstOfThisVersionIsRead) {
  const TemporaryFolder folder;
  std::ifstream sql(RANKWIRE_SOURCE "/tests/record/first_of_version_2.sql");
  ASSERT_TRUE(sql);
  execute(folder, {std::istreambuf_iterator<char>(sql), std::istreambuf_iterator<char>()});
  require_plausible(folder.path());

  const RunReader reader(folder.path());
  ASSERT_NE(reader.emulated(), nullptr);
  EXPECT_EQ(reader.emulated()->end.completion, Duration(105'631'840));
  EXPECT_EQ(reader.reference()->end.completion, Duration(105'611'200));
  std::vector<std::string> kinds;
  reader.for_each_operation([&](const OperationRow& row) {
    kinds.push_back(row.node.kind);
    EXPECT_TRUE(row.emulated && row.reference);
    EXPECT_EQ(row.node.timed_by, "");
  });
  EXPECT_THAT(kinds, ElementsAre("compute", "all_reduce", "compute", "all_reduce"));
  EXPECT_TRUE(reader.jobs().empty());
  EXPECT_FALSE(reader.rates(*reader.emulated()));
  ASSERT_EQ(reader.warnings().size(), 1u);
  EXPECT_THAT(reader.warnings()[0],
              AllOf(HasSubstr("an earlier version of rankwire 0.0.9, whose"), HasSubstr(" nodes.tag,"),
                    HasSubstr(" jobs,"), HasSubstr(" shared_links,"), Not(HasSubstr(" operations,"))));
}

TEST(OlderRecord, OneOfTodayLacksNothing) {
  const TemporaryFolder folder;
  { RunRecorder recorder(folder.path()); }
  EXPECT_THAT(RunReader(folder.path()).warnings(), ElementsAre());
}

TEST(OlderRecord, JobsWithoutTheTimeThatNothingHarms) {
  const TemporaryFolder folder;
  { RunRecorder recorder(folder.path()); }
  execute(folder,
          "INSERT INTO jobs VALUES(0, 'a', 0, 1, 1, NULL, 0, 'red');"
          "ALTER TABLE jobs_alone DROP COLUMN unharmed_ps; INSERT INTO jobs_alone VALUES(0, 'flow', 7)");
  const RunReader reader(folder.path());
  ASSERT_NE(reader.alone(JobId(0)), nullptr);
  EXPECT_EQ(reader.alone(JobId(0))->completion, Duration(7));
  EXPECT_FALSE(reader.alone(JobId(0))->unharmed);
  EXPECT_THAT(reader.warnings(), ElementsAre(HasSubstr("have no jobs_alone.unharmed_ps: what follows")));
}

TEST(OlderRecord, BackgroundWithoutItsFirstArrival) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.begin({.ranks = 2}).end({});
  }
  execute(folder,
          "ALTER TABLE background_traffic DROP COLUMN first_arrival_ps; INSERT INTO background_traffic "
          "VALUES((SELECT run FROM runs), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7)");
  const RunReader reader(folder.path());
  ASSERT_EQ(reader.runs().at(0).end.background.size(), 1u);
  EXPECT_EQ(reader.runs()[0].end.background[0].last_delivery, Time(7));
  EXPECT_FALSE(reader.runs()[0].end.background[0].first_arrival);
}

TEST(OlderRecord, AStallWithoutItsMachine) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2});
    run.end({.stall = StallRow{.kind = "dead_peer", .culprit = RankId(1), .chain = {}, .waits = {}, .machine = "b"}});
  }
  EXPECT_EQ(RunReader(folder.path()).stall(RunReader(folder.path()).runs().at(0))->machine, "b");
  execute(folder, "ALTER TABLE stalls DROP COLUMN machine");
  const RunReader reader(folder.path());
  const auto stall = reader.stall(*reader.emulated());
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->culprit, RankId(1));
  EXPECT_EQ(stall->machine, "");
}

// Flows say between whom a connection is.
TEST(OlderRecord, AllowancesWithoutTheirEnds) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 4});
    FlowRow flow;
    flow.connection = {.id = ConnectionId(5), .job = JobId(0), .source = RankId(2), .destination = RankId(3)};
    flow.counters.connection = ConnectionId(5);
    run.end({.flows = {flow}, .rates = RateSampling{.allowances = {{.connection = ConnectionId(5)}}}});
  }
  execute(folder, "ALTER TABLE allowances DROP COLUMN source; ALTER TABLE allowances DROP COLUMN destination");
  const RunReader reader(folder.path());
  const auto rates = reader.rates(*reader.emulated());
  ASSERT_TRUE(rates);
  ASSERT_EQ(rates->allowances.size(), 1u);
  EXPECT_EQ(rates->allowances[0].source, RankId(2));
  EXPECT_EQ(rates->allowances[0].destination, RankId(3));
}

}  // namespace
}  // namespace rankwire
