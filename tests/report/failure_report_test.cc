// What a run folder says of failed connections and of the hardware behind the ports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;

FailureRow failure(uint32_t source) {
  FailureRow row{.operation = "grads <b>",
                 .message = "step 3",
                 .reason = "retry count exceeded",
                 .state = "QP 0x11: transport retry counter exceeded, vendor error 0x81"};
  row.connection.id = ConnectionId(10 + source);
  row.connection.source = RankId(source), row.connection.destination = RankId(1);
  return row;
}

RunEnd failed_end() {
  RunEnd end = testing::sample_end(microseconds(50));
  end.verdict = "failed";
  end.ports = {{.port = PortId(0), .name = "left"}, {.port = PortId(1), .name = "right, far"}};
  for (uint32_t source = 2; source < 12; ++source) end.failures.push_back(failure(source));
  end.hardware_counters = {{PortId(1), "hw_counters.sent_pkts", 7, 1007}, {PortId(1), "hw_counters.rnr", 4, 4}};
  end.port_settings = {{PortId(1), "firmware", "28.1", "28.1"}, {PortId(1), "state", "active", "down"}};
  return end;
}

TEST(FailureReport, HardwareCsvIsExact) {
  EXPECT_EQ(SampleReport(failed_end()).csv("hardware.csv"),
            "fidelity,port,port_name,name,before,after,change\n"
            "emulated,1,\"right, far\",hw_counters.sent_pkts,7,1007,1000\n"
            "emulated,1,\"right, far\",hw_counters.rnr,4,4,0\n");
}

TEST(FailureReport, TheSummaryHasFailuresAndHardware) {
  const auto json = SampleReport(failed_end()).summary();
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

TEST(FailureReport, TheTableNamesThreeFailures) {
  const std::string table = SampleReport(failed_end()).table();
  EXPECT_THAT(table, HasSubstr("  rank 2 to rank 1, grads <b>: retry count exceeded (step 3); QP 0x11: transport retry "
                               "counter exceeded, vendor error 0x81\n"));
  EXPECT_THAT(table, HasSubstr("  rank 4 to rank 1"));
  EXPECT_THAT(table, Not(HasSubstr("  rank 5 to rank 1")));
  EXPECT_THAT(table, HasSubstr("  and 7 more, in summary.json\n"));
}

TEST(FailureReport, ThePageShowsBoth) {
  const std::string html = SampleReport(failed_end()).page();
  EXPECT_THAT(html, HasSubstr("<h2>Failed connections</h2>"));
  EXPECT_THAT(html, HasSubstr("grads &lt;b&gt;"));
  EXPECT_THAT(html, HasSubstr("<h2>Hardware of the ports</h2>"));
  EXPECT_THAT(html, HasSubstr("hw_counters.sent_pkts"));
  EXPECT_THAT(html, Not(HasSubstr("hw_counters.rnr"))) << "it did not change";
  EXPECT_THAT(html, HasSubstr("1 of 2 counters did not change; all are in hardware.csv."));
}

TEST(ReportOfAGoodRun, HasNeitherFailuresNorHardware) {
  const SampleReport sample;
  const std::string html = sample.page();
  EXPECT_THAT(html, Not(HasSubstr("<h2>Failed connections</h2>")));
  EXPECT_THAT(html, Not(HasSubstr("<h2>Hardware of the ports</h2>")));
  EXPECT_TRUE(sample.summary()["failures"].empty());
}

}  // namespace
}  // namespace rankwire
