// What a matrix of interference says of runs of some of the jobs.
#include "emulator/report/interference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/sample_record.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TemporaryFolder;
using Jobs = std::vector<uint32_t>;

TEST(InterferenceSets, AllThenEachAloneThenEachTwo) {
  EXPECT_THAT(interference_sets(3, true),
              ElementsAre(Jobs{0, 1, 2}, Jobs{0}, Jobs{1}, Jobs{2}, Jobs{0, 1}, Jobs{0, 2}, Jobs{1, 2}));
  EXPECT_THAT(interference_sets(3, false), ElementsAre(Jobs{0, 1, 2}, Jobs{0}, Jobs{1}, Jobs{2}));
  // All of two are the pair.
  EXPECT_THAT(interference_sets(2, true), ElementsAre(Jobs{0, 1}, Jobs{0}, Jobs{1}));
  EXPECT_THAT(interference_sets(2, false), ElementsAre(Jobs{0, 1}, Jobs{0}, Jobs{1}));
}

/// Jobs a, "b, c" and d; those at work of each run take these many us, on each side.
Interference three_jobs() {
  Interference all{.name = "three", .jobs = {"a", "b, c", "d"}, .numbers = {0, 1, 2}, .runs = {}};
  for (Jobs& jobs : interference_sets(3, true)) {
    InterferenceRun& run = all.runs.emplace_back();
    run.jobs = std::move(jobs);
    run.point.folder = fmt::format("point-{}", all.runs.size());
    run.point.verdict = "ok";
    run.fidelity = "ok";
  }
  const auto side = [](const char* name, std::vector<int64_t> times) {
    InterferenceRun::Side one{name, {}};
    for (const int64_t time : times) one.completion.push_back(microseconds(time));
    return one;
  };
  all.runs[0].sides = {side("twin", {60, 30, 10}), side("reference", {50, 30, 10})};
  all.runs[1].sides = {side("twin", {20}), side("reference", {20})};
  all.runs[2].sides = {side("twin", {10}), side("reference", {10})};
  all.runs[3].sides = {side("twin", {10}), side("reference", {10})};
  all.runs[4].sides = {side("twin", {30, 25}), side("reference", {30, 20})};
  all.runs[5].sides = {side("twin", {40, 10}), side("reference", {20, 10})};
  all.runs[6].sides = {side("twin", {12, 11}), side("reference", {10, 10})};
  return all;
}

// Over 20, 10 and 10 us alone.
TEST(InterferenceMatrix, CellsAreTimesOverThoseAlone) {
  const Interference all = three_jobs();
  const std::vector<InterferenceMatrix> matrices = interference_matrices(all);
  ASSERT_EQ(matrices.size(), 2u);
  EXPECT_EQ(matrices[0].side(), "twin");
  EXPECT_EQ(matrices[0].beside(0, 1).factor, 1.5);
  EXPECT_EQ(matrices[0].beside(1, 0).factor, 2.5);
  EXPECT_EQ(matrices[0].beside(0, 2).factor, 2);
  EXPECT_EQ(matrices[0].beside(2, 0).factor, 1);
  EXPECT_EQ(matrices[0].beside(1, 2).factor, 1.2);
  EXPECT_EQ(matrices[0].beside(2, 1).factor, 1.1);
  EXPECT_EQ(matrices[0].beside_all(0).factor, 3);
  EXPECT_EQ(matrices[0].beside_all(1).factor, 3);
  EXPECT_EQ(matrices[1].side(), "reference");
  EXPECT_EQ(matrices[1].beside_all(0).factor, 2.5);
  EXPECT_EQ(matrices[1].beside(0, 1).completion, microseconds(30));
  EXPECT_EQ(matrices[1].alone(0), microseconds(20));
  EXPECT_EQ(exit_status(all), 0);
  EXPECT_THAT(doubtful_runs(all), IsEmpty());
}

