#include "emulator/report/stall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/report/report.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TemporaryFolder;

StallWait wait(uint32_t rank, uint32_t peer, const char* kind = "message") {
  return {.kind = kind,
          .rank = RankId(rank),
          .peer = RankId(peer),
          .operation = "sum <of> \"all\"",
          .group = "dp0",
          .iteration = 2,
          .connection = ConnectionId(rank),
          .source_qp = 0x100 + rank,
          .destination_qp = 0x200 + peer,
          .retries = 3,
          .state = "waiting for ACK"};
}

/// Three ranks wait for the fourth, which stands behind port p3 on host 3.
RunEnd stalled() {
  RunEnd end = testing::sample_end(microseconds(50));
  end.verdict = "stalled", end.reason = "no progress for 5 s";
  for (uint32_t r = 0; r < 4; ++r) {
    end.rank_nics.push_back({.nic = NicId(r), .port = PortId(r), .mac = {}, .ip = {}, .host = r});
    end.ports.push_back({.port = PortId(r), .name = "p" + std::to_string(r)});
  }
  end.stall = StallRow{.kind = "dead_peer",
                       .culprit = RankId(3),
                       .behind = 3,
                       .accused = 1,
                       .last_progress = Time() + milliseconds(7),
                       .chain = {wait(0, 1), wait(1, 2), wait(2, 3, "acknowledgement")},
                       .waits = {}};
  end.stall->waits = end.stall->chain;
  return end;
}

RunEnd circle() {
  RunEnd end = stalled();
  end.stall = StallRow{.kind = "trace_cycle",
                       .culprit = {},
                       .behind = 2,
                       .is_cycle = true,
                       .chain = {wait(0, 1), wait(1, 0)},
                       .waits = {wait(0, 1), wait(1, 0)}};
  return end;
}

class StallReport : public ::testing::Test {
 protected:
  const RunReader& record(const RunEnd& end) {
    testing::write_sample(folder_.path(), end);
    return reader_.emplace(folder_.path());
  }

 private:
  TemporaryFolder folder_;
  std::optional<RunReader> reader_;
};

TEST_F(StallReport, NamesTheCulpritWithItsPort) {
  EXPECT_EQ(stall_text(record(stalled())),
            "dead_peer: rank 3 (host 3, port p3) does not answer; 3 other ranks wait for it; last progress at 7 ms");
}

// Whoever was silent: the port's interface is gone.
TEST_F(StallReport, NamesTheLinkThatWasLost) {
  RunEnd end = stalled();
  end.stall->kind = "lost_link";
  const std::string gone = "device net_af_packet3,iface=e3: there is no network interface e3 any more";
  end.port_settings = {{PortId(2), "link", "up", "up"}, {PortId(3), "link", "up", gone}};
  EXPECT_EQ(stall_text(record(end)), "lost_link: port p3: " + gone +
                                         ", behind which rank 3 (host 3, port p3) is; 3 other ranks wait for it; last "
                                         "progress at 7 ms");
}

TEST_F(StallReport, NamesTheMachineOfTheCulprit) {
  RunEnd end = stalled();
  end.stall->machine = "node<2>";
  const RunReader& reader = record(end);
  EXPECT_EQ(stall_text(reader),
            "dead_peer: rank 3 (machine 'node<2>', host 3, port p3) does not answer; 3 other ranks wait for it; last "
            "progress at 7 ms");
  EXPECT_EQ(stall_json(reader)["machine"], "node<2>");
  EXPECT_THAT(html_stall(reader),
              HasSubstr("rank 3 (machine &#39;node&lt;2&gt;&#39;, host 3, port p3)</b></li>\n</ol>"));
}

TEST_F(StallReport, NamesTheMachineThatHasGoneAndTheOneWhoseLoopStoodStill) {
  RunEnd end = stalled();
  end.stall->kind = "gone_machine", end.stall->machine = "b";
  EXPECT_EQ(stall_text(record(end)),
            "gone_machine: machine 'b' has gone, on which rank 3 (host 3, port p3) is; 3 other ranks wait for it; last "
            "progress at 7 ms");
  end.stall->kind = "generator_starvation", end.stall->culprit = {};
  EXPECT_THAT(stall_text(record(end)), HasSubstr("stood still on machine 'b': its loop did not turn; 3 ranks wait"));
}

