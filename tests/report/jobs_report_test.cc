// What reports say of jobs that share a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emulator/report/comparison.h"
#include "emulator/report/jobs.h"
#include "emulator/report/rank_names.h"
#include "tests/report/sample_record.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

constexpr Time us(int64_t n) {
  return testing::at_microsecond(n);
}

/// Ranks 0 and 1 of job left, rank 2 of job "right, far", whose number is 1. Alone they take 20 and 10 us; in the
/// reference left takes 30 us and right 10, 8 if no cable failed; emulated 40 and, from 5 us on, 25.
class JobsReport : public ::testing::Test {
 protected:
  JobsReport() {
    record(folder_ / "base", 25);
    record(folder_ / "other", 50);
    write_report(folder_ / "base");
  }

  static void record(const std::filesystem::path& folder, int64_t right) {
    RunRecorder recorder(folder);
    testing::begin_sample(recorder);
    NodeInfo far = testing::sample_node(2, 0, "grads <script>", "all_reduce");
    far.job = JobId(1);
    recorder.nodes({&far, 1});
    const JobInfo jobs[] = {
        {.job = JobId(0), .name = "left", .first_rank = 0, .ranks = 2, .iterations = 3, .color = "#123456"},
        {.job = JobId(1),
         .name = "right, far",
         .first_rank = 2,
         .ranks = 1,
         .iterations = 1,
         .after = JobId(0),
         .start = microseconds(1)}};
    recorder.jobs(jobs);
    const OperationRecord of_right = testing::sample_operation(2, 0, us(5), us(5 + right));
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 3});
    RecordSink& emulated = run.sink();
    emulated.operations(testing::sample_operations(40));
    emulated.operations({&of_right, 1});
    RunEnd end = testing::sample_end(microseconds(40));
    end.jobs = {{.begin = us(0), .end = us(40)}, {.begin = us(5), .end = us(5 + right)}};
    run.end(end);
    RunRecorder::Run second_run =
        recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 3, .model = "flow"});
    end.jobs = {{.begin = us(0), .end = us(30)}, {.begin = us(31), .end = us(41)}};
    const auto row = [](const char* link, uint32_t job, int64_t shared, int64_t bytes) {
      return SharedLinkRow{.link = link,
                           .job = JobId(job),
                           .other = JobId(1 - job),
                           .time = microseconds(8),
                           .shared = microseconds(shared),
                           .bytes = Bytes(2048),
                           .shared_bytes = Bytes(bytes)};
    };
    end.shared_links = {row("p0", 0, 2, 512), row("p0", 1, 2, 1024), row("p1", 0, 4, 1024), row("p1", 1, 4, 2048)};
    second_run.end(end);
    const JobAlone alone[] = {{JobId(0), "flow", microseconds(20)},
                              {JobId(1), "flow", microseconds(10), microseconds(8)}};
    recorder.jobs_alone(alone);
  }
  std::string text(const char* file) const { return testing::file_text(folder_ / "base" / file); }

  const TemporaryFolder folder_;
};

TEST_F(JobsReport, CsvIsExact) {
  // Factors: 40/20, 25/10, 30/20 and 10/10.
  EXPECT_EQ(text("jobs.csv"),
            "fidelity,model,job,name,first_rank,ranks,iterations,begin_ps,end_ps,jct_ps,alone_ps,interference,"
            "lost_to_failures_ps\n"
            "emulated,,0,left,0,2,3,0,40000000,40000000,20000000,2,\n"
            "emulated,,1,\"right, far\",2,1,1,5000000,30000000,25000000,10000000,2.5,\n"
            "reference,flow,0,left,0,2,3,0,30000000,30000000,20000000,1.5,\n"
            "reference,flow,1,\"right, far\",2,1,1,31000000,41000000,10000000,10000000,1,2000000\n");
}

