// Data packets a second through the transport on one core: sent into a port that drops them, and around a loop.
#include "tests/bench/transport_bench.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "dataplane/dpdk/port.h"
#include "dataplane/protocol/message_pool.h"
#include "dataplane/protocol/queue_pair_numbers.h"
#include "dataplane/roce/transmit_lane.h"
#include "dataplane/roce/transport.h"
#include "tests/bench/acknowledging_port.h"
#include "tests/bench/bench.h"
#include "tests/bench/testpmd.h"
#include "tests/bench/two_nics.h"

namespace rankwire::bench {
namespace {

constexpr uint32_t kMessagesEach = 2;
constexpr Bytes kMessage(64 << 10);
constexpr uint32_t kFirstRemoteQueuePair = 0x40000;
constexpr uint32_t kWindow = 128;  // packets: more than a message, so that there is one acknowledgement a message

TransportPlan make_plan(uint32_t connections) {
  TransportPlan plan = plan_of_two_nics();
  for (uint32_t i = 0; i < connections; ++i) {
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
  plan.messages_in_flight = connections * kMessagesEach;
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

std::vector<PacketPath> answer_paths(const TransportPlan& plan, const RoceOptions& options) {
  std::vector<PacketPath> paths;
  for (const Connection& connection : plan.connections) {
    PacketPath path;
    path.source_mac = plan.nics[1].mac;
    path.destination_mac = plan.nics[0].mac;
    path.source_ip = plan.nics[1].ip;
    path.destination_ip = plan.nics[0].ip;
    path.destination_qp = QueuePairNumbers::kFirst + connection.id.value;
    path.source_port = linux_source_port(kFirstRemoteQueuePair + connection.id.value, path.destination_qp);
    path.time_to_live = options.profile.hop_limit;
    path.migration = options.profile.migration;
    path.markings = options.markings;
    paths.push_back(path);
  }
  return paths;
}

// Faster than any core: the pacer never holds a packet back.
constexpr Bandwidth kUnlimited(100'000'000'000'000);

RoceOptions stream_options(const Load& load) {
  RoceOptions options;
  options.mtu = load.mtu;
  options.profile.window = kWindow;
  options.profile.ack_every = kWindow;
  options.turn = load.turn;
  options.receive_check = load.check;
  options.tally = load.tally;
  options.profile.timeout_exponent = 20;  // 4.3 s: a machine that others use may take the core away for long
  return options;
}

/// A stream of messages on all connections; every message that is acknowledged is followed by the next.
class MessageStream {
 public:
  MessageStream(RoceTransport& transport, uint32_t connections) : transport_(transport), next_(connections) {}

  void start(Time now) noexcept {
    for (uint32_t i = 0; i < kMessagesEach; ++i)
      for (uint32_t connection = 0; connection < next_.size(); ++connection) {
        Message message;
        make_next(ConnectionId(connection), message);
        transport_.post(now, {&message, 1});
      }
  }
  void poll(Time now) noexcept {
    const size_t n = transport_.poll(now, events_);
    size_t next = 0;
    for (const Event& event : std::span(events_).first(n))
      if (event.kind == EventKind::kSent) make_next(event.connection, messages_[next++]);
    transport_.post(now, {messages_.data(), next});
  }
  /// Data packets since the last call.
  uint64_t sent() noexcept {
    const uint64_t before = sent_;
    sent_ = transport_.counters().data_packets_tx;
    return sent_ - before;
  }

 private:
  // In its place: what is copied as soon as it is written waits for the writing.
  void make_next(ConnectionId connection, Message& message) noexcept {
    message.bytes = kMessage;
    message.connection = connection;
    message.index = next_[connection.value]++;
  }

  RoceTransport& transport_;
  std::vector<uint32_t> next_;  // by connection
  std::array<Event, 64> events_;
  std::array<Message, 64> messages_;
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

/// Calls `work` for about `kRunTime` and returns the data packets that the stream has sent, a second.
template <class Source, class Work>
double packets_a_second(Source& source, Work work) {
  // Reading the counters costs as much as a few packets.
  constexpr int kTurns = 64;
  return rate_of([&] {
    for (int i = 0; i < kTurns; ++i) work();
    return source.sent();
  });
}

class StreamIntoNothing final : public StreamEnd {
 public:
  StreamIntoNothing(FramePort& port, const Load& load)
      : plan_(make_plan(load.connections)),
        port_(port, load.mtu, kFirstRemoteQueuePair, answer_paths(plan_, stream_options(load))),
        transport_(stream_options(load), {{PortId(0), &port_, kUnlimited}}),
        stream_(transport_, load.connections) {
    transport_.prepare(plan_);
    connect(transport_, remote_ends(plan_));
    stream_.start(clock_.now());
  }
  void turn() noexcept override { stream_.poll(clock_.now()); }
  uint64_t sent() noexcept override { return stream_.sent(); }
  void expect_clean() const override {
    bench::expect_clean(transport_);
    if (port_.wrong() > 0 || port_.checked() == 0)
      fail_run("of {} frames read back {} were wrong", port_.checked(), port_.wrong());
  }

 private:
  const TransportPlan plan_;
  AcknowledgingPort port_;
  RoceTransport transport_;
  RealClock clock_;
  MessageStream stream_;
};

/// On one core, into a port that drops them. The stream's class is known here, so that no turn is a virtual call.
double transmit_rate(FramePort& port, const Load& load) {
  StreamIntoNothing stream(port, load);
  const double rate = packets_a_second(stream, [&] { stream.turn(); });
  stream.expect_clean();
  return rate;
}

/// Frames of an earlier stream would be taken for this one's, which begins with the same numbers.
void drain(FramePort& port) {
  std::array<Frame, 64> frames;
  while (const size_t n = port.receive(Time(), frames)) port.release({frames.data(), n});
}

class LoopSource final : public StreamEnd {
 public:
  LoopSource(std::unique_ptr<RoceTransport> transport, uint32_t connections)
      : transport_(std::move(transport)), stream_(*transport_, connections) {
    stream_.start(clock_.now());
  }
  void turn() noexcept override { stream_.poll(clock_.now()); }
  uint64_t sent() noexcept override { return stream_.sent(); }
  void expect_clean() const override { bench::expect_clean(*transport_); }

 private:
  const std::unique_ptr<RoceTransport> transport_;
  RealClock clock_;
  MessageStream stream_;
};

class LoopDestination final : public StreamEnd {
 public:
  explicit LoopDestination(std::unique_ptr<RoceTransport> transport) : transport_(std::move(transport)) {}
  void turn() noexcept override { transport_->poll(clock_.now(), events_); }
  uint64_t sent() noexcept override { return 0; }
  void expect_clean() const override { bench::expect_clean(*transport_); }

 private:
  const std::unique_ptr<RoceTransport> transport_;
  RealClock clock_;
  std::array<Event, 64> events_;
};

double loop_rate(FramePort& near, FramePort& far, const Load& load) {
  const Loop loop(near, far, load);
  const double rate = packets_a_second(*loop.source, [&] {
    for (uint32_t i = 0; i < load.lead; ++i) loop.source->turn();
    for (uint32_t i = 0; i < load.lead; ++i) loop.destination->turn();
  });
  loop.source->expect_clean();
  loop.destination->expect_clean();
  return rate;
}

void print_transmission(FramePort& port, Memory memory, const Load& load) {
  const uint32_t frame = load.mtu + 58;  // Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4
  // Other users of the machine come and go, so each run of testpmd is compared with ours just before and just after.
  std::vector<double> ours, theirs, ratios;
  for (int i = 0; i < kRuns; ++i) {
    const double before = transmit_rate(port, load);
    const auto rate = testpmd_tx_rate(frame, memory);
    ours.push_back((before + transmit_rate(port, load)) / 2);
    if (!rate) continue;
    theirs.push_back(*rate);
    ratios.push_back(ours.back() / *rate);
  }
  std::printf("transport_tx  MTU %4u, %u QPs, up to %2u packets a visit, net_null: %6.2f M data packets/s on one core",
              load.mtu, load.connections, load.turn, median(ours) / 1e6);
  if (theirs.empty()) {
    std::printf("; no dpdk-testpmd to compare with (package dpdk-dev)\n");
  } else {
    const auto [least, most] = std::ranges::minmax(ratios);
    std::printf("; dpdk-testpmd txonly, %u B: %6.2f M/s; ratio %.2f (%.2f .. %.2f)\n", frame, median(theirs) / 1e6,
                median(ratios), least, most);
  }
  std::fflush(stdout);
}

/// Of the transport's own, the plan included, when it has the sources of so many connections.
void print_memory(FramePort& port, uint32_t connections) {
  const TransportPlan plan = make_plan(connections);
  const std::vector<EndPoint> remote = remote_ends(plan);
  const auto in_use = [] {
    const struct mallinfo2 info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const size_t before = in_use();
  RoceTransport transport(stream_options({.connections = connections}), {{PortId(0), &port, kUnlimited}});
  transport.prepare(plan);
  connect(transport, remote);
  const auto messages = plan.messages_in_flight * (sizeof(OutboundMessage) + sizeof(uint32_t));
  const auto queue_pairs = static_cast<double>(in_use() - before - messages);
  std::printf("transport_tx  %u connected queue pairs: %.0f bytes each, and %zu a message in flight\n", connections,
              queue_pairs / connections, sizeof(OutboundMessage) + sizeof(uint32_t));
}

void print_loop(FramePort& near, FramePort& far, const Load& load) {
  std::vector<double> rates;
  for (int i = 0; i < kRuns; ++i) rates.push_back(loop_rate(near, far, load));
  std::printf(
      "transport_loop MTU %4u, %4u QPs, net_ring, up to %3u frames in flight, %s: %6.2f M data packets/s on one core\n",
      load.mtu, load.connections, load.lead * TransmitLane::kBurst,
      load.check == ReceiveCheck::kWholeFrame ? "ICRC of every whole frame" : "header and ICRC trailer  ",
      median(rates) / 1e6);
  std::fflush(stdout);
}

}  // namespace

std::unique_ptr<StreamEnd> stream_into_nothing(FramePort& port, const Load& load) {
  return std::make_unique<StreamIntoNothing>(port, load);
}

Loop::Loop(FramePort& near, FramePort& far, const Load& load) {
  drain(near);
  drain(far);
  const TransportPlan plan = make_plan(load.connections);
  const std::vector<PortBinding> left{{PortId(0), &near, kUnlimited}}, right{{PortId(1), &far, kUnlimited}};
  auto of_source = std::make_unique<RoceTransport>(stream_options(load), left);
  auto of_destination = std::make_unique<RoceTransport>(stream_options(load), right);
  std::vector<EndPoint> ends = of_source->prepare(plan);
  std::ranges::copy(of_destination->prepare(plan), std::back_inserter(ends));
  connect(*of_source, ends);
  connect(*of_destination, ends);
  source = std::make_unique<LoopSource>(std::move(of_source), load.connections);
  destination = std::make_unique<LoopDestination>(std::move(of_destination));
}

double transport_loop_rate(FramePort& near, FramePort& far, uint32_t mtu, uint32_t connections) {
  return loop_rate(near, far, {.mtu = mtu, .connections = connections});
}

void transport_tx(Dpdk& dpdk) {
  DpdkPortOptions options;
  options.frames = 4095;
  const auto port = open_dpdk_port(dpdk.environment(), "net_null0", options);
  const Memory memory = dpdk.environment().huge_pages() ? Memory::kHugePages : Memory::kOrdinary;
  for (const uint32_t turn : {16u, 1u})
    for (const uint32_t mtu : {1024u, 4096u}) print_transmission(*port, memory, {.mtu = mtu, .turn = turn});
  print_memory(*port, 100'000);
}

void transport_loop(Dpdk& dpdk) {
  auto [near, far] = make_ring_link(dpdk.environment(), "loop", {.queue_frames = 1024, .frames = 4095});
  for (const ReceiveCheck check : {ReceiveCheck::kWholeFrame, ReceiveCheck::kHeaderAndTrailer}) {
    for (const uint32_t mtu : {1024u, 4096u}) print_loop(*near, *far, {.mtu = mtu, .check = check});
    print_loop(*near, *far, {.connections = 64, .check = check});
    print_loop(*near, *far, {.check = check, .lead = 7});
  }
}

}  // namespace rankwire::bench
