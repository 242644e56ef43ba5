// The packet-level twin: as many NICs as a fat-tree has hosts, on memory links to a fabric in virtual time. Every host
// sends one message of 2 MB to one other, no two to the same, in a lossless class, with an ACK a packet.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/run_ahead.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/roce/transport.h"
#include "dataplane/switch/virtual_fabric.h"
#include "tests/bench/bench.h"
#include "tests/bench/htsim.h"

namespace rankwire::bench {
namespace {

constexpr Line kTwinLine{Bandwidth(100'000'000'000), nanoseconds(500)};
constexpr Bytes kTwinMessage(2'000'000);
constexpr uint32_t kTwinWindow = 512;  // packets: more than a message, so that flow control alone holds a host back
constexpr size_t kQueueFrames = 1024;
constexpr uint32_t kFrames = 512;                                                // a host
constexpr uint32_t kFrameBytes = kHeaderRoom + kMaxControlBytes + kTrailerRoom;  // payload is by reference

double resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

constexpr uint32_t hosts_of(uint32_t arity) {
  return arity * arity * arity / 4;
}

/// Every host sends to one other, no two to the same.
std::vector<uint32_t> seeded_peers(uint32_t hosts) {
  std::vector<uint32_t> order(hosts);
  for (uint32_t h = 0; h < hosts; ++h) order[h] = h;
  Random random(1);
  for (uint32_t h = hosts - 1; h > 0; --h) std::swap(order[h], order[random.below(h)]);  // Sattolo: no fixed points
  return order;
}

TransportPlan plan_of(uint32_t hosts) {
  TransportPlan plan;
  plan.ranks = plan.messages_in_flight = hosts;
  const std::vector<uint32_t> peers = seeded_peers(hosts);
  for (uint32_t h = 0; h < hosts; ++h) {
    plan.nics.push_back({.id = NicId(h),
                         .port = PortId(h),
                         .mac = {{2, 0, 0, 0, static_cast<uint8_t>(h >> 8), static_cast<uint8_t>(h)}},
                         .ip = Ipv4Address{0xC6120001 + h},
                         .prefix_length = 15});
    Connection connection;
    connection.id = ConnectionId(h);
    connection.source = RankId(h);
    connection.destination = RankId(peers[h]);
    connection.source_nic = NicId(h);
    connection.destination_nic = NicId(peers[h]);
    connection.largest_message = kTwinMessage;
    plan.connections.push_back(connection);
  }
  return plan;
}

RoceOptions transport_options() {
  RoceOptions options;
  options.profile.window = kTwinWindow;
  options.profile.ack_every = 1;
  options.profile.requests_per_ack = 1;
  options.profile.timeout_exponent = 16;  // 0.27 s: nothing is lost
  options.receive_check = ReceiveCheck::kHeaderAndTrailer;
  options.announcements = Announcements::kOmitted;  // the fabric knows its stations
  return options;
}

/// XOFF at 15 packets and XON at 12, as in htsim's lossless queues.
FabricSwitchOptions switch_options() {
  FabricSwitchOptions device;
  device.latency = nanoseconds(400);
  device.classes.lossless = priority_bit(3);  // DSCP 26
  device.buffer = {.shared = Bytes(16 << 20),
                   .reserve = Bytes(8 << 10),
                   .queue_limit = std::nullopt,
                   .egress = {},
                   .ingress = {.exponent = 0, .fixed = Bytes(15 * 4154)},
                   .headroom = Bytes(64 << 10),
                   .resume_offset = Bytes(3 * 4154)};
  return device;
}

using Clock = std::chrono::steady_clock;

/// Adds up the time that another one takes.
class TimedDevice final : public Device {
 public:
  explicit TimedDevice(Device& device) : device_(device) {}

  bool step(Time now) noexcept override {
    const Span span(took_);
    return device_.step(now);
  }
  Time next_event() const noexcept override { return device_.next_event(); }
  Time run_ahead(Time limit) noexcept override {
    const Span span(took_);
    return device_.run_ahead(limit);
  }
  Clock::duration took() const { return took_; }

 private:
  struct Span {
    explicit Span(Clock::duration& sum_of_spans) : sum(sum_of_spans) {}
    ~Span() { sum += Clock::now() - begin; }

    Clock::duration& sum;
    const Clock::time_point begin = Clock::now();
  };

  Device& device_;
  Clock::duration took_{};
};

/// A twin without an engine: its messages are posted at time 0.
class Twin {
 public:
  explicit Twin(uint32_t arity)
      : hosts_(hosts_of(arity)),
        plan_(plan_of(hosts_)),
        pool_(size_t{hosts_} * kFrames, kFrameBytes, PoolUse::kOneThread),
        bells_(hosts_, BellUse::kOneThread),
        arrivals_(hosts_, BellUse::kOneThread) {
    std::vector<FramePort*> ends;
    std::vector<PortBinding> bindings;
    std::vector<FabricStation> stations;
    for (uint32_t h = 0; h < hosts_; ++h) {
      auto [nic, end] = make_memory_link(pool_, kQueueFrames, "host", {&bells_, h}, {&arrivals_, h});
      ends.push_back(end.get());
      bindings.push_back({PortId(h), nic.get(), kTwinLine.rate});
      stations.push_back({plan_.nics[h].mac, h});
      links_.push_back(std::move(nic));
      links_.push_back(std::move(end));
    }
    FabricOptions options;
    options.stations = stations;
    options.bells = &bells_;
    options.addresses = hosts_;
    options.frames = hosts_ * kFrames;
    const FabricSwitchOptions device = switch_options();
    fabric_ = std::make_unique<VirtualFabric>(
        fat_tree({.k = arity, .uplink = kTwinLine}, std::vector<Line>(hosts_, kTwinLine)), ends, std::span(&device, 1),
        options);
    transport_ = std::make_unique<RoceTransport>(transport_options(), bindings, &arrivals_);
    if (!transport_->connect(transport_->prepare(plan_)).empty()) fail_run("the twin's connections failed");
  }
  ~Twin() { transport_->close(); }

  /// Until everything that was posted is delivered and acknowledged.
  void run() {
    for (uint32_t h = 0; h < hosts_; ++h) post(h);
    const auto begin = Clock::now();
    TimedDevice fabric(*fabric_);
    for (uint32_t left = 2 * hosts_;; ++turns_) {
      fabric.step(now_);
      left -= poll();
      if (left == 0) break;
      now_ = std::max(now_, run_ahead(fabric, *transport_, Time::never()));
      if (now_ == Time::never()) fail_run("the twin stands still");
    }
    took_ = Clock::now() - begin;
    in_fabric_ = fabric.took();
  }

  /// Throws Error unless the run was what was meant to be measured.
  void expect_clean() const {
    const TransportCounters counters = transport_->counters();
    if (counters.retransmitted + counters.timeouts + counters.icrc_errors + counters.malformed > 0 ||
        !fabric_->conserved())
      fail_run("the twin has lost packets: {} retransmitted", counters.retransmitted);
  }
  uint64_t data_packets() const { return transport_->counters().data_packets_tx; }
  uint64_t turns() const { return turns_; }
  /// Of a host's line as of a switch's.
  uint64_t hops() const { return fabric_->hops() + transport_->counters().packets_tx; }
  double fabric_share() const {
    return std::chrono::duration<double>(in_fabric_) / std::chrono::duration<double>(took_);
  }
  Time now() const { return now_; }

 private:
  void post(uint32_t host) {
    Message message;
    message.id.source = host;
    message.bytes = kTwinMessage;
    message.connection = ConnectionId(host);
    if (transport_->post(now_, {&message, 1}) != 1) fail_run("a message was refused");
  }
  uint32_t poll() {
    const size_t n = transport_->poll(now_, events_);
    for (const Event& event : std::span(events_).first(n))
      if (event.kind == EventKind::kFailed) fail_run("a message failed");
    return static_cast<uint32_t>(n);
  }

  uint32_t hosts_;
  TransportPlan plan_;
  FramePool pool_;
  Doorbells bells_, arrivals_;
  std::vector<std::unique_ptr<FramePort>> links_;
  std::unique_ptr<VirtualFabric> fabric_;
  std::unique_ptr<RoceTransport> transport_;
  std::array<Event, 64> events_;
  Time now_;
  uint64_t turns_ = 0;
  Clock::duration took_{}, in_fabric_{};
};

/// What one run took, and what it did, which is the same every time.
struct Measured {
  double built = 0, took = 0;  ///< CPU seconds
  double packets = 0, hops = 0, turns = 0;
  double fabric_share = 0;
  double resident = 0;  ///< MiB, the most of the process so far
  Time end;
};

Measured measure_twin(uint32_t arity) {
  const double begin = cpu_seconds();
  Twin twin(arity);
  const double built = cpu_seconds();
  twin.run();
  const double took = cpu_seconds() - built;
  twin.expect_clean();
  return {.built = built - begin,
          .took = took,
          .packets = static_cast<double>(twin.data_packets()),
          .hops = static_cast<double>(twin.hops()),
          .turns = static_cast<double>(twin.turns()),
          .fabric_share = twin.fabric_share(),
          .resident = resident_mib(),
          .end = twin.now()};
}

void print_peer(const std::vector<double>& seconds, const std::vector<double>& ratios) {
  if (seconds.empty()) {
    std::printf(
        "              no htsim to compare with: RANKWIRE_HTSIM may name the htsim_roce of "
        "github.com/Broadcom/csg-htsim\n");
    return;
  }
  const auto [fastest, slowest] = std::ranges::minmax(seconds);
  const auto [least, most] = std::ranges::minmax(ratios);
  std::printf(
      "              htsim_roce, in turns with it: %.2f s of CPU (%.2f .. %.2f), %.1f times as much (%.1f .. %.1f)\n",
      median(seconds), fastest, slowest, median(ratios), least, most);
}

void print_twin(uint32_t arity) {
  const std::vector<uint32_t> to = seeded_peers(hosts_of(arity));
  std::vector<Measured> runs;
  // Other users of the machine come and go, so each run of the peer is compared with ours just before and just after.
  std::vector<double> theirs, ratios;
  for (int i = 0; i < kRuns; ++i) {
    const double peer = i > 0 ? htsim_seconds(to, kTwinMessage).value_or(0) : 0;  // 0: there is none
    runs.push_back(measure_twin(arity));
    if (peer == 0) continue;
    theirs.push_back(peer);
    ratios.push_back(2 * peer / (runs[i - 1].took + runs[i].took));
  }
  const double resident = runs.front().resident;  // later ones find memory that those before have left
  std::ranges::sort(runs, {}, &Measured::took);
  const Measured& middle = runs[runs.size() / 2];
  std::printf(
      "twin          fat-tree k=%u, %u hosts, permutation of 2 MB, an ACK a packet: %.2f s of CPU (%.2f .. %.2f, and "
      "%.2f s to build) for %.0f data packets, %.2f M packet-hops/s, %.3f ms of virtual time\n"
      "              %.0f ns a data packet, %.0f%% of the time in the fabric, the rest in the NICs; %.0f turns of the "
      "loop; %.0f MiB resident\n",
      arity, hosts_of(arity), middle.took, runs.front().took, runs.back().took, middle.built, middle.packets,
      middle.hops / middle.took / 1e6, static_cast<double>(middle.end.ps) / 1e9, middle.took * 1e9 / middle.packets,
      100 * middle.fabric_share, middle.turns, resident);
  print_peer(theirs, ratios);
}

}  // namespace

void twin_permutation(Dpdk&) {
  print_twin(16);
}

void twin_permutation_small(Dpdk&) {
  print_twin(8);
}

}  // namespace rankwire::bench
