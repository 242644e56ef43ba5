#include "emulator/report/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/report/critical_path.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TemporaryFolder;

/// Four ranks, each alone behind a port; all pairs sent 1000 packets.
RunEnd traffic() {
  RunEnd end = testing::sample_end(microseconds(50));
  for (uint32_t r = 0; r < 4; ++r) {
    end.rank_nics.push_back({.nic = NicId(r), .port = PortId(r), .mac = {}, .ip = {}, .host = r});
    end.ports.push_back({.port = PortId(r), .name = "p" + std::to_string(r)});
  }
  for (uint32_t a = 0; a < 4; ++a) {
    for (uint32_t b = 0; b < 4; ++b) {
      if (a == b) continue;
      FlowRow& flow = end.flows.emplace_back();
      flow.connection.id = flow.counters.connection = ConnectionId(static_cast<uint32_t>(end.flows.size() - 1));
      flow.connection.source = RankId(a), flow.connection.destination = RankId(b);
      flow.connection.path = Path::kWire;
      flow.counters.packets = 1000, flow.counters.arrived = 1000;
    }
  }
  return end;
}

std::vector<std::string> all_findings_of(const RunEnd& end) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path(), end, 4);
  const RunReader record(folder.path());
  return findings(record, diagnose(record));
}

/// Behind the first: the sample takes 50 us instead of 30 us.
std::vector<std::string> findings_of(const RunEnd& end) {
  std::vector<std::string> list = all_findings_of(end);
  EXPECT_THAT(list.at(0), StartsWith("to blame: "));
  list.erase(list.begin());
  return list;
}

// Port 1 pauses the network, so that what port 0 sends there waits, and what goes to port 0 behind that.
TEST(Findings, DoNotPointToAPortThatThePausesOfAnotherReach) {
  const TemporaryFolder folder;
  testing::write_sample(folder.path(), traffic(), 4);
  const RunReader record(folder.path());
  Diagnosis diagnosis;
  diagnosis.slow = SlowMessages{.expected = 1, .extra = 2, .where = CommonTrait{.value = 0, .part_of_trouble = 1}};
  diagnosis.blame = {{.kind = BlameKind::kPfcStorm, .culprit = {Culprit::Kind::kPort, 1}, .gap = microseconds(20)}};
  EXPECT_THAT(findings(record, diagnosis).at(1), HasSubstr("; pauses spread there from the port to blame"));
  diagnosis.blame[0].culprit.number = 0;
  EXPECT_THAT(findings(record, diagnosis).at(1), Not(HasSubstr("spread")));
}

TEST(Findings, BeginWithWhoIsToBlame) {
  EXPECT_THAT(all_findings_of(traffic()),
              ElementsAre("to blame: unexplained, for 20 us (100 % of what was lost), confidence low: the record does "
                          "not say what 20 us of the critical path were lost to"));
  RunEnd end = traffic();
  end.counters.slipped = microseconds(20);
  EXPECT_THAT(
      all_findings_of(end).at(0),
      StartsWith("to blame: late generator, the generator, for 20 us (100 % of what was lost), confidence high"));
}

TEST(Findings, SayNothingWhereNothingIsWrong) {
  EXPECT_THAT(findings_of(traffic()), IsEmpty());
}

// Connections 2, 5 and 10 are those from ranks 0, 1 and 3 to rank 2: 3 of 12.
TEST(Findings, NameThePortThatLostPackets) {
  RunEnd end = traffic();
  for (FlowRow& flow : end.flows)
    if (flow.connection.destination == RankId(2)) flow.counters.arrived = 900;
  EXPECT_THAT(findings_of(end),
              ElementsAre("300 of 12000 data packets were lost (2.5 %); 100 % of them on the way to port p2 (host 2), "
                          "which has 25.0 % of the traffic"));
}

TEST(Findings, NameTheSwitchPortsThatDropped) {
  RunEnd end = traffic();
  end.flows[0].counters.arrived = 999;
  for (uint32_t i = 0; i < 5; ++i)
    end.ports.push_back({.port = PortId(i), .name = "leaf.spine" + std::to_string(i), .dropped = 10 + i});
  EXPECT_THAT(findings_of(end), ElementsAre(HasSubstr("; dropped: 14 at leaf.spine4, 13 at leaf.spine3, 12 at "
                                                      "leaf.spine2, and 2 more ports")));
  end.ports.pop_back();
  EXPECT_THAT(findings_of(end), ElementsAre(HasSubstr("11 at leaf.spine1, and 1 more port")));
}

