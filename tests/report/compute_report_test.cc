// What a run folder says of what gave computations their times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/record/database.h"
#include "emulator/report/compute.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;

/// Two ranks with one kernel of each of two models; rank 1 is slow from 2 ms to 5 ms, rank 0 pauses.
RunEnd varied_end() {
  RunEnd end = testing::sample_end(microseconds(50));
  end.compute_times = {{RankId(0), "recorded", 3, microseconds(30)},
                       {RankId(0), "roofline_memory", 1, microseconds(5)},
                       {RankId(1), "recorded", 4, microseconds(40)}};
  end.compute_variation = {{RankId(0), Duration(-2'000'000), microseconds(1), Duration(0)},
                           {RankId(1), Duration(500'000), Duration(0), microseconds(7)}};
  end.stragglers = {{RankId(0), Time(0), Time(1'000'000), std::nullopt},
                    {RankId(1), Time(milliseconds(2).ps), Time(milliseconds(5).ps), 1'500'000}};
  return end;
}

TEST(ComputeReport, SummaryAddsUpRanks) {
  const SampleReport report(varied_end());
  const nlohmann::json compute = summary(RunReader(report.folder()))["compute"];
  EXPECT_EQ(compute["emulated"], nlohmann::json::parse(R"({
    "models": [{"model": "recorded", "nodes": 7, "time_ps": 70000000},
               {"model": "roofline_memory", "nodes": 1, "time_ps": 5000000}],
    "jitter_ps": -1500000, "noise_ps": 1000000, "slowed_ps": 7000000,
    "stragglers": [
      {"rank": 0, "from_ps": 0, "until_ps": 1000000, "factor_ppm": null, "rank_slowed_ps": 0,
       "text": "rank 0 pauses from 0 ps to 1 us"},
      {"rank": 1, "from_ps": 2000000000, "until_ps": 5000000000, "factor_ppm": 1500000, "rank_slowed_ps": 7000000,
       "text": "rank 1 is slowed by 1.5 from 2 ms to 5 ms"}]})"));
  EXPECT_EQ(compute["reference"]["models"], nlohmann::json::array());
}

TEST(ComputeReport, ThePrintedSummaryExplains) {
  const SampleReport report(varied_end());
  EXPECT_EQ(
      compute_text(RunReader(report.folder())),
      "compute       70 us by recorded (7 nodes), 5 us by roofline_memory (1 nodes); jitter -1.5 us; noise +1 us; "
      "stragglers +7 us\n"
      "              rank 0 pauses from 0 ps to 1 us; it computed 0 ps longer\n"
      "              rank 1 is slowed by 1.5 from 2 ms to 5 ms; it computed 7 us longer\n");
}

TEST(ComputeReport, NamesSomeStragglersOfMany) {
  RunEnd end = varied_end();
  end.stragglers.assign(11, {RankId(1), Time(0), std::nullopt, 2'000'000});
  const SampleReport report(end);
  const std::string text = compute_text(RunReader(report.folder()));
  EXPECT_THAT(text, HasSubstr("rank 1 is slowed by 2 from 0 ps on;"));
  EXPECT_THAT(text, HasSubstr("and 3 more, in summary.json\n"));
}

TEST(ComputeReport, ThePageHasTheSame) {
  EXPECT_THAT(SampleReport(varied_end()).page(), HasSubstr("rank 1 is slowed by 1.5 from 2 ms to 5 ms"));
  EXPECT_THAT(SampleReport().page(), Not(HasSubstr("What gave nodes that compute their times")));
  EXPECT_EQ(compute_text(RunReader(SampleReport().folder())), "");
}

TEST(ComputeReport, ReadsRecordsThatDoNotSay) {
  const SampleReport report(varied_end());
  {
    Database database(report.folder() / "run.sqlite", Database::Access::kCreate);
    database.execute("DROP TABLE compute_times; DROP TABLE compute_variation; DROP TABLE stragglers");
    database.execute("ALTER TABLE nodes DROP COLUMN timed_by");
  }
  EXPECT_EQ(compute_text(RunReader(report.folder())), "");
  EXPECT_THAT(report.csv("operations.csv"), HasSubstr(",200.000,200.000,,,,,,,,,,,,,,,,\n"));
}

}  // namespace
}  // namespace rankwire
