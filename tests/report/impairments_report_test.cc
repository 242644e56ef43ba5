// What a run folder says of packets that were impaired on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "emulator/record/database.h"
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

void record(const TemporaryFolder& folder, const RunEnd& end) {
  RunRecorder recorder(folder.path());
  testing::begin_sample(recorder);
  testing::record_emulated(recorder, end);
  testing::record_reference(recorder);
}

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
  const TemporaryFolder folder;
  record(folder, impaired_end());
  write_report(folder.path(), {ReportFormat::kCsv});
  EXPECT_EQ(file_text(folder / "impairments.csv"),
            "fidelity,time_ps,rule,action,port,port_name,direction,connection,source,destination,operation,message,"
            "packet,psn,opcode\n"
            "emulated,1500000,1,drop,1,\"right, far\",receive,5,3,4,grads <b>,\"job 0, step 3\",17,16777215,"
            "WRITE_MIDDLE\n"
            "emulated,2000000,0,pause,0,left,transmit,,,,,,,,\n");
}

TEST(ImpairmentsReport, SummaryCountsByRule) {
  const TemporaryFolder folder;
  record(folder, impaired_end());
  const auto json = summary(RunReader(folder.path()))["impairments"];
  EXPECT_EQ(json["events"], 5);
  EXPECT_EQ(json["unrecorded"], 3);
  ASSERT_EQ(json["rules"].size(), 2u);
  EXPECT_EQ(json["rules"][1], nlohmann::ordered_json({{"rule", 1}, {"action", "drop"}, {"done", 4}, {"not_done", 2}}));
}

TEST(ImpairmentsReport, PageShowsRulesAndFirstEvents) {
  const TemporaryFolder folder;
  record(folder, impaired_end());
  write_report(folder.path(), {ReportFormat::kHtml});
  const std::string html = file_text(folder / "report.html");
  EXPECT_THAT(html, HasSubstr("<h2>Impairments</h2>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1</td><td>drop</td><td class=\"n\">4</td><td class=\"n\">2</td>"));
  EXPECT_THAT(html, HasSubstr("3 events were counted and not kept."));
  EXPECT_THAT(html, HasSubstr("grads &lt;b&gt;"));
}

TEST(ImpairmentsReport, WithoutRulesThereIsNothing) {
  const TemporaryFolder folder;
  record(folder, testing::sample_end(microseconds(50)));
  write_report(folder.path(), {ReportFormat::kHtml});
  EXPECT_TRUE(summary(RunReader(folder.path()))["impairments"].is_null());
  EXPECT_THAT(file_text(folder / "report.html"), Not(HasSubstr("Impairments</h2>")));
}

// Records of an earlier rankwire have the same version and lack these tables.
TEST(ImpairmentsReport, ReadsRecordsWithoutTheirTables) {
  const TemporaryFolder folder;
  record(folder, impaired_end());
  Database(folder.path() / "run.sqlite", Database::Access::kCreate)
      .execute("DROP TABLE impairments; DROP TABLE impairment_rules;");
  const RunReader reader(folder.path());
  EXPECT_TRUE(reader.impairments(*reader.emulated()).empty());
  EXPECT_TRUE(reader.impairment_rules(*reader.emulated()).empty());
}

}  // namespace
}  // namespace rankwire
