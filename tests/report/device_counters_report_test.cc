// What a run folder says of counters of devices under test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/report/device_statistics.h"
#include "emulator/report/output_file.h"
#include "emulator/report/timeline_devices.h"
#include "tests/report/sample_record.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using testing::at_microsecond;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::SampleReport;

DeviceCounterRows counter(const std::string& port, const std::string& queue, DeviceMetric metric,
                          std::vector<DeviceValueRow> values) {
  return {.device = 0,
          .port = port,
          .own_port = port == "Ethernet0" ? "p0" : "",
          .queue = queue,
          .name = std::string("its_") + to_string(metric),
          .metric = metric,
          .values = std::move(values)};
}

std::vector<DeviceValueRow> values(std::vector<std::pair<int64_t, uint64_t>> list) {
  std::vector<DeviceValueRow> rows;
  for (const auto& [us, value] : list) rows.push_back({at_microsecond(us), microseconds(2), value});
  return rows;
}

/// A run of 50 us. Ethernet0 drops 4 in queue 3 and 1 in queue 4, which are the 5 of the whole port; what it counted
/// before the run, 100 to 107, is no part of it.
DeviceCounters sample_counters() {
  return {.devices = {{.name = "leaf \"1\"",
                       .kind = "command",
                       .samples = 6,
                       .failures = 1,
                       .stamped = true,
                       .clock_ahead_ns = -1'500'000,
                       .clock_steps = 1}},
          .counters = {counter("Ethernet0", "3", DeviceMetric::kDrops, values({{-20, 100}, {-5, 107}, {30, 111}})),
                       counter("Ethernet0", "4", DeviceMetric::kDrops, values({{-20, 0}, {60, 1}})),
                       counter("Ethernet0", "", DeviceMetric::kDrops, values({{-20, 100}, {-5, 107}, {30, 112}})),
                       counter("Ethernet0", "3", DeviceMetric::kQueueDepth, values({{10, 0}, {20, 4096}, {30, 0}})),
                       // It was reset, and has counted 3 since.
                       counter("Ethernet4", "", DeviceMetric::kMarked, values({{-20, 50}, {20, 60}, {40, 3}})),
                       counter("Ethernet4", "", DeviceMetric::kOther, values({{5, UINT64_MAX}}))}};
}

RunEnd end_with(DeviceCounters counters) {
  RunEnd end = testing::sample_end(microseconds(50));
  end.device_counters = std::move(counters);
  return end;
}

TEST(DeviceCountersReport, PortsHaveWhatWasCountedInTheRun) {
  const auto ports = device_port_statistics(sample_counters(), at_microsecond(50));
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].own_port, "p0");
  EXPECT_EQ(ports[0].dropped, 5u);
  EXPECT_EQ(ports[0].longest_queue, 4096u);
  EXPECT_FALSE(ports[0].marked);
  EXPECT_EQ(ports[1].marked, 13u);
  // 400 columns of 50 us: of 20 to 30 us those from 160 to 239 are full, and drops are seen at 30 us and at the end.
  EXPECT_EQ(ports[0].queue_column[159], 0);
  EXPECT_EQ(ports[0].queue_column[160], 4096);
  EXPECT_EQ(ports[0].queue_column[239], 4096);
  EXPECT_EQ(ports[0].queue_column[240], 0);
  EXPECT_TRUE(ports[0].dropped_column[240]);
  EXPECT_TRUE(ports[0].dropped_column[399]);
  EXPECT_FALSE(ports[0].dropped_column[0]);
}

TEST(DeviceCountersReport, CsvIsExact) {
  DeviceCounters counters = sample_counters();
  counters.counters.resize(1);
  counters.counters[0].values[1].error.reset();
  EXPECT_EQ(SampleReport(end_with(counters)).csv("device_counters.csv"),
            "fidelity,device,port,own_port,queue,name,metric,time_ps,error_ps,value\n"
            "emulated,\"leaf \"\"1\"\"\",Ethernet0,p0,3,its_drops,drops,-20000000,2000000,100\n"
            "emulated,\"leaf \"\"1\"\"\",Ethernet0,p0,3,its_drops,drops,-5000000,,107\n"
            "emulated,\"leaf \"\"1\"\"\",Ethernet0,p0,3,its_drops,drops,30000000,2000000,111\n");
}

TEST(DeviceCountersReport, SummaryPageAndTableSayWhatThereIs) {
  const SampleReport sample(end_with(sample_counters()));
  const nlohmann::ordered_json json = sample.summary().at("device_counters");
  const nlohmann::ordered_json& device = json.at("devices").at(0);
  EXPECT_EQ(device.at("clock_error_ps"), 2'000'000);
  EXPECT_EQ(device.at("clock_ahead_ns"), -1'500'000);
  EXPECT_EQ(device.at("round_trip_ps"), nullptr);
  EXPECT_EQ(json.at("ports").at(0).at("dropped"), 5);
  EXPECT_EQ(json.at("ports").at(0).at("lost_here"), nullptr);  // the sample has no ports
  const std::string page = sample.page();
  EXPECT_THAT(page, HasSubstr("Counters of the devices"));
  EXPECT_THAT(page, HasSubstr("What devices counted over time"));
  EXPECT_THAT(page, HasSubstr("leaf &quot;1&quot;"));
  EXPECT_THAT(page, HasSubstr("1.5 ms behind"));
  EXPECT_THAT(sample.table(), HasSubstr("leaf \"1\": 6 samples, times within 2 us, 13 marked, 5 dropped\n"));
}

