// What a run folder says of queue pairs, ranks and latencies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "emulator/report/flow_statistics.h"
#include "emulator/report/histogram_picture.h"
#include "emulator/report/report.h"
#include "emulator/report/summary.h"
#include "emulator/report/summary_table.h"
#include "tests/report/sample_record.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::file_text;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;
using testing::TemporaryFolder;

RecordedFlow flow(uint32_t connection, uint16_t member, uint32_t source, uint32_t destination, uint64_t retransmitted,
                  std::optional<Duration> slowest = {}) {
  RecordedFlow row{.flow = {.connection = {.id = ConnectionId(connection),
                                           .job = JobId(0),
                                           .source = RankId(source),
                                           .destination = RankId(destination)},
                            .counters = {.connection = ConnectionId(connection),
                                         .member = member,
                                         .messages = 1,
                                         .bytes = 100,
                                         .packets = 2,
                                         .retransmitted = retransmitted,
                                         .naks = 3,
                                         .rnr_naks = 4,
                                         .timeouts = 5,
                                         .marks = 6}}};
  if (slowest) row.latency = MessageLatency{.count = 1, .max = *slowest};
  return row;
}

std::vector<std::string> slowest_of(const FlowStatistics& statistics) {
  std::vector<std::string> names;
  for (const RecordedFlow& row : statistics.slowest()) {
    names.push_back(fmt::format("{}.{}", row.flow.counters.connection.value, row.flow.counters.member));
  }
  return names;
}

TEST(FlowStatistics, ListsTheSlowestConnectionsAndOfThoseTheMostTroubledQueuePairsFirst) {
  FlowStatistics statistics(4);
  statistics.add(flow(0, 0, 0, 1, 9));
  statistics.add(flow(1, 0, 0, 1, 0, Duration(50)));
  statistics.add(flow(1, 1, 0, 1, 7, Duration(50)));
  statistics.add(flow(2, 0, 0, 1, 0, Duration(60)));
  statistics.add(flow(3, 0, 0, 1, 10));
  statistics.add(flow(4, 0, 0, 1, 0, Duration(0)));
  EXPECT_THAT(slowest_of(statistics), ElementsAre("2.0", "1.1", "1.0", "4.0"));
  EXPECT_EQ(statistics.queue_pairs(), 6u);
  FlowStatistics none(0);
  none.add(flow(0, 0, 0, 1, 9));
  EXPECT_TRUE(none.slowest().empty());
}

// Rank 0 sends on two queue pairs and receives on one, rank 2 the other way round; the local connection is no traffic
// of a NIC.
TEST(FlowStatistics, TotalsOfARankAreItsQueuePairsOnTheWire) {
  FlowStatistics statistics(0);
  statistics.add(flow(0, 0, 0, 2, 1));
  statistics.add(flow(0, 1, 0, 2, 10));
  statistics.add(flow(1, 0, 2, 0, 100));
  RecordedFlow local = flow(2, 0, 5, 6, 0);
  local.flow.connection.path = Path::kLocal;
  statistics.add(local);
  ASSERT_EQ(statistics.ranks().size(), 3u);
  const auto& [source, destination, rdma] = statistics.ranks()[0];
  EXPECT_EQ(source.messages, 2u);
  EXPECT_EQ(source.bytes, 200u);
  EXPECT_EQ(source.packets, 4u);
  EXPECT_EQ(source.retransmitted, 11u);
  EXPECT_EQ(source.naks, 6u);
  EXPECT_EQ(source.rnr_naks, 8u);
  EXPECT_EQ(source.timeouts, 10u);
  EXPECT_EQ(source.marks, 12u);
  EXPECT_EQ(destination.retransmitted, 100u);
  EXPECT_EQ(rdma, RdmaCounters());
  EXPECT_EQ(statistics.ranks()[1].source.messages, 0u);
  EXPECT_EQ(statistics.ranks()[2].destination.retransmitted, 11u);
}

/// One round trip of 1000, one of 2000 and one of 3000 ps at port 0, by software time stamps 250 ns wide.
RunEnd end_with_latency() {
  Histogram round_trip;
  for (const int64_t ps : {1000, 2000, 3000}) round_trip.add(Duration(ps));
  const std::array latencies = {PortLatency{PortId(0), LatencyKind::kRoundTrip, &round_trip}};
  RunEnd end = testing::sample_end(microseconds(50));
  end.ports = {{.port = PortId(0), .name = "left", .arrival_error = nanoseconds(250)},
               {.port = PortId(0), .name = "switch.left"}};
  end.latencies = latency_rows(latencies, end.ports);
  end.details = {{"acks_coalesced", 12}, {"never_happened", 0}};
  end.rank_nics = {{NicId(0), PortId(0), "02:00:00:00:00:01", "198.18.0.1"},
                   {NicId(1), PortId(0), "02:00:00:00:00:02", "2001:db8::2"}};
  end.flows = {flow(0, 0, 0, 1, 0).flow, flow(0, 1, 0, 1, 3).flow};
  return end;
}

