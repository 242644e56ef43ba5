// A client of perftest for tests of the other side.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "emulator/peer/perftest_session.h"

namespace rankwire::testing {

constexpr Duration kStep = microseconds(1);
constexpr Duration kIdleStep = microseconds(100);
constexpr Duration kTooLong = seconds(100);  // of the test's time
constexpr Bandwidth kRate(100'000'000'000);

inline Nic nic(uint32_t port, const char* ip) {
  Nic result;
  result.id = NicId(port);
  result.port = PortId(port);
  result.ip = *parse_ip(ip);
  result.mac = {{2, 0, 0, 0, 0, static_cast<uint8_t>(port + 1)}};
  result.prefix_length = result.ip.is_ipv4() ? 24 : 64;
  return result;
}

inline PerftestOptions server_options(FramePort& port, const char* ip) {
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

inline std::string big_endian(uint64_t number) {
  std::string field;
  for (int shift = 56; shift >= 0; shift -= 8) field += static_cast<char>(number >> shift);
  return field;
}

/// What a server's keys say.
inline PerftestKeys read_keys(const std::string& answer) {
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

/// A client made of a TCP socket on the loopback interface and a transport on the other end of a link in memory; time
/// is the test's.
class PerftestClientTest : public ::testing::Test {
 protected:
  explicit PerftestClientTest(const char* server_ip = "10.5.0.9", const char* client_ip = "10.5.0.1")
      : options(server_options(*links_.first, server_ip)), client_ip_(client_ip) {}

  ~PerftestClientTest() override {
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
      now_ += step_;
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
  Duration step_ = kStep;  // kIdleStep while nobody sends

  std::unique_ptr<PerftestSession> session;
  std::unique_ptr<RoceTransport> transport;  // the client's
  std::vector<EndPoint> own;
  bool frozen = false;  // the client's NIC is silent
  uint32_t posted = 0;
  uint64_t sent = 0;
  std::vector<Event> received;
};

}  // namespace rankwire::testing
