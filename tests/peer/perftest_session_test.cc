// A session against a client made of the test's own TCP socket and a transport on the other end of a link in memory.
// TCP goes over the loopback interface, time is the test's.
#include "emulator/peer/perftest_session.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "dataplane/frame_pool.h"
#include "dataplane/memory_port.h"
#include "emulator/peer/perftest_server.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

constexpr Duration kStep = microseconds(1);
constexpr Duration kTooLong = seconds(100);  // of the test's time
constexpr Bandwidth kRate(100'000'000'000);

Nic nic(uint32_t port, const char* ip) {
  Nic result;
  result.id = NicId(port);
  result.port = PortId(port);
  result.ip = *parse_ip(ip);
  result.mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(port + 1)}};
  result.prefix_length = result.ip.is_ipv4() ? 24 : 64;
  return result;
}

PerftestOptions server_options(FramePort& port, const char* ip) {
  PerftestOptions options;
  options.nic = nic(0, ip);
  options.port = {PortId(0), &port, kRate};
  options.roce.verb = DataVerb::kWrite;
  options.roce.unindexed = UnindexedMessages::kReported;
  options.roce.read_access = ReadAccess::kAlways;
  options.roce.neighbours = NeighbourMode::kResolve;
  options.queue_pairs = 8;
  return options;
}

template <size_t Bytes>
std::string text(const std::array<char, Bytes>& field) {
  return {field.data(), field.size()};
}

std::string big_endian(uint64_t number) {
  std::string field;
  for (int shift = 56; shift >= 0; shift -= 8) field += static_cast<char>(number >> shift);
  return field;
}

class PerftestSessionTest : public ::testing::Test {
 protected:
  explicit PerftestSessionTest(const char* server_ip = "10.5.0.9", const char* client_ip = "10.5.0.1")
      : options(server_options(*links_.first, server_ip)), client_ip_(client_ip) {}

  ~PerftestSessionTest() override {
    if (socket_ >= 0) ::close(socket_);
  }

