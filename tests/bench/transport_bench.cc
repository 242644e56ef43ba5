#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
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

constexpr uint32_t kConnections = 4096;
constexpr uint32_t kMessagesEach = 2;
constexpr Bytes kMessage(64 << 10);
constexpr uint32_t kFirstRemoteQueuePair = 0x10000;
constexpr size_t kUntaggedIpv4 = sizeof(EthernetHeader) + sizeof(Ipv4Header);  // bytes in front of UDP
constexpr uint32_t kWindow = 128;  // packets: more than a message, so that there is one acknowledgement a message
constexpr uint64_t kFramesPerCheck = 1'000'000;

/// The port under the transport, and the far end of its connections: answers every AckReq, which only the
/// last packet of a message has, by an acknowledgement that the next `receive` returns. Nothing is received from the
/// port itself, which must be one that drops what it sends.
class AcknowledgingPort final : public FramePort {
 public:
  AcknowledgingPort(FramePort& port, std::vector<HeaderTemplate> answers)
      : port_(port), answers_(std::move(answers)), messages_(answers_.size()), owed_(1 << 16) {}

  size_t allocate(std::span<Frame> frames) noexcept override { return port_.allocate(frames); }

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    // The frames are the port's once they are sent.
    for (const Frame& frame : frames) answer(frame);
    const size_t taken = port_.transmit(now, frames);
    sent_ += taken;
    if (sent_ >= next_check_ && taken > 0) check_sent(frames[taken - 1]);
    return taken;
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

  uint64_t checked() const { return checked_; }
  uint64_t wrong() const { return wrong_; }

 private:
  struct Owed {
    uint32_t connection, psn, msn;
  };

  // The port has dropped the frame, and nothing has been written to its memory since: what was sent is still there.
  void check_sent(const Frame& frame) noexcept {
    Frame whole;
    whole.head = frame.head;
    whole.head_length = static_cast<uint16_t>(frame.length());
    const ParsedPacket packet = parse(whole);
    if (is_foreign(packet.reject)) return;  // an announcement
    next_check_ = sent_ + kFramesPerCheck;
    const bool good = packet.reject == Reject::kNone && icrc_matches(whole, packet) &&
                      std::memcmp(packet.payload, payload_pattern().data(), packet.payload_length) == 0 &&
                      packet.destination_qp - kFirstRemoteQueuePair < answers_.size();
    ++checked_;
    if (!good) ++wrong_;
  }

  void answer(const Frame& frame) noexcept {
    const Bth& bth = reinterpret_cast<const TransportHeader*>(frame.head + kUntaggedIpv4)->bth;
    if ((bth.ack_request & Bth::kAckRequest) == 0) return;
    const uint32_t connection = bth.destination_qp.value() - kFirstRemoteQueuePair;
    if (connection >= answers_.size()) return;
    const Owed owed{connection, bth.psn.value(), ++messages_[connection]};
    owed_.push({&owed, 1});
  }

  FramePort& port_;
  std::vector<HeaderTemplate> answers_;  // by connection
  std::vector<uint32_t> messages_;       // completed, by connection
  SpscRing<Owed> owed_;
  uint64_t sent_ = 0, next_check_ = 0, checked_ = 0, wrong_ = 0;
};

TransportPlan make_plan() {
  TransportPlan plan;
  plan.ranks = 2;
  for (uint32_t i = 0; i < 2; ++i) {
    plan.nics.push_back({.id = NicId(i),
                         .port = PortId(i),
                         .mac = MacAddress{{2, 0, 0, 0, 0, static_cast<uint8_t>(i + 1)}},
                         .ip = Ipv4Address{0xC6120001 + i},
                         .prefix_length = 15});
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
    path.destination_qp = RoceTransport::kFirstQueuePair + connection.id.value;
    headers.push_back(make_template(path));
  }
  return headers;
}

// Faster than any core: the pacer never holds a packet back.
constexpr Bandwidth kUnlimited(100'000'000'000'000);

RoceOptions stream_options(uint32_t mtu) {
  RoceOptions options;
  options.mtu = mtu;
  options.profile.window = kWindow;
  options.profile.ack_every = kWindow;
  return options;
}

/// A stream of messages on all connections; every message that is acknowledged is followed by the next.
class Stream {
 public:
  explicit Stream(RoceTransport& transport) : transport_(transport), next_(kConnections) {}

