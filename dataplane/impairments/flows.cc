#include "dataplane/impairments/flows.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "dataplane/protocol/queue_pair.h"

namespace rankwire {
namespace {

bool is_last(Opcode opcode) noexcept {
  switch (opcode) {
    case Opcode::kSendFirst:
    case Opcode::kSendMiddle:
    case Opcode::kWriteFirst:
    case Opcode::kWriteMiddle:
    case Opcode::kReadResponseFirst:
    case Opcode::kReadResponseMiddle:
      return false;
    default:
      return true;
  }
}

bool is_request(PacketClass packets) noexcept {
  return packets == PacketClass::kData || packets == PacketClass::kReadRequest;
}

}  // namespace

void ImpairmentFlows::connect(const TransportPlan& plan, std::span<const EndPoint> ends) {
  ends_.assign(ends.begin(), ends.end());
  flows_.assign(ends_.size(), Flow());
  flow_of_.assign(plan.connections.size() * options_.queue_pairs, kNone);
  messages_of_.clear();
  control_.clear();
  for (const Connection& c : plan.connections) {
    messages_of_.push_back(std::max(c.messages_per_iteration, 1u));
    control_.push_back(c.control);
  }
  addresses_.clear();
  std::map<std::tuple<ConnectionId, uint16_t, bool>, uint32_t> known;
  for (uint32_t e = 0; e < ends_.size(); ++e) {
    const EndPoint& end = ends_[e];
    addresses_.push_back({end.queue_pair, end.ip, e});
    known[{end.connection, end.member, end.at_source}] = e;
    Flow& flow = flows_[e];
    flow.connection = end.connection;
    flow.next_request[0] = flow.next_request[1] = flow.next_response[0] = flow.next_response[1] = end.psn;
  }
  std::ranges::sort(addresses_);
  for (Flow& flow : flows_) {
    const EndPoint& end = ends_[static_cast<size_t>(&flow - flows_.data())];
    const auto peer = known.find({end.connection, end.member, !end.at_source});
    if (peer != known.end()) flow.peer = peer->second;
  }
  for (const Connection& c : plan.connections) {
    const ConnectionId owner = c.reverse_of.valid() ? c.reverse_of : c.id;
    for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
      const auto sender = known.find({owner, static_cast<uint16_t>(member), !c.reverse_of.valid()});
      if (sender == known.end()) continue;
      flow_of_[c.id.value * options_.queue_pairs + member] = sender->second;
      flows_[sender->second].connection = c.id;
      flows_[sender->second].control = c.control;
    }
  }
  messages_ = SlotPool<OnTheWay>(options_.pushed ? plan.messages_in_flight * options_.queue_pairs : 0);
}

// The queue pairs that carry a message, or its parts.
std::span<const uint32_t> ImpairmentFlows::flows_of(ConnectionId connection, uint32_t index) const noexcept {
  const std::span<const uint32_t> members(&flow_of_[connection.value * options_.queue_pairs], options_.queue_pairs);
  const bool dealt = !options_.split || control_[connection.value];
  return dealt ? members.subspan(index % options_.queue_pairs, 1) : members;
}

void ImpairmentFlows::posted(const Message& message) noexcept {
  for (const uint32_t f : flows_of(message.connection, message.index)) {
    const uint32_t slot = f == kNone ? kNone : messages_.take();
    if (slot == kNone) continue;
    Flow& flow = flows_[f];
    messages_[slot].index = message.index;
    (flow.oldest == kNone ? flow.oldest : messages_[flow.newest].next) = slot;
    flow.newest = slot;
    if (flow.waiting == kNone) flow.waiting = slot;
  }
}

void ImpairmentFlows::ended(ConnectionId connection, uint32_t index) noexcept {
  for (const uint32_t f : flows_of(connection, index))
    if (f != kNone) remove(flows_[f], index);
}

