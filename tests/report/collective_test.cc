#include "emulator/report/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "emulator/report/collective_table.h"
#include "tests/report/sample_record.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

constexpr const char* kAllReduceSeries =
    R"({"name":"x","workload":{"generate":{"kind":"collective","collective":{"operation":"all_reduce","ranks":2,)"
    R"("warmup":1,"iterations":2,"datatype":"float","redop":"max","root":1,"average":"mean"}}},)"
    R"("transport":{"checking":"on"}})";

NodeInfo call_node(uint32_t rank, uint32_t place, const std::string& name) {
  NodeInfo node = testing::sample_node(rank, place, name, "all_reduce");
  node.bytes = Bytes(1'000'000);
  return node;
}

/// Two ranks call an all-reduce of 1 MB: 90 us to warm up, then 10 and 30 us at rank 0, 20 and 40 us at rank 1; in the
/// reference always 10 us. `wrong` are messages by operation, of `payload_errors` in all.
std::filesystem::path record_calls(const std::filesystem::path& folder, bool is_emulated = true,
                                   uint64_t payload_errors = 0, const std::vector<WrongMessagesRow>& wrong = {},
                                   const std::string& average = "mean") {
  RunRecorder recorder(folder);
  std::string configuration = kAllReduceSeries;
  configuration.replace(configuration.find("mean"), 4, average);
  recorder.configuration(configuration, "0.1.0", {});
  std::vector<NodeInfo> nodes;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    nodes.push_back(call_node(rank, 0, "all_reduce size=1000000 warmup 0"));
    nodes.push_back(call_node(rank, 1, "all_reduce size=1000000 iteration 0"));
    nodes.push_back(call_node(rank, 2, "all_reduce size=1000000 iteration 1"));
  }
  recorder.nodes(nodes);
  const auto at = testing::at_microsecond;
  if (is_emulated) {
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = 2});
    run.sink().operations(std::vector{
        testing::sample_operation(0, 0, at(0), at(90)), testing::sample_operation(0, 1, at(100), at(110)),
        testing::sample_operation(0, 2, at(110), at(140)), testing::sample_operation(1, 0, at(0), at(90)),
        testing::sample_operation(1, 1, at(100), at(120)), testing::sample_operation(1, 2, at(120), at(160))});
    RunEnd end = testing::sample_end(microseconds(160));
    end.counters.payload_errors = payload_errors;
    end.wrong_messages = wrong;
    run.end(end);
  }
  RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2});
  std::vector<OperationRecord> rows;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    for (uint32_t node = 0; node < 3; ++node)
      rows.push_back(testing::sample_operation(rank, node, at(10 * node), at(10 * node + 10)));
  }
  run.sink().operations(rows);
  run.end(testing::sample_end(microseconds(30)));
  return folder;
}

std::optional<CollectiveTable> table_of(const std::filesystem::path& folder) {
  return read_figures(RunReader(folder), 1).collective;
}

TEST(CollectiveReport, CountsMeasuredCallsOfAllRanks) {
  const TemporaryFolder folder;
  const auto table = table_of(record_calls(folder.path()));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->redop, "max");
  EXPECT_EQ(table->root, -1);
  ASSERT_EQ(table->rows.size(), 1u);
  const CollectiveRow& row = table->rows[0];
  EXPECT_EQ(row.count, 250'000);
  ASSERT_TRUE(row.emulated && row.reference);
  // 10, 20, 30 and 40 us: the mean is 25, the second and the fourth of four are P50 and the others.
  EXPECT_EQ(row.emulated->calls, 4u);
  EXPECT_EQ(row.emulated->mean, microseconds(25));
  EXPECT_EQ(row.emulated->p50, microseconds(20));
  EXPECT_EQ(row.emulated->p95, microseconds(40));
  EXPECT_EQ(row.emulated->p99, microseconds(40));
  EXPECT_EQ(row.reference->mean, microseconds(10));
  EXPECT_DOUBLE_EQ(*row.ratio(), 2.5);
  // 1 MB in 25 us is 40 GB/s; the factor of two ranks is 2 x 1 / 2.
  EXPECT_DOUBLE_EQ(row.emulated->bandwidth.algorithm, 40);
  EXPECT_DOUBLE_EQ(row.emulated->bandwidth.bus, 40);
  EXPECT_DOUBLE_EQ(*table->average_bus(), 40);
}