  void connect_tcp() {
    session = std::make_unique<PerftestSession>(options, listener_, 1);
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(listener_.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  void say(const std::string& bytes) {
    ASSERT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void hang_up() {
    ::close(socket_);
    socket_ = -1;
  }

  // Both ends go on until `done`; false when the session is over before.
  template <class Done>
  bool run_until(Done done) {
    for (const Time end = now_ + kTooLong; !done();) {
      now_ += kStep;
      if (transport && !frozen) take_events();
      if (!session->step(now_)) return false;
      if (now_ > end) {
        ADD_FAILURE() << "nothing for too long";
        return false;
      }
    }
    return true;
  }
  void run_to_end() {
    while (run_until([] { return false; })) {
    }
  }

  // What the server answers with, as many bytes as were said.
  std::string exchange(const std::string& bytes) {
    say(bytes);
    std::string answer;
    run_until([&] {
      char piece[256];
      const ssize_t n = ::recv(socket_, piece, bytes.size() - answer.size(), MSG_DONTWAIT);
      if (n > 0) answer.append(piece, static_cast<size_t>(n));
      return answer.size() == bytes.size();
    });
    return answer;
  }
  void exchange_preamble(uint32_t mtu = 4096) {
    exchange(text(format_perftest_version()));
    exchange(text(format_perftest_number(4096)));
    exchange(text(format_perftest_number(64)));
    exchange(text(format_perftest_mtu(mtu)));
  }

  // The client's NIC, with queue pairs that send, and one way back.
  void open_transport(uint32_t queue_pairs, DataVerb verb, uint32_t mtu) {
    RoceOptions roce = options.roce;
    roce.verb = verb;
    roce.mtu = mtu;
    roce.payload = PayloadMode::kChecking;
    TransportPlan plan;
    plan.nics = {nic(0, client_ip_), nic(1, to_string(options.nic.ip).c_str())};
    plan.nics[0].mac = {{2, 0, 0, 0, 0, 9}};
    plan.messages_in_flight = 256;
    for (uint32_t i = 0; i <= queue_pairs; ++i) {
      Connection connection;
      connection.id = ConnectionId(i);
      connection.source_nic = NicId(0);
      connection.destination_nic = NicId(1);
      connection.largest_message = Bytes(1 << 20);
      plan.connections.push_back(connection);
    }
    std::swap(plan.connections.back().source_nic, plan.connections.back().destination_nic);
    plan.connections.back().reverse_of = ConnectionId(0);
    transport =
        std::make_unique<RoceTransport>(roce, std::vector<PortBinding>{{PortId(0), links_.second.get(), kRate}});
    own = transport->prepare(plan);
  }
  PerftestKeys keys_of(size_t i, uint32_t rkey, uint16_t reads) const {
    return {.outstanding_reads = reads,
            .queue_pair = own[i].queue_pair,
            .psn = own[i].psn,
            .rkey = rkey == 0 ? 0 : own[i].rkey,
            .address = own[i].address,
            .gid = *parse_ip(client_ip_)};
  }
  PerftestKeys read_keys(const std::string& answer) {
    PerftestReader reader;
    std::string bytes = text(format_perftest_version()) + text(format_perftest_number(0)) +
                        text(format_perftest_number(0)) + text(format_perftest_mtu(256)) + answer;
    std::optional<PerftestMessage> message;
    while (auto next = reader.next(bytes)) {
      bytes.erase(0, next->bytes);
      message = next;
    }
    return message->keys;
  }
  // As perftest: keys of all queue pairs, RTR, and the first's again.
  void set_up(uint32_t queue_pairs, DataVerb verb, uint32_t mtu = 4096) {
    open_transport(queue_pairs, verb, mtu);
    std::vector<EndPoint> ends;
    const uint32_t rkey = verb == DataVerb::kSend ? 0 : 1;
    for (uint32_t i = 0; i < queue_pairs; ++i) {
      const PerftestKeys keys = read_keys(exchange(text(format_perftest_keys(keys_of(i, rkey, 1)))));
      EndPoint end;
      end.connection = ConnectionId(i);
      end.ip = keys.gid;
      end.queue_pair = keys.queue_pair;
      end.psn = keys.psn;
      end.rkey = keys.rkey;
      end.address = keys.address;
      ends.push_back(end);
    }
    EXPECT_TRUE(transport->connect(ends).empty());
    run_until([&] { return transport->ready(); });
    for (const ConnectFailure& failure : transport->not_ready()) ADD_FAILURE() << failure.reason;
    exchange(text(format_perftest_keys(keys_of(0, rkey, 1))));
  }

  void post(uint32_t connection, int64_t bytes) {
    Message message;
    message.bytes = Bytes(bytes);
    message.connection = ConnectionId(connection);
    message.index = posted++;
    ASSERT_EQ(transport->post(now_, {&message, 1}), 1u);
  }
  void send_messages(uint32_t queue_pairs, uint32_t each, int64_t bytes) {
    const uint64_t before = sent;
    for (uint32_t i = 0; i < queue_pairs * each; ++i) post(i % queue_pairs, bytes);
    run_until([&] { return sent == before + uint64_t{queue_pairs} * each; });
  }

  virtual void take_events() {
    std::array<Event, 32> events;
    const size_t n = transport->poll(now_, events);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_NE(events[i].kind, EventKind::kFailed);
      if (events[i].kind == EventKind::kSent) ++sent;
      if (events[i].kind == EventKind::kReceived) received.push_back(events[i]);
    }
  }

  FramePool pool_{4096};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> links_ = make_memory_link(pool_, 1024, "link");
  PerftestOptions options;
  TcpListener listener_{"127.0.0.1:0"};
  const char* client_ip_;
  int socket_ = -1;
  Time now_;

  std::unique_ptr<PerftestSession> session;
  std::unique_ptr<RoceTransport> transport;  // the client's
  std::vector<EndPoint> own;
  bool frozen = false;  // the client's NIC is silent
  uint32_t posted = 0;
  uint64_t sent = 0;
  std::vector<Event> received;
};

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
  run_to_end();
  EXPECT_THAT(session->result().failure, HasSubstr("cannot be reached: 10.5.0.1: no answer to ARP"));
}

class OtherIpVersion : public PerftestSessionTest {
 protected:
  OtherIpVersion() : PerftestSessionTest("10.5.0.9", "2001:db8::1") {}
};

TEST_F(OtherIpVersion, IsToldToTheClient) {
  connect_tcp();
  exchange_preamble();
  PerftestKeys keys{.queue_pair = 0x11, .rkey = 1, .gid = *parse_ip(client_ip_)};
  say(text(format_perftest_keys(keys)));
  run_to_end();
  EXPECT_THAT(session->result().failure, HasSubstr("its option -x chooses"));
}

class Ipv6PerftestSessionTest : public PerftestSessionTest {
 protected:
  Ipv6PerftestSessionTest() : PerftestSessionTest("2001:db8::9", "2001:db8::1") {}
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