// 2000 lies in 2^10 .. 2^11 - 1, cut into parts of 32 ps: 1984 .. 2015. The median is the upper bound of its bucket.
TEST(TransportReport, LatencyCsvIsExact) {
  EXPECT_EQ(SampleReport(end_with_latency()).csv("latency.csv"),
            "fidelity,port,kind,count,min_ps,mean_ps,p50_ps,p90_ps,p99_ps,p999_ps,max_ps,hardware_time,error_ps\n"
            "emulated,,round_trip,3,1000,2000,2015,3000,3000,3000,3000,0,250000\n"
            "emulated,0,round_trip,3,1000,2000,2015,3000,3000,3000,3000,0,250000\n");
}

TEST(TransportReport, RanksCsvIsExact) {
  EXPECT_EQ(SampleReport(end_with_latency()).csv("ranks.csv"),
            "fidelity,rank,port,ip,source_messages,source_bytes,source_packets,source_retransmitted,source_naks,"
            "source_rnr_naks,source_timeouts,source_marks,destination_messages,destination_bytes,destination_packets,"
            "destination_retransmitted,destination_naks,destination_rnr_naks,destination_timeouts,destination_marks,"
            "out_of_sequence,duplicate_request,out_of_buffer,packet_seq_err,implied_nak_seq_err,local_ack_timeout_err,"
            "rnr_nak_retry_err,np_ecn_marked_roce_packets,np_cnp_sent,rp_cnp_handled,rp_cnp_ignored,transmitting_ps,"
            "window_ps,"
            "congestion_control_ps,paused_ps,rnr_ps,recovering_ps,port_ps,acknowledgement_ps,job,completion_ps,band_p5_"
            "ps,band_median_ps,band_p95_ps\n"
            "emulated,0,0,198.18.0.1,2,200,4,3,6,8,10,12,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,,,,,0,49999000,,,\n"
            "emulated,1,0,2001:db8::2,0,0,0,0,0,0,0,0,2,200,4,3,6,8,10,12,0,0,0,0,0,0,0,0,0,0,0,,,,,,,,,0,50000000,,,\n"
            "reference,0,,,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,,,,,0,29999000,,,\n"
            "reference,1,,,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,,,,,0,30000000,,,\n");
}

// What queue pairs count is what their ranks and ports have in sum: of two that rank 0, behind port 0, sends on, and of
// one each that ranks 1 and 2, behind port 1, send on. Ports have what their own ends did.
TEST(TransportReportOfCongestion, RanksAndPortsAreTheSumsOfTheirQueuePairs) {
  const auto row = [](uint32_t connection, uint16_t member, uint32_t source, uint32_t destination, int64_t time) {
    FlowRow result = flow(connection, member, source, destination, 0).flow;
    result.counters.causes.emplace();
    for (size_t i = 0; i < kCauses; ++i) result.counters.causes->spent[i] = Duration(time + static_cast<int64_t>(i));
    const auto n = static_cast<uint64_t>(time);
    result.counters.source_end = {.local_ack_timeout_err = n, .rp_cnp_handled = n + 2};
    result.counters.destination_end = {.out_of_sequence = n + 3, .np_cnp_sent = n + 4};
    return result;
  };
  RunEnd end = testing::sample_end(microseconds(50));
  end.flows = {row(0, 0, 0, 1, 100), row(0, 1, 0, 1, 200), row(1, 0, 1, 0, 1000), row(2, 0, 2, 0, 3000)};
  end.rank_nics = {{NicId(0), PortId(0), "02:00:00:00:00:01", "198.18.0.1"},
                   {NicId(1), PortId(1), "02:00:00:00:00:02", "198.18.0.2"},
                   {NicId(2), PortId(1), "02:00:00:00:00:03", "198.18.0.3"}};
  end.ports = {{.port = PortId(0), .name = "left", .rdma = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}},
               {.port = PortId(1), .name = "right"},
               {.port = PortId(1), .name = "right"},
               {.port = PortId(0), .name = "switch.left"}};
  const SampleReport report(end);
  EXPECT_THAT(report.csv("flows.csv"),
              HasSubstr(",200,201,202,203,204,205,206,207,203,0,0,0,0,200,0,0,204,202,0,,,,,\n"));
  // As destination 1000 + 3000 and as source 100 + 200.
  EXPECT_THAT(
      report.csv("ranks.csv"),
      AllOf(HasSubstr(",4006,0,0,0,0,300,0,0,4008,304,0,300,302,304,306,308,310,312,314,0,49999000,,,\n"),
            HasSubstr(",306,0,0,0,0,1000,0,0,308,1002,0,1000,1001,1002,1003,1004,1005,1006,1007,0,50000000,,,\n"),
            HasSubstr(",0,0,0,0,0,3000,0,0,0,3002,0,3000,3001,3002,3003,3004,3005,3006,3007,0,,,,\n")));
  // Once a port, in the row of its first queue.
  EXPECT_THAT(report.csv("ports.csv"),
              AllOf(HasSubstr(",0,0,11,12,13,14,15,16,17,18,19,20,21,300,302,304,306,308,310,312,314,,0\n"),
                    HasSubstr(",0,0,0,0,0,0,0,0,0,0,0,0,0,4000,4002,4004,4006,4008,4010,4012,4014,,0\n"
                              "emulated,1,right,0,"),
                    HasSubstr(",0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,,,,,,0\nemulated,0,switch.left,0,"),
                    EndsWith(",0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,,,,,,0\n")));
}