TEST(InterferenceMatrix, CsvAndTextAreExact) {
  const Interference all = three_jobs();
  EXPECT_THAT(interference_csv(all), HasSubstr("run,victim,aggressor,jct_ps,alone_ps,interference,folder,missing\n"
                                               "twin,a,\"b, c\",30000000,20000000,1.5,point-5,\n"
                                               "twin,a,d,40000000,20000000,2,point-6,\n"
                                               "twin,a,,60000000,20000000,3,point-1,\n"
                                               "twin,\"b, c\",a,25000000,10000000,2.5,point-5,\n"));
  EXPECT_EQ(interference_text(all),
            "three: how many times its completion time alone a job takes (rows) beside another (columns)\n\n"
            "  twin  alone      a   b, c      d  all others\n"
            "  a     20 us      -  1.500  2.000       3.000\n"
            "  b, c  10 us  2.500      -  1.200       3.000\n"
            "  d     10 us  1.000  1.100      -       1.000\n\n"
            "  reference  alone      a   b, c      d  all others\n"
            "  a          20 us      -  1.500  1.000       2.500\n"
            "  b, c       10 us  2.000      -  1.000       3.000\n"
            "  d          10 us  1.000  1.000      -       1.000\n");
  const nlohmann::ordered_json json = interference_json(all);
  EXPECT_EQ(json["cells"].size(), 2u * 9);
  EXPECT_EQ(json["cells"][2], nlohmann::ordered_json::parse(
                                  R"({"run": "twin", "victim": "a", "aggressor": null, "completion_time_ps": 60000000,
                                      "alone_ps": 20000000, "interference": 3.0, "folder": "point-1",
                                      "missing": null})"));
  EXPECT_EQ(json["runs"][4]["jobs"], nlohmann::ordered_json({"a", "b, c"}));
}

// Without its time alone a whole row is missing, with a run of two the two cells of it; what is left stays.
TEST(InterferenceMatrix, MissingCellsSayWhy) {
  Interference all = three_jobs();
  all.runs[1].point.verdict = "failed", all.runs[1].point.reason = "no memory\nat all";
  all.runs[1].sides.clear();
  all.runs[6].point.verdict = "interrupted", all.runs[6].point.reason = "interrupted before it ended";
  all.runs[6].sides.clear();
  const InterferenceMatrix twin = interference_matrices(all).front();
  EXPECT_EQ(twin.beside(0, 1).missing, "alone, point-2: failed: no memory");
  EXPECT_EQ(twin.beside(0, 1).completion, microseconds(30));
  EXPECT_EQ(twin.beside(0, 1).factor, std::nullopt);
  EXPECT_EQ(twin.beside(1, 2).missing, "point-7: interrupted: interrupted before it ended");
  EXPECT_EQ(twin.beside(2, 1).factor, std::nullopt);
  EXPECT_EQ(twin.beside(1, 0).factor, 2.5);
  EXPECT_EQ(exit_status(all), 1);
  EXPECT_THAT(interference_text(all), HasSubstr("  a         ?      -     ?  ?           ?\n"));
  EXPECT_THAT(doubtful_runs(all), ElementsAre("point-2 (a): failed: no memory",
                                              "point-7 (b, c, d): interrupted: interrupted before it ended"));
  EXPECT_THAT(interference_csv(all), HasSubstr("twin,d,\"b, c\",,10000000,,point-7,point-7: interrupted: "));
  EXPECT_THAT(interference_html(all), HasSubstr("class=\"heat absent\""));
}

