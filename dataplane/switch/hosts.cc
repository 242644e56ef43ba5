#include "dataplane/switch/hosts.h"

#include <span>

#include "dataplane/ports/fetch.h"

namespace rankwire {
namespace {

constexpr size_t kBurst = 32;
// How many frames before it is handed out ahead memory is fetched for one, in three steps.
constexpr size_t kFirstAheadFetch = 12, kSecondAheadFetch = 6, kThirdAheadFetch = 2;

}  // namespace

FabricHosts::FabricHosts(FabricTables& tables, FrameReader& reader, FabricAgenda& agenda, const FabricOptions& options)
    : tables_(tables),
      reader_(reader),
      agenda_(agenda),
      bells_(options.bells),
      observer_(options.observer),
      may_slow_down_(std::ranges::any_of(options.schedule,
                                         [&](const CableEvent& event) {
                                           return event.cable >= tables.topology.cables.size() && event.condition.rate;
                                         })),
      deliveries_(std::vector<uint32_t>(tables.port_count), tables.reach, tables.port_count),
      due_(tables.port_count),
      refused_(tables.port_count) {
  links_.reserve(tables.hosts.size());
  for (const FabricHost& host : tables.hosts) links_.push_back(host.port);
  ahead_.reserve(options.frames);
  ringing_.reserve(tables.hosts.size());
}

Time FabricHosts::next_outside() const noexcept {
  Time next = Time::never();
  const auto look = [&](uint32_t host) {
    Time event = tables_.hosts[host].port->next_event();
    if (may_slow_down_ && tables_.line_of(tables_.ports[tables_.first_host_port + host]).is_slowed)
      event = std::max(event, tables_.hosts[host].input_free);
    next = std::min(next, event);
  };
  if (bells_ != nullptr) {
    bells_->look(look);
  } else {
    for (uint32_t host = 0; host < tables_.hosts.size(); ++host) look(host);
  }
  if (!refused_.empty())
    next = std::min(next, tables_.packets[tables_.hosts[refused_.front() - tables_.first_host_port].line.head].arrival);
  return next;
}

void FabricHosts::listen(Time now) noexcept {
  if (bells_ == nullptr) {
    for (uint32_t port = tables_.first_host_port; port < tables_.ports.size(); ++port) receive(port, now);
    return;
  }
  bells_->answer_all([&](uint32_t host) { ringing_.push_back(host); });
  const size_t count = ringing_.size();
  for (size_t i = 0; i < count; ++i) {
    fetch_behind(i, count, [this](size_t k) { return links_[ringing_[k]]; });
    const uint32_t host = ringing_[i];
    receive(tables_.first_host_port + host, now);
    if (tables_.hosts[host].port->next_event() != Time::never()) bells_->ring(host);
  }
  ringing_.clear();
}

/// Takes what waits at the host's port, as far as there is room. By a line that is slower than the port a frame is
/// taken when the one before has left, so that what is not sent yet has the rate of its time.
void FabricHosts::receive(uint32_t number, Time now) noexcept {
  FabricHost& host = tables_.host_of(number);
  FabricLine& line = tables_.line_of(tables_.ports[number]);
  const FabricSwitch& device = tables_.switch_of(number);
  const bool decides_early = device.options.forwarding == Forwarding::kCutThrough;
  FrameRoom<kBurst> room_of_burst;
  const std::span<Frame> burst = room_of_burst.frames();
  size_t n = 0, most = kBurst;
  do {
    if (line.is_slowed) most = host.input_free <= now ? 1 : 0;
    const size_t room = std::min<size_t>(most, tables_.packets.room());
    n = room == 0 ? 0 : host.port->receive(now, burst.first(room));
    for (const Frame& frame : burst.first(n)) {
      const Time begun = std::max(frame.arrival + line.latency, host.input_free);
      host.input_free = begun + line.times.of(frame.length());
      const uint32_t handle = tables_.packets.take(frame);
      FabricPacket& packet = tables_.packets[handle];
      packet.arrival = host.input_free;
      reader_.read_early(number, frame, packet);
      if (observer_ != nullptr) {
        Frame whole = frame;
        whole.arrival = packet.arrival;
        observer_->received(number, whole);
      }
      const Time read = decides_early && packet.length > FabricSwitch::kHeaderBytes
                            ? begun + line.times.of(FabricSwitch::kHeaderBytes)
                            : host.input_free;
      agenda_.push(read + device.options.latency, FabricEventKind::kArrive, number, handle);
      host.rx_bytes += packet.length;
    }
    host.rx_frames += n;
    handled_ += n;
  } while (n > 0 && n == most);
}

/// Hands out what has arrived at the host by `now`, and awaits what arrives next.
void FabricHosts::deliver(uint32_t number, Time now) noexcept {
  FabricHost& host = tables_.host_of(number);
  FrameRoom<kBurst> room;
  const std::span<Frame> frames = room.frames();
  size_t n = 0, taken = 0;
  do {
    n = 0;
    for (uint32_t handle = host.line.head; n < kBurst && handle != FabricPacket::kNone;
         handle = tables_.packets[handle].next) {
      const FabricPacket& packet = tables_.packets[handle];
      if (packet.arrival > now) break;
      if (packet.next != FabricPacket::kNone) {
        __builtin_prefetch(&tables_.packets[packet.next], 1);
        __builtin_prefetch(&tables_.packets.frame(packet.next));
      }
      frames[n] = tables_.packets.frame(handle);
      __builtin_prefetch(frames[n++].head, 1);
    }
    if (n == 0) break;
    taken = host.port->transmit(now, frames.first(n));
    for (size_t i = 0; i < taken; ++i) {
      host.tx_bytes += frames[i].length();
      tables_.packets.give_back(tables_.packets.remove_front(host.line));
    }
    host.tx_frames += taken;
    handled_ += taken;
  } while (taken == kBurst);
  if (taken < n) {
    refused_.push(number);
  } else if (!host.line.empty()) {
    await_delivery(number);
  }
}

/// Frames on one line arrive in their order: only the first is awaited.
void FabricHosts::keep_for_host(uint32_t number, uint32_t handle) noexcept {
  PacketList& line = tables_.host_of(number).line;
  const bool first = line.empty();
  tables_.packets.append(line, handle);
  if (first) await_delivery(number);
}

// What the host's port has refused has arrived.
void FabricHosts::cut(uint32_t number, Time now) noexcept {
  PacketList& line = tables_.host_of(number).line;
  PacketList arrived;
  while (!line.empty()) {
    const uint32_t handle = tables_.packets.remove_front(line);
    if (tables_.packets[handle].arrival <= now) {
      tables_.packets.append(arrived, handle);
    } else {
      tables_.drop(handle, FabricDrop::kCableDown, number);
    }
  }
  line = arrived;
}

void FabricHosts::await_delivery(uint32_t number) noexcept {
  deliveries_.push(tables_.packets[tables_.host_of(number).line.head].arrival, FabricEventKind::kDeliver, number);
}

void FabricHosts::hand_out(Time now) noexcept {
  for (uint32_t n = refused_.size(); n > 0; --n) due_.push(refused_.pop());
  while (deliveries_.next() <= now) {
    if (!deliveries_.is_open()) deliveries_.open(now + Duration(1));
    due_.push(deliveries_.take().port());
    ++handled_;
  }
  while (!due_.empty()) deliver(due_.pop(), now);
}

void FabricHosts::begin_ahead(Time limit) noexcept {
  first_ahead_ = std::min(limit, next_outside());
  is_ahead_ = !cut_expected_;
}

/// Memory is fetched first for the frame and the link, then for what the link names.
void FabricHosts::hand_out_ahead() noexcept {
  is_ahead_ = false;
  const auto link_of = [this](size_t i) { return links_[ahead_[i].port - tables_.first_host_port]; };
  const size_t count = ahead_.size();
  for (size_t i = 0; i < count; ++i) {
    if (const size_t k = i + kFirstAheadFetch; k < count) {
      __builtin_prefetch(link_of(k));
      __builtin_prefetch(&tables_.packets[ahead_[k].handle], 1);
      __builtin_prefetch(&tables_.packets.frame(ahead_[k].handle));
    }
    if (const size_t k = i + kSecondAheadFetch; k < count) link_of(k)->fetch_queues();
    if (const size_t k = i + kThirdAheadFetch; k < count) link_of(k)->fetch_places();
    const auto [port, handle] = ahead_[i];
    FabricHost& host = tables_.host_of(port);
    const Frame& frame = tables_.packets.frame(handle);
    if (!host.line.empty() || !host.port->send_ahead(tables_.packets[handle].arrival, frame)) {
      keep_for_host(port, handle);
      continue;
    }
    ++host.tx_frames;
    host.tx_bytes += frame.length();
    ++handled_;
    tables_.packets.give_back(handle);
  }
  ahead_.clear();
}

}  // namespace rankwire
