// The files of a run folder.
#include "emulator/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/error.h"
#include "emulator/report/format.h"
#include "emulator/report/operation_statistics.h"
#include "emulator/report/page_files.h"
#include "emulator/report/timeline.h"
#include "tests/report/sample_record.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using testing::file_text;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;
using testing::TemporaryFolder;

size_t occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class ReportFiles : public ::testing::Test {
 protected:
  ReportFiles() { testing::write_sample(folder_.path()); }
  TemporaryFolder folder_;
};

// 8,000,000 bit in 40 us are 200 Gbit/s; the factor of an all-reduce of 2 is 2 x 1/2 = 1.
TEST(Report, OperationsCsvIsExact) {
  EXPECT_EQ(
      SampleReport().csv("operations.csv"),
      "job,iteration,rank,node,name,kind,group,bytes,emulated_start_ps,emulated_end_ps,reference_start_ps,"
      "reference_end_ps,recorded_ps,algbw_gbps,busbw_gbps,timed_by,transmitting_ps,window_ps,congestion_control_ps,"
      "paused_ps,rnr_ps,recovering_ps,port_ps,acknowledgement_ps,path,band_p5_ps,band_median_ps,band_p95_ps,ratio_low,"
      "ratio_median,ratio_high\n"
      "0,0,0,10,\"gemm, \"\"big\"\"\",compute,,,0,10000000,0,10000000,10000000,,,,,,,,,,,,,,,,,,\n"
      "0,0,0,11,grads "
      "<script>,all_reduce,dp,1000000,10000000,50000000,10000000,30000000,,200.000,200.000,,,,,,,,,,,,,,,,\n"
      "0,0,1,10,\"gemm, \"\"big\"\"\",compute,,,0,10000000,0,10000000,10000000,,,,,,,,,,,,,,,,,,\n"
      "0,0,1,11,grads "
      "<script>,all_reduce,dp,1000000,10000000,50000000,10000000,30000000,,200.000,200.000,,,,,,,,,,,,,,,,\n");
}

TEST(ReportOfReference, OperationsCsvLeavesTheEmulatedColumnsEmpty) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder);
    testing::record_reference(recorder);
  }
  write_report(folder.path());
  // 8,000,000 bit in the reference's 20 us are 400 Gbit/s.
  EXPECT_THAT(
      file_text(folder / "operations.csv"),
      HasSubstr(
          "0,0,0,11,grads <script>,all_reduce,dp,1000000,,,10000000,30000000,,400.000,400.000,,,,,,,,,,,,,,,,\n"));
  const std::string html = file_text(folder / "report.html");
  EXPECT_THAT(html, HasSubstr("Nothing was emulated"));
  EXPECT_THAT(html, HasSubstr("Longest communication"));
  EXPECT_THAT(html, Not(HasSubstr("Emulated / reference")));
}