// No number of times nothing is something. Each side has its own times.
TEST(InterferenceMatrix, AJobThatTakesNoTimeSaysWhyItHasNoFactors) {
  Interference all = three_jobs();
  all.runs[3].sides[0].completion = {Duration(0)};
  const InterferenceMatrix twin = interference_matrices(all).front();
  EXPECT_EQ(twin.alone(2), Duration(0));
  EXPECT_EQ(twin.beside(2, 0).factor, std::nullopt);
  EXPECT_THAT(jobs_without_factors(all),
              ElementsAre("twin: no factors of d: it takes no time alone, which has no multiple"));
  EXPECT_THAT(interference_text(all), HasSubstr("  d      0 ps      ?      ?      -           ?\n"));
  EXPECT_THAT(interference_text(all),
              HasSubstr("1.000\n\ntwin: no factors of d: it takes no time alone, which has no multiple\n"));
  EXPECT_THAT(interference_html(all), HasSubstr("<p class=\"note\">twin: no factors of d: "));
  const nlohmann::ordered_json cell = interference_json(all)["cells"][6];
  EXPECT_EQ(cell["victim"], "d");
  EXPECT_TRUE(cell["interference"].is_null());
  EXPECT_EQ(cell["missing"], "it takes no time alone, which has no multiple");
}

TEST(InterferenceMatrix, WithoutPairsOneColumnIsLeft) {
  Interference all = three_jobs();
  all.runs.resize(4);
  EXPECT_THAT(interference_text(all), HasSubstr("  twin  alone  all others\n  a     20 us       3.000\n"));
  EXPECT_EQ(interference_json(all)["cells"].size(), 2u * 3);
}

TEST(InterferenceMatrix, OfTwoJobsThePairIsAll) {
  Interference two{.name = "two", .jobs = {"a", "b"}, .numbers = {0, 2}, .runs = {}};
  for (Jobs& jobs : interference_sets(2, true)) two.runs.emplace_back().jobs = std::move(jobs);
  two.runs[0].sides = {{"emulated", {microseconds(3), microseconds(4)}}};
  two.runs[1].sides = {{"emulated", {microseconds(2)}}};
  two.runs[2].sides = {{"emulated", {microseconds(2)}}};
  const InterferenceMatrix matrix = interference_matrices(two).front();
  EXPECT_TRUE(matrix.has_pairs());
  EXPECT_FALSE(matrix.has_all());
  EXPECT_EQ(matrix.beside(0, 1).factor, 1.5);
  EXPECT_EQ(matrix.beside(1, 0).factor, 2);
}

// 1 is blank and the largest factor, 3, darkest: 1.5 is a quarter of the way, 0.85 / 4.
TEST(InterferencePage, HeatMapIsAsDarkAsTheFactors) {
  const Interference all = three_jobs();
  const std::string page = interference_html(all);
  EXPECT_THAT(page, HasSubstr("<title>a beside b, c: 1.500 times 20 us, its time alone</title>"));
  EXPECT_THAT(page, HasSubstr("fill-opacity=\"0.212\""));
  EXPECT_THAT(page, HasSubstr("<h2>Interference factors, reference</h2>"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"heat absent\"")));
  EXPECT_THAT(page, Not(HasSubstr("href=")));
}

// Job 0 is idle: those at work are 1 and 2. Of a side that is not ok nothing is taken.
TEST(InterferenceRun, IsReadFromItsRecord) {
  const TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder);
    RunEnd end = testing::sample_end(microseconds(40));
    const auto at = testing::at_microsecond;
    end.jobs = {{}, {.begin = at(1), .end = at(40)}, {.begin = at(0), .end = at(30)}};
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 2});
    end.verdict = "failed";
    run.end(end);
    RunRecorder::Run second_run =
        recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"});
    end.verdict = "ok";
    second_run.end(end);
  }
  InterferenceRun run;
  run.jobs = {0, 1};
  read_interference_run(run, {1, 2}, folder.path());
  ASSERT_EQ(run.sides.size(), 2u);
  EXPECT_EQ(run.sides[0].run, "twin");
  EXPECT_THAT(run.sides[0].completion, ElementsAre(std::nullopt, std::nullopt));
  EXPECT_EQ(run.sides[1].run, "reference");
  EXPECT_THAT(run.sides[1].completion, ElementsAre(microseconds(39), microseconds(30)));
  InterferenceRun none;
  none.jobs = {0};
  read_interference_run(none, {1, 2}, folder / "nowhere");
  EXPECT_THAT(none.sides, IsEmpty());
}

}  // namespace
}  // namespace rankwire
