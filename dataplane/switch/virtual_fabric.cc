#include "dataplane/switch/virtual_fabric.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "dataplane/switch/frames.h"
#include "fabric/ecmp_hash.h"

namespace rankwire {
namespace {

constexpr uint32_t kFewestFrames = 64;
// How many events before it is handled memory is fetched for one: what it names, what that leads to, and what that
// leads to.
constexpr uint32_t kFirstEventFetch = 24, kSecondEventFetch = 8;
static_assert(kFirstEventFetch <= FabricAgenda::kMostBehind);
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
  if (topology.hosts.size() > FabricPacket::kUnread) {
    fail_input("a fabric of {} hosts is too large, the most are {}", topology.hosts.size(), FabricPacket::kUnread);
  }
  if (hosts != topology.hosts.size()) {
    fail_input("{} hosts' ports for {} hosts of the fabric", hosts, topology.hosts.size());
  }
  if (devices.size() != 1 && devices.size() != topology.switches.size()) {
    fail_input("options of {} switches for a fabric of {}", devices.size(), topology.switches.size());
  }
  for (const FabricSwitchOptions& device : devices) check_switch(device);
  if (options.addresses == 0) fail_input("a fabric must be able to know at least one address");
  if (options.frames < kFewestFrames) fail_input("a fabric of {} frames is too small", options.frames);
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

/// Every frame has one event at most, a port one of each other kind and its share of pauses.
uint32_t event_capacity(const Topology& topology, const FabricOptions& options, uint32_t pauses_of_port) {
  constexpr uint32_t kEventsOfPort = 4;
  return options.frames + (kEventsOfPort + pauses_of_port) * topology.ports();
}

std::vector<uint32_t> switches_of_ports(const Topology& topology) {
  std::vector<uint32_t> switches(topology.ports());
  for (uint32_t p = 0; p < topology.ports(); ++p) switches[p] = topology.switch_of(p).value;
  return switches;
}

/// From when a port or a host begins to send until the switch at the other end has to do with it, at least: the
/// shortest that can be sent is as long as a pause, and a cut-through switch reads no less of a longer one.
Duration shortest_reach(const Topology& topology, std::span<const FabricSwitchOptions> devices) {
  Duration shortest = milliseconds(1);
  for (uint32_t p = 0; p < topology.ports(); ++p) {
    const Line& line = topology.line_of(p);
    const FabricSwitchOptions& device = devices[devices.size() == 1 ? 0 : topology.switch_of(p).value];
    shortest = std::min(shortest, line.latency + device.latency + LineTimes(line.rate).of(kPauseFrameBytes));
  }
  return shortest;
}

/// From when a switch begins to send to a host until that has received it, at least.
Duration shortest_reach_of_hosts(const Topology& topology) {
  Duration shortest = milliseconds(1);
  for (uint32_t h = 0; h < topology.hosts.size(); ++h) {
    const Line& line = topology.line_of(topology.host_port(h));
    shortest = std::min(shortest, line.latency + LineTimes(line.rate).of(kPauseFrameBytes));
  }
  return shortest;
}

/// The time on a host's line of the shortest frame.
Duration shortest_frame_of_hosts(const Topology& topology) {
  Duration shortest = milliseconds(1);
  for (uint32_t h = 0; h < topology.hosts.size(); ++h)
    shortest = std::min(shortest, LineTimes(topology.line_of(topology.host_port(h)).rate).of(kPauseFrameBytes));
  return shortest;
}

}  // namespace

VirtualFabric::VirtualFabric(const Topology& topology, std::span<FramePort* const> hosts,
                             std::span<const FabricSwitchOptions> devices, const FabricOptions& options)
    : topology_(checked(topology, hosts.size(), devices, options)),
      options_(options),
      routes_(topology_),
      cable_in_use_(topology_.cables.size(), 1),
      stations_(options.addresses),
      first_host_port_(topology_.host_port(0)),
      port_count_(topology_.ports()),
      agenda_(switches_of_ports(topology_), shortest_reach(topology_, devices),
              event_capacity(topology_, options, kPausesOfPort)),
      deliveries_(std::vector<uint32_t>(topology_.ports()), shortest_reach(topology_, devices), topology_.ports()),
      reach_(shortest_reach(topology_, devices)),
      reach_of_hosts_(shortest_reach_of_hosts(topology_)),
      longest_quiet_(shortest_frame_of_hosts(topology_) * kHostFrames),
      packets_(options.frames),
      due_(topology_.ports()),
      refused_(topology_.ports()),
      storms_(std::ranges::any_of(devices, [](const auto& device) { return device.watchdog.has_value(); })) {
  ingresses_.resize(size_t{topology_.ports()} * kPriorities);
  egresses_.resize(ingresses_.size());
  details_.resize(topology_.ports());
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
    const Line& cable = topology_.line_of(p);
    const uint32_t device = topology_.switch_of(p).value;
    FabricLine line{LineTimes(cable.rate), cable.latency, Duration(), false};
    if (topology_.is_host_port(p)) {
      links_.push_back(hosts[hosts_.size()]);
      hosts_.push_back({.port = hosts[hosts_.size()], .line = {}});
      edges_.push_back(routes_.destination(SwitchId(device)));
    } else {
      const FabricSwitchOptions& next = switches_[topology_.switch_of(p ^ 1).value].options;
      line.next_latency = next.latency;
      line.next_cuts_through = next.forwarding == Forwarding::kCutThrough;
    }
    ports_.emplace_back(device, line_number(line), topology_.is_host_port(p));
    switches_[device].ports.push_back(p);
    flow_control_.emplace_back(cable.rate);
  }
  if (options.series) {
    series_ = std::make_unique<FabricSeries>(*options.series, topology_.ports() * kPriorities);
    for (FabricSwitch& device : switches_) device.plain = false;
  }
  for (const FabricStation& station : options.stations) {
    stations_.learn(mac_number(station.mac), static_cast<uint16_t>(station.host));
  }
  options_.stations = {};
  ahead_.reserve(options.frames);
  ringing_.reserve(hosts.size());
  find_next_change();
}