TEST(ReportOfFlows, FlowsAndPortsAreOneLineEach) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunEnd end = testing::sample_end(microseconds(50));
    end.flows = {{.connection = {.id = ConnectionId(0), .job = JobId(0), .source = RankId(0), .destination = RankId(1)},
                  .group = "",
                  .counters = {.member = 1,
                               .source_qp = 17,
                               .destination_qp = 18,
                               .messages = 1,
                               .bytes = 2,
                               .packets = 3,
                               .retransmitted = 4,
                               .naks = 5,
                               .rnr_naks = 8,
                               .timeouts = 6,
                               .marks = 7,
                               .arrived = 2,
                               .answers = AnswerCounters{.acks_tx = 90, .naks_tx = 91, .acks_rx = 92},
                               .unacknowledged = 1,
                               .source_end = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                               .destination_end = {60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70},
                               .causes = TimeByCause{{Duration(11), Duration(12), Duration(13), Duration(14),
                                                      Duration(15), Duration(16), Duration(17), Duration(18)}}}}};
    end.ports = {{.port = PortId(0),
                  .name = "net_ring0",
                  .tx_frames = 1,
                  .tx_bytes = 2,
                  .rx_frames = 3,
                  .rx_bytes = 4,
                  .dropped = 5,
                  .marked = 6,
                  .pause_tx = 8,
                  .pause_rx = 9,
                  .paused = {Duration(20), Duration(21), Duration(22), Duration(23), Duration(24), Duration(25),
                             Duration(26), Duration(27)},
                  .rdma = {30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40},
                  .rx_icrc_encapsulated = 41,
                  .hardware_time = true,
                  .arrival_error = Duration(7),
                  .slipped = Duration(42),
                  .worker = 3}};
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2});
    RecordSink& sink = run.sink();
    MessageId id;
    id.group = MessageId::kPointToPoint;
    id.destination = 1;
    sink.messages(std::vector<MessageRecord>{{.id = id, .at_source = true, .first = Time(0), .last = Time(30)},
                                             {.id = id, .first = Time(5), .last = Time(20)}});
    run.end(end);
  }
  write_report(folder.path(), {ReportFormat::kCsv});
  EXPECT_EQ(file_text(folder / "flows.csv"),
            "fidelity,connection,job,group,source,destination,channel,path,control,member,source_qp,destination_qp,"
            "messages,bytes,packets,retransmitted,naks,rnr_naks,timeouts,marks,completed,p50_ps,p95_ps,p99_ps,p999_ps,"
            "max_ps,transmitting_ps,window_ps,congestion_control_ps,paused_ps,rnr_ps,recovering_ps,port_ps,"
            "acknowledgement_ps,out_of_sequence,duplicate_request,out_of_buffer,packet_seq_err,implied_nak_seq_err,"
            "local_ack_timeout_err,rnr_nak_retry_err,np_ecn_marked_roce_packets,np_cnp_sent,rp_cnp_handled,"
            "rp_cnp_ignored,arrived,acks_tx,naks_tx,acks_rx,unacknowledged\n"
            "emulated,0,0,,0,1,0,wire,0,1,17,18,1,2,3,4,5,8,6,7,1,20,20,20,20,20,11,12,13,14,15,16,17,18,"
            "61,63,65,67,69,71,73,75,77,79,81,2,90,91,92,1\n");
  EXPECT_EQ(file_text(folder / "ports.csv"),
            "fidelity,port,name,tx_frames,tx_bytes,rx_frames,rx_bytes,tx_refused,rx_missed,dropped,marked,"
            "hardware_time,arrival_error_ps,pause_tx,pause_rx,paused_0_ps,paused_1_ps,paused_2_ps,paused_3_ps,"
            "paused_4_ps,paused_5_ps,paused_6_ps,paused_7_ps,rx_icrc_encapsulated,out_of_sequence,duplicate_request,"
            "out_of_buffer,packet_seq_err,implied_nak_seq_err,local_ack_timeout_err,rnr_nak_retry_err,"
            "np_ecn_marked_roce_packets,np_cnp_sent,rp_cnp_handled,rp_cnp_ignored,transmitting_ps,window_ps,"
            "congestion_control_ps,paused_ps,rnr_ps,recovering_ps,port_ps,"
            "acknowledgement_ps,worker,slipped_ps\n"
            "emulated,0,net_ring0,1,2,3,4,0,0,5,6,1,7,8,9,20,21,22,23,24,25,26,27,41,30,31,32,33,34,35,36,37,38,39,40"
            ",,,,,,,,,3,42\n");
}

TEST_F(ReportFiles, TheTimelineIsConsistent) {
  write_report(folder_.path(), {ReportFormat::kPerfetto});
  const auto json = nlohmann::json::parse(file_text(folder_ / "timeline.json"));
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  size_t complete = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") threads[{event["pid"], event["tid"]}] = event["args"]["name"];
    if (event["ph"] != "X" || event["cat"] == "critical path") continue;
    ++complete;
    const std::string& process = processes.at(event["pid"]);
    const std::string& thread = threads.at({event["pid"], event["tid"]});
    if (thread == "communication") {
      EXPECT_EQ(event["name"], "grads <script>");
      EXPECT_DOUBLE_EQ(event["ts"], 10.0);
      EXPECT_DOUBLE_EQ(event["dur"], process.ends_with("emulated") ? 40.0 : 20.0);
    } else {
      EXPECT_EQ(thread, "compute");
      EXPECT_DOUBLE_EQ(event["dur"], 10.0);
    }
  }
  EXPECT_EQ(complete, 8u);
  std::set<std::string> names;
  for (const auto& [pid, name] : processes) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"critical path", "rank 0 emulated", "rank 0 reference", "rank 1 emulated",
                                          "rank 1 reference"}));
}

// The Trace Event Format asks for ph, pid and, of complete events, tid, ts and dur as numbers.
TEST_F(ReportFiles, EveryTimelineEventIsWellFormed) {
  write_report(folder_.path(), {ReportFormat::kPerfetto});
  const auto json = nlohmann::json::parse(file_text(folder_ / "timeline.json"));
  for (const auto& event : json["traceEvents"]) {
    for (const char* field : {"pid", "tid", "ts"}) EXPECT_TRUE(event[field].is_number()) << event;
    EXPECT_TRUE(event["name"].is_string()) << event;
    if (event["ph"] == "M") continue;
    EXPECT_EQ(event["ph"], "X");
    EXPECT_TRUE(event["dur"].is_number()) << event;
    if (event["cat"] == "critical path") continue;
    for (const char* field : {"iteration", "node", "bytes"}) EXPECT_TRUE(event["args"][field].is_number()) << event;
  }
  EXPECT_EQ(json["otherData"]["operations"], 8);
  EXPECT_EQ(json["otherData"]["left_out"], 0);
}

