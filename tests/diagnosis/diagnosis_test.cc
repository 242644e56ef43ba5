#include "emulator/diagnosis/diagnosis.h"

#include <gtest/gtest.h>

#include "emulator/record/recorder.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using testing::TemporaryFolder;

constexpr uint32_t kPorts = 4;

/// Every rank, one behind each of four ports, sent each other 1000 packets, all of which arrived.
class DiagnosisTest : public ::testing::Test {
 protected:
  DiagnosisTest() {
    for (uint32_t r = 0; r < kPorts; ++r) {
      end_.rank_nics.push_back({.nic = NicId(r), .port = PortId(r), .mac = {}, .ip = {}, .host = r});
      end_.ports.push_back({.port = PortId(r), .name = "p" + std::to_string(r)});
    }
    for (uint32_t a = 0; a < kPorts; ++a) {
      for (uint32_t b = 0; b < kPorts; ++b) {
        if (a == b) continue;
        FlowRow& flow = end_.flows.emplace_back();
        flow.connection.id = flow.counters.connection = ConnectionId(static_cast<uint32_t>(end_.flows.size() - 1));
        flow.connection.source = RankId(a), flow.connection.destination = RankId(b);
        flow.connection.path = Path::kWire;
        flow.counters.packets = 1000, flow.counters.arrived = 1000;
      }
    }
    end_.completion = seconds(2);
  }

  FlowCounters& flow(uint32_t source, uint32_t destination) {
    for (FlowRow& row : end_.flows)
      if (row.connection.source == RankId(source) && row.connection.destination == RankId(destination))
        return row.counters;
    throw std::logic_error("no such flow");
  }
  /// Writes the emulated run, and a reference of `reference` where that is not 0.
  Diagnosis diagnosis(Duration reference = {}) {
    RunRecorder recorder(folder_.path());
    recorder.configuration("{}", "0.1.0");
    recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "real", .ranks = kPorts}).end(end_);
    if (reference > Duration()) {
      RunEnd end;
      end.completion = reference;
      recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .ranks = kPorts, .model = "flow"}).end(end);
    }
    return diagnose(RunReader(folder_.path()));
  }

  RunEnd end_;
  TemporaryFolder folder_;
};

TEST_F(DiagnosisTest, NothingIsWrong) {
  const Diagnosis found = diagnosis(seconds(3));
  EXPECT_EQ(found.losses.packets, 12'000u);
  EXPECT_EQ(found.losses.lost, 0u);
  EXPECT_EQ(found.losses.ports.size(), 12u);
  EXPECT_FALSE(found.losses.where);
  EXPECT_EQ(found.failed.recorded, 0u);
  EXPECT_FALSE(found.gap) << "it was not later than the reference";
}

TEST_F(DiagnosisTest, CountsWhatWasLostOnTheWayToAPort) {
  for (const uint32_t source : {0, 1, 3}) flow(source, 2).arrived = 900;
  // Sent and not acknowledged when the run ended: may have been under way.
  flow(0, 1).arrived = 990, flow(0, 1).unacknowledged = 10;
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.losses.lost, 300u);
  ASSERT_TRUE(found.losses.where);
  EXPECT_EQ(found.losses.where->trait, Trait::kDestinationPort);
  EXPECT_EQ(found.losses.where->value, 2u);
  for (const PortLosses& ports : found.losses.ports)
    EXPECT_EQ(ports.lost, ports.destination == PortId(2) ? 100u : 0u) << ports.source.value;
}

TEST_F(DiagnosisTest, DoesNotGuessWhatNobodyCounted) {
  flow(0, 1).arrived.reset();
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.losses.lost, 0u);
  EXPECT_EQ(found.losses.packets, 11'000u);
  EXPECT_EQ(found.losses.uncounted, 1000u);
}

TEST_F(DiagnosisTest, NamesWhatDroppedAndWhoMissed) {
  end_.ports[1].rx_missed = 3;
  end_.ports[2].rx_icrc_encapsulated = 4;
  end_.ports.push_back({.port = PortId(0), .name = "leaf0.spine0", .dropped = 5});
  end_.ports.push_back({.port = PortId(1), .name = "leaf0.spine1", .dropped = 7});
  const Losses losses = diagnosis().losses;
  EXPECT_EQ(losses.missed, 3u);
  EXPECT_EQ(losses.corrupt, 4u);
  ASSERT_EQ(losses.drops.size(), 2u);
  EXPECT_EQ(losses.drops.front().port, "leaf0.spine1") << "most first";
  EXPECT_EQ(losses.drops.front().frames, 7u);
}