TEST(CollectiveReport, PrintsTheColumnsOfNcclTests) {
  const TemporaryFolder folder;
  const std::string text = collective_text(*table_of(record_calls(folder.path())));
  EXPECT_THAT(text, HasSubstr("#wrong"));
  EXPECT_THAT(text,
              ContainsRegex("\n +1000000 +250000 +float +max +-1 +25\\.00 +40\\.00 +40\\.00 +0 +10\\.00 +2\\.500"));
  EXPECT_THAT(text, HasSubstr("# Avg bus bandwidth    : 40.00\n"));
  EXPECT_THAT(text, HasSubstr("# Wrong messages       : 0 OK\n"));
}

TEST(CollectiveReport, OfTheReferenceAloneShowsItsTimes) {
  const TemporaryFolder folder;
  const auto table = table_of(record_calls(folder.path(), false));
  ASSERT_TRUE(table);
  EXPECT_EQ(table->wrong, std::nullopt);
  EXPECT_EQ(table->principal(table->rows[0])->mean, microseconds(10));
  EXPECT_THAT(collective_text(*table), HasSubstr("times are means over iterations and ranks, in the reference"));
  EXPECT_THAT(collective_csv(*table),
              HasSubstr("\nall_reduce,2,1000000,250000,float,max,-1,reference,4,10000000,100,100,,10000000,,,,"));
  EXPECT_THAT(collective_csv(*table), HasSubstr(",mean\n"));
}

TEST(CollectiveReport, CountsWrongMessagesOfASize) {
  const TemporaryFolder folder;
  const auto table = table_of(
      record_calls(folder.path(), true, 6,
                   {{"all_reduce size=1000000 iteration 0", 2}, {"all_reduce size=1000000 warmup 0", 3}, {"else", 1}}));
  EXPECT_EQ(table->wrong, 6u);
  EXPECT_EQ(table->rows[0].wrong, 5u);
  EXPECT_THAT(collective_text(*table), HasSubstr("# Wrong messages       : 6 FAILED\n"));
  EXPECT_THAT(collective_text(*table), ContainsRegex("\n +1000000 [^\n]* 40\\.00 +5 +10\\.00"));
  EXPECT_EQ(collective_json(table)["sizes"][0]["wrong_messages"], 5);
  EXPECT_THAT(collective_csv(*table), HasSubstr(",40,40,5,10000000,"));
}

// Nobody knows that it was not of this size.
TEST(CollectiveReport, DoesNotSayThatASizeHadNoneWhereSomeBelongToNoCall) {
  const TemporaryFolder folder;
  const auto table = table_of(record_calls(folder.path(), true, 3));
  EXPECT_EQ(table->wrong, 3u);
  EXPECT_EQ(table->rows[0].wrong, std::nullopt);
  EXPECT_THAT(collective_text(*table), HasSubstr("# Wrong messages       : 3 FAILED\n"));
  EXPECT_THAT(collective_text(*table), HasSubstr("N/A"));
}

// Rank 0 took 10 and 30 us, rank 1 20 and 40: 20 and 30 us in the mean.
TEST(CollectiveReport, AveragesOverRanksAsAskedFor) {
  const struct {
    const char* average;
    int64_t us;
    const char* text;
  } kCases[] = {{"rank0", 20, "over iterations, of rank 0\n"},
                {"mean", 25, "over iterations and ranks\n"},
                {"min", 20, "over iterations, of the fastest rank\n"},
                {"max", 30, "over iterations, of the slowest rank\n"}};
  for (const auto& [average, us, text] : kCases) {
    SCOPED_TRACE(average);
    const TemporaryFolder folder;
    const auto table = table_of(record_calls(folder.path(), true, 0, {}, average));
    const CollectiveRow& row = table->rows[0];
    EXPECT_EQ(row.emulated->mean, microseconds(us));
    EXPECT_EQ(row.reference->mean, microseconds(10));
    EXPECT_DOUBLE_EQ(row.emulated->bandwidth.algorithm, 1'000.0 / static_cast<double>(us));  // GB/s of 1 MB
    // Quantiles are of all ranks.
    EXPECT_EQ(row.emulated->calls, 4u);
    EXPECT_EQ(row.emulated->p50, microseconds(20));
    EXPECT_THAT(collective_text(*table), HasSubstr(text));
    EXPECT_EQ(collective_json(table)["average"], average);
  }
}

TEST(CollectiveReport, IsInPageSummaryAndTables) {
  const TemporaryFolder folder;
  write_report(record_calls(folder.path()));
  EXPECT_THAT(testing::file_text(folder / "report.html"), HasSubstr("<h2>The collective by size</h2>"));
  EXPECT_THAT(testing::file_text(folder / "collective.csv"),
              HasSubstr("\nall_reduce,2,1000000,250000,float,max,-1,emulated,4,25000000,40,40,0,10000000,2.5,"));
  const auto json = nlohmann::json::parse(testing::file_text(folder / "summary.json"));
  EXPECT_EQ(json["collective"]["sizes"][0]["emulated"]["time_ps"], 25'000'000);
}

TEST(CollectiveReport, IsAbsentFromOtherRuns) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path());
  EXPECT_FALSE(table_of(folder.path()));
  write_report(folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "collective.csv"));
}