// Durations: all-reduce 40, 40 (emulated) and 20, 20 (reference), compute 4 times 10. The five longest are the
// all-reduces and, of those that last 10, the first one: emulated, rank 0.
TEST_F(ReportFiles, ATimelineThatIsTooLongKeepsTheLongestOperations) {
  const RunReader record(folder_.path());
  OutputFile out(folder_ / "short.json");
  write_timeline(record, out, {.most = 5});
  out.commit();
  const auto json = nlohmann::json::parse(file_text(folder_ / "short.json"));
  std::multiset<double> durations;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    durations.insert(event["dur"].get<double>());
    if (event["dur"] == 10.0) {
      EXPECT_EQ(event["pid"], 1) << "rank 0 emulated";
    }
  }
  EXPECT_EQ(durations, (std::multiset<double>{10, 20, 20, 40, 40}));
  EXPECT_EQ(json["otherData"]["operations"], 5);
  EXPECT_EQ(json["otherData"]["left_out"], 3);
  EXPECT_EQ(json["otherData"]["shortest_drawn_ps"], 10'000'000);
}

TEST(Timeline, OverlappingOperationsStandInDifferentLanes) {
  LaneAllocator lanes;
  EXPECT_EQ(lanes.place({Time(0), Time(10)}), 0u);
  EXPECT_EQ(lanes.place({Time(5), Time(8)}), 1u);
  EXPECT_EQ(lanes.place({Time(8), Time(9)}), 1u) << "the lane is free at 8";
  EXPECT_EQ(lanes.place({Time(10), Time(12)}), 0u);
}

TEST(Report, TheHtmlPageLoadsNothingAndEscapesEverything) {
  const std::string html = SampleReport().page();
  EXPECT_FALSE(std::regex_search(html, std::regex("https?:|<link|<img|<iframe|src=|@import|url\\((?!#)|fetch\\(")));
  EXPECT_EQ(occurrences(html, "<script"), 5u) << "paths, operations, messages and the page's own, and none of a name";
  EXPECT_EQ(occurrences(html, "</script"), 5u);
  EXPECT_THAT(html, HasSubstr("<script type=\"module\">\n" + std::string(page_script()) + "</script>"));
  EXPECT_THAT(html, HasSubstr("grads &lt;script&gt;"));
  EXPECT_THAT(html, HasSubstr("gemm, &quot;big&quot;"));
  EXPECT_THAT(html, HasSubstr("Acme &amp; Söhne"));
  EXPECT_THAT(html, HasSubstr("sample &lt;b&gt;"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, HasSubstr("@media print"));
}

// Columns of 50 us / 400 = 125 ns: compute of 10 us fills columns 0..79, the emulated all-reduce 80..399, the
// reference's, until 30 us, 80..239. A column is 2 wide and the plot begins at 120. Ticks: 5 us is the least of 1, 2, 5
// x 10^n that gives at most 10 of them.
TEST(Report, ThePictureShowsBothSidesOfEachRank) {
  const std::string html = SampleReport().page();
  EXPECT_THAT(html, HasSubstr("<rect class=\"ec\" x=\"120\" y=\"8\" width=\"160\""));
  EXPECT_THAT(html, HasSubstr("<rect class=\"ex\" x=\"280\" y=\"16\" width=\"640\""));
  EXPECT_THAT(html, HasSubstr("<rect class=\"rx\" x=\"280\" y=\"35\" width=\"320\""));
  EXPECT_THAT(html, HasSubstr("rank 1 reference"));
  EXPECT_THAT(html, HasSubstr(">45 us</text>"));
  EXPECT_THAT(html, Not(HasSubstr(">2 us</text>")));
}

TEST(Report, TheFirstScreenSaysHowItWentAndWhatDeviates) {
  const std::string html = SampleReport().page();
  EXPECT_THAT(html, HasSubstr("<span>Verdict</span><strong>ok</strong>"));
  EXPECT_THAT(html, HasSubstr("<strong>1.667</strong><small>+66.67 %</small>"));
  EXPECT_THAT(html, HasSubstr("The generator kept its schedule (worst stall 20 ns)"));
  const size_t deviation = html.find("+20 us</td>");
  ASSERT_NE(deviation, std::string::npos) << "40 us for 20 us";
  EXPECT_LT(deviation, html.find("<h2>Ranks"));
  // Of its 50 us a rank computes 10; of the other 40 nothing hides the communication.
  EXPECT_THAT(html, HasSubstr("<td class=\"n\" data-value=\"10000000\">10 us</td>"
                              "<td class=\"n\" data-value=\"10000000\">10 us</td>"
                              "<td class=\"n\" data-value=\"40000000\">40 us</td>"
                              "<td class=\"n\" data-value=\"20000000\">20 us</td></tr>"));
}

TEST(ReportOfFailedRun, ShowsWhoWaitsForWhomLineByLine) {
  RunEnd end = testing::sample_end(microseconds(50));
  end.verdict = "failed";
  end.reason = "deadline of 1 s passed\nrank 0 waits for rank 1: QP 0x10 <idle>\nrank 1 waits for rank 0";
  const SampleReport sample(end);
  const std::string html = sample.page();
  EXPECT_THAT(html, HasSubstr("<b>failed</b>: deadline of 1 s passed</p>"));
  EXPECT_THAT(html, HasSubstr("<li>rank 0 waits for rank 1<br><span class=\"note\">QP 0x10 &lt;idle&gt;</span></li>\n"
                              "<li>rank 1 waits for rank 0</li>"));
  EXPECT_THAT(html, HasSubstr("until it failed"));
  EXPECT_TRUE(sample.summary()["ratio"].is_null());
}

TEST_F(ReportFiles, MarkdownHasTheResultAndTheOperations) {
  write_report(folder_.path(), parse_formats("markdown"));
  const std::string text = file_text(folder_ / "report.md");
  EXPECT_THAT(text, HasSubstr("| Emulated / reference | 1.667 |"));
  EXPECT_THAT(text, HasSubstr("| grads \\<script> | all\\_reduce | 2 | 40 us | 20 us | 2.000 | 40 us |"));
}

TEST_F(ReportFiles, OnlyTheFormatsAskedForAreWrittenBesideTheSummary) {
  write_report(folder_.path(), parse_formats("perfetto"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "summary.json"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "timeline.json"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "report.html"));
  EXPECT_EQ(nlohmann::json::parse(file_text(folder_ / "summary.json"))["messages"], 4);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_NE(entry.path().extension(), ".partial");
  }
}

