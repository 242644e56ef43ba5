// What a VirtualFabric takes from hosts, and gives them.
#include <algorithm>

#include "dataplane/ports/fetch.h"
#include "dataplane/switch/virtual_fabric.h"

namespace rankwire {
namespace {

constexpr size_t kBurst = 32;
// How many frames before it is handed out ahead memory is fetched for one, in three steps.
constexpr size_t kFirstAheadFetch = 12, kSecondAheadFetch = 6, kThirdAheadFetch = 2;

}  // namespace

/// When a host has something for the fabric, or is offered again what it has refused.
Time VirtualFabric::next_outside() const noexcept {
  Time next = Time::never();
  const auto look = [&](uint32_t host) { next = std::min(next, hosts_[host].port->next_event()); };
  if (options_.bells != nullptr) {
    options_.bells->look(look);
  } else {
    for (uint32_t host = 0; host < hosts_.size(); ++host) look(host);
  }
  if (!refused_.empty()) next = std::min(next, packets_[hosts_[refused_.front() - first_host_port_].line.head].arrival);
  return next;
}

/// Takes what hosts have sent.
void VirtualFabric::listen(Time now) noexcept {
  if (options_.bells == nullptr) {
    for (uint32_t port = first_host_port_; port < ports_.size(); ++port) receive(port, now);
    return;
  }
  options_.bells->answer_all([&](uint32_t host) { ringing_.push_back(host); });
  const size_t count = ringing_.size();
  for (size_t i = 0; i < count; ++i) {
    fetch_behind(i, count, [this](size_t k) { return links_[ringing_[k]]; });
    const uint32_t host = ringing_[i];
    receive(first_host_port_ + host, now);
    if (hosts_[host].port->next_event() != Time::never()) options_.bells->ring(host);
  }
  ringing_.clear();
}

/// Takes what waits at the host's port, as far as there is room.
void VirtualFabric::receive(uint32_t number, Time now) noexcept {
  FabricHost& host = host_of(number);
  FabricLine& line = line_of(ports_[number]);
  const FabricSwitch& device = switches_[ports_[number].device];
  const bool decides_early = device.options.forwarding == Forwarding::kCutThrough;
  FrameRoom<kBurst> room_of_burst;
  const std::span<Frame> burst = room_of_burst.frames();
  size_t n = 0;
  do {
    const size_t room = std::min<size_t>(kBurst, packets_.room());
    n = room == 0 ? 0 : host.port->receive(now, burst.first(room));
    for (const Frame& frame : burst.first(n)) {
      const Time begun = std::max(frame.arrival + line.latency, host.input_free);
      host.input_free = begun + line.times.of(frame.length());
      const uint32_t handle = packets_.take(frame);
      FabricPacket& packet = packets_[handle];
      packet.arrival = host.input_free;
      read_early(number, frame, packet);
      if (options_.observer != nullptr) {
        Frame whole = frame;
        whole.arrival = packet.arrival;
        options_.observer->received(number, whole);
      }
      const Time read =
          decides_early && packet.length > kHeaderBytes ? begun + line.times.of(kHeaderBytes) : host.input_free;
      agenda_.push(read + device.options.latency, FabricEventKind::kArrive, number, handle);
      host.rx_bytes += packet.length;
    }
    host.rx_frames += n;
    handled_ += n;
  } while (n == kBurst);
}

/// Hands out what has arrived at the host by `now`, and awaits what arrives next.
void VirtualFabric::deliver(uint32_t number, Time now) noexcept {
  FabricHost& host = host_of(number);
  FrameRoom<kBurst> room;
  const std::span<Frame> frames = room.frames();
  size_t n = 0, taken = 0;
  do {
    n = 0;
    for (uint32_t handle = host.line.head; n < kBurst && handle != FabricPacket::kNone;
         handle = packets_[handle].next) {
      const FabricPacket& packet = packets_[handle];
      if (packet.arrival > now) break;
      if (packet.next != FabricPacket::kNone) {
        __builtin_prefetch(&packets_[packet.next], 1);
        __builtin_prefetch(&packets_.frame(packet.next));
      }
      frames[n] = packets_.frame(handle);
      __builtin_prefetch(frames[n++].head, 1);
    }
    if (n == 0) break;
    taken = host.port->transmit(now, frames.first(n));
    for (size_t i = 0; i < taken; ++i) {
      host.tx_bytes += frames[i].length();
      packets_.give_back(packets_.remove_front(host.line));
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

/// Hosts get what their lines have, to be held back there; what finds no room waits here. Memory is fetched first for
/// the frame and the link, then for what the link names.
void VirtualFabric::hand_out_ahead() noexcept {
  const auto link_of = [this](size_t i) { return links_[ahead_[i].port - first_host_port_]; };
  const size_t count = ahead_.size();
  for (size_t i = 0; i < count; ++i) {
    if (const size_t k = i + kFirstAheadFetch; k < count) {
      __builtin_prefetch(link_of(k));
      __builtin_prefetch(&packets_[ahead_[k].handle], 1);
      __builtin_prefetch(&packets_.frame(ahead_[k].handle));
    }
    if (const size_t k = i + kSecondAheadFetch; k < count) link_of(k)->fetch_queues();
    if (const size_t k = i + kThirdAheadFetch; k < count) link_of(k)->fetch_places();
    const auto [port, handle] = ahead_[i];
    FabricHost& host = host_of(port);
    const Frame& frame = packets_.frame(handle);
    if (!host.line.empty() || !host.port->send_ahead(packets_[handle].arrival, frame)) {
      keep_for_host(port, handle);
      continue;
    }
    ++host.tx_frames;
    host.tx_bytes += frame.length();
    ++handled_;
    packets_.give_back(handle);
  }
  ahead_.clear();
}

}  // namespace rankwire
