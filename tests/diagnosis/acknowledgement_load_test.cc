#include "emulator/diagnosis/acknowledgement_load.h"

#include <gtest/gtest.h>

#include "emulator/record/recorder.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

/// Ranks 0 and 1 behind port 0; each sent 100 packets of 142 counted bytes, which take 166 bytes of line, 1.328 us at
/// 1 Gb/s. Beside them the port sent acknowledgements of 62 bytes.
class AcknowledgementLoadTest : public ::testing::Test {
 protected:
  AcknowledgementLoad load(uint64_t acknowledgements) {
    {
      RunRecorder recorder(folder_.path(), {.causes = true});
      recorder.configuration("{}", "0.1.0");
      RunEnd end;
      end.completion = microseconds(1'000);
      for (const uint32_t rank : {0, 1}) {
        end.rank_nics.push_back(
            {.nic = NicId(0), .port = PortId(0), .mac = "02:00:00:00:00:00", .ip = "198.18.0.1", .host = 0});
        end.flows.push_back(flow(rank));
      }
      PortCounters& port = end.ports.emplace_back();
      port.port = PortId(0), port.name = "p0";
      port.tx_frames = 200 + acknowledgements, port.tx_bytes = 200 * 142 + acknowledgements * 62;
      recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 2}).end(end);
    }
    const RunReader record(folder_.path());
    return {record, *record.emulated()};
  }
  static FlowRow flow(uint32_t rank) {
    FlowRow row;
    row.connection.id = row.counters.connection = ConnectionId(rank);
    row.connection.job = JobId(0);
    row.connection.source = RankId(rank), row.connection.destination = RankId(1 - rank);
    row.counters.packets = 100;
    row.counters.causes.emplace()[Cause::kTransmitting] = nanoseconds(132'800);
    return row;
  }

  const testing::TemporaryFolder folder_;
};

// 193 acknowledgements take 193 x 86 B = 16,598 B of line, 132.784 us: as long as what the other connection sent, so
// half of the wait was behind them. In 100 of the run's 1,000 us they take 13.2784 us, and no more than that.
TEST_F(AcknowledgementLoadTest, IsInProportionToLineTime) {
  const AcknowledgementLoad of = load(193);
  EXPECT_NEAR(static_cast<double>(of.of(flow(0).connection, microseconds(100), microseconds(20)).ps), 10e6, 1e3);
  EXPECT_NEAR(static_cast<double>(of.of(flow(0).connection, microseconds(100), microseconds(90)).ps), 13'278'400, 1e3);
}

TEST_F(AcknowledgementLoadTest, IsNothingWhereThePortSentDataAlone) {
  EXPECT_EQ(load(0).of(flow(0).connection, microseconds(100), microseconds(20)), Duration());
}

}  // namespace
}  // namespace rankwire
