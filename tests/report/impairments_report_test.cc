// What a run folder says of packets that were impaired on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/record/database.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;

/// Two events are kept of five.
RunEnd impaired_end() {
  RunEnd end = testing::sample_end(microseconds(50));
  end.ports = {{.port = PortId(0), .name = "left"}, {.port = PortId(1), .name = "right, far"}};
  ImpairmentRow drop{.time = Time(1'500'000),
                     .rule = 1,
                     .action = "drop",
                     .port = PortId(1),
                     .direction = "receive",
                     .operation = "grads <b>",
                     .message = "job 0, step 3",
                     .packet = 17,
                     .psn = 0xFFFFFF,
                     .opcode = "WRITE_MIDDLE"};
  drop.connection.id = ConnectionId(5);
  drop.connection.source = RankId(3), drop.connection.destination = RankId(4);
  const ImpairmentRow pause{
      .time = Time(2'000'000), .rule = 0, .action = "pause", .port = PortId(0), .direction = "transmit"};
  end.impairments = {drop, pause};
  end.impairment_rules = {{0, "pause", 1, 0}, {1, "drop", 4, 2}};
  return end;
}

TEST(ImpairmentsReport, CsvIsExact) {
  EXPECT_EQ(SampleReport(impaired_end()).csv("impairments.csv"),
            "fidelity,time_ps,rule,action,port,port_name,direction,connection,source,destination,operation,message,"
            "packet,psn,opcode,job\n"
            "emulated,1500000,1,drop,1,\"right, far\",receive,5,3,4,grads <b>,\"job 0, step 3\",17,16777215,"
            "WRITE_MIDDLE,0\n"
            "emulated,2000000,0,pause,0,left,transmit,,,,,,,,,\n");
}

TEST(ImpairmentsReport, SummaryCountsByRule) {
  const auto json = SampleReport(impaired_end()).summary()["impairments"];
  EXPECT_EQ(json["events"], 5);
  EXPECT_EQ(json["unrecorded"], 3);
  ASSERT_EQ(json["rules"].size(), 2u);
  EXPECT_EQ(json["rules"][1], nlohmann::ordered_json({{"rule", 1}, {"action", "drop"}, {"done", 4}, {"not_done", 2}}));
}

TEST(ImpairmentsReport, PageShowsRulesAndFirstEvents) {
  const std::string html = SampleReport(impaired_end()).page();
  EXPECT_THAT(html, HasSubstr("<h2>Impairments</h2>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1</td><td>drop</td><td class=\"n\">4</td><td class=\"n\">2</td>"));
  EXPECT_THAT(html, HasSubstr("3 events were counted and not kept."));
  EXPECT_THAT(html, HasSubstr("grads &lt;b&gt;"));
}

TEST(ImpairmentsReport, WithoutRulesThereIsNothing) {
  const SampleReport sample;
  EXPECT_TRUE(sample.summary()["impairments"].is_null());
  EXPECT_THAT(sample.page(), Not(HasSubstr("Impairments</h2>")));
}

// Records of an earlier rankwire have the same version and lack these tables.
TEST(ImpairmentsReport, ReadsRecordsWithoutTheirTables) {
  const SampleReport sample(impaired_end());
  Database(sample.folder() / "run.sqlite", Database::Access::kCreate)
      .execute("DROP TABLE impairments; DROP TABLE impairment_rules;");
  const RunReader reader(sample.folder());
  EXPECT_TRUE(reader.impairments(*reader.emulated()).empty());
  EXPECT_TRUE(reader.impairment_rules(*reader.emulated()).empty());
}

}  // namespace
}  // namespace rankwire