// Two groups of one pattern, 3 us and 1 us of full window; 2 us of pauses point-to-point; 1 us
// transmitting each.
TEST(TransportReportOfCauses, TheSummaryHasTheSumsByPatternOfGroup) {
  const auto row = [](uint32_t connection, const char* group, Cause cause, Duration time) {
    FlowRow result = flow(connection, 0, 0, 1, 0).flow;
    result.group = group;
    result.counters.causes.emplace();
    (*result.counters.causes)[Cause::kTransmitting] = microseconds(1);
    (*result.counters.causes)[cause] = time;
    return result;
  };
  RunEnd end = testing::sample_end(microseconds(50));
  EXPECT_TRUE(SampleReport(end).summary()["time_by_cause"].is_null());
  EXPECT_THAT(SampleReport(end).table(), Not(HasSubstr("queue pairs")));
  end.flows = {row(0, "tp0", Cause::kWindow, microseconds(3)), row(1, "tp1", Cause::kWindow, microseconds(1)),
               row(2, "", Cause::kPaused, microseconds(2))};
  const SampleReport report(end);
  const auto json = report.summary()["time_by_cause"];
  EXPECT_EQ(json["queue_pairs"], 3);
  EXPECT_EQ(json["transmitting_ps"], 3'000'000);
  EXPECT_EQ(json["window_ps"], 4'000'000);
  EXPECT_EQ(json["paused_ps"], 2'000'000);
  EXPECT_EQ(json["recovering_ps"], 0);
  ASSERT_EQ(json["groups"].size(), 2u);
  EXPECT_EQ(json["groups"][0]["group"], "tp#");
  EXPECT_EQ(json["groups"][0]["queue_pairs"], 2);
  EXPECT_EQ(json["groups"][0]["window_ps"], 4'000'000);
  EXPECT_EQ(json["groups"][1]["group"], "point-to-point");
  EXPECT_EQ(json["groups"][1]["paused_ps"], 2'000'000);
  // 4, 3 and 2 us of 9; 4 and 2 of 6; 2 and 1 of 3.
  EXPECT_THAT(report.table(), HasSubstr("queue pairs   window full 44.4 %, transmitting 33.3 %, paused 22.2 %\n"
                                        "  of tp#: window full 66.7 %, transmitting 33.3 %\n"
                                        "  of point-to-point: paused 66.7 %, transmitting 33.3 %\n"));
}

TEST(TransportReport, TheSummaryHasLatencyAndDetails) {
  const auto json = SampleReport(end_with_latency()).summary();
  EXPECT_EQ(json["latency"]["round_trip"]["count"], 3);
  EXPECT_EQ(json["latency"]["round_trip"]["mean_ps"], 2000);
  EXPECT_EQ(json["latency"]["round_trip"]["error_ps"], 250'000);
  EXPECT_EQ(json["latency"]["round_trip"]["hardware_time"], false);
  EXPECT_TRUE(json["latency"]["one_way"].is_null());
  EXPECT_EQ(json["transport_details"]["acks_coalesced"], 12);
  EXPECT_EQ(json["transport_details"]["never_happened"], 0);
  EXPECT_TRUE(json["transport"]["rnr_naks"].is_number_unsigned());
}

TEST(TransportReport, ThePrintedTableHasOneLineOfRoundTripsWithTheClocksError) {
  EXPECT_THAT(SampleReport(end_with_latency()).table(),
              HasSubstr("round trip    P50 2.015 ns, P99 3 ns of 3 packets; arrival noticed within 250 ns at the "
                        "median\n"));
}

TEST(TransportReport, ThePageShowsLatencyCountersRanksAndQueuePairs) {
  const std::string html = SampleReport(end_with_latency()).page();
  EXPECT_THAT(html, HasSubstr("<td>left</td><td>round trip</td><td class=\"n\">3</td><td class=\"n\">0.001</td>"
                              "<td class=\"n\">0.002</td>"));
  EXPECT_THAT(html, HasSubstr("<td>arrival noticed within 250 ns at the median</td>"));
  EXPECT_THAT(html, HasSubstr("<td>acks_coalesced</td><td class=\"n\">12</td>"));
  EXPECT_THAT(html, Not(HasSubstr("never_happened"))) << "what is 0 is not listed";
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1</td><td>left</td><td>2001:db8::2</td>"));
  EXPECT_THAT(html, HasSubstr("<h2>Slowest queue pairs</h2>"));
}

TEST(TransportReportOfTwin, SaysThatVirtualTimeIsExact) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder);
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 2});
    run.end(end_with_latency());
  }
  EXPECT_THAT(summary_table(RunReader(folder.path())), HasSubstr("packets; exact, virtual time\n"));
}

