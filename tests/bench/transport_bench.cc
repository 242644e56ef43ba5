#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/spsc_ring.h"
#include "dataplane/dpdk_port.h"
#include "dataplane/packet.h"
#include "dataplane/roce_transport.h"
#include "tests/bench/bench.h"
#include "tests/bench/testpmd.h"

namespace rankwire::bench {
namespace {

constexpr uint32_t kConnections = 256;
constexpr uint32_t kMessagesEach = 2;
constexpr Bytes kMessage(1 << 20);
constexpr uint32_t kFirstRemoteQueuePair = 0x1000;

/// The port under the transport, and the far end of its connections: answers every AckReq by an acknowledgement that
/// the next `receive` returns. Nothing is received from the port itself.
class AcknowledgingPort final : public FramePort {
 public:
  AcknowledgingPort(FramePort& port, std::vector<HeaderTemplate> answers)
      : port_(port), answers_(std::move(answers)), messages_(answers_.size()), owed_(1 << 16) {}

  size_t allocate(std::span<Frame> frames) noexcept override { return port_.allocate(frames); }

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    // The frames are the port's once they are sent.
    for (const Frame& frame : frames) answer(frame);
    return port_.transmit(now, frames);
  }

  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    const size_t n = port_.allocate(frames.first(std::min(frames.size(), owed_.size())));
    for (Frame& frame : frames.first(n)) {
      Owed owed{};
      owed_.pop({&owed, 1});
      write_acknowledgement(answers_[owed.connection], {.psn = owed.psn, .msn = owed.msn}, frame);
      frame.arrival = now;
    }
    return n;
  }

  void release(std::span<const Frame> frames) noexcept override { port_.release(frames); }
  Time next_event() const noexcept override { return Time::never(); }
  Capabilities capabilities() const noexcept override { return port_.capabilities(); }
  PortCounters counters() const override { return port_.counters(); }

 private:
  struct Owed {
    uint32_t connection, psn, msn;
  };

  void answer(const Frame& frame) noexcept {
    const Bth& bth = reinterpret_cast<const BaseHeader*>(frame.head)->bth;
    const uint32_t connection = bth.destination_qp.value() - kFirstRemoteQueuePair;
    if (connection >= answers_.size()) return;
    if (bth.opcode == Opcode::kWriteLastImmediate || bth.opcode == Opcode::kWriteOnlyImmediate) ++messages_[connection];
    if ((bth.ack_request & Bth::kAckRequest) == 0) return;
    const Owed owed{connection, bth.psn.value(), messages_[connection]};
    owed_.push({&owed, 1});
  }

  FramePort& port_;
  std::vector<HeaderTemplate> answers_;  // by connection
  std::vector<uint32_t> messages_;       // completed, by connection
  SpscRing<Owed> owed_;
};

TransportPlan make_plan() {
  TransportPlan plan;
  plan.ranks = 2;
  for (uint32_t i = 0; i < 2; ++i) {
    plan.nics.push_back(
        {NicId(i), PortId(i), MacAddress{{2, 0, 0, 0, 0, static_cast<uint8_t>(i + 1)}}, Ipv4Address{0xC6120001 + i}});
  }
  for (uint32_t i = 0; i < kConnections; ++i) {
    Connection connection;
    connection.id = ConnectionId(i);
    connection.job = JobId(0);
    connection.source = RankId(0);
    connection.destination = RankId(1);
    connection.source_nic = NicId(0);
    connection.destination_nic = NicId(1);
    connection.largest_message = kMessage;
    plan.connections.push_back(connection);
  }
  plan.messages_in_flight = kConnections * kMessagesEach;
  return plan;
}

/// The far ends: they exist only in the acknowledgements.
std::vector<EndPoint> remote_ends(const TransportPlan& plan) {
  std::vector<EndPoint> ends;
  for (const Connection& connection : plan.connections) {
    EndPoint end;
    end.connection = connection.id;
    end.mac = plan.nics[1].mac;
    end.ip = plan.nics[1].ip;
    end.queue_pair = kFirstRemoteQueuePair + connection.id.value;
    ends.push_back(end);
  }
  return ends;
}

