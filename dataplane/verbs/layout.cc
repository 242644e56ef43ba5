// VerbsTransport's division of its memory and its pools, before any device is touched.
#include <algorithm>

#include "base/error.h"
#include "dataplane/verbs/transport.h"
#include "fabric/network.h"

namespace rankwire {
namespace {

constexpr size_t kVerbsDeliveries = 1024;

}  // namespace

bool VerbsTransport::is_split(const ConnectionEnds& ends) const noexcept {
  return options_.queue_pairs > 1 && options_.spread == Spread::kSplit && !ends.control;
}

void VerbsTransport::place_ends(const Connection& connection, Side side) {
  const bool at_source = side == Side::kSource;
  ConnectionEnds& ends = connections_[connection.id.value];
  ends.control = connection.control;
  if (connection.path != Path::kWire || connection.reverse_of.valid()) return;
  const NicId nic = at_source ? connection.source_nic : connection.destination_nic;
  const auto port = std::ranges::find(ports_, plan_.nics[nic.value].port, &VerbsPort::id);
  if (port == ports_.end()) return;
  (at_source ? ends.source : ends.destination) = static_cast<uint32_t>(ends_.size());
  for (uint32_t member = 0; member < options_.queue_pairs; ++member) {
    VerbsEnd& end = ends_.emplace_back();
    end.connection = connection.id;
    (at_source ? end.outbound : end.inbound) = connection.id;
    end.member = static_cast<uint16_t>(member);
    end.at_source = at_source;
    end.device = static_cast<uint32_t>(port - ports_.begin());
  }
}

uint64_t VerbsTransport::largest_part(ConnectionId connection) const {
  const Bytes largest = plan_.connections[connection.value].largest_message;
  const bool split = is_split({.control = plan_.connections[connection.value].control});
  return static_cast<uint64_t>(split ? std::min(largest, split_part(largest, options_.queue_pairs)).count
                                     : largest.count);
}

bool VerbsTransport::needs_receives(const VerbsEnd& end) const {
  if (options_.verb == DataVerb::kRead) return true;
  return end.inbound.valid() && !connections_[end.inbound.value].control;
}

// No rank is more than one iteration ahead of another, so no more of the messages of two iterations can be there at
// once.
uint32_t VerbsTransport::control_slots(const Connection& connection) const {
  const uint32_t each_iteration = (connection.messages_per_iteration + options_.queue_pairs - 1) / options_.queue_pairs;
  return each_iteration > 0 ? 2 * each_iteration : std::max(plan_.messages_in_flight, 1u);
}

// Where the peer of an end writes to. The parts of a split message come to one place: each has its own bytes of it, and
// none of the queue pairs may go on to the next use of the place before all parts have been compared.
MessageSlots VerbsTransport::inbox_of(MemoryLayout& layout, uint32_t end) const {
  const VerbsEnd& owner = ends_[end];
  if (!owner.inbound.valid()) return {};
  const Connection& connection = plan_.connections[owner.inbound.value];
  const auto largest = static_cast<uint64_t>(connection.largest_message.count);
  if (connection.control) return layout.reserve(control_slots(connection), largest);
  const bool writes = options_.verb == DataVerb::kWriteImm || options_.verb == DataVerb::kWriteThenImm;
  if (options_.payload == PayloadMode::kPattern || !writes) return landing_;
  if (is_split(connections_[connection.id.value]) && owner.member > 0) return ends_[end - owner.member].inbox;
  return layout.reserve(receive_depth_ + 1, largest);
}

void VerbsTransport::lay_out_end(MemoryLayout& layout, uint32_t end) {
  VerbsEnd& owner = ends_[end];
  owner.inbox = inbox_of(layout, end);
  if (options_.payload == PayloadMode::kChecking && owner.outbound.valid() &&
      !connections_[owner.outbound.value].control)
    owner.staging = layout.reserve(receive_depth_ + 1, largest_part(owner.outbound));
  if (options_.payload == PayloadMode::kChecking && options_.verb == DataVerb::kRead && owner.inbound.valid() &&
      !connections_[owner.inbound.value].control)
    owner.landings = layout.reserve(receive_depth_ + 1, largest_part(owner.inbound));
}

ReceivePool VerbsTransport::receive_pool(MemoryLayout& layout, uint32_t device, uint32_t depth) const {
  ReceivePool pool{.device = device, .depth = depth};
  uint64_t largest = 0;
  for (const VerbsEnd& end : ends_)
    if (end.device == device && end.inbound.valid() && !connections_[end.inbound.value].control)
      largest = std::max(largest, largest_part(end.inbound));
  const bool checking = options_.payload == PayloadMode::kChecking;
  if (options_.verb == DataVerb::kRead) {
    pool.buffer_bytes = sizeof(ReadyToSend);
    pool.buffers = layout.reserve(depth, pool.buffer_bytes);
  } else if (options_.verb == DataVerb::kSendImm) {
    pool.buffer_bytes = static_cast<uint32_t>(largest);
    pool.buffers = checking ? layout.reserve(depth, largest) : landing_;
  }
  for (uint32_t i = 0; i < depth; ++i) pool.unposted.push_back(i);
  return pool;
}

void VerbsTransport::lay_out_receives(MemoryLayout& layout) {
  receive_pools_.clear();
  std::vector<uint32_t> sharing(ports_.size());
  for (const VerbsEnd& end : ends_) sharing[end.device] += needs_receives(end) ? 1 : 0;
  std::vector<uint32_t> shared(ports_.size(), kNone);
  for (uint32_t i = 0; i < ends_.size(); ++i) {
    VerbsEnd& end = ends_[i];
    if (!needs_receives(end)) continue;
    end.held.reserve(receive_depth_);
    end.receive_pool = static_cast<uint32_t>(receive_pools_.size());
    if (!options_.shared_receive_queue) {
      receive_pools_.push_back(receive_pool(layout, end.device, receive_depth_));
      receive_pools_.back().end = i;
    } else if (shared[end.device] == kNone) {
      shared[end.device] = end.receive_pool;
      receive_pools_.push_back(receive_pool(layout, end.device, receive_depth_ * sharing[end.device]));
    } else {
      end.receive_pool = shared[end.device];
    }
  }
}

void VerbsTransport::lay_out_memory() {
  uint64_t largest = 0;
  control_bytes_ = 0;
  for (const Connection& connection : plan_.connections) {
    const ConnectionEnds& ends = connections_[connection.id.value];
    if (ends.source == kNone && ends.destination == kNone) continue;
    const auto bytes = static_cast<uint64_t>(connection.largest_message.count);
    (connection.control ? control_bytes_ : largest) = std::max(connection.control ? control_bytes_ : largest, bytes);
  }
  MemoryLayout layout;
  const bool checking = options_.payload == PayloadMode::kChecking;
  pattern_ = layout.reserve(1, checking ? 0 : largest);
  landing_ = layout.reserve(1, checking ? 0 : largest);
  landing_.stride = 0;
  for (uint32_t i = 0; i < ends_.size(); ++i) lay_out_end(layout, i);
  lay_out_receives(layout);
  make_pools();
  const bool words = options_.verb == DataVerb::kRead || control_bytes_ > 0;
  words_ = layout.reserve(static_cast<uint32_t>(requests_.size()),
                          words ? std::max<uint64_t>(control_bytes_, sizeof(ReadyToSend)) : 0);
  if (layout.bytes() > options_.memory)
    fail_input(
        "messages need {} bytes of registered memory and transport.verbs.memory allows {}; raise it, or lower "
        "transport.receive_queue, transport.queue_pairs or the size of messages",
        layout.bytes(), options_.memory);
  for (const VerbsPort& port : ports_)
    if (layout.bytes() > port.place.device.limits.region_bytes || port.place.device.limits.regions == 0)
      fail_input(
          "{}: a region of {} bytes is needed and it has {} regions of at most {}; lower transport.receive_queue",
          port.place.device.name, layout.bytes(), port.place.device.limits.regions,
          port.place.device.limits.region_bytes);
  memory_ = PinnedMemory(std::max<uint64_t>(layout.bytes(), 1));
}

// Of as many messages as the plan may have in flight, every part, and what is needed for it.
void VerbsTransport::make_pools() {
  const bool read = options_.verb == DataVerb::kRead;
  const bool split = options_.queue_pairs > 1 && options_.spread == Spread::kSplit;
  const uint64_t parts = uint64_t{plan_.messages_in_flight} * (split ? options_.queue_pairs : 1);
  uint64_t receives = 0;
  for (const ReceivePool& pool : receive_pools_) receives += pool.depth;
  if (3 * parts + receives >= UINT32_MAX / 2)
    fail_input("{} messages in flight of {} parts and {} receives are more than can be kept", plan_.messages_in_flight,
               split ? options_.queue_pairs : 1, receives);
  // A part that has been fetched may not have been settled yet when the peer offers the next.
  const auto gets = static_cast<uint32_t>(read ? 2 * parts : 0);
  messages_taken_ = 0;
  transfers_ = SlotPool<Transfer>(plan_.messages_in_flight);
  ended_transfers_ = IndexQueue(plan_.messages_in_flight);
  requests_ = SlotPool<VerbsRequest>(static_cast<uint32_t>(parts) + gets);
  offers_ = SlotPool<Offer>(read ? static_cast<uint32_t>(parts) : 0);
  gets_ = SlotPool<VerbsGet>(gets);
  // What is read is not finished at its source before all of it is. Otherwise each part that waits for others keeps a
  // receive, and a connection's queue pairs have equally many.
  const uint64_t incomplete = read ? plan_.messages_in_flight : receives / options_.queue_pairs;
  assembly_ = MessageAssembly(split ? static_cast<uint32_t>(incomplete) : 0);
  sending_ = IndexQueue(static_cast<uint32_t>(ends_.size()));
  receiving_ = IndexQueue(static_cast<uint32_t>(receive_pools_.size()));
  delivered_.emplace(kVerbsDeliveries + gets);
}

}  // namespace rankwire