TEST(Findings, DoNotBlameTheNetworkForWhatTheGeneratorMissed) {
  RunEnd end = traffic();
  end.flows[0].counters.arrived = 990;
  end.ports[1].rx_missed = 10;
  EXPECT_THAT(findings_of(end), ElementsAre(HasSubstr("10 frames were missed by the generator's own ports")));
}

// What was done on purpose is counted of acknowledgements, too, and so may be more than data packets were lost.
TEST(Findings, SayThatImpairmentsAreOfPacketsOfAnyKind) {
  RunEnd end = traffic();
  end.flows[0].counters.arrived = 990;
  end.impairment_rules = {{.rule = 0, .action = "drop", .done = 12}};
  EXPECT_THAT(findings_of(end), ElementsAre(AllOf(HasSubstr("10 of 12000 data packets were lost"),
                                                  HasSubstr("; 12 packets of any kind, acknowledgements too, were "
                                                            "dropped or corrupted on purpose"))));
}

TEST(Findings, TellWhyPacketsWereSentAgainWithoutLosses) {
  RunEnd end = traffic();
  end.counters.retransmitted = 20, end.counters.timeouts = 2, end.counters.rnr_naks = 3;
  EXPECT_THAT(
      findings_of(end),
      ElementsAre("20 packets were sent again, although no fewer arrived than were sent: 3 times a receiver was "
                  "not ready, 2 time-outs, for which answers were lost or late"));
}

// What was sent last may be under way, or lost.
TEST(Findings, CountWhatWasLostAtLeastWhereTheRunDidNotEnd) {
  RunEnd end = traffic();
  end.verdict = "stalled";
  end.flows[0].counters.arrived = 990;
  EXPECT_THAT(all_findings_of(end), Contains(StartsWith("at least 10 of 12000 data packets were lost")));
  end.flows[0].counters.arrived = 1000;
  end.counters.retransmitted = 20;
  EXPECT_THAT(all_findings_of(end), Contains("20 packets were sent again: nobody counted why"));
}

TEST(Findings, NameWhatFailedConnectionsShare) {
  RunEnd end = traffic();
  end.verdict = "failed", end.reason = "retries exhausted";
  for (const FlowRow& flow : end.flows) {
    if (flow.connection.source != RankId(2) && flow.connection.destination != RankId(2)) continue;
    end.failures.emplace_back().connection = flow.connection;
  }
  const TemporaryFolder folder;
  testing::write_sample(folder.path(), end, 4);
  const std::string text = summary_table(RunReader(folder.path()));
  EXPECT_THAT(text,
              HasSubstr("6 connections failed; 100 % of them on the way from or to port p2 (host 2), which has 50.0 "
                        "% of the connections\n"));
  EXPECT_THAT(text, Not(HasSubstr("no communication took"))) << "of a run that failed it would say nothing";
}

// 50 us instead of 30 us, of which the generator lost 4 us.
TEST(Findings, ShareTheGapOut) {
  RunEnd end = traffic();
  end.counters.slipped = microseconds(4);
  end.turns = {{.low = microseconds(1), .high = microseconds(1), .count = 50}};
  EXPECT_THAT(findings_of(end),
              ElementsAre("it took 20 us longer than the reference, of which lateness of the generator's "
                          "worst port may explain 4 us, and not 16 us"));
}