/// Of a known line that is like it, or it becomes known.
uint32_t VirtualFabric::line_number(const FabricLine& line) {
  const auto known = std::ranges::find_if(lines_, [&](const FabricLine& other) { return line.is_like(other); });
  const auto number = static_cast<uint32_t>(known - lines_.begin());
  if (known == lines_.end()) lines_.push_back(line);
  return number;
}

/// Memory is fetched for events that are handled soon, but for what the switch before them has in the caches anyway:
/// the frame that arrives, its port and what it is charged to there, then where the way on is found; or the port and
/// its queue, then the first frame of those that wait. The priority is guessed to be the last frame's. A call that is
/// not inlined has no effect that the compiler knows of, and goes away.
[[gnu::always_inline]] inline void VirtualFabric::fetch_events() noexcept {
  const FabricEvent& first = agenda_.behind(kFirstEventFetch);
  __builtin_prefetch(&ports_[first.port()], 1);
  if (first.kind() == FabricEventKind::kArrive) {
    __builtin_prefetch(&packets_[first.argument()], 1);
    __builtin_prefetch(&ingress(first.port(), recent_priority_), 1);
  } else {
    __builtin_prefetch(&egress(first.port(), recent_priority_), 1);
  }
  const FabricEvent& second = agenda_.behind(kSecondEventFetch);
  if (second.kind() == FabricEventKind::kArrive) {
    routes_.prefetch(SwitchId(ports_[second.port()].device), edge_of(packets_[second.argument()].destination));
  } else {
    const uint32_t head = egress(second.port(), recent_priority_).packets.head;
    if (head != FabricPacket::kNone) __builtin_prefetch(&packets_[head], 1);
  }
}

bool VirtualFabric::step(Time now) noexcept {
  now_ = std::max(now_, now);
  listen(now);
  // Between two calls of run_ahead whole windows wait for the second.
  if (now >= quiet_until_) catch_up(now);
  for (uint32_t n = refused_.size(); n > 0; --n) due_.push(refused_.pop());
  while (deliveries_.next() <= now) {
    if (!deliveries_.is_open()) deliveries_.open(now + Duration(1));
    due_.push(deliveries_.take().port());
    ++handled_;
  }
  while (!due_.empty()) deliver(due_.pop(), now);
  return std::exchange(told_, handled_) != handled_;
}

void VirtualFabric::catch_up(Time now) noexcept {
  const Time after = now + Duration(1);
  while (handle_window(after)) {
  }
}

