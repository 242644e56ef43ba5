// What reports say of ports that jobs shared, beside what is predicted of their cables.
#include "emulator/report/shared_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emulator/report/jobs.h"
#include "emulator/report/report.h"
#include "tests/report/sample_record.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

constexpr Time at_us(int64_t n) {
  return testing::at_microsecond(n);
}

/// Ranks 0 and 1, of jobs a and b, stand behind port `left`, which is PortId(0), ranks 2 and 3, of the same, behind
/// `right`. From left to right a has a message of 2 KiB from 0 to 20 us, b one of 1 KiB from 10 to 20 us. The reference
/// predicts the same of a half as long, on `links`.
class SharedPortsReport : public ::testing::Test {
 protected:
  void record(const std::vector<std::string>& links, MessageDetail detail = MessageDetail::kAll) {
    RunRecorder recorder(folder_.path(), {.messages = detail});
    recorder.configuration("{}", "0.1.0");
    const JobInfo jobs[] = {{.job = JobId(0), .name = "a", .first_rank = 0, .ranks = 2},
                            {.job = JobId(1), .name = "b", .first_rank = 2, .ranks = 2}};
    recorder.jobs(jobs);
    RunEnd end;
    end.jobs = {{at_us(0), at_us(20)}, {at_us(0), at_us(20)}};
    end.ports = {{.port = PortId(0), .name = "left"}, {.port = PortId(1), .name = "right"}};
    for (uint32_t r = 0; r < 4; ++r)
      end.rank_nics.push_back({.nic = NicId(r), .port = PortId(r / 2), .mac = {}, .ip = {}, .host = r});
    std::vector<MessageRecord> halves;
    for (const uint32_t job : {0u, 1u}) {
      MessageRecord half{.id = {},
                         .bytes = Bytes(job == 0 ? 2048 : 1024),
                         .at_source = true,
                         .first = at_us(job == 0 ? 0 : 10),
                         .last = at_us(20)};
      half.id.job = half.id.source = job, half.id.destination = job + 2;
      halves.push_back(half);
      half.at_source = false;
      halves.push_back(half);
      FlowRow& flow = end.flows.emplace_back();
      flow.connection.id = flow.counters.connection = ConnectionId(job);
      flow.connection.job = JobId(job);
      flow.connection.source = RankId(job), flow.connection.destination = RankId(job + 2);
      flow.counters.bytes = static_cast<uint64_t>(half.bytes.count);
    }
    RunRecorder::Run twin = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 4});
    twin.sink().messages(halves);
    twin.end(end);
    RunEnd predicted;
    predicted.jobs = end.jobs;
    for (const std::string& link : links)
      predicted.shared_links.push_back({.link = link,
                                        .job = JobId(0),
                                        .other = JobId(1),
                                        .time = microseconds(10),
                                        .shared = microseconds(5),
                                        .bytes = Bytes(2200),
                                        .shared_bytes = Bytes(1100)});
    recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 4, .model = "flow"}).end(predicted);
  }

  const TemporaryFolder folder_;
};

TEST_F(SharedPortsReport, CsvHasBothSides) {
  record({"port0.up", "port1.down", "port1.up"});
  EXPECT_EQ(shared_ports_csv(RunReader(folder_.path())),
            "fidelity,port,direction,job,other,bytes,other_bytes,time_ps,shared_ps,shared_bytes,link,predicted_time_ps,"
            "predicted_shared_ps,predicted_bytes,predicted_shared_bytes,times_of\n"
            "twin,left,out,a,b,2048,1024,20000000,10000000,1024,port0.up,10000000,5000000,2200,1100,messages\n"
            "twin,left,out,b,a,1024,2048,10000000,10000000,1024,,,,,,messages\n"
            "twin,right,in,a,b,2048,1024,20000000,10000000,1024,port1.down,10000000,5000000,2200,1100,messages\n"
            "twin,right,in,b,a,1024,2048,10000000,10000000,1024,,,,,,messages\n");
}

// A fabric's cables have the names of ports.
TEST_F(SharedPortsReport, CablesOfAFabricAreFoundByTheNamesOfPorts) {
  record({"left.up", "leaf.0.right", "leaf.0.spine0"});
  EXPECT_THAT(shared_ports_csv(RunReader(folder_.path())),
              AllOf(HasSubstr("twin,left,out,a,b,2048,1024,20000000,10000000,1024,left.up,10000000,"),
                    HasSubstr("twin,right,in,a,b,2048,1024,20000000,10000000,1024,leaf.0.right,10000000,")));
}

TEST_F(SharedPortsReport, SummaryPageAndFilesHaveThem) {
  record({"port0.up"});
  write_report(folder_.path());
  const auto json = nlohmann::ordered_json::parse(testing::file_text(folder_ / "summary.json"))["jobs"];
  ASSERT_EQ(json[0]["shared_ports"].size(), 2u);
  EXPECT_EQ(json[0]["shared_ports"][0],
            nlohmann::ordered_json::parse(
                R"({"port": "left", "direction": "out", "other": "b", "bytes": 2048, "other_bytes": 1024,
                    "time_ps": 20000000, "shared_ps": 10000000, "shared_bytes": 1024, "times_of": "messages",
                    "predicted": {"link": "port0.up", "time_ps": 10000000, "shared_ps": 5000000, "bytes": 2200,
                                  "shared_bytes": 1100}})"));
  EXPECT_TRUE(json[1]["shared_ports"][0]["predicted"].is_null());
  EXPECT_THAT(summary_table(RunReader(folder_.path())),
              HasSubstr("ports that jobs share longest, twin\n"
                        "  a shares left (out) with b for 10 us of 20 us, 1 KiB of its 2 KiB there; predicted 5 us of "
                        "10 us\n"
                        "  b shares left (out) with a for 10 us of 10 us, 1 KiB of its 1 KiB there\n"));
  EXPECT_THAT(testing::file_text(folder_ / "report.html"), HasSubstr("<td>left</td><td>out</td><td>a</td><td>b</td>"));
  EXPECT_THAT(testing::file_text(folder_ / "shared_ports.csv"), HasSubstr("\ntwin,left,out,a,b,2048,"));
}

TEST_F(SharedPortsReport, WithoutMessagesAndOperationsBytesAreTold) {
  record({"port0.up"}, MessageDetail::kNone);
  write_report(folder_.path());
  const auto json = nlohmann::ordered_json::parse(testing::file_text(folder_ / "summary.json"))["jobs"];
  EXPECT_EQ(json[0]["shared_ports"][0]["bytes"], 2048);
  EXPECT_TRUE(json[0]["shared_ports"][0]["shared_ps"].is_null());
  EXPECT_EQ(json[0]["shared_ports"][0]["predicted"]["shared_ps"], 5'000'000);
  EXPECT_THAT(summary_table(RunReader(folder_.path())), Not(HasSubstr("ports that jobs share longest")));
  EXPECT_THAT(testing::file_text(folder_ / "report.html"), HasSubstr("not known, since operations are missing"));
}

}  // namespace
}  // namespace rankwire
