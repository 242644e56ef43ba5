#include "emulator/report/traffic_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/report/format.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;

FlowRow flow(uint32_t id, GroupId group, const std::string& name, uint32_t source, Path path) {
  const ConnectionId connection(id);
  return {.connection = {.id = connection,
                         .job = JobId(0),
                         .group = group,
                         .source = RankId(source),
                         .destination = RankId(1 - source),
                         .path = path},
          .group = name,
          .counters = {.connection = connection, .messages = 1, .bytes = 100}};
}

/// Group "dp" is the one of the sample's all-reduce.
RunEnd end_with(std::vector<FlowRow> flows) {
  RunEnd end = testing::sample_end(microseconds(50));
  end.flows = std::move(flows);
  return end;
}

TEST(TrafficPaths, LocalBandwidthIsMarked) {
  const SampleReport local(end_with({flow(0, GroupId(0), "dp", 0, Path::kLocal)}));
  EXPECT_THAT(local.page(), HasSubstr("<td>local</td>"));
  const SampleReport wire(end_with({flow(0, GroupId(0), "dp", 0, Path::kWire)}));
  EXPECT_THAT(wire.page(), HasSubstr("<td>wire</td></tr>"));
  const SampleReport both(
      end_with({flow(0, GroupId(0), "dp", 0, Path::kLocal), flow(1, GroupId(0), "dp", 1, Path::kWire)}));
  EXPECT_THAT(both.page(), HasSubstr("<td>both</td>"));
}

TEST(TrafficPaths, AreTheLastColumnOfOperations) {
  const SampleReport local(end_with({flow(0, GroupId(0), "dp", 0, Path::kLocal)}));
  EXPECT_THAT(
      local.csv("operations.csv"),
      HasSubstr("acknowledgement_ps,path,band_p5_ps,band_median_ps,band_p95_ps,ratio_low,ratio_median,ratio_high\n"));
  EXPECT_THAT(local.csv("operations.csv"), HasSubstr(",200.000,200.000,,,,,,,,,,local,,,,,,\n"));
}

TEST(TrafficPaths, SendsAreThoseOfTheirRank) {
  const SampleReport report(
      end_with({flow(0, GroupId(), "", 0, Path::kLocal), flow(1, GroupId(), "", 1, Path::kWire)}));
  const RunReader record(report.folder());
  const TrafficPaths paths(record);
  NodeInfo node{.rank = RankId(0), .kind = "send"};
  EXPECT_EQ(paths.of(node), "local");
  node.rank = RankId(1);
  EXPECT_EQ(paths.of(node), "wire");
  node.kind = "receive";
  EXPECT_EQ(paths.of(node), "-");
  EXPECT_EQ(paths.of_pattern("", JobId(0)), "both");
}

TEST(TrafficPaths, GroupsThatDifferInNumbersAreOnePattern) {
  const SampleReport report(
      end_with({flow(0, GroupId(0), "tp_0", 0, Path::kLocal), flow(1, GroupId(1), "tp_12", 1, Path::kLocal)}));
  const RunReader record(report.folder());
  EXPECT_EQ(TrafficPaths(record).of_pattern("tp_#", JobId(0)), "local");
}

TEST(Bandwidth, SmallOnesHaveSignificantDigits) {
  EXPECT_EQ(readable_gbps(1325.0404), "1325.040");
  EXPECT_EQ(readable_gbps(0.00012344), "0.0001234");
  EXPECT_EQ(readable_gbps(0), "0");
}

// What is absent says how it would be there; where causes are recorded, a row without is empty.
TEST(TimeByCauseColumn, NamesTheKeyThatFillsIt) {
  FlowRow row = flow(0, GroupId(0), "dp", 0, Path::kWire);
  EXPECT_THAT(SampleReport(end_with({row})).page(), HasSubstr("needs record.causes: on"));
  row.counters.causes = TimeByCause{{Duration(5)}};
  EXPECT_THAT(SampleReport(end_with({row})).page(), Not(HasSubstr("needs record.causes")));
}

}  // namespace
}  // namespace rankwire