TEST_F(ReportFiles, TheSameRecordIsDrawnTheSameWayTwice) {
  write_report(folder_.path());
  std::map<std::string, std::string> first;
  for (const char* name : {"summary.json", "report.html", "operations.csv", "timeline.json"}) {
    first[name] = file_text(folder_ / name);
  }
  write_report(folder_.path());
  for (const auto& [name, text] : first) EXPECT_EQ(file_text(folder_ / name), text) << name;
}

TEST(ReportFormatList, NamesWhatIsUnknown) {
  EXPECT_EQ(parse_formats("html,csv"), (ReportFormats{ReportFormat::kHtml, ReportFormat::kCsv}));
  try {
    parse_formats("html,docx");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("'docx'"));
  }
  EXPECT_THROW(parse_formats(""), Error);
}

TEST(ReportFolder, WithoutARecordIsAnInputError) {
  TemporaryFolder folder;
  EXPECT_THROW(write_report(folder.path()), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ReportOfKilledRun, IsDrawnFromWhatThereIs) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder);
    recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2}).sink().operations(testing::sample_operations(50));
  }
  write_report(folder.path());
  EXPECT_THAT(file_text(folder / "report.html"), HasSubstr("interrupted"));
  EXPECT_THAT(file_text(folder / "operations.csv"), HasSubstr("10000000,50000000,,,"));
}

TEST(Format, TimesAreExactAndReadable) {
  EXPECT_EQ(exact_microseconds(9'223'372'036'854'775'807), "9223372036854.775807");
  EXPECT_EQ(exact_microseconds(1), "0.000001");
  EXPECT_EQ(exact_microseconds(-1'000'001), "-1.000001");
  EXPECT_EQ(readable(Duration(0)), "0 ps");
  EXPECT_EQ(readable(Duration(999)), "999 ps");
  EXPECT_EQ(readable(Duration(12'345'678)), "12.35 us");
  EXPECT_EQ(readable(Duration(-1'500)), "-1.5 ns");
  EXPECT_EQ(readable(Bytes(1536)), "1.5 KiB");
}

TEST(Format, CsvFieldsAreQuotedOnlyWhereTheyMust) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

}  // namespace
}  // namespace rankwire