// Name, microseconds, value.
std::vector<std::string> drawn_counters(const DeviceCounters& counters, size_t most) {
  const testing::TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2}).end(end_with(counters));
  }
  {
    OutputFile out(folder / "devices.json");
    out << "[";
    {
      TraceEvents events(out);
      write_device_counters(events, RunReader(folder.path()), most);
    }
    out << "]";
    out.commit();
  }
  std::vector<std::string> drawn;
  for (const auto& event : nlohmann::json::parse(testing::file_text(folder / "devices.json")))
    if (event["ph"] == "C")
      drawn.push_back(event["name"].get<std::string>() + " " + event["ts"].dump() + " " +
                      event["args"]["value"].dump());
  return drawn;
}

// Of 100 and 107 before the run 107 is what it begins with; a counter that is reset goes on.
TEST(DeviceCountersReport, TheTimelineHasThemOnTheClockOfTheRun) {
  DeviceCounters counters = sample_counters();
  std::swap(counters.counters[1], counters.counters[4]);
  counters.counters.resize(4);
  counters.counters.erase(counters.counters.begin() + 2);
  counters.devices[0].name = "leaf";
  EXPECT_THAT(
      drawn_counters(counters, 100),
      ElementsAre("leaf Ethernet0 (to p0) queue 3 its_drops 0.0 0", "leaf Ethernet0 (to p0) queue 3 its_drops 30.0 4",
                  "leaf Ethernet4 its_ecn_marked 0.0 0", "leaf Ethernet4 its_ecn_marked 20.0 10",
                  "leaf Ethernet4 its_ecn_marked 40.0 13", "leaf Ethernet0 (to p0) queue 3 its_queue_depth 10.0 0",
                  "leaf Ethernet0 (to p0) queue 3 its_queue_depth 20.0 4096",
                  "leaf Ethernet0 (to p0) queue 3 its_queue_depth 30.0 0"));
  // Of nine samples three are one: the last count, and the longest queue.
  EXPECT_THAT(drawn_counters(counters, 3),
              ElementsAre("leaf Ethernet0 (to p0) queue 3 its_drops 30.0 4", "leaf Ethernet4 its_ecn_marked 40.0 13",
                          "leaf Ethernet0 (to p0) queue 3 its_queue_depth 20.0 4096"));
}

TEST(DeviceCountersReport, WithoutDevicesThereIsNothing) {
  const SampleReport sample;
  EXPECT_EQ(sample.summary().at("device_counters"), nullptr);
  EXPECT_THAT(sample.page(), Not(HasSubstr("Counters of the devices")));
  EXPECT_EQ(sample.csv("device_counters.csv"),
            "fidelity,device,port,own_port,queue,name,metric,time_ps,error_ps,value\n");
}

/// Rank 0 sent rank 1 1000 packets, of which `lost` did not arrive and `marks` arrived marked, and our port received
/// `pauses`.
RunEnd end_with_traffic(DeviceCounters counters, uint64_t lost, uint64_t marks, uint64_t pauses) {
  RunEnd end = end_with(std::move(counters));
  FlowRow flow;
  flow.connection = {.id = ConnectionId(0), .source = RankId(0), .destination = RankId(1), .path = Path::kWire};
  flow.counters.packets = 1000, flow.counters.arrived = 1000 - lost, flow.counters.marks = marks;
  end.flows = {flow};
  end.rank_nics = {{.nic = NicId(0), .port = PortId(1)}, {.nic = NicId(1), .port = PortId(0)}};
  end.ports = {{.port = PortId(0), .name = "p0"}, {.port = PortId(1), .name = "p1"}};
  end.ports[0].pause_rx = pauses;
  return end;
}

std::vector<std::string> disagreements(const RunEnd& end) {
  return device_disagreements(RunReader(SampleReport(end).folder()));
}

TEST(DeviceCountersReport, TellsWhereDeviceAndRunDisagree) {
  const auto counters_of = [](DeviceMetric metric, uint64_t amount) {
    DeviceCounters counters = sample_counters();
    counters.counters = {counter("Ethernet0", "", metric, values({{-20, 7}, {30, 7 + amount}}))};
    return counters;
  };
  EXPECT_THAT(disagreements(end_with_traffic(counters_of(DeviceMetric::kDrops, 0), 300, 0, 0)),
              ElementsAre(HasSubstr("counted 0 drops, and 300 data packets were lost")));
  EXPECT_THAT(disagreements(end_with_traffic(counters_of(DeviceMetric::kDrops, 300), 0, 0, 0)),
              ElementsAre(HasSubstr("counted 300 drops, and none of the run's data packets was lost")));
  EXPECT_THAT(disagreements(end_with_traffic(counters_of(DeviceMetric::kDrops, 310), 300, 0, 0)), IsEmpty());
  EXPECT_THAT(disagreements(end_with_traffic(counters_of(DeviceMetric::kMarked, 0), 0, 12, 0)),
              ElementsAre(HasSubstr("counted 0 ECN marks, and 12 packets arrived marked")));
  EXPECT_THAT(disagreements(end_with_traffic(counters_of(DeviceMetric::kMarked, 12), 0, 12, 0)), IsEmpty());
  EXPECT_THAT(disagreements(end_with_traffic(counters_of(DeviceMetric::kPfcTx, 9), 0, 0, 3)),
              ElementsAre(HasSubstr("counted 9 PFC frames sent to our ports, which received 3")));
  // What a device does not count it cannot contradict.
  EXPECT_THAT(disagreements(end_with_traffic(counters_of(DeviceMetric::kOther, 1), 300, 12, 3)), IsEmpty());
}

}  // namespace
}  // namespace rankwire
