// Which connections held up the slowest communication of a record whose every number is known.
#include "emulator/report/slow_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "emulator/record/database.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using testing::file_text;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;
using testing::TemporaryFolder;

FlowRow flow(uint32_t connection, uint32_t source) {
  FlowRow row;
  row.connection.id = row.counters.connection = ConnectionId(connection);
  row.connection.job = JobId(0);
  row.connection.source = RankId(source), row.connection.destination = RankId(1 - source);
  row.connection.channel = 3;
  return row;
}

CauseRecord cause(uint32_t rank, Duration transmitting, Duration paused) {
  CauseRecord row{.rank = RankId(rank), .node = 1, .connection = ConnectionId(rank), .causes = {}};
  row.causes[Cause::kTransmitting] = transmitting, row.causes[Cause::kPaused] = paused;
  return row;
}

/// The sample's all-reduce: 10 us of rank 0's 40 went into sending, and 10 of rank 1's, which was paused for
/// another 30.
class SlowOperations : public ::testing::Test {
 protected:
  SlowOperations() {
    RunRecorder recorder(folder_.path(), {.causes = true});
    testing::begin_sample(recorder);
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 2, .seed = 7});
    RecordSink& sink = run.sink();
    sink.operations(testing::sample_operations(50));
    sink.causes(std::vector{cause(0, microseconds(10), microseconds(0)), cause(1, microseconds(10), microseconds(30))});
    RunEnd end = testing::sample_end(microseconds(50));
    end.flows = {flow(0, 0), flow(1, 1)};
    end.ports = {{.port = PortId(0), .name = "left"}, {.port = PortId(1), .name = "right<"}};
    end.rank_nics = {{NicId(0), PortId(0), "02:00:00:00:00:01", "198.18.0.1"},
                     {NicId(1), PortId(1), "02:00:00:00:00:02", "198.18.0.2"}};
    run.end(end);
    testing::record_reference(recorder);
  }
  TemporaryFolder folder_;
};

TEST_F(SlowOperations, TheSummaryNamesTheConnectionsThatWaitedLongest) {
  const nlohmann::ordered_json list = summary(RunReader(folder_.path()))["slow_operations"];
  ASSERT_EQ(list.size(), 1u) << "the worst rank of each";
  const auto& operation = list[0];
  EXPECT_EQ(operation["name"], "grads <script>");
  EXPECT_EQ(operation["rank"], 0);
  EXPECT_EQ(operation["node"], 11);
  EXPECT_EQ(operation["emulated_ps"], 40'000'000);
  EXPECT_EQ(operation["reference_ps"], 20'000'000);
  EXPECT_EQ(operation["time_by_cause"]["transmitting_ps"], 10'000'000);
  EXPECT_EQ(operation["time_by_cause"]["paused_ps"], 0);
  ASSERT_EQ(operation["connections"].size(), 2u);
  const nlohmann::ordered_json first = {{"connection", 1},
                                        {"source", 1},
                                        {"destination", 0},
                                        {"channel", 3},
                                        {"control", false},
                                        {"port", "right<"},
                                        {"transmitting_ps", 10'000'000},
                                        {"window_ps", 0},
                                        {"congestion_control_ps", 0},
                                        {"paused_ps", 30'000'000},
                                        {"rnr_ps", 0},
                                        {"recovering_ps", 0},
                                        {"port_ps", 0},
                                        {"acknowledgement_ps", 0}};
  EXPECT_EQ(operation["connections"][0], first);
  EXPECT_EQ(operation["connections"][1]["source"], 0);
}

TEST_F(SlowOperations, SoDoTextAndPageAndTheTableHasTheRanksOwn) {
  EXPECT_THAT(
      summary_table(RunReader(folder_.path())),
      HasSubstr("(all_reduce dp)\n"
                "    of the extra time: +20 us paused\n"
                "    most held up: rank 1 to rank 0 at port right<: paused 75.0 %, transmitting 25.0 % of 40 us\n"));
  write_report(folder_.path(), {ReportFormat::kHtml, ReportFormat::kCsv});
  const std::string page = file_text(folder_ / "report.html");
  EXPECT_THAT(page, HasSubstr("Who held the slowest communication up"));
  EXPECT_THAT(page, HasSubstr("<td>right&lt;</td><td class=\"n\" data-value=\"40000000\">40 us</td><td>paused 75.0 %, "
                              "transmitting 25.0 %</td>"));
  const std::string table = file_text(folder_ / "operations.csv");
  EXPECT_THAT(table, HasSubstr(",200.000,200.000,,10000000,0,0,0,0,0,0,0,,,,,,,\n"));
  EXPECT_THAT(table, HasSubstr(",200.000,200.000,,10000000,0,0,30000000,0,0,0,0,,,,,,,\n"));
}

// 20 us more than the reference's 20: rank 1 was paused for 30 us, which explains all of them.
TEST_F(SlowOperations, TheirGapIsSplit) {
  const nlohmann::ordered_json gap = summary(RunReader(folder_.path()))["slow_operations"][0]["gap"];
  const nlohmann::ordered_json expected = {{"gap_ps", 20'000'000},
                                           {"late_peer_ps", 0},
                                           {"waited_for_rank", nullptr},
                                           {"recovering_ps", 0},
                                           {"rnr_ps", 0},
                                           {"paused_ps", 20'000'000},
                                           {"congestion_control_ps", 0},
                                           {"window_ps", 0},
                                           {"port_ps", 0},
                                           {"acknowledgement_ps", 0},
                                           {"path_latency_ps", 0},
                                           {"queueing_own_job_ps", 0},
                                           {"queueing_others_ps", 0},
                                           {"unexplained_ps", 0},
                                           {"faster_ps", 0},
                                           {"other_chain_ps", 0},
                                           {"acknowledgement_frames_ps", 0}};
  EXPECT_EQ(gap, expected);
  EXPECT_THAT(summary_table(RunReader(folder_.path())), HasSubstr("    of the extra time: +20 us paused\n"));
  write_report(folder_.path(), {ReportFormat::kHtml, ReportFormat::kCsv});
  EXPECT_THAT(file_text(folder_ / "report.html"), HasSubstr("<td>+20 us paused</td>"));
  EXPECT_THAT(file_text(folder_ / "slow_operations.csv"),
              HasSubstr("\n0,0,0,11,grads <script>,all_reduce,dp,40000000,20000000,20000000,,0,0,0,20000000,"));
}

TEST_F(SlowOperations, WithoutCausesTheGapIsUnexplainedAndNoConnectionIsNamed) {
  const SampleReport sample;
  const nlohmann::ordered_json list = sample.summary()["slow_operations"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_TRUE(list[0]["connections"].empty());
  EXPECT_EQ(list[0]["gap"]["unexplained_ps"], 20'000'000);
  EXPECT_THAT(sample.table(), Not(HasSubstr("of the extra time")));
  EXPECT_THAT(sample.table(), Not(HasSubstr("most held up")));
  EXPECT_THAT(sample.page(), Not(HasSubstr("<h2>Who held")));
  {
    Database database(folder_ / "run.sqlite", Database::Access::kCreate);
    database.execute("DROP TABLE operation_causes; ALTER TABLE nodes DROP COLUMN sequence");
  }
  EXPECT_EQ(summary(RunReader(folder_.path()))["slow_operations"], list);
}

}  // namespace
}  // namespace rankwire