TEST_F(JobsReport, SummaryHasJobsInTheirOrder) {
  const auto json = nlohmann::ordered_json::parse(text("summary.json"))["jobs"];
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1], nlohmann::ordered_json::parse(
                         R"({"job": 1, "name": "right, far", "first_rank": 2, "ranks": 1, "iterations": 1,
                             "after": "left", "start_ps": 1000000,
                             "alone": {"model": "flow", "completion_time_ps": 10000000},
                             "without_failures": {"model": "flow", "completion_time_ps": 8000000},
                             "emulated": {"begin_ps": 5000000, "end_ps": 30000000, "completion_time_ps": 25000000,
                                          "interference": 2.5},
                             "reference": {"begin_ps": 31000000, "end_ps": 41000000, "completion_time_ps": 10000000,
                                           "interference": 1.0},
                             "blame": null, "waterfall": null,
                             "shared": [{"link": "p1", "other": "left", "time_ps": 8000000, "shared_ps": 4000000,
                                         "bytes": 2048, "shared_bytes": 2048},
                                        {"link": "p0", "other": "left", "time_ps": 8000000, "shared_ps": 2000000,
                                         "bytes": 2048, "shared_bytes": 1024}],
                             "shared_ports": []})"));
  EXPECT_TRUE(json[0]["after"].is_null());
  EXPECT_TRUE(json[0]["without_failures"].is_null());
}

TEST_F(JobsReport, PrintedSummaryAndPageShowThem) {
  const RunReader record(folder_ / "base");
  EXPECT_THAT(summary_table(record),
              AllOf(HasSubstr("  left                2      20 us      30 us   1.500      40 us   2.000\n"),
                    HasSubstr("  failures of cables cost right, far 2 us of 10 us in the reference\n")));
  EXPECT_THAT(text("report.html"), AllOf(HasSubstr("<h2>Jobs</h2>"), HasSubstr("background:#123456"),
                                         HasSubstr("1 us after left"), HasSubstr("right, far:0 emulated")));
  EXPECT_THAT(text("timeline.json"), HasSubstr("rank 0 of job right, far emulated"));
}

// Nothing was emulated, and then nobody was alone either.
TEST_F(JobsReport, ColumnsInWhichNothingStandsAreLeftOut) {
  const auto record_reference = [&](const char* name, bool alone) {
    RunRecorder recorder(folder_ / name);
    testing::begin_sample(recorder);
    const JobInfo job{.job = JobId(0), .name = "left", .first_rank = 0, .ranks = 2, .iterations = 1};
    recorder.jobs({&job, 1});
    RunEnd end = testing::sample_end(microseconds(30));
    end.jobs = {{.begin = us(0), .end = us(30)}};
    recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2, .model = "flow"}).end(end);
    const JobAlone time{JobId(0), "flow", microseconds(20)};
    if (alone) recorder.jobs_alone({&time, 1});
  };
  record_reference("predicted", true);
  const RunReader predicted(folder_ / "predicted");
  EXPECT_THAT(jobs_text(predicted), HasSubstr("they are\n  job             ranks      alone  reference   times\n"
                                              "  left                2      20 us      30 us   1.500\n"));
  EXPECT_THAT(html_jobs(predicted), AllOf(HasSubstr(">Times alone</th></tr>"), Not(HasSubstr(">Emulated<"))));
  EXPECT_TRUE(jobs_json(predicted)[0]["emulated"].is_null());
  write_report(folder_ / "predicted", parse_formats("markdown"));
  EXPECT_THAT(testing::file_text(folder_ / "predicted" / "report.md"),
              HasSubstr("| Job left | reference 30 us (1.500 times alone) |"));

  record_reference("nobody", false);
  const RunReader nobody(folder_ / "nobody");
  EXPECT_THAT(jobs_text(nobody), HasSubstr("job completion times\n  job             ranks  reference\n"
                                           "  left                2      30 us\n"));
  EXPECT_THAT(html_jobs(nobody), AllOf(HasSubstr(">Reference</th></tr>"), Not(HasSubstr(">Alone<"))));
}

TEST_F(JobsReport, SharedLinksAreToldLongestFirst) {
  const RunReader record(folder_ / "base");
  EXPECT_THAT(summary_table(record),
              HasSubstr("predicted links that jobs share longest\n"
                        "  left shares p1 with right, far for 4 us of 8 us, 1 KiB of its 2 KiB there\n"
                        "  right, far shares p1 with left for 4 us of 8 us, 2 KiB of its 2 KiB there\n"));
  EXPECT_EQ(text("shared.csv"),
            "fidelity,model,link,job,other,time_ps,shared_ps,bytes,shared_bytes\n"
            "reference,flow,p0,left,\"right, far\",8000000,2000000,2048,512\n"
            "reference,flow,p0,\"right, far\",left,8000000,2000000,2048,1024\n"
            "reference,flow,p1,left,\"right, far\",8000000,4000000,2048,1024\n"
            "reference,flow,p1,\"right, far\",left,8000000,4000000,2048,2048\n");
  EXPECT_THAT(text("report.html"), HasSubstr("<td>p1</td><td>left</td><td>right, far</td>"));
}

