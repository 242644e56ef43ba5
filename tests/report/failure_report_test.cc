// What a run folder says of failed connections and of the hardware behind the ports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "emulator/report/report.h"
#include "emulator/report/summary.h"
#include "tests/report/sample_record.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using testing::file_text;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

FailureRow failure(uint32_t source) {
  FailureRow row{.operation = "grads <b>",
                 .message = "step 3",
                 .reason = "retry count exceeded",
                 .state = "QP 0x11: transport retry counter exceeded, vendor error 0x81"};
  row.connection.id = ConnectionId(10 + source);
  row.connection.source = RankId(source), row.connection.destination = RankId(1);
  return row;
}

class FailureReport : public ::testing::Test {
 protected:
  FailureReport() {
    RunEnd end = testing::sample_end(microseconds(50));
    end.verdict = "failed";
    end.ports = {{.port = PortId(0), .name = "left"}, {.port = PortId(1), .name = "right, far"}};
    for (uint32_t source = 2; source < 12; ++source) end.failures.push_back(failure(source));
    end.hardware_counters = {{PortId(1), "hw_counters.sent_pkts", 7, 1007}, {PortId(1), "hw_counters.rnr", 4, 4}};
    end.port_settings = {{PortId(1), "firmware", "28.1", "28.1"}, {PortId(1), "state", "active", "down"}};
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    testing::record_emulated(recorder, end);
    testing::record_reference(recorder);
  }
  TemporaryFolder folder_;
};

TEST_F(FailureReport, HardwareCsvIsExact) {
  write_report(folder_.path(), {ReportFormat::kCsv});
  EXPECT_EQ(file_text(folder_ / "hardware.csv"),
            "fidelity,port,port_name,name,before,after,change\n"
            "emulated,1,\"right, far\",hw_counters.sent_pkts,7,1007,1000\n"
            "emulated,1,\"right, far\",hw_counters.rnr,4,4,0\n");
}

TEST_F(FailureReport, TheSummaryHasFailuresAndHardware) {
  const auto json = summary(RunReader(folder_.path()));
  ASSERT_EQ(json["failures"].size(), 10u);
  EXPECT_EQ(json["failures"][0]["connection"], 12);
  EXPECT_EQ(json["failures"][0]["source"], 2);
  EXPECT_EQ(json["failures"][0]["destination"], 1);
  EXPECT_EQ(json["failures"][0]["reason"], "retry count exceeded");
  EXPECT_EQ(json["failures"][0]["state"], "QP 0x11: transport retry counter exceeded, vendor error 0x81");
  ASSERT_EQ(json["hardware"].size(), 1u);
  const auto& port = json["hardware"][0];
  EXPECT_EQ(port["port"], "right, far");
  EXPECT_EQ(port["settings"]["firmware"], "28.1");
  EXPECT_EQ(port["settings"]["state"], nlohmann::json({"active", "down"})) << "what changed has both values";
  EXPECT_EQ(port["counters"]["hw_counters.sent_pkts"], 1000);
  EXPECT_EQ(port["counters"]["hw_counters.rnr"], 0);
}

TEST_F(FailureReport, TheTableNamesEightFailures) {
  const std::string table = summary_table(RunReader(folder_.path()));
  EXPECT_THAT(table, HasSubstr("  rank 2 to rank 1, grads <b>: retry count exceeded (step 3); QP 0x11: transport retry "
                               "counter exceeded, vendor error 0x81\n"));
  EXPECT_THAT(table, HasSubstr("  rank 9 to rank 1"));
  EXPECT_THAT(table, Not(HasSubstr("  rank 10 to rank 1")));
  EXPECT_THAT(table, HasSubstr("  and 2 more, in summary.json\n"));
}

TEST_F(FailureReport, ThePageShowsBoth) {
  write_report(folder_.path(), {ReportFormat::kHtml});
  const std::string html = file_text(folder_ / "report.html");
  EXPECT_THAT(html, HasSubstr("<h2>Failed connections</h2>"));
  EXPECT_THAT(html, HasSubstr("grads &lt;b&gt;"));
  EXPECT_THAT(html, HasSubstr("<h2>Hardware of the ports</h2>"));
  EXPECT_THAT(html, HasSubstr("hw_counters.sent_pkts"));
  EXPECT_THAT(html, Not(HasSubstr("hw_counters.rnr"))) << "it did not change";
  EXPECT_THAT(html, HasSubstr("1 of 2 counters did not change; all are in hardware.csv."));
}

TEST(ReportOfAGoodRun, HasNeitherFailuresNorHardware) {
  TemporaryFolder folder;
  testing::write_sample(folder.path());
  write_report(folder.path());
  const std::string html = file_text(folder / "report.html");
  EXPECT_THAT(html, Not(HasSubstr("<h2>Failed connections</h2>")));
  EXPECT_THAT(html, Not(HasSubstr("<h2>Hardware of the ports</h2>")));
  EXPECT_TRUE(summary(RunReader(folder.path()))["failures"].empty());
}

}  // namespace
}  // namespace rankwire