// What a receiver discards; the others arrive, late, twice or marked.
TEST_F(DiagnosisTest, CountsWhatWasLostOnPurpose) {
  const auto did = [&](const char* action, uint64_t done) {
    end_.impairment_rules.push_back(
        {.rule = static_cast<uint32_t>(end_.impairment_rules.size()), .action = action, .done = done});
  };
  for (const char* action : {"drop", "corrupt_payload", "corrupt_header", "corrupt_icrc"}) did(action, 2);
  for (const char* action : {"duplicate", "delay", "reorder", "mark_ce", "forge_ack", "pause"}) did(action, 100);
  EXPECT_EQ(diagnosis().losses.impaired, 8u);
}

TEST_F(DiagnosisTest, FindsWhatFailedConnectionsShare) {
  end_.verdict = "failed";
  for (uint32_t other : {0, 1, 3}) {
    for (const auto& [source, destination] : {std::pair(other, 2u), std::pair(2u, other)}) {
      FailureRow& failure = end_.failures.emplace_back();
      failure.connection.source = RankId(source), failure.connection.destination = RankId(destination);
    }
  }
  const FailedConnections failed = diagnosis().failed;
  EXPECT_EQ(failed.recorded, 6u);
  ASSERT_TRUE(failed.where);
  EXPECT_EQ(failed.where->trait, Trait::kPort);
  EXPECT_EQ(failed.where->value, 2u);
}

// Rank 0 gives up on both of its neighbours, of which rank 2's port has lost its link: two of four failures are there.
TEST_F(DiagnosisTest, ALostLinkIsWhatFailedConnectionsShare) {
  end_.verdict = "failed";
  for (uint32_t other : {1, 2}) {
    for (const auto& [source, destination] : {std::pair(other, 0u), std::pair(0u, other)}) {
      FailureRow& failure = end_.failures.emplace_back();
      failure.connection.source = RankId(source), failure.connection.destination = RankId(destination);
    }
  }
  const Diagnosis before = diagnosis();
  EXPECT_TRUE(before.lost_links.empty());
  EXPECT_FALSE(before.failed.where) << "rank 0 is in all, which may be chance";
  end_.port_settings = {{PortId(1), "link", "up", "up"}, {PortId(2), "link", "up", "device b was removed"}};
  const Diagnosis found = diagnosis();
  ASSERT_EQ(found.lost_links.size(), 1u);
  EXPECT_EQ(found.lost_links[0].port, PortId(2));
  EXPECT_EQ(found.lost_links[0].text, "device b was removed");
  ASSERT_TRUE(found.failed.where);
  EXPECT_EQ(found.failed.where->trait, Trait::kPort);
  EXPECT_EQ(found.failed.where->value, 2u);
  EXPECT_DOUBLE_EQ(found.failed.where->part_of_trouble, 0.5);
  // Most packets were lost elsewhere.
  flow(0, 2).arrived = 990, flow(0, 1).arrived = 970;
  const Losses elsewhere = diagnosis().losses;
  EXPECT_TRUE(!elsewhere.where || elsewhere.where->value != 2u || elsewhere.where->trait != Trait::kPort);
  flow(0, 2).arrived = 0;
  const Losses there = diagnosis().losses;
  ASSERT_TRUE(there.where);
  EXPECT_EQ(there.where->trait, Trait::kPort);
  EXPECT_EQ(there.where->value, 2u);
}

// Of an RDMA device its state tells.
TEST_F(DiagnosisTest, ARunThatEndedWellHasLostNoLink) {
  end_.port_settings = {{PortId(1), "state", "active", "down"}};
  EXPECT_TRUE(diagnosis().lost_links.empty());
  end_.verdict = "stalled";
  const Diagnosis found = diagnosis();
  ASSERT_EQ(found.lost_links.size(), 1u);
  EXPECT_EQ(found.lost_links[0].text, "the state of its RDMA device was 'active', and then 'down'");
}

// 2 s instead of 0.5 s. The worst port lost 0.4 s and the worst paced queue pair 0.1 s.
TEST_F(DiagnosisTest, SharesTheGapOut) {
  end_.counters.slipped = milliseconds(400);
  end_.counters.pacing_slipped = milliseconds(100);
  const Diagnosis found = diagnosis(milliseconds(500));
  ASSERT_TRUE(found.gap);
  EXPECT_EQ(found.gap->gap, milliseconds(1500));
  EXPECT_EQ(found.gap->generator, milliseconds(500));
  EXPECT_EQ(found.gap->rest, milliseconds(1000));
}

TEST_F(DiagnosisTest, TheGeneratorsShareIsNoMoreThanTheGap) {
  end_.counters.slipped = seconds(9);
  const Diagnosis found = diagnosis(milliseconds(500));
  ASSERT_TRUE(found.gap);
  EXPECT_EQ(found.gap->generator, found.gap->gap);
  EXPECT_EQ(found.gap->rest, Duration());
}

}  // namespace
}  // namespace rankwire