TEST(TransportReportOfHardware, SaysThatTimeStampsAreTheHardwares) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    testing::begin_sample(recorder);
    RunEnd end = end_with_latency();
    for (LatencyRow& row : end.latencies) {
      row.hardware_time = true;
      row.error = nanoseconds(12);
    }
    testing::record_emulated(recorder, end);
  }
  EXPECT_THAT(summary_table(RunReader(folder.path())), HasSubstr("packets; hardware time stamps, within 12 ns\n"));
}

LatencyRow latency_of(std::initializer_list<std::pair<int64_t, int>> values) {
  Histogram histogram;
  for (const auto& [ps, times] : values) {
    for (int i = 0; i < times; ++i) histogram.add(Duration(ps));
  }
  const std::array latencies = {PortLatency{PortId(0), LatencyKind::kRoundTrip, &histogram}};
  return latency_rows(latencies, {}).back();
}

// Two octaves, 2^20 .. 2^22, over 800 from x = 40: an octave is 400 wide. 2^20 lies in the bucket of 32nds
// 2^20 .. 2^20 + 2^15 - 1, log2(33/32) = 0.0444 octaves or 17.76 wide; 2^21 in one as wide at 440. Seven values are
// 157.7 an octave, one is 22.5: ln 158.7 = 5.067 is the whole height of 140, ln 23.5 = 3.158 is 87.3; the plot ends at
// 184.
TEST(HistogramPicture, BarsStandAtTheLogarithmsOfTimeAndCount) {
  const std::string svg = histogram_svg(latency_of({{1 << 20, 7}, {1 << 21, 1}}));
  EXPECT_THAT(svg, HasSubstr("<rect class=\"ec\" x=\"40.0\" y=\"44.0\" width=\"17.8\" height=\"140.0\"/>"));
  EXPECT_THAT(svg, HasSubstr("<rect class=\"ec\" x=\"440.0\" y=\"96.7\" width=\"17.8\" height=\"87.3\"/>"));
  EXPECT_THAT(svg, HasSubstr(">2 us</text>"));
  EXPECT_THAT(svg, HasSubstr("median "));
}

// 12,500 bytes in 50 us are 100,000 bits in 50,000 ns: 2 Gb/s; 25,000 bytes twice that.
TEST(PortReport, HasMeanRates) {
  RunEnd end = testing::sample_end(microseconds(50));
  end.ports = {{.port = PortId(0), .name = "p0", .tx_frames = 10, .tx_bytes = 12'500, .rx_bytes = 25'000}};
  const std::string html = SampleReport(end).page();
  EXPECT_THAT(html, HasSubstr(">2.000</td>"));
  EXPECT_THAT(html, HasSubstr(">4.000</td>"));
}

// From 32 ps to the end of time there are 58 octaves: at most 256 / 58, so 4 bars an octave.
TEST(HistogramPicture, IsBoundedHoweverWideTheLatenciesAre) {
  Histogram histogram;
  uint64_t x = 1;
  for (int i = 0; i < 100'000; ++i) {
    x = mix64(x + 0x9E3779B97F4A7C15u);
    histogram.add(Duration(static_cast<int64_t>((x >> 1) >> (i % 58))));
  }
  const std::array latencies = {PortLatency{PortId(0), LatencyKind::kRoundTrip, &histogram}};
  const std::string svg = histogram_svg(latency_rows(latencies, {}).back());
  size_t bars = 0;
  for (size_t at = 0; (at = svg.find("<rect", at)) != std::string::npos; ++at) ++bars;
  EXPECT_GT(bars, 100u);
  EXPECT_LE(bars, 288u);
}

TEST(HistogramPicture, OfNothingIsEmpty) {
  EXPECT_TRUE(histogram_svg({}).empty());
}

}  // namespace
}  // namespace rankwire