/// Of a call of several nodes those that are not complete do not count, and a complete one lasts to its last node.
TEST(CollectiveReport, CallsOfSeveralNodesEndWithTheLast) {
  const TemporaryFolder folder;
  RunRecorder recorder(folder.path());
  recorder.configuration(
      R"({"workload":{"generate":{"kind":"collective","collective":{"operation":"sendrecv","ranks":2}}},)"
      R"("transport":{}})",
      "0.1.0", {});
  std::vector<NodeInfo> nodes;
  for (uint32_t node = 0; node < 4; ++node) {
    nodes.push_back(testing::sample_node(0, node, fmt::format("sendrecv size=64 iteration {}", node / 2),
                                         node % 2 == 0 ? "send" : "receive"));
  }
  recorder.nodes(nodes);
  const auto at = testing::at_microsecond;
  {
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 2});
    run.sink().operations(std::vector{testing::sample_operation(0, 0, at(0), at(5)),
                                      testing::sample_operation(0, 1, at(1), at(9)),
                                      testing::sample_operation(0, 2, at(9), at(10))});
    run.end(testing::sample_end(microseconds(10)));
  }
  const auto table = table_of(folder.path());
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 1u);
  EXPECT_EQ(table->rows[0].reference->calls, 1u);
  EXPECT_EQ(table->rows[0].reference->mean, microseconds(9));
}

CollectiveSide side_of(uint64_t calls, double bus) {
  return {.calls = calls,
          .mean = microseconds(10),
          .p50 = microseconds(10),
          .p95 = microseconds(10),
          .p99 = microseconds(10),
          .bandwidth = {.algorithm = bus, .bus = bus}};
}

/// All 4 calls of 1 MB have ended, one of 2 MB and none of 4 MB, which the reference has at 100 GB/s, too.
CollectiveTable interrupted_table() {
  CollectiveTable table{.ranks = 2, .iterations = 2, .type = "float", .redop = "sum", .is_emulated = true, .calls = 4};
  table.rows = {{.size = Bytes(1'000'000), .count = 250'000, .emulated = side_of(4, 40), .reference = side_of(4, 100)},
                {.size = Bytes(2'000'000), .count = 500'000, .emulated = side_of(1, 60), .reference = side_of(4, 100)},
                {.size = Bytes(4'000'000), .count = 1'000'000, .reference = side_of(4, 100)}};
  return table;
}

TEST(CollectiveReport, OfAnInterruptedRunAveragesWhatWasMeasured) {
  EXPECT_DOUBLE_EQ(*interrupted_table().average_bus(), 50);  // of 40 and 60
  CollectiveTable none = interrupted_table();
  none.rows.erase(none.rows.begin(), none.rows.begin() + 2);
  EXPECT_EQ(none.average_bus(), std::nullopt);
}

TEST(CollectiveReport, OfAnInterruptedRunMarksSizes) {
  const std::string text = collective_text(interrupted_table());
  EXPECT_THAT(text, ContainsRegex("\n +1000000 [^\n]* 40\\.00 [^\n*]*\n"));
  EXPECT_THAT(text, ContainsRegex("\n +2000000 [^\n]* 60\\.00 [^\n]*\\*\n"));
  EXPECT_THAT(text, ContainsRegex("\n +4000000 +1000000 +float +sum +-1 +- +- +- +N/A +10\\.00 [^\n]* - +- +-\\*\n"));
  EXPECT_THAT(text, HasSubstr("# Sizes (*) of which not all calls ended : 2 of 3\n"));
  const std::string csv = collective_csv(interrupted_table());
  EXPECT_THAT(csv, HasSubstr(",4000000,1000000,float,sum,-1,emulated,0,,,,,10000000,,,,,,,mean\n"));
  EXPECT_THAT(html_collective(interrupted_table(), {}), HasSubstr("Not all calls of sizes with * have ended."));
}

TEST(CollectiveReport, OfAWholeRunMarksNothing) {
  const TemporaryFolder folder;
  const auto table = table_of(record_calls(folder.path()));
  EXPECT_FALSE(table->is_cut_short(table->rows[0]));
  EXPECT_THAT(collective_text(*table), Not(HasSubstr("*")));
}

}  // namespace
}  // namespace rankwire
