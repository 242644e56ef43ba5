// What a run folder says of pause storms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "emulator/record/database.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using testing::at_microsecond;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;

RunEnd end_with(std::vector<StormRow> storms) {
  RunEnd end = testing::sample_end(microseconds(50));
  end.storms = std::move(storms);
  return end;
}

std::vector<StormRow> two_storms() {
  return {
      {.name = "leaf0.p3",
       .priority = 3,
       .stuck = at_microsecond(10),
       .begin = at_microsecond(14),
       .end = at_microsecond(40),
       .dropped = 7},
      {.name = "leaf1.p<9>", .priority = 4, .stuck = at_microsecond(20), .begin = at_microsecond(25), .forwarded = 2}};
}

TEST(StormsReport, SummaryNamesEachQueue) {
  const SampleReport sample(end_with(two_storms()));
  const nlohmann::ordered_json expected = {{{"name", "leaf0.p3"},
                                            {"priority", 3},
                                            {"stuck_ps", 10'000'000},
                                            {"begin_ps", 14'000'000},
                                            {"end_ps", 40'000'000},
                                            {"dropped", 7},
                                            {"forwarded", 0}},
                                           {{"name", "leaf1.p<9>"},
                                            {"priority", 4},
                                            {"stuck_ps", 20'000'000},
                                            {"begin_ps", 25'000'000},
                                            {"end_ps", nullptr},
                                            {"dropped", 0},
                                            {"forwarded", 2}}};
  EXPECT_EQ(sample.summary().at("storms"), expected);
  const std::string table = sample.table();
  EXPECT_THAT(table, HasSubstr("leaf0.p3 priority 3, from 14 us to 40 us: 7 frames dropped"));
  EXPECT_THAT(table,
              HasSubstr("leaf1.p<9> priority 4, from 25 us to the end of the run: 2 frames sent against the pause"));
  const std::string page = sample.page();
  EXPECT_THAT(page, HasSubstr("Pause storms"));
  EXPECT_THAT(page, HasSubstr("leaf1.p&lt;9&gt;"));
}

TEST(StormsReport, WithoutStormsThereIsNothing) {
  const SampleReport sample;
  EXPECT_EQ(sample.summary().at("storms"), nlohmann::ordered_json::array());
  EXPECT_THAT(sample.page(), Not(HasSubstr("Pause storms")));
  EXPECT_THAT(sample.table(), Not(HasSubstr("storm")));
}

TEST(StormsReport, PrintsTheFirstAndCountsTheOthers) {
  std::vector<StormRow> storms(6, two_storms().front());
  EXPECT_THAT(SampleReport(end_with(storms)).table(), HasSubstr("and 2 more, in summary.json"));
}

// Records of an earlier rankwire have the same version and lack the table.
TEST(StormsReport, ReadsRecordsWithoutTheirTable) {
  const SampleReport sample(end_with(two_storms()));
  Database(sample.folder() / "run.sqlite", Database::Access::kCreate).execute("DROP TABLE storms;");
  EXPECT_EQ(sample.summary().at("storms"), nlohmann::ordered_json::array());
}

}  // namespace
}  // namespace rankwire
