#include "emulator/peer/perftest_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/error.h"
#include "tests/peer/perftest_client.h"

namespace rankwire {
namespace {

using testing::big_endian;
using ::testing::HasSubstr;
using testing::text;

using PerftestSessionTest = testing::PerftestClientTest;

TEST_F(PerftestSessionTest, MeasuresAWriteTestOfSeveralQueuePairs) {
  connect_tcp();
  exchange_preamble(1024);
  set_up(2, DataVerb::kWrite, 1024);
  send_messages(2, 50, 10'000);
  exchange(big_endian(10'000));
  exchange(big_endian(100));
  for (const double number : {0.0, 0.0, 1.25}) exchange(big_endian(std::bit_cast<uint64_t>(number)));
  exchange(text(format_perftest_keys(keys_of(0, 1, 1))));
  hang_up();
  run_to_end();

  const PerftestResult result = session->result();
  EXPECT_EQ(result.failure, "");
  EXPECT_TRUE(result.named_itself());
  EXPECT_EQ(result.queue_pairs, 2u);
  EXPECT_EQ(result.mtu, 1024u);
  EXPECT_EQ(result.gid, *parse_ip("10.5.0.1"));
  ASSERT_EQ(result.throughputs.size(), 1u);
  EXPECT_EQ(result.throughputs[0].verb, "WRITE");
  EXPECT_EQ(result.throughputs[0].message, Bytes(10'000));
  EXPECT_EQ(result.throughputs[0].messages, 100u);
  // The client sends at line rate: 10 packets a message, each with 82 bytes of headers and gap, the first with RETH,
  // are 10,836 line bytes; but all acknowledgements of a window must come first, a step of the test's time later.
  EXPECT_LT(result.throughputs[0].bits_per_second(), 100e9 * 10'000 / 10'836);
  EXPECT_GT(result.throughputs[0].bits_per_second(), 10e9);
  ASSERT_TRUE(result.report);
  EXPECT_DOUBLE_EQ(result.report->bandwidth(), 10'000 * 1.25e6);
  EXPECT_EQ(result.counters.icrc_errors, 0u);
}

TEST_F(PerftestSessionTest, TellsSendsAndTheirSizesApart) {
  connect_tcp();
  exchange_preamble();
  set_up(1, DataVerb::kSend);
  for (const int64_t bytes : {2, 4, 65'536}) send_messages(1, 5, bytes);
  hang_up();
  run_to_end();
  const PerftestResult result = session->result();
  EXPECT_EQ(result.failure, "");
  std::vector<std::pair<int64_t, uint64_t>> rows;
  for (const Throughput& t : result.throughputs) {
    EXPECT_EQ(t.verb, "SEND");
    rows.emplace_back(t.message.count, t.messages);
  }
  EXPECT_THAT(rows, ::testing::ElementsAre(std::pair(2, 5), std::pair(4, 5), std::pair(65'536, 5)));
}

TEST_F(PerftestSessionTest, PlaysPingPongWithAClientThatKeepsStill) {
  options.latency = {.message = Bytes(100), .largest_message = Bytes(100)};
  connect_tcp();
  exchange_preamble();
  set_up(1, DataVerb::kWrite);
  const Time still = now_;
  for (uint32_t turn = 1; turn <= 300; ++turn) {
    step_ = turn == 1 ? testing::kIdleStep : testing::kStep;
    ASSERT_TRUE(run_until([&] { return received.size() == turn; }));
    // perftest waits for the number of the turn in the last byte: byte 3 of word 12.
    const Event& event = received.back();
    ASSERT_EQ(event.bytes, Bytes(100));
    const uint64_t last_word = payload_word(event.received.payload_key, 12);
    ASSERT_EQ(last_word >> 24 & 0xFF, turn & 0xFF);
    post(0, 100);
  }
  EXPECT_GE(now_ - still, seconds(1));
  run_until([&] { return sent == 300; });
  hang_up();
  run_to_end();

  const PerftestResult result = session->result();
  EXPECT_EQ(result.failure, "");
  EXPECT_TRUE(result.throughputs.empty());
  ASSERT_EQ(result.turns.size(), 1u);
  EXPECT_EQ(result.turns[0].message, Bytes(100));
  EXPECT_EQ(result.turns[0].half_round_trip.count(), 299u);
  // A round trip takes some steps of the test's time, 1 us each.
  EXPECT_GT(result.turns[0].half_round_trip.min(), Duration());
  EXPECT_LT(result.turns[0].half_round_trip.max(), microseconds(20));
}

TEST_F(PerftestSessionTest, BandwidthOnlyNeverWritesToTheClient) {
  options.tests = PerftestTests::kBandwidth;
  options.patience = seconds(3);
  connect_tcp();
  exchange_preamble();
  set_up(1, DataVerb::kWrite);
  step_ = testing::kIdleStep;
  run_to_end();
  EXPECT_TRUE(received.empty());
  EXPECT_THAT(session->result().failure, HasSubstr("nor packets for 3 s"));
}

TEST_F(PerftestSessionTest, AStrangerIsTurnedAway) {
  connect_tcp();
  say("GET / HTTP/1.1\r\n\r\n");
  run_to_end();
  EXPECT_THAT(session->result().failure, HasSubstr("no perftest client"));
  EXPECT_FALSE(session->result().named_itself());
}

TEST_F(PerftestSessionTest, AClientThatHangsUpTooEarlyIsReported) {
  connect_tcp();
  exchange_preamble();
  hang_up();
  run_to_end();
  EXPECT_THAT(session->result().failure, HasSubstr("ended where the keys of a queue pair or a report is expected"));
}

TEST_F(PerftestSessionTest, ASilentClientIsDropped) {
  options.patience = seconds(2);
  connect_tcp();
  exchange_preamble();
  const Time before = now_;
  step_ = testing::kIdleStep;
  run_to_end();
  EXPECT_THAT(session->result().failure, HasSubstr("for 2 s"));
  EXPECT_LT(now_ - before, seconds(3));
}

TEST_F(PerftestSessionTest, MoreQueuePairsThanThereAreAreRefused) {
  options.queue_pairs = 2;
  connect_tcp();
  exchange_preamble();
  open_transport(3, DataVerb::kWrite, 4096);
  for (size_t i = 0; i < 2; ++i) exchange(text(format_perftest_keys(keys_of(i, 1, 1))));
  say(text(format_perftest_keys(keys_of(2, 1, 1))));
  run_to_end();
  EXPECT_THAT(session->result().failure, HasSubstr("more than 2 queue pairs"));
}

TEST_F(PerftestSessionTest, AClientThatAnswersNoArpIsExplained) {
  connect_tcp();
  exchange_preamble();
  open_transport(1, DataVerb::kWrite, 4096);
  frozen = true;
  exchange(text(format_perftest_keys(keys_of(0, 1, 1))));
  say(text(format_perftest_keys(keys_of(0, 1, 1))));
  step_ = testing::kIdleStep;
  run_to_end();
  EXPECT_THAT(session->result().failure, HasSubstr("cannot be reached: 10.5.0.1: no answer to ARP"));
}

class OtherIpVersion : public testing::PerftestClientTest {
 protected:
  OtherIpVersion() : PerftestClientTest("10.5.0.9", "2001:db8::1") {}
};

TEST_F(OtherIpVersion, IsToldToTheClient) {
  connect_tcp();
  exchange_preamble();
  PerftestKeys keys{.queue_pair = 0x11, .rkey = 1, .gid = *parse_ip(client_ip_)};
  say(text(format_perftest_keys(keys)));
  run_to_end();
  EXPECT_THAT(session->result().failure, HasSubstr("its option -x chooses"));
}

class Ipv6PerftestSessionTest : public testing::PerftestClientTest {
 protected:
  Ipv6PerftestSessionTest() : PerftestClientTest("2001:db8::9", "2001:db8::1") {}
};

TEST_F(Ipv6PerftestSessionTest, AnswersLikeOverIpv4) {
  connect_tcp();
  exchange_preamble();
  set_up(1, DataVerb::kWrite);
  send_messages(1, 10, 10'000);
  hang_up();
  run_to_end();
  EXPECT_EQ(session->result().failure, "");
  ASSERT_EQ(session->result().throughputs.size(), 1u);
  EXPECT_EQ(session->result().throughputs[0].messages, 10u);
}

TEST(TcpListener, AddressesAreChecked) {
  EXPECT_THROW(TcpListener("127.0.0.1"), Error);
  EXPECT_THROW(TcpListener("somewhere:18515"), Error);
  EXPECT_THROW(TcpListener("127.0.0.1:port"), Error);
  EXPECT_NO_THROW(TcpListener("127.0.0.1:0"));
}

}  // namespace
}  // namespace rankwire
