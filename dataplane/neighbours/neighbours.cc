#include "dataplane/neighbours/neighbours.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/error.h"

namespace rankwire {
namespace {

// The longest echo reply, whatever the caller's frames hold: a jumbo frame.
constexpr uint32_t kMaxEchoFrame = 9216;

uint16_t vlan_of(const Nic& nic) {
  return nic.vlan.value_or(0);
}

}  // namespace

std::optional<IpAddress> next_hop_of(const Nic& nic, const IpAddress& destination) {
  if (destination.is_ipv4() != nic.ip.is_ipv4()) return std::nullopt;
  if (in_same_subnet(nic.ip, destination, nic.prefix_length)) return destination;
  if (nic.gateway.is_none() || nic.gateway.is_ipv4() != nic.ip.is_ipv4()) return std::nullopt;
  return nic.gateway;
}

NeighbourCounters& NeighbourCounters::operator+=(const NeighbourCounters& other) noexcept {
  arp_requests_rx += other.arp_requests_rx;
  arp_replies_rx += other.arp_replies_rx;
  arp_requests_tx += other.arp_requests_tx;
  arp_replies_tx += other.arp_replies_tx;
  solicitations_rx += other.solicitations_rx;
  advertisements_rx += other.advertisements_rx;
  solicitations_tx += other.solicitations_tx;
  advertisements_tx += other.advertisements_tx;
  echo_requests_rx += other.echo_requests_rx;
  echo_replies_tx += other.echo_replies_tx;
  announcements_tx += other.announcements_tx;
  malformed += other.malformed;
  ignored += other.ignored;
  answers_dropped += other.answers_dropped;
  unreachable += other.unreachable;
  moved += other.moved;
  conflicts += other.conflicts;
  return *this;
}

std::array<NamedCounter, 17> named(const NeighbourCounters& c) {
  return {{{"arp_requests_rx", c.arp_requests_rx},
           {"arp_replies_rx", c.arp_replies_rx},
           {"arp_requests_tx", c.arp_requests_tx},
           {"arp_replies_tx", c.arp_replies_tx},
           {"solicitations_rx", c.solicitations_rx},
           {"advertisements_rx", c.advertisements_rx},
           {"solicitations_tx", c.solicitations_tx},
           {"advertisements_tx", c.advertisements_tx},
           {"echo_requests_rx", c.echo_requests_rx},
           {"echo_replies_tx", c.echo_replies_tx},
           {"announcements_tx", c.announcements_tx},
           {"neighbour_frames_malformed", c.malformed},
           {"neighbour_frames_ignored", c.ignored},
           {"neighbour_answers_dropped", c.answers_dropped},
           {"next_hops_unreachable", c.unreachable},
           {"next_hops_moved", c.moved},
           {"address_conflicts", c.conflicts}}};
}

Neighbours::Neighbours(const NeighbourOptions& options, std::span<const Nic> nics)
    : options_(options),
      nics_(nics.begin(), nics.end()),
      nic_of_(nics.size()),
      next_hop_of_(options.next_hops),
      next_hops_(options.next_hops),
      asking_(options.next_hops),
      unasked_(options.next_hops),
      asked_(options.next_hops),
      deadlines_(options.next_hops),
      answers_(options.answer_bytes),
      announced_(options.announcements == Announcements::kOmitted ? nics.size() : 0) {
  for (uint32_t i = 0; i < nics_.size(); ++i) {
    const Nic& nic = nics_[i];
    if (nic_of_.find(vlan_of(nic), nic.ip) != AddressTable::kNone)
      fail_input("two NICs of one port have the address {}", to_string(nic.ip));
    nic_of_.insert(vlan_of(nic), nic.ip, i);
  }
  due_ = earliest();
}

uint32_t Neighbours::resolve(const Nic& nic, const IpAddress& destination) noexcept {
  const std::optional<IpAddress> address = next_hop_of(nic, destination);
  if (!address) return kNone;
  if (const uint32_t known = next_hop_of_.find(vlan_of(nic), *address); known != AddressTable::kNone) return known;
  if (used_ == next_hops_.size()) return kNone;
  const uint32_t handle = used_++;
  next_hop_of_.insert(vlan_of(nic), *address, handle);
  NextHop& hop = next_hops_[handle];
  hop.address = *address;
  hop.vlan = vlan_of(nic);
  hop.asker = nic.id;
  // No bridge sends a request back to the port that it came from.
  if (const uint32_t own = nic_of_.find(hop.vlan, hop.address); own != AddressTable::kNone) {
    hop.mac = nics_[own].mac;
    hop.state = NextHop::State::kReachable;
    return handle;
  }
  asking_[handle].nic = nic_of_.find(hop.vlan, nic.ip);
  assert(asking_[handle].nic != AddressTable::kNone && "the NIC is not behind this port");
  ++unresolved_;
  unasked_.push(handle);
  due_ = earliest();
  return handle;
}

void Neighbours::receive(const Frame& frame) noexcept {
  const NeighbourMessage message = read_neighbour_frame(frame);
  switch (message.kind) {
    case NeighbourKind::kNone:
      ++counters_.ignored;
      return;
    case NeighbourKind::kMalformed:
      ++counters_.malformed;
      return;
    case NeighbourKind::kSolicitation:
      on_solicitation(message);
      break;
    case NeighbourKind::kAdvertisement:
      on_advertisement(message);
      break;
    case NeighbourKind::kEchoRequest:
      on_echo(message);
      break;
  }
  due_ = earliest();
}

void Neighbours::on_solicitation(const NeighbourMessage& message) noexcept {
  const bool arp = message.ip_version == IpVersion::kIpv4;
  ++(arp ? counters_.arp_requests_rx : counters_.solicitations_rx);
  if (claims_our_address(message)) return;
  learn(message);
  const Nic* const nic = addressee(message);
  if (nic == nullptr) {
    ++counters_.ignored;
    return;
  }
  std::array<uint8_t, kMaxNeighbourFrame> bytes;
  Frame answer;
  answer.head = bytes.data();
  write_advertisement(*nic, message, answer);
  if (queue_answer(answer)) ++(arp ? counters_.arp_replies_tx : counters_.advertisements_tx);
}

void Neighbours::on_advertisement(const NeighbourMessage& message) noexcept {
  ++(message.ip_version == IpVersion::kIpv4 ? counters_.arp_replies_rx : counters_.advertisements_rx);
  if (!claims_our_address(message)) learn(message);
}

void Neighbours::on_echo(const NeighbourMessage& message) noexcept {
  const Nic* const nic = addressee(message);
  if (nic == nullptr) {
    ++counters_.ignored;
    return;
  }
  ++counters_.echo_requests_rx;
  const size_t length = sizeof(EthernetHeader) + sizeof(VlanTag) + message.ip_packet.size();
  std::array<uint8_t, kMaxEchoFrame> bytes;
  if (length > std::min(options_.frame_capacity, kMaxEchoFrame)) {
    ++counters_.answers_dropped;
    return;
  }
  Frame answer;
  answer.head = bytes.data();
  write_echo_reply(*nic, message, answer);
  if (queue_answer(answer)) ++counters_.echo_replies_tx;
}

// Such a frame is another station's, or our own come back: neither is to be learnt from or answered.
bool Neighbours::claims_our_address(const NeighbourMessage& message) noexcept {
  const uint32_t own = nic_of_.find(message.vlan, message.sender);
  if (own == AddressTable::kNone) return false;
  const MacAddress claimant = message.sender_mac.value_or(message.frame_source);
  if (claimant != nics_[own].mac) note_conflict(nics_[own], claimant);
  return true;
}

void Neighbours::note_conflict(const Nic& nic, const MacAddress& mac) noexcept {
  ++counters_.conflicts;
  const auto known = conflicts();
  const bool seen =
      std::ranges::any_of(known, [&](const AddressConflict& c) { return c.nic == nic.id && c.mac == mac; });
  if (!seen && conflict_count_ < conflicts_.size()) conflicts_[conflict_count_++] = {nic.id, mac};
}

// RFC 826's merge, but without new entries; RFC 4861 7.2.3 and 7.2.5.
void Neighbours::learn(const NeighbourMessage& message) noexcept {
  if (!message.sender_mac) return;
  const uint32_t handle = next_hop_of_.find(message.vlan, message.sender);
  if (handle == AddressTable::kNone) return;
  NextHop& hop = next_hops_[handle];
  switch (hop.state) {
    case NextHop::State::kIncomplete:
      hop.mac = *message.sender_mac;
      return settle(handle, NextHop::State::kReachable);
    case NextHop::State::kReachable:
      if (hop.mac == *message.sender_mac || !message.overrides) return;
      hop.mac = *message.sender_mac;
      ++counters_.moved;
      return;
    case NextHop::State::kUnreachable:
      return;
  }
}

// The NIC that the message asks, unless the frame was only flooded to this port.
const Nic* Neighbours::addressee(const NeighbourMessage& message) const noexcept {
  const uint32_t own = nic_of_.find(message.vlan, message.target);
  if (own == AddressTable::kNone) return nullptr;
  const Nic& nic = nics_[own];
  const bool group = (message.frame_destination.bytes[0] & 1) != 0;
  const bool answers_group = message.kind == NeighbourKind::kSolicitation;
  return message.frame_destination == nic.mac || (group && answers_group) ? &nic : nullptr;
}

bool Neighbours::queue_answer(const Frame& frame) noexcept {
  if (answers_.push({frame.head, frame.head_length})) return true;
  ++counters_.answers_dropped;
  return false;
}

size_t Neighbours::write(Time now, std::span<Frame> frames) noexcept {
  start_deadlines(now);
  expire(now);
  size_t n = 0;
  for (; n < frames.size() && !answers_.empty(); ++n) write_answer(frames[n]);
  while (n < frames.size() && write_unsolicited(now, frames[n])) ++n;
  due_ = earliest();
  return n;
}

Time Neighbours::earliest() const noexcept {
  if (!answers_.empty()) return Time::long_ago();
  const Time due = unsolicited_due();
  return deadlines_.empty() ? due : std::min(due, next_hops_[deadlines_.front()].wanted_since + options_.deadline);
}

void Neighbours::start_deadlines(Time now) noexcept {
  for (; dated_ < used_; ++dated_) {
    if (next_hops_[dated_].state != NextHop::State::kIncomplete) continue;
    next_hops_[dated_].wanted_since = now;
    deadlines_.move_to_back(dated_);
  }
}

void Neighbours::expire(Time now) noexcept {
  while (!deadlines_.empty()) {
    const uint32_t handle = deadlines_.front();
    if (next_hops_[handle].wanted_since + options_.deadline > now) return;
    ++counters_.unreachable;
    settle(handle, NextHop::State::kUnreachable);
  }
}

void Neighbours::settle(uint32_t handle, NextHop::State state) noexcept {
  next_hops_[handle].state = state;
  asked_.remove(handle);
  deadlines_.remove(handle);
  --unresolved_;
}

void Neighbours::write_answer(Frame& frame) noexcept {
  const std::span<const uint8_t> answer = answers_.pop();
  std::memcpy(frame.head, answer.data(), answer.size());
  frame.head_length = static_cast<uint16_t>(answer.size());
  frame.payload = nullptr;
  frame.payload_length = 0;
  frame.tail_length = 0;
}

bool Neighbours::write_unsolicited(Time now, Frame& frame) noexcept {
  if (next_slot_ > now) return false;
  if (const uint32_t handle = next_to_ask(now); handle != kNone) {
    write_request(now, handle, frame);
  } else if (announced_ < nics_.size()) {
    write_announcement(nics_[announced_++], frame);
    ++counters_.announcements_tx;
  } else {
    return false;
  }
  next_slot_ = std::max(next_slot_, now - options_.spacing * kBurst) + options_.spacing;
  return true;
}

uint32_t Neighbours::next_to_ask(Time now) noexcept {
  if (!asked_.empty() && asking_[asked_.front()].last_request + options_.interval <= now) return asked_.front();
  while (!unasked_.empty()) {
    const uint32_t handle = unasked_.pop();
    // Somebody else's traffic may have told the address before it was asked for.
    if (next_hops_[handle].state == NextHop::State::kIncomplete) return handle;
  }
  return kNone;
}

void Neighbours::write_request(Time now, uint32_t handle, Frame& frame) noexcept {
  NextHop& hop = next_hops_[handle];
  const Nic& nic = nics_[asking_[handle].nic];
  write_solicitation(nic, hop.address, frame);
  ++(nic.ip.is_ipv4() ? counters_.arp_requests_tx : counters_.solicitations_tx);
  ++hop.requests;
  asking_[handle].last_request = now;
  asked_.move_to_back(handle);
}

Time Neighbours::unsolicited_due() const noexcept {
  if (!unasked_.empty() || announced_ < nics_.size()) return next_slot_;
  if (asked_.empty()) return Time::never();
  return std::max(next_slot_, asking_[asked_.front()].last_request + options_.interval);
}

}  // namespace rankwire
