#include "dataplane/virtual_fabric.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "dataplane/fabric_frames.h"
#include "fabric/ecmp_hash.h"

namespace rankwire {
namespace {

constexpr size_t kBurst = 32;
constexpr uint32_t kAhead = 4;  // how many events before it is handled memory is fetched for one
constexpr uint32_t kLargeFrame = 4200;
constexpr uint32_t kFlowlets = 4096;  // a switch, as in CONGA's 64 Ki for 64 k flows a leaf, scaled down

void check_switch(const FabricSwitchOptions& device) {
  if (device.loss_ppm > 1'000'000) fail_input("a loss of {} parts per million is above 1000000", device.loss_ppm);
  if (device.latency < Duration()) fail_input("a switch's latency is negative");
  if (device.buffer.shared <= Bytes() || (device.buffer.queue_limit && *device.buffer.queue_limit <= Bytes())) {
    fail_input("a switch's buffer holds no frame");
  }
  for (const int8_t exponent : {device.buffer.egress.exponent, device.buffer.ingress.exponent}) {
    if (exponent < -8 || exponent > 8) fail_input("alpha is 2^-8 .. 2^8, not 2^{}", exponent);
  }
  if (std::ranges::any_of(device.scheduler.weights, [](uint8_t weight) { return weight < 1 || weight > 100; })) {
    fail_input("weights of priorities are 1 .. 100");
  }
  if (device.red && (device.red->minimum > device.red->maximum || device.red->most_ppm > 1'000'000)) {
    fail_input("RED's thresholds or its probability are out of range");
  }
  if (device.pause_quanta == 0) fail_input("a pause of 0 quanta pauses nothing");
  if (device.watchdog && (device.watchdog->detection <= Duration() || device.watchdog->restoration <= Duration())) {
    fail_input("the times of a PFC watchdog must be positive");
  }
}

void check_options(const Topology& topology, size_t hosts, std::span<const FabricSwitchOptions> devices,
                   const FabricOptions& options) {
  check(topology);
  if (hosts != topology.hosts.size() || hosts > FabricPacket::kFlooded) {
    fail_input("{} hosts' ports for {} hosts of the fabric, at most {}", hosts, topology.hosts.size(),
               FabricPacket::kFlooded);
  }
  if (devices.size() != 1 && devices.size() != topology.switches.size()) {
    fail_input("options of {} switches for a fabric of {}", devices.size(), topology.switches.size());
  }
  for (const FabricSwitchOptions& device : devices) check_switch(device);
  if (options.addresses == 0) fail_input("a fabric must be able to know at least one address");
  if (options.frames < 2 * kBurst) fail_input("a fabric of {} frames is too small", options.frames);
  if (options.series && (options.series->interval <= Duration() || options.series->rows < 2)) {
    fail_input("samples need a positive interval and two rows");
  }
  Time last;
  for (const CableEvent& event : options.schedule) {
    if (event.cable >= topology.cables.size()) fail_input("there is no cable {} to change", event.cable);
    if (event.at < last) fail_input("changes of cables are not in the order of time");
    last = event.at;
  }
}

const Topology& checked(const Topology& topology, size_t hosts, std::span<const FabricSwitchOptions> devices,
                        const FabricOptions& options) {
  check_options(topology, hosts, devices, options);
  return topology;
}

uint64_t mac_number(const MacAddress& mac) {
  return std::accumulate(mac.bytes.begin(), mac.bytes.end(), uint64_t{0},
                         [](uint64_t number, uint8_t byte) { return number << 8 | byte; });
}

/// Every frame has one event at most, a port one of each other kind and its share of pauses, a change of a cable two.
uint32_t event_capacity(const Topology& topology, const FabricOptions& options, uint32_t pauses_of_port) {
  constexpr uint32_t kEventsOfPort = 5;
  return options.frames + (kEventsOfPort + pauses_of_port) * topology.ports() +
         2 * static_cast<uint32_t>(options.schedule.size()) + 1;
}

/// So long a day of the calendar that with every host's line full of large frames it has a few events, and so long a
/// calendar that most of what a frame does next is within it.
int day_shift(const Topology& topology, std::span<const FabricSwitchOptions> devices) {
  constexpr int64_t kEventsOfFrame = 8, kEventsOfDay = 3, kShortest = 4;
  Duration latest, frame = Duration::max();
  for (uint32_t p = 0; p < topology.ports(); ++p) {
    const Line& line = topology.line_of(p);
    const Duration time = serialization_time(line_bytes(kLargeFrame), line.rate);
    latest = std::max(latest, line.latency + time * 2);
    if (topology.is_host_port(p)) frame = std::min(frame, time);
  }
  Duration latency;
  for (const FabricSwitchOptions& device : devices) latency = std::max(latency, device.latency);
  const int64_t dense = frame.ps * kEventsOfDay / (kEventsOfFrame * static_cast<int64_t>(topology.hosts.size()));
  int shift = kShortest;
  while (shift < FabricEventQueue::kLongestDay &&
         (dense >> (shift + 1) > 0 || FabricEventQueue::kDays << shift < (latest + latency).ps)) {
    ++shift;
  }
  return shift;
}

}  // namespace

uint64_t FabricPortCounters::dropped() const {
  return std::accumulate(drops.begin(), drops.end(), uint64_t{0});
}

VirtualFabric::VirtualFabric(const Topology& topology, std::span<FramePort* const> hosts,
                             std::span<const FabricSwitchOptions> devices, const FabricOptions& options)
    : topology_(checked(topology, hosts.size(), devices, options)),
      options_(options),
      routes_(topology_),
      cable_in_use_(topology_.cables.size(), 1),
      stations_(options.addresses),
      first_host_port_(topology_.host_port(0)),
      events_(event_capacity(topology_, options, kPausesOfPort), day_shift(topology_, devices)),
      packets_(options.frames),
      due_(topology_.ports()),
      refused_(topology_.ports()) {
  switches_.reserve(topology_.switches.size());
  for (uint32_t s = 0; s < topology_.switches.size(); ++s) {
    const uint64_t seed = mix64(options.seed + s * 0x9E3779B97F4A7C15u);
    switches_.emplace_back(devices[devices.size() == 1 ? 0 : s], seed,
                           switch_hash_seed(options.seed, s, options.balancing.seed_per_switch));
    if (options.balancing.spreading == Spreading::kFlowlet) switches_.back().flowlets.resize(kFlowlets);
  }
  ports_.reserve(topology_.ports());
  flow_control_.reserve(topology_.ports());
  for (uint32_t p = 0; p < topology_.ports(); ++p) {
    const Line& line = topology_.line_of(p);
    FramePort* const host = topology_.is_host_port(p) ? hosts[p - 2 * topology_.cables.size()] : nullptr;
    Port& port = ports_.emplace_back(host, LineTimes(line.rate), topology_.switch_of(p).value);
    port.latency = line.latency;
    if (host == nullptr) {
      const FabricSwitchOptions& next = switches_[topology_.switch_of(p ^ 1).value].options;
      port.next_latency = next.latency;
      port.next_cuts_through = next.forwarding == Forwarding::kCutThrough;
    } else {
      edges_.push_back(routes_.destination(SwitchId(port.device)));
    }
    switches_[port.device].ports.push_back(p);
    flow_control_.emplace_back(line.rate);
  }
  if (options.series) series_ = std::make_unique<FabricSeries>(*options.series, topology_.ports() * kPriorities);
  for (const FabricStation& station : options.stations) {
    stations_.learn(mac_number(station.mac), static_cast<uint16_t>(station.host));
  }
  options_.stations = {};
  for (uint32_t i = 0; i < options_.schedule.size(); ++i) {
    events_.push(options_.schedule[i].at, FabricEventKind::kCable, 0, i);
  }
}

bool VirtualFabric::step(Time now) noexcept {
  now_ = std::max(now_, now);
  listen(now);
  for (uint32_t n = refused_.size(); n > 0; --n) due_.push(refused_.pop());
  while (events_.next() <= now) pass(events_.pop());
  while (!due_.empty()) deliver(due_.pop(), now);
  return std::exchange(told_, handled_) != handled_;
}

Time VirtualFabric::run_ahead(Time limit) noexcept {
  // What the hosts have sent is heard by the next step, before what comes after it.
  limit = std::min(limit, next_outside());
  while (events_.next() < limit && events_.front().kind != FabricEventKind::kDeliver) pass(events_.pop());
  return std::min(events_.next(), next_outside());
}

void VirtualFabric::pass(const FabricEvent& event) noexcept {
  if (series_ && series_->due(event.at)) sample(event.at);
  fetch_ahead();
  handle(event);
  ++handled_;
}

/// Memory is fetched for events that are handled soon: for the first of a day when it begins, then for one more with
/// each that is handled.
void VirtualFabric::fetch_ahead() noexcept {
  const bool turned = std::exchange(day_, events_.turns()) != events_.turns();
  for (uint32_t n = turned ? 0 : kAhead - 1; n < kAhead; ++n) {
    const FabricEvent* const ahead = events_.ahead(n);
    if (ahead == nullptr) return;
    const Port& port = ports_[ahead->port];
    __builtin_prefetch(&port, 1);
    if (ahead->kind == FabricEventKind::kArrive) {
      __builtin_prefetch(&packets_[ahead->argument], 1);
      __builtin_prefetch(&port.counters, 1);
      __builtin_prefetch(&port.groups[recent_priority_], 1);
    } else {
      __builtin_prefetch(ahead->kind == FabricEventKind::kDeliver ? static_cast<const void*>(&port.line)
                                                                  : &port.queues[recent_priority_],
                         1);
    }
  }
}

Time VirtualFabric::next_event() const noexcept {
  return std::min(events_.next(), next_outside());
}

/// When a host has something for the fabric, or is offered again what it has refused.
Time VirtualFabric::next_outside() const noexcept {
  Time next = Time::never();
  const auto look = [&](uint32_t host) { next = std::min(next, ports_[first_host_port_ + host].host->next_event()); };
  if (options_.bells != nullptr) {
    options_.bells->look(look);
  } else {
    for (uint32_t host = 0; host < topology_.hosts.size(); ++host) look(host);
  }
  if (!refused_.empty()) next = std::min(next, packets_[ports_[refused_.front()].line.head].frame.arrival);
  return next;
}

/// As of the end of the interval: nothing has happened since.
void VirtualFabric::sample(Time now) noexcept {
  const Time at = std::min(series_->end(), now);
  series_->sample([&](uint32_t queue) {
    const uint32_t port = queue / kPriorities, priority = queue % kPriorities;
    return std::pair(ports_[port].queues[priority].bytes, (paused(port, at) & priority_bit(priority)) != 0);
  });
}

void VirtualFabric::finish_series() noexcept {
  if (series_) sample(now_);
}

void VirtualFabric::handle(const FabricEvent& event) noexcept {
  const uint32_t port = event.port;
  switch (event.kind) {
    case FabricEventKind::kArrive:
      return arrive(port, event.argument, event.at);
    case FabricEventKind::kWake:
      ports_[port].wake_due = false;
      return serve_or_wake(port, event.at);
    case FabricEventKind::kExpire:
      flow_control_[port].expiry_due = false;
      return serve_or_wake(port, event.at);
    case FabricEventKind::kPause: {
      --pauses_on_cables_;
      PauseFrame pause{.priorities = static_cast<PrioritySet>(event.argument)};
      const uint16_t quanta = switches_[ports_[port ^ 1].device].options.pause_quanta;
      for (uint32_t i = 0; i < kPriorities; ++i)
        if ((event.argument >> 8 & priority_bit(i)) != 0) pause.quanta[i] = quanta;
      return obey(port, pause, event.at);
    }
    case FabricEventKind::kRefresh:
      flow_control_[port].refresh_due = false;
      return refresh(port, event.at);
    case FabricEventKind::kWatchdog:
      flow_control_[port].look_due = false;
      return look_for_storms(port, event.at);
    case FabricEventKind::kDeliver:
      ports_[port].delivery_due = false;
      __builtin_prefetch(&packets_[ports_[port].line.head], 1);
      return due_.push(port);
    case FabricEventKind::kCable:
      return change_cable(options_.schedule[event.argument], event.at);
    case FabricEventKind::kReroute:
      return routes_.compute(cable_in_use_);
  }
}

/// Takes what hosts have sent.
void VirtualFabric::listen(Time now) noexcept {
  if (options_.bells == nullptr) {
    for (uint32_t port = first_host_port_; port < ports_.size(); ++port) receive(port, now);
    return;
  }
  options_.bells->answer_all([&](uint32_t host) {
    const uint32_t port = first_host_port_ + host;
    receive(port, now);
    if (ports_[port].host->next_event() != Time::never()) options_.bells->ring(host);
  });
}

/// Takes what waits at the host's port, as far as there is room.
void VirtualFabric::receive(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  const FabricSwitch& device = switches_[port.device];
  const bool decides_early = device.options.forwarding == Forwarding::kCutThrough;
  FrameRoom<kBurst> room_of_burst;
  const std::span<Frame> burst = room_of_burst.frames();
  size_t n = 0;
  do {
    const size_t room = std::min<size_t>(kBurst, packets_.room());
    n = room == 0 ? 0 : port.host->receive(now, burst.first(room));
    for (const Frame& frame : burst.first(n)) {
      const Time begun = std::max(frame.arrival + port.latency, port.input_free);
      port.input_free = begun + port.line_times.of(frame.length());
      const uint32_t handle = packets_.take();
      packets_[handle].frame = frame;
      packets_[handle].frame.arrival = port.input_free;
      if (options_.observer != nullptr) options_.observer->received(number, packets_[handle].frame);
      const Time read =
          decides_early && frame.length() > kHeaderBytes ? begun + port.line_times.of(kHeaderBytes) : port.input_free;
      events_.push(read + device.options.latency, FabricEventKind::kArrive, number, handle);
      port.counters.rx_bytes += frame.length();
      // Read when the frame is forwarded, after the whole burst is in.
      __builtin_prefetch(frame.head);
    }
    port.counters.rx_frames += n;
    handled_ += n;
  } while (n == kBurst);
}

/// Hands out what has arrived at the host by `now`.
void VirtualFabric::deliver(uint32_t number, Time now) noexcept {
  Port& port = ports_[number];
  FrameRoom<kBurst> room;
  const std::span<Frame> frames = room.frames();
  size_t n = 0, taken = 0;
  do {
    n = 0;
    for (uint32_t handle = port.line.head; n < kBurst && handle != FabricPacket::kNone;
         handle = packets_[handle].next) {
      if (packets_[handle].frame.arrival > now) break;
      frames[n] = packets_[handle].frame;
      __builtin_prefetch(frames[n++].head, 1);
    }
    if (n == 0) break;
    taken = port.host->transmit(now, frames.first(n));
    for (size_t i = 0; i < taken; ++i) {
      port.counters.tx_bytes += frames[i].length();
      packets_.give_back(packets_.remove_front(port.line));
    }
    port.counters.tx_frames += taken;
    handled_ += taken;
  } while (taken == kBurst);
  if (taken < n) return refused_.push(number);
  if (port.line.empty() || port.delivery_due) return;
  port.delivery_due = true;
  events_.push(packets_[port.line.head].frame.arrival, FabricEventKind::kDeliver, number);
}

void VirtualFabric::release(uint32_t handle) noexcept {
  // Frames of one host's port are good for every other's.
  ports_.back().host->release({&packets_[handle].frame, 1});
  packets_.give_back(handle);
}

void VirtualFabric::drop(uint32_t handle, FabricDrop reason, uint32_t port) noexcept {
  release(handle);
  ++ports_[port].counters.drops[static_cast<size_t>(reason)];
}

std::vector<FabricPortCounters> VirtualFabric::counters() const {
  std::vector<FabricPortCounters> counters;
  counters.reserve(ports_.size());
  for (const Port& port : ports_) {
    FabricPortCounters& c = counters.emplace_back(port.counters);
    for (uint32_t i = 0; i < kPriorities; ++i) {
      c.paused[i] = flow_control_[number(port)].pauses.time_paused(i, now_);
    }
  }
  return counters;
}

bool VirtualFabric::conserved() const {
  uint64_t in = 0, out = held();
  for (const Port& port : ports_) {
    const FabricPortCounters& c = port.counters;
    in += c.flood_copies + c.pauses_made;
    out += c.dropped();
    if (port.host == nullptr) continue;
    in += c.rx_frames;
    out += c.tx_frames + c.pauses_rx;
  }
  return in == out;
}

}  // namespace rankwire