  void start(Time now) noexcept {
    for (uint32_t i = 0; i < kConnections * kMessagesEach; ++i) post(now, ConnectionId(i % kConnections));
  }
  void poll(Time now) noexcept {
    const size_t n = transport_.poll(now, events_);
    for (const Event& event : std::span(events_).first(n)) {
      if (event.kind == EventKind::kSent) post(now, event.connection);
    }
  }
  /// Data packets since the last call.
  uint64_t sent() noexcept {
    const uint64_t before = sent_;
    sent_ = transport_.counters().data_packets_tx;
    return sent_ - before;
  }

 private:
  void post(Time now, ConnectionId connection) noexcept {
    Message message;
    message.bytes = kMessage;
    message.connection = connection;
    message.index = next_[connection.value]++;
    transport_.post(now, {&message, 1});
  }

  RoceTransport& transport_;
  std::vector<uint32_t> next_;  // by connection
  std::array<Event, 64> events_;
  uint64_t sent_ = 0;
};

/// Throws Error when a transport has had to repeat or drop anything, or has sent nothing.
void expect_clean(const RoceTransport& transport) {
  const TransportCounters counters = transport.counters();
  if (counters.retransmitted + counters.timeouts + counters.icrc_errors + counters.malformed +
              counters.messages_failed >
          0 ||
      counters.packets_tx == 0) {
    fail_run(
        "the stream was not clean: {} retransmitted, {} time-outs, {} ICRC errors, {} malformed, {} messages failed",
        counters.retransmitted, counters.timeouts, counters.icrc_errors, counters.malformed, counters.messages_failed);
  }
}

void connect(RoceTransport& transport, std::span<const EndPoint> remote) {
  const std::vector<ConnectFailure> failures = transport.connect(remote);
  if (!failures.empty()) fail_run("connection 0: {}", failures.front().reason);
}

/// Data packets a second on one core, into a port that drops them.
double transmit_rate(FramePort& port, uint32_t mtu) {
  const TransportPlan plan = make_plan();
  AcknowledgingPort acknowledging(port, answer_headers(plan));
  RoceTransport transport(stream_options(mtu), {{PortId(0), &acknowledging, kUnlimited}});
  transport.prepare(plan);
  connect(transport, remote_ends(plan));
  RealClock clock;
  Stream stream(transport);
  stream.start(clock.now());
  const double rate = rate_of([&] {
    stream.poll(clock.now());
    return stream.sent();
  });
  expect_clean(transport);
  if (acknowledging.wrong() > 0 || acknowledging.checked() == 0)
    fail_run("of {} frames read back {} were wrong", acknowledging.checked(), acknowledging.wrong());
  return rate;
}

/// Frames of an earlier stream would be taken for this one's, which begins with the same numbers.
void drain(FramePort& port) {
  std::array<Frame, 64> frames;
  while (const size_t n = port.receive(Time(), frames)) port.release({frames.data(), n});
}

/// Data packets a second when one core does everything: requests, their check and answers at the other end of a link,
/// completions, and the next messages.
double loop_rate(FramePort& near, FramePort& far, uint32_t mtu) {
  drain(near);
  drain(far);
  const TransportPlan plan = make_plan();
  RoceTransport source(stream_options(mtu), {{PortId(0), &near, kUnlimited}});
  RoceTransport destination(stream_options(mtu), {{PortId(1), &far, kUnlimited}});
  std::vector<EndPoint> ends = source.prepare(plan);
  std::ranges::copy(destination.prepare(plan), std::back_inserter(ends));
  connect(source, ends);
  connect(destination, ends);
  RealClock clock;
  Stream stream(source);
  stream.start(clock.now());
  std::array<Event, 64> events;
  const double rate = rate_of([&] {
    const Time now = clock.now();
    stream.poll(now);
    destination.poll(now, events);
    return stream.sent();
  });
  expect_clean(source);
  expect_clean(destination);
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
      ours.push_back(transmit_rate(*port, mtu));
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

void transport_loop(Dpdk& dpdk) {
  auto [near, far] = make_ring_link(dpdk.environment(), "loop", {.queue_frames = 1024, .frames = 4095});
  for (const uint32_t mtu : {1024u, 4096u}) {
    std::vector<double> rates;
    for (int i = 0; i < kRuns; ++i) rates.push_back(loop_rate(*near, *far, mtu));
    std::printf(
        "transport_loop MTU %4u, %u QPs, net_ring, ICRC of every whole frame: %6.2f M data packets/s on one core\n",
        mtu, kConnections, median(rates) / 1e6);
    std::fflush(stdout);
  }
}

}  // namespace rankwire::bench
