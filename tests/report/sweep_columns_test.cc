// Further columns of a sweep: paths into summaries, and what tables make of their values.
#include "emulator/report/sweep_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/error.h"
#include "emulator/report/study.h"
#include "emulator/report/sweep.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ColumnJson = nlohmann::ordered_json;
using testing::TemporaryFolder;

std::string columns_error(const std::string& text) {
  try {
    parse_sweep_columns(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "none";
}

/// "value", "absent", or "unknown: ..." with what is known.
std::string found(const ColumnJson& summary, const std::string& path) {
  const FoundValue value = find_value(summary, path);
  if (value.is_unknown) return "unknown: " + value.known + "|" + value.wrong;
  return value.value == nullptr ? "absent" : value.value->dump();
}

TEST(SweepColumns, ArePathsOrShortNames) {
  const auto columns = parse_sweep_columns("marks,p99,transport.naks,jobs[0].name");
  ASSERT_EQ(columns.size(), 4u);
  EXPECT_EQ(columns[0].path, "transport.ecn_ce_rx");
  EXPECT_EQ(columns[0].name, "marks");
  EXPECT_EQ(columns[1].title, "p99");
  EXPECT_EQ(columns[1].name, "p99_ps");
  EXPECT_EQ(columns[2].title, "transport.naks");
  EXPECT_EQ(columns[3].path, "jobs[0].name");
}

TEST(SweepColumns, RefusesWhatIsNoPath) {
  for (const char* text :
       {"", ",marks", "marks,", "a..b", ".a", "a.", "a[", "a[]", "a[x]", "a[1", "[1]", "a[1]b", "a]"})
    EXPECT_THAT(columns_error(text), HasSubstr("is no path")) << text;
  EXPECT_THAT(columns_error("marks,transport.ecn_ce_rx"), HasSubstr("transport.ecn_ce_rx is there twice"));
}

TEST(SweepColumns, FollowNamesAndPlaces) {
  const auto summary =
      ColumnJson::parse(R"({"a":{"b":7,"with.dots":8,"n":null},"list":[{"c":"x"},[1,2]],"single":3,"none":null})");
  EXPECT_EQ(found(summary, "a.b"), "7");
  EXPECT_EQ(found(summary, "a.with.dots"), "8");
  EXPECT_EQ(found(summary, "list[0].c"), "\"x\"");
  EXPECT_EQ(found(summary, "list[1][1]"), "2");
  // Nothing is said of what is null, below it, and behind the end of a list.
  EXPECT_EQ(found(summary, "a.n"), "absent");
  EXPECT_EQ(found(summary, "none.deep[3].er"), "absent");
  EXPECT_EQ(found(summary, "list[2].c"), "absent");
  EXPECT_EQ(found(summary, "a.x"), "unknown: a.|x");
  EXPECT_THAT(find_value(summary, "a.x").beside, ElementsAre("b", "with.dots", "n"));
  EXPECT_EQ(found(summary, "list[0].d"), "unknown: list[0].|d");
  EXPECT_EQ(found(summary, "single.p99"), "unknown: single.|p99");
  EXPECT_THAT(find_value(summary, "single.p99").beside, IsEmpty());
  EXPECT_EQ(found(summary, "a[0]"), "unknown: a|[0]");
}

// So that a wrong name is one before anything has run.
TEST(SweepColumns, TheShapeOfSummariesIsThatOfASummary) {
  TemporaryFolder folder;
  testing::write_sample(folder.path());
  const ColumnJson real = summary(RunReader(folder.path()));
  const ColumnJson shape = summary_shape();
  const auto names = [](const ColumnJson& object) {
    std::set<std::string> all;
    for (const auto& [name, value] : object.items()) all.insert(name);
    return all;
  };
  EXPECT_EQ(names(shape), names(real));
  for (const auto& [name, value] : shape.items()) {
    const bool differs = value.is_object() && real[name].is_object() && names(value) != names(real[name]);
    EXPECT_FALSE(differs) << name;
    EXPECT_FALSE(value.is_number() && real[name].is_structured()) << name;
  }
  // Without messages in the record there are no times of theirs.
  for (const char* path :
       {"transport.ecn_ce_rx", "transport.cnp_rx", "message_completion_time.p50_ps", "message_completion_time.p99_ps",
        "diagnosis.losses.lost", "transport.retransmitted", "transport.pause_rx", "fidelity"})
    EXPECT_FALSE(find_value(real, path).is_unknown) << path;
}

TEST(SweepColumns, HaveUnitsForPeopleAndNoneInFiles) {
  const SweepColumn time = parse_sweep_columns("p50")[0], count = parse_sweep_columns("marks")[0];
  EXPECT_EQ(column_text(time, 12'345'000), "12.35 us");
  EXPECT_EQ(column_text(count, 12'345'000), "12345000");
  EXPECT_EQ(column_text(count, 0.123456), "0.1235");
  EXPECT_EQ(column_text(count, "ok"), "ok");
  EXPECT_EQ(column_text(count, nullptr), "-");
  EXPECT_EQ(column_field(12'345'000), "12345000");
  EXPECT_EQ(column_field(nullptr), "");
  EXPECT_EQ(column_field(ColumnJson::parse(R"(["a","b"])")), R"(["a","b"])");
}

/// Of a sweep over one key: a point with an emulated side and a reference, and one that has no record.
Sweep sweep_of_columns(const std::filesystem::path& folder) {
  testing::write_sample(folder);
  write_report(folder);
  Sweep sweep{.name = "s", .keys = {"seed"}, .columns = parse_sweep_columns("retransmitted,warnings"), .points = {}};
  sweep.points = {{.values = {"1"}, .folder = "point-1"}, {.values = {"2"}, .folder = "point-2", .verdict = "failed"}};
  read_sweep_point(sweep.points[0], folder, sweep.columns);
  return sweep;
}

TEST(SweepColumns, StandInTheRowsOfTheEmulatedSide) {
  TemporaryFolder folder;
  const Sweep sweep = sweep_of_columns(folder.path());
  ASSERT_EQ(sweep.points[0].sides.size(), 2u);
  const ColumnJson summary = read_summary(folder.path());
  const std::string count = summary["transport"]["retransmitted"].dump();
  const std::string csv = sweep_csv(sweep);
  EXPECT_THAT(csv, HasSubstr(",stall,culprit,retransmitted,warnings\n"));
  EXPECT_THAT(csv, HasSubstr(",," + count + ",[]\n1,point-1,reference,"));
  // Of the reference, and of the point without a record, nothing.
  EXPECT_THAT(csv, HasSubstr(",,,\n2,point-2,,failed,,,,,,,,,\n"));
  EXPECT_EQ(sweep_json(sweep)["points"][0]["columns"],
            (ColumnJson{{"retransmitted", summary["transport"]["retransmitted"]}, {"warnings", ColumnJson::array()}}));
  EXPECT_EQ(sweep_json(sweep)["points"][1]["columns"], (ColumnJson{{"retransmitted", nullptr}, {"warnings", nullptr}}));
  EXPECT_THAT(sweep_table(sweep), HasSubstr("ratio  retransmitted  warnings\n"));
  EXPECT_THAT(sweep_html(sweep), HasSubstr("<th>ratio</th><th>retransmitted</th><th>warnings</th>"));
  const Study study{.name = "n", .title = "t", .columns = sweep.columns, .figures = {}};
  EXPECT_THAT(study_csv(study), HasSubstr(",culprit,retransmitted,warnings\n"));
}

// As many fields in each line, whatever the point has come to.
TEST(SweepColumns, LeaveTheCsvRectangular) {
  TemporaryFolder folder;
  std::istringstream lines(sweep_csv(sweep_of_columns(folder.path())));
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(std::ranges::count(line, ','), 12) << line;
}

TEST(SweepColumns, AreNotThereUnlessAskedFor) {
  TemporaryFolder folder;
  Sweep sweep = sweep_of_columns(folder.path());
  sweep.columns.clear();
  EXPECT_FALSE(sweep_json(sweep)["points"][0].contains("columns"));
  EXPECT_THAT(sweep_csv(sweep), Not(HasSubstr("retransmitted")));
}

}  // namespace
}  // namespace rankwire