// Of ten jobs that share a port the first three are printed with it, and five with their times.
TEST_F(JobsReport, AFewJobsArePrintedWithWhatTheyShare) {
  {
    RunRecorder recorder(folder_ / "many");
    testing::begin_sample(recorder);
    std::vector<JobInfo> jobs;
    RunEnd end = testing::sample_end(microseconds(40));
    for (uint32_t job = 0; job < 10; ++job) {
      jobs.push_back(
          {.job = JobId(job), .name = "j" + std::to_string(job), .first_rank = 0, .ranks = 1, .iterations = 1});
      end.shared_links.push_back({.link = "p0",
                                  .job = JobId(job),
                                  .other = JobId(job ^ 1),
                                  .time = microseconds(2),
                                  .shared = microseconds(1),
                                  .bytes = Bytes(2),
                                  .shared_bytes = Bytes(1)});
    }
    recorder.jobs(jobs);
    RunRecorder::Run run =
        recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 3, .model = "flow"});
    run.end(end);
  }
  const std::string printed = summary_table(RunReader(folder_ / "many"));
  EXPECT_THAT(printed, HasSubstr("  j2 shares p0 with j3 for"));
  EXPECT_THAT(printed, Not(AnyOf(HasSubstr("  j3 shares"), HasSubstr("  j9 shares"))));
  EXPECT_THAT(printed, HasSubstr("  and 5 more, less held up, in jobs.csv\n"));
}

TEST_F(JobsReport, RanksAreCountedWithinTheirJobs) {
  const RunReader record(folder_ / "base");
  const RankNames names(record);
  EXPECT_EQ(names(1), "left:1");
  EXPECT_EQ(names(2), "right, far:0");
  EXPECT_EQ(names.titled(2), "rank 0 of job right, far");
  EXPECT_EQ(names.label(2), "right, far:0");
  EXPECT_EQ(job_of_rank(record, RankId(1)), "0");
  EXPECT_EQ(job_of_rank(record, RankId(2)), "1");
}

// Of the operation that both jobs have under one name each has its own row.
TEST_F(JobsReport, OperationsOfJobsAreToldApart) {
  EXPECT_THAT(text("report.html"),
              AllOf(HasSubstr("<td>dp of job left</td>"), HasSubstr("<td>dp of job right, far</td>")));
  EXPECT_THAT(text("operations.csv"), HasSubstr("\n1,0,2,10,grads <script>,"));
}

TEST_F(JobsReport, ComparisonHasTheirTimes) {
  const Comparison comparison = compare(read_records({folder_ / "base"}), read_records({folder_ / "other"}));
  ASSERT_EQ(comparison.jobs.size(), 2u);
  EXPECT_EQ(comparison.jobs[0].ratio(), 1.0);
  EXPECT_EQ(comparison.jobs[1].completion.other, microseconds(50));
  EXPECT_EQ(comparison.jobs[1].ratio(), 2.0);
  EXPECT_THAT(comparison_table(comparison), AllOf(HasSubstr("job right, far: 25 us -> 50 us, ratio 2.000\n"),
                                                  HasSubstr("grads <script> (all_reduce dp of job right, far)")));
  EXPECT_EQ(comparison_json(comparison)["jobs"][1]["ratio"], 2.0);
}

TEST(ReportWithoutJobs, SaysNothingOfThem) {
  const testing::SampleReport report;
  EXPECT_EQ(report.summary()["jobs"], nlohmann::ordered_json::array());
  EXPECT_THAT(report.page(), Not(HasSubstr("<h2>Jobs</h2>")));
  EXPECT_FALSE(std::filesystem::exists(report.folder() / "jobs.csv"));
  const RunReader record(report.folder());
  EXPECT_EQ(RankNames(record)(1), "1");
  EXPECT_EQ(job_of_rank(record, RankId(1)), "0");
  EXPECT_EQ(JobNames(record).with_job("dp", JobId(0)), "dp");
}

}  // namespace
}  // namespace rankwire