// Half of the messages took 2 us and not 20, as those that are lost are no part of the half.
TEST(Findings, DoNotBlameTheGeneratorForLossesWhereMessagesWereFaster) {
  RunEnd end = traffic();
  for (FlowRow& flow : end.flows) flow.counters.arrived = 900;
  end.turns = {{.low = nanoseconds(100), .high = nanoseconds(100), .count = 500}};
  RecordedRun run{}, reference{};
  run.end = end, run.end.completion = microseconds(50);
  run.latency.emplace().p50 = microseconds(2), reference.latency.emplace().p50 = microseconds(20);
  EXPECT_EQ(generator_delay(run, &reference), Duration());
  // Three turns of 100 ns are 15 % of 2 us, and of all 50 us: 7.5 us.
  reference.latency->p50 = nanoseconds(1'750);
  EXPECT_EQ(generator_delay(run, &reference), nanoseconds(7'500));
  EXPECT_THAT(all_findings_of(end),
              ElementsAre(AllOf(StartsWith("to blame: losses, the network as a whole, for 20 us (100 % of what was "
                                           "lost), confidence medium: 1200 of 12000 data packets (10 %) were lost"),
                                HasSubstr("record.causes was off")),
                          StartsWith("1200 of 12000"),
                          "it took 20 us longer than the reference, of which lateness of the generator's worst port "
                          "may explain 0 ps, and not 20 us"));
}

// The single run of the model takes 60 us, longer than the emulated side's 50; the median of the band is 40 us.
TEST(Findings, TellTheGapToTheMedianOfABandThatTheRunIsBeyond) {
  for (const bool is_beyond : {true, false}) {
    const TemporaryFolder folder;
    {
      RunRecorder recorder(folder.path());
      testing::begin_sample(recorder);
      RunEnd end = traffic();
      for (FlowRow& flow : end.flows) flow.counters.arrived = 900;
      testing::record_emulated(recorder, end, 4);
      recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = 4, .model = "flow"})
          .end(testing::sample_end(microseconds(60)));
      recorder.ensemble(std::vector{microseconds(39), microseconds(40), microseconds(is_beyond ? 41 : 50)});
    }
    const RunReader record(folder.path());
    const Diagnosis diagnosis = diagnose(record);
    ASSERT_EQ(diagnosis.gap.has_value(), is_beyond);
    ASSERT_EQ(diagnosis.blame.empty(), !is_beyond);
    if (!is_beyond) continue;
    EXPECT_EQ(diagnosis.gap->gap, microseconds(10));
    EXPECT_EQ(diagnosis.blame[0].kind, BlameKind::kLossyCable);
    EXPECT_EQ(diagnosis.blame[0].gap, microseconds(10));
    EXPECT_EQ(diagnosis_json(record, diagnosis)["gap"]["base"], "median");
    EXPECT_THAT(findings(record, diagnosis), Contains("it took 10 us longer than the median of the reference's band"));
  }
}

// 8 us of repairing and 6 us that were faster are a gap of 2 us of 20.
TEST(Findings, NameAPartThatIsLargerThanTheGapAsSuch) {
  Diagnosis diagnosis;
  diagnosis.path.emplace().completion = microseconds(20);
  Waterfall& waterfall = diagnosis.waterfall.emplace();
  waterfall.gap = microseconds(2);
  waterfall.parts[static_cast<size_t>(GapCause::kRecovering)] = microseconds(8);
  waterfall.parts[static_cast<size_t>(GapCause::kFaster)] = Duration() - microseconds(6);
  EXPECT_THAT(main_cause_text(diagnosis),
              AllOf(StartsWith("along the critical path '"), HasSubstr("' took 8 us more than in the reference"),
                    HasSubstr("all but the 2 us by which it ended later")));
}

TEST(Findings, AreInTheSummaryAndTheTable) {
  RunEnd end = traffic();
  for (FlowRow& flow : end.flows)
    if (flow.connection.destination == RankId(2)) flow.counters.arrived = 900;
  const testing::SampleReport report(end);
  const auto json = report.summary()["diagnosis"];
  EXPECT_EQ(json["losses"]["lost"], 300);
  EXPECT_EQ(json["losses"]["where"]["trait"], "destination_port");
  EXPECT_EQ(json["losses"]["where"]["text"], "port p2 (host 2)");
  EXPECT_EQ(json["findings"].size(), 2u);
  const auto blame = report.summary()["blame"];
  ASSERT_EQ(blame.size(), 1u);
  EXPECT_EQ(blame[0]["kind"], "lossy_cable");
  EXPECT_EQ(blame[0]["culprit"], "port p2 (host 2)");
  EXPECT_EQ(blame[0]["gap_ps"], 20'000'000);
  EXPECT_EQ(blame[0]["share"], 1);
  EXPECT_EQ(blame[0]["confidence"], "medium") << "causes were not recorded";
  EXPECT_EQ(report.summary()["verdict"], "degraded");
  const std::string csv = report.csv("losses.csv");
  EXPECT_THAT(csv, HasSubstr("fidelity,source_port,source_name,destination_port,destination_name,packets,lost\n"));
  EXPECT_THAT(csv, HasSubstr("emulated,0,p0,2,p2,1000,100\n"));
  EXPECT_THAT(csv, HasSubstr("emulated,2,p2,0,p0,1000,0\n"));
  const std::string page = report.page();
  EXPECT_THAT(page, HasSubstr("<h2>Who is to blame</h2>"));
  EXPECT_THAT(page, HasSubstr("<h2>What was found</h2>"));
  EXPECT_THAT(page, HasSubstr("<h2>Losses</h2>"));
  EXPECT_THAT(page, HasSubstr("33.3 %")) << "from each of three ports a third";
}

}  // namespace
}  // namespace rankwire