std::vector<HeaderTemplate> answer_headers(const TransportPlan& plan) {
  std::vector<HeaderTemplate> headers;
  for (const Connection& connection : plan.connections) {
    PacketPath path;
    path.source_mac = plan.nics[1].mac;
    path.destination_mac = plan.nics[0].mac;
    path.source_ip = plan.nics[1].ip;
    path.destination_ip = plan.nics[0].ip;
    path.source_qp = kFirstRemoteQueuePair + connection.id.value;
    path.destination_qp = RoceTransport::kFirstQueuePair + connection.id.value;
    headers.push_back(make_template(path));
  }
  return headers;
}

/// A stream of messages on all connections; every message that is acknowledged is followed by the next.
class Sender {
 public:
  Sender(FramePort& port, uint32_t mtu) : plan_(make_plan()), port_(port, answer_headers(plan_)), next_(kConnections) {
    RoceOptions options;
    options.mtu = mtu;
    options.window = 256;
    options.announcement = Announcement::kNone;
    // Faster than any core: the pacer never holds a packet back.
    transport_ = std::make_unique<RoceTransport>(
        options, std::vector<PortBinding>{{PortId(0), &port_, Bandwidth(100'000'000'000'000)}});
    transport_->prepare(plan_);
    const std::vector<ConnectFailure> failures = transport_->connect(remote_ends(plan_));
    if (!failures.empty()) fail_run("connection 0: {}", failures.front().reason);
    for (uint32_t i = 0; i < kConnections * kMessagesEach; ++i) post(ConnectionId(i % kConnections));
  }
  ~Sender() { transport_->close(); }

  void poll() noexcept {
    const size_t n = transport_->poll(clock_.now(), events_);
    for (const Event& event : std::span(events_).first(n)) {
      if (event.kind == EventKind::kSent) post(event.connection);
    }
  }

  TransportCounters counters() const { return transport_->counters(); }

 private:
  void post(ConnectionId connection) noexcept {
    Message message;
    message.bytes = kMessage;
    message.connection = connection;
    message.index = next_[connection.value]++;
    transport_->post(clock_.now(), {&message, 1});
  }

  TransportPlan plan_;
  AcknowledgingPort port_;
  std::unique_ptr<RoceTransport> transport_;
  std::vector<uint32_t> next_;  // by connection
  std::array<Event, 64> events_;
  RealClock clock_;
};

/// Data packets a second on one core; throws Error when the stream was not clean.
double transport_rate(FramePort& port, uint32_t mtu) {
  Sender sender(port, mtu);
  uint64_t sent = sender.counters().data_packets_tx;
  const double rate = rate_of([&] {
    sender.poll();
    const uint64_t before = sent;
    sent = sender.counters().data_packets_tx;
    return sent - before;
  });
  const TransportCounters counters = sender.counters();
  if (counters.retransmitted + counters.timeouts + counters.icrc_errors + counters.messages_failed > 0 ||
      counters.messages_sent == 0) {
    fail_run("the stream was not clean: {} retransmitted, {} time-outs, {} ICRC errors, {} messages failed, {} sent",
             counters.retransmitted, counters.timeouts, counters.icrc_errors, counters.messages_failed,
             counters.messages_sent);
  }
  return rate;
}

}  // namespace

void transport_tx(Dpdk& dpdk) {
  DpdkPortOptions options;
  options.frames = 4095;
  const auto port = open_dpdk_port(dpdk.environment(), "net_null0", options);
  const Memory memory = dpdk.environment().huge_pages() ? Memory::kHugePages : Memory::kOrdinary;
  for (const uint32_t mtu : {1024u, 4096u}) {
    const uint32_t frame = mtu + 58;  // Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4
    std::vector<double> ours, theirs;
    for (int i = 0; i < kRuns; ++i) {
      ours.push_back(transport_rate(*port, mtu));
      if (const auto rate = testpmd_tx_rate(frame, memory)) theirs.push_back(*rate);
    }
    std::printf("transport_tx  MTU %4u, %u QPs, net_null: %6.2f M data packets/s on one core", mtu, kConnections,
                median(ours) / 1e6);
    if (theirs.empty()) {
      std::printf("; no dpdk-testpmd to compare with (package dpdk-dev)\n");
    } else {
      std::printf("; dpdk-testpmd txonly, %u B: %6.2f M/s; ratio %.2f\n", frame, median(theirs) / 1e6,
                  median(ours) / median(theirs));
    }
    std::fflush(stdout);
  }
}

}  // namespace rankwire::bench