// Almost always the oldest.
void ImpairmentFlows::remove(Flow& flow, uint32_t index) noexcept {
  uint32_t before = kNone, slot = flow.oldest;
  while (slot != kNone && messages_[slot].index != index) {
    before = slot;
    slot = messages_[slot].next;
  }
  if (slot == kNone) return;
  const uint32_t next = messages_[slot].next;
  (before == kNone ? flow.oldest : messages_[before].next) = next;
  if (flow.newest == slot) flow.newest = before;
  if (flow.waiting == slot) flow.waiting = next;
  if (flow.sending == slot) flow.sending = kNone;
  messages_.give_back(slot);
}

uint32_t ImpairmentFlows::find(uint32_t queue_pair, const IpAddress& ip) const noexcept {
  const auto entry = std::ranges::lower_bound(addresses_, Address{queue_pair, ip, 0});
  const bool found = entry != addresses_.end() && entry->queue_pair == queue_pair && entry->ip == ip;
  return found ? entry->end : kNone;
}

std::optional<PacketPlace> ImpairmentFlows::place(const ParsedPacket& packet, PortSide side) noexcept {
  const uint32_t to = find(packet.destination_qp, packet.destination_ip());
  if (to == kNone) return std::nullopt;
  PacketPlace place{.packets = class_of(packet), .last = is_last(packet.opcode), .to = to};
  place.flow = is_request(place.packets) ? flows_[to].peer : to;
  if (place.flow == kNone) return std::nullopt;
  Flow& flow = flows_[place.flow];
  place.connection = flow.connection;
  place.again = note_passage(packet, place.packets, side, flow);
  const bool begins = place.packets == PacketClass::kData && side == PortSide::kTransmit && !place.again;
  if (begins) follow(packet, flow);
  place.msn = flow.msn;
  if (place.packets != PacketClass::kCnp) find_message(packet, flow, place);
  return place;
}

// True for a packet behind one that has passed.
bool ImpairmentFlows::note_passage(const ParsedPacket& packet, PacketClass packets, PortSide side,
                                   Flow& flow) const noexcept {
  if (!is_request(packets) && packets != PacketClass::kReadResponse) return false;
  uint32_t* const next_of_sides = is_request(packets) ? flow.next_request : flow.next_response;
  uint32_t& next = next_of_sides[static_cast<size_t>(side)];
  if (psn_distance(next, packet.psn) < 0) return true;
  // A READ takes the sequence numbers of its responses (IBTA 9.7.3.1).
  const uint32_t responses = (packet.dma_length + options_.mtu - 1) / options_.mtu;
  next = psn_add(packet.psn, packets == PacketClass::kReadRequest ? std::max(responses, 1u) : 1);
  return false;
}

// A new request packet leaves: it continues the message that is being sent, or begins the next.
void ImpairmentFlows::follow(const ParsedPacket& packet, Flow& flow) noexcept {
  const bool last = is_last(packet.opcode);
  flow.msn = (flow.msn + last) & kPsnMask;
  if (!options_.pushed) return;
  if (!flow.in_message && flow.waiting != kNone) {
    flow.sending = flow.waiting;
    flow.waiting = messages_[flow.sending].next;
    messages_[flow.sending].first_psn = packet.psn;
  }
  flow.in_message = !(last && (flow.control || layout_of(packet.opcode).immediate));
}

void ImpairmentFlows::find_message(const ParsedPacket& packet, const Flow& flow, PacketPlace& place) const noexcept {
  if (psn_distance(flow.next_request[static_cast<size_t>(PortSide::kTransmit)], packet.psn) >= 0) return;
  uint32_t found = kNone;
  for (uint32_t slot = flow.oldest; slot != flow.waiting; slot = messages_[slot].next) {
    if (psn_distance(messages_[slot].first_psn, packet.psn) < 0) break;
    found = slot;
  }
  if (found == kNone) return;
  place.message = messages_[found].index;
  place.packet = static_cast<uint32_t>(psn_distance(messages_[found].first_psn, packet.psn));
}

}  // namespace rankwire