Time VirtualFabric::run_ahead(Time limit) noexcept {
  // What hosts have sent in this turn is a part of it, and needs no turn of its own.
  const uint64_t before = handled_;
  listen(now_);
  told_ += handled_ - before;
  first_ahead_ = std::min(limit, next_outside());
  // What a host does in a window concerns no switch before the window is over.
  is_ahead_ = true;
  while (handle_window(agenda_.end_of_window(std::min({agenda_.next(), first_ahead_, deliveries_.next()})))) {
  }
  is_ahead_ = false;
  hand_out_ahead();
  // Switches go on with what they have, and with what hosts send from then on.
  const Time sent = std::min(first_ahead_, deliveries_.next());
  const bool is_never = sent == Time::never();
  const Time next = std::min({agenda_.next(), next_change_, is_never ? sent : sent + reach_});
  quiet_until_ = std::min({deliveries_.next(), next == Time::never() ? next : next + reach_of_hosts_,
                           is_never ? sent : sent + longest_quiet_});
  return quiet_until_;
}

/// Handles what is next in switches and to cables: a change, or what a window has before `limit`. False when nothing is
/// before it. Between two windows the state of the fabric is that of one time.
bool VirtualFabric::handle_window(Time limit) noexcept {
  const Time next = agenda_.next();
  if (std::min(next, next_change_) >= limit) return false;
  if (next_change_ <= next) return change_next(), true;
  limit = std::min(limit, next_change_);
  if (series_) {
    if (series_->due(next)) sample(next);
    limit = std::min(limit, series_->end_of_interval(next));
  }
  agenda_.open(limit);
  while (agenda_.is_open()) {
    const FabricEvent event = agenda_.take([this] { fetch_events(); });
    ++handled_;
    if (event.kind() == FabricEventKind::kArrive) {
      arrive(event.port(), event.argument(), event.at);
    } else {
      handle(event);
    }
  }
  agenda_.close();
  return true;
}

Time VirtualFabric::next_event() const noexcept {
  return std::min(next_inside(), next_outside());
}

/// As of the end of the interval: nothing has happened since.
void VirtualFabric::sample(Time now) noexcept {
  const Time at = std::min(series_->end(), now);
  series_->sample([&](uint32_t queue) {
    const uint32_t port = queue / kPriorities, priority = queue % kPriorities;
    return std::pair(egress(port, priority).queued, (paused(port, at) & priority_bit(priority)) != 0);
  });
}

void VirtualFabric::finish_series() noexcept {
  if (!series_) return;
  catch_up(now_);
  sample(now_);
}

/// All but frames that arrive.
void VirtualFabric::handle(const FabricEvent& event) noexcept {
  const uint32_t port = event.port();
  switch (event.kind()) {
    case FabricEventKind::kWake:
      ports_[port].wake_due = false;
      return serve_or_wake(port, event.at);
    case FabricEventKind::kExpire:
      ports_[port].expiry_due = false;
      return serve_or_wake(port, event.at);
    case FabricEventKind::kPause: {
      --pauses_on_cables_;
      PauseFrame pause{.priorities = static_cast<PrioritySet>(event.argument())};
      const uint16_t quanta = switches_[ports_[port ^ 1].device].options.pause_quanta;
      for (uint32_t i = 0; i < kPriorities; ++i)
        if ((event.argument() >> 8 & priority_bit(i)) != 0) pause.quanta[i] = quanta;
      return obey(port, pause, event.at);
    }
    case FabricEventKind::kRefresh:
      flow_control_[port].refresh_due = false;
      return refresh(port, event.at);
    case FabricEventKind::kWatchdog:
      flow_control_[port].look_due = false;
      return look_for_storms(port, event.at);
    case FabricEventKind::kArrive:
    case FabricEventKind::kDeliver:
      break;  // handled where they are taken
  }
}

void VirtualFabric::release(uint32_t handle) noexcept {
  // Frames of one host's port are good for every other's.
  hosts_.back().port->release({&packets_.frame(handle), 1});
  packets_.give_back(handle);
}

void VirtualFabric::drop(uint32_t handle, FabricDrop reason, uint32_t port) noexcept {
  if (reason == FabricDrop::kWatchdog) storms_.drop(port, packets_[handle].priority);
  release(handle);
  ++counters_of(port).drops[static_cast<size_t>(reason)];
}

}  // namespace rankwire