TEST_F(StallReport, NamesNoMachineWhereThereIsOne) {
  const auto json = stall_json(record(stalled()));
  ASSERT_TRUE(json.contains("machine"));
  EXPECT_TRUE(json["machine"].is_null());
}

TEST_F(StallReport, GoesRoundACircle) {
  EXPECT_EQ(
      stall_text(record(circle())),
      "trace_cycle: ranks wait for each other in a circle (rank 0 > rank 1 > rank 0); 2 ranks wait; last progress at "
      "0 ps");
}

TEST_F(StallReport, HasNothingToSayOfARunThatEndedByItself) {
  const RunReader& well = record(testing::sample_end(microseconds(50)));
  EXPECT_EQ(stall_text(well), "");
  EXPECT_EQ(html_stall(well), "");
  EXPECT_TRUE(stall_json(well).is_null());
  EXPECT_TRUE(stalls_json(well).is_null());
}

TEST_F(StallReport, KeepsEveryWaitInJson) {
  const auto json = stalls_json(record(stalled()));
  EXPECT_EQ(json["class"], "dead_peer");
  EXPECT_EQ(json["culprit"], 3);
  EXPECT_EQ(json["last_progress_ps"], 7'000'000'000);
  ASSERT_EQ(json["chain"].size(), 3u);
  EXPECT_EQ(json["waits"], json["chain"]);
  const auto& last = json["chain"][2];
  EXPECT_EQ(last["kind"], "acknowledgement");
  EXPECT_EQ(last["rank"], 2);
  EXPECT_EQ(last["peer"], 3);
  EXPECT_EQ(last["operation"], "sum <of> \"all\"");
  EXPECT_EQ(last["group"], "dp0");
  EXPECT_EQ(last["iteration"], 2);
  EXPECT_EQ(last["source_qp"], 0x102);
  EXPECT_EQ(last["destination_qp"], 0x203);
  EXPECT_EQ(last["retries"], 3);
  EXPECT_EQ(last["state"], "waiting for ACK");
}

TEST_F(StallReport, DrawsWhoWaitsForWhom) {
  const std::string page = html_stall(record(stalled()));
  EXPECT_THAT(page, StartsWith("<p>dead_peer: "));
  EXPECT_THAT(page, HasSubstr("<li class=\"culprit\"><b>rank 3 (host 3, port p3)</b></li>"));
  EXPECT_THAT(page, HasSubstr("sum &lt;of&gt; &quot;all&quot;"));
  // One arrow leads to the culprit, of three.
  EXPECT_THAT(page, HasSubstr("<line class=\"bad\""));
  size_t lines = 0;
  for (size_t at = page.find("<line"); at != std::string::npos; at = page.find("<line", at + 1)) ++lines;
  EXPECT_EQ(lines, 3u);
}

TEST_F(StallReport, ManyRanksAreNotDrawn) {
  RunEnd end = stalled();
  for (uint32_t rank = 4; rank < 70; ++rank) end.stall->waits.push_back(wait(rank, 3));
  const std::string page = html_stall(record(end));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
  EXPECT_THAT(page, HasSubstr("class=\"chain\""));
}

TEST_F(StallReport, AFileIsWrittenForWhatStalledAlone) {
  const TemporaryFolder well, stuck;
  testing::write_sample(well.path(), testing::sample_end(microseconds(50)));
  testing::write_sample(stuck.path(), stalled());
  write_report(well.path());
  write_report(stuck.path());
  EXPECT_FALSE(std::filesystem::exists(well.path() / "stalls.json"));
  EXPECT_TRUE(std::filesystem::exists(stuck.path() / "stalls.json"));
}

}  // namespace
}  // namespace rankwire
