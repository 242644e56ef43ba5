#include "dataplane/switch/virtual_fabric.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dataplane/switch/check_fabric.h"
#include "dataplane/switch/deadlock.h"
#include "dataplane/switch/parts.h"
#include "fabric/cable_event.h"

namespace rankwire {
namespace {

// How many events before it is handled memory is fetched for one: what it names, what that leads to, and what that
// leads to.
constexpr uint32_t kFirstEventFetch = 24, kSecondEventFetch = 8;
static_assert(kFirstEventFetch <= FabricAgenda::kMostBehind);

std::unique_ptr<FabricParts> make_parts(const Topology& topology, std::span<FramePort* const> hosts,
                                        std::span<const FabricSwitchOptions> devices, const FabricOptions& options) {
  check_fabric(topology, hosts.size(), devices, options);
  return std::make_unique<FabricParts>(topology, hosts, devices, options);
}

/// Memory is fetched for events that are handled soon, but for what the switch before them has in the caches anyway:
/// the frame that arrives, its port and what it is charged to there, then where the way on is found; or the port and
/// its queue, then the first frame of those that wait. The priority is guessed to be the last frame's. A call that is
/// not inlined has no effect that the compiler knows of, and goes away.
[[gnu::always_inline]] inline void fetch_events(FabricParts& parts) noexcept {
  FabricTables& tables = parts.tables;
  const uint32_t priority = parts.outputs.recent_priority();
  const FabricEvent& first = parts.agenda.behind(kFirstEventFetch);
  __builtin_prefetch(&tables.ports[first.port()], 1);
  if (first.kind() == FabricEventKind::kArrive) {
    __builtin_prefetch(&tables.packets[first.argument()], 1);
    __builtin_prefetch(&tables.ingress(first.port(), priority), 1);
  } else {
    __builtin_prefetch(&tables.egress(first.port(), priority), 1);
  }
  const FabricEvent& second = parts.agenda.behind(kSecondEventFetch);
  if (second.kind() == FabricEventKind::kArrive) {
    parts.forwarder.fetch(tables.ports[second.port()].device, tables.packets[second.argument()]);
  } else {
    const uint32_t head = tables.egress(second.port(), priority).packets.head;
    if (head != FabricPacket::kNone) __builtin_prefetch(&tables.packets[head], 1);
  }
}

}  // namespace

VirtualFabric::VirtualFabric(const Topology& topology, std::span<FramePort* const> hosts,
                             std::span<const FabricSwitchOptions> devices, const FabricOptions& options)
    : parts_(make_parts(topology, hosts, devices, options)) {
  parts_->hosts.expect_cut(parts_->cables.cuts_host());
}

VirtualFabric::~VirtualFabric() = default;

uint64_t VirtualFabric::handled() const noexcept {
  return handled_ + parts_->hosts.handled();
}

bool VirtualFabric::step(Time now) noexcept {
  now_ = std::max(now_, now);
  parts_->hosts.listen(now);
  // Between two calls of run_ahead whole windows wait for the second.
  if (now >= quiet_until_) catch_up(now);
  parts_->hosts.hand_out(now);
  return std::exchange(told_, handled()) != handled();
}

void VirtualFabric::catch_up(Time now) noexcept {
  const Time after = now + Duration(1);
  while (handle_window(after)) {
  }
}

Time VirtualFabric::run_ahead(Time limit) noexcept {
  FabricHosts& hosts = parts_->hosts;
  const FabricTables& tables = parts_->tables;
  const FabricAgenda& agenda = parts_->agenda;
  // What hosts have sent in this turn is a part of it, and needs no turn of its own.
  const uint64_t before = handled();
  hosts.listen(now_);
  told_ += handled() - before;
  // What a host does in a window concerns no switch before the window is over.
  hosts.begin_ahead(limit);
  while (handle_window(agenda.end_of_window(std::min(agenda.next(), hosts.first_outside())))) {
  }
  hosts.hand_out_ahead();
  // Switches go on with what they have, and with what hosts send from then on.
  const Time sent = hosts.first_outside();
  const bool is_never = sent == Time::never();
  const Time next = std::min({agenda.next(), parts_->cables.next(), is_never ? sent : sent + tables.reach});
  quiet_until_ = std::min({hosts.next_delivery(), next == Time::never() ? next : next + tables.reach_of_hosts,
                           is_never ? sent : sent + tables.shortest_frame_of_hosts * kHostFrames});
  return quiet_until_;
}

/// Handles what is next in switches and to cables: a change, or what a window has before `limit`. False when nothing is
/// before it. Between two windows the state of the fabric is that of one time.
bool VirtualFabric::handle_window(Time limit) noexcept {
  FabricParts& parts = *parts_;
  FabricAgenda& agenda = parts.agenda;
  const Time next = agenda.next(), next_change = parts.cables.next();
  if (std::min(next, next_change) >= limit) return false;
  if (next_change <= next) return change_next(), true;
  limit = std::min(limit, next_change);
  if (const FabricSeries* series = parts.series.get()) {
    if (series->due(next)) sample(next);
    limit = std::min(limit, series->end_of_interval(next));
  }
  agenda.open(limit);
  while (agenda.is_open()) {
    const FabricEvent event = agenda.take([&] { fetch_events(parts); });
    ++handled_;
    if (event.kind() == FabricEventKind::kArrive) {
      parts.forwarder.arrive(event.port(), event.argument(), event.at);
    } else {
      parts.outputs.handle(event);
    }
  }
  agenda.close();
  return true;
}

void VirtualFabric::change_cable(const CableEvent& change) noexcept {
  const uint32_t cables = parts_->tables.first_host_port / 2;
  if (change.cable < cables) {
    for (const uint32_t port : {2 * change.cable, 2 * change.cable + 1})
      parts_->outputs.change(port, change.condition, change.at);
    return;
  }
  const uint32_t port = parts_->tables.first_host_port + (change.cable - cables);
  parts_->outputs.change(port, change.condition, change.at);
  if (!change.condition.up) parts_->hosts.cut(port, change.at);
  parts_->hosts.expect_cut(parts_->cables.cuts_host());
}

void VirtualFabric::change_next() noexcept {
  if (const std::optional<CableEvent> change = parts_->cables.take()) {
    change_cable(*change);
  } else {
    parts_->forwarder.follow(parts_->cables.in_use());
  }
  ++handled_;
}

Time VirtualFabric::next_event() const noexcept {
  return std::min(
      {parts_->agenda.next(), parts_->hosts.next_delivery(), parts_->cables.next(), parts_->hosts.next_outside()});
}

/// As of the end of the interval: nothing has happened since.
void VirtualFabric::sample(Time now) noexcept {
  const Time at = std::min(parts_->series->end(), now);
  parts_->series->sample([&](uint32_t queue) {
    const uint32_t port = queue / kPriorities, priority = queue % kPriorities;
    return std::pair(parts_->tables.egress(port, priority).queued,
                     (parts_->pauses.paused(port, at) & priority_bit(priority)) != 0);
  });
}

void VirtualFabric::finish_series() noexcept {
  if (!parts_->series) return;
  catch_up(now_);
  sample(now_);
}

const Topology& VirtualFabric::topology() const {
  return parts_->tables.topology;
}

std::vector<FabricPortCounters> VirtualFabric::counters() const {
  std::vector<FabricPortCounters> counters;
  counters.reserve(parts_->tables.port_count);
  for (uint32_t port = 0; port < parts_->tables.port_count; ++port) {
    FabricPortCounters& of_port = counters.emplace_back(parts_->tables.counters(port));
    for (uint32_t i = 0; i < kPriorities; ++i) of_port.paused[i] = parts_->pauses.time_paused(port, i, now_);
  }
  return counters;
}

size_t VirtualFabric::held() const noexcept {
  return parts_->tables.packets.used();
}

bool VirtualFabric::conserved() const {
  return parts_->tables.conserved();
}

uint64_t VirtualFabric::hops() const noexcept {
  return parts_->outputs.hops();
}

std::vector<FabricQueueId> VirtualFabric::deadlocked() const {
  return deadlocked_queues(parts_->tables, parts_->pauses, now_);
}

const FabricStorms& VirtualFabric::storms() const noexcept {
  return parts_->storms;
}

const FabricSeries* VirtualFabric::series() const noexcept {
  return parts_->series.get();
}

}  // namespace rankwire
