// RoceTransport's transmitting side.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "dataplane/rendezvous.h"
#include "dataplane/roce_transport.h"

namespace rankwire {
namespace {

using Purpose = RequestContext::Purpose;

/// Of an ARP packet. Neighbour solicitations are a little longer; echo replies may be much longer, but are rare.
constexpr uint32_t kDiscoveryFrame = 60;

/// The first or the second cache line of two. A call that is not inlined has no effect that the compiler knows of, and
/// goes away.
template <class T>
[[gnu::always_inline]] inline void prefetch_first(const T& object) noexcept {
  static_assert(sizeof(T) == 128 && alignof(T) == 64);
  __builtin_prefetch(&object, 1);
}
template <class T>
[[gnu::always_inline]] inline void prefetch_second(const T& object) noexcept {
  static_assert(sizeof(T) == 128 && alignof(T) == 64);
  __builtin_prefetch(reinterpret_cast<const uint8_t*>(&object) + 64, 1);
}

/// The shape of a frame that was written from `place` - kHeaderRoom on, a short one moved so that it ends at `place`.
FrameShape fit_around(uint8_t* place, const Frame& frame) noexcept {
  const uint32_t length = frame.head_length;
  if (length < kHeaderRoom) std::memmove(place - length, frame.head, length);
  const uint32_t in_front = std::min(length, kHeaderRoom);
  return {.payload_length = length - in_front, .header_length = static_cast<uint16_t>(in_front)};
}

}  // namespace

void RoceTransport::transmit(uint32_t lane_index, Time now) noexcept {
  TransmitLane& lane = lanes_[lane_index];
  Port& port = *ports_[port_of_lane_[lane_index]];
  if (port.first_lane == lane_index) {
    // Deadlines pass whether or not the port takes frames.
    lane.discovery_due = port.neighbours.next_event();
    if (lane.discovery_due <= now) {
      port.neighbours.write(now, {});
      lane.discovery_due = port.neighbours.next_event();
    }
    if (port.buffer && bindings_[lane_index].pause != PauseMode::kOff) lane.pause_due = port.buffer->pause_due();
  }
  if (const PrioritySet paused = port.pauses.paused(now); (paused | lane.paused()) != 0) [[unlikely]]
    lane.hold(paused, port.pauses.next_expiry(now));
  if (paced_) release_paced(lane_index, now);
  if (!lane.begin(now)) return;
  if (lane.pause_due <= now) transmit_pause(lane, port, now);
  if (lane.discovery_due <= now && lane.may_send(lane.priorities().discovery))
    transmit_discovery(lane, port.neighbours, now);
  if (lane.owes_notification) transmit_notifications(lane_index, now);
  for (bool go_on = true; go_on && lane.has_work();) {
    if (lane.owes_answer()) {
      go_on = transmit_reply(lane, now);
    } else if (lane.readers.empty()) {
      go_on = paced_ ? transmit_controlled(lane, now) : transmit_turns(lane, now);
    } else {
      go_on = transmit_next(lane, now);
    }
  }
  lane.finish(now);
}

// Announcements, requests and answers of the port's NICs.
void RoceTransport::transmit_discovery(TransmitLane& lane, Neighbours& neighbours, Time now) noexcept {
  while (neighbours.next_event() <= now) {
    const std::span<const FrameBuffer> buffers = lane.next_frames(now, kDiscoveryFrame, 1);
    if (buffers.empty()) break;
    Frame frame;
    uint8_t* const place = lane.capabilities().place(buffers[0]);
    frame.head = place - kHeaderRoom;
    if (neighbours.write(now, {&frame, 1}) == 0) break;
    lane.stage(1, fit_around(place, frame));
  }
  lane.discovery_due = neighbours.next_event();
}

// A queue pair's turn to answer READs and one's turn to send requests alternate, whenever the line has a slot. Like the
// other ways to transmit: false when there was no frame for it. With congestion control a queue pair sends both in its
// own turns.
bool RoceTransport::transmit_next(TransmitLane& lane, Time now) noexcept {
  if (!lane.pacer().due(now)) return false;
  const bool sends = !lane.senders.empty() && lane.after_response;
  lane.after_response = !sends;
  return sends ? transmit_turn(lane, now) : transmit_reader(lane, now);
}

// Thousands of queue pairs that send in turns do not fit into the inner caches. What each will need is fetched turns
// beforehand: its headers and the first half of its requester; then, if the first or the last packet of a message will
// touch them, the other half and the message that the requester names. A turn has just ended.
template <class Queue>
[[gnu::always_inline]] inline void RoceTransport::look_ahead(const Queue& senders, const Requester* requesters,
                                                             const HeaderTemplate* templates,
                                                             uint32_t turn) const noexcept {
  if (senders.size() < kTurnsAhead) return;
  const uint32_t next = senders.at(1), after_next = senders.at(kTurnsAhead - 1);
  const Requester& requester = requesters[next];
  if (requester.plain_packets() < turn && requester.next_message() != OutboundMessage::kNone) {
    prefetch_second(requester);
    pool_->messages.prefetch(requester.next_message());
    __builtin_prefetch(&ends_[next], 1);
  }
  prefetch_first(requesters[after_next]);
  prefetch_first(templates[after_next]);
  prefetch_second(templates[after_next]);
}

template <class Queue>
[[gnu::always_inline]] inline void RoceTransport::end_turn(Queue& senders, bool goes_on) const noexcept {
  if (goes_on) {
    senders.rotate();
  } else {
    senders.pop();
  }
  look_ahead(senders, requesters_.data(), templates_.data(), options_.turn);
}

// Turns of one or several senders, whose packets go into the frames of a burst one behind the other: up to the first
// that has something out of the ordinary to send, or headers of another length. Most packets go this way, so what every
// turn needs is at hand.
bool RoceTransport::transmit_turns(TransmitLane& lane, Time now) noexcept {
  if (!joins_turns_) return transmit_turn(lane, now);
  IndexQueue& senders = lane.senders;
  const RequestWriter& writer = *writer_;
  const FrameShape middle = writer.middle_shape(templates_[senders.front()]);
  const std::span<const FrameBuffer> buffers =
      lane.next_frames(now, middle.length() + sizeof(Reth), TransmitLane::kHandful);
  if (buffers.empty()) return false;
  const RequestWriter::Place place = writer.place_in(lane.capabilities());
  Requester* const requesters = requesters_.data();
  const HeaderTemplate* const templates = templates_.data();
  const uint32_t turn = options_.turn;
  uint32_t done = 0, staged = 0, run = lane.run;
  // Where a turn is one packet, most are these.
  const auto send_plain_packets = [&] {
    IndexQueue::Rotation turns(senders);
    for (; done < buffers.size(); ++done) {
      Requester& requester = requesters[turns.front()];
      const HeaderTemplate& path = templates[turns.front()];
      if (requester.plain_packets() == 0 || path.header_length != middle.header_length) return;
      writer.write_middle(path, requester.middle_opcode(), requester.next_psn(), buffers[done], place);
      requester.middles_sent(1);
      turns.rotate();
      look_ahead(turns, requesters, templates, 1);
    }
  };
  while (done < buffers.size() && !senders.empty()) {
    if (turn == 1) {
      send_plain_packets();
      if (done == buffers.size()) break;
    }
    const uint32_t queue_pair = senders.front();
    Requester& requester = requesters[queue_pair];
    const HeaderTemplate& path = templates[queue_pair];
    const auto room = static_cast<uint32_t>(buffers.size()) - done;
    const uint32_t limit = std::min(turn - run, room);
    if (path.header_length != middle.header_length) break;
    if (requester.whole_message(reliable_) - 1 < limit) {
      if (done > staged) stage_data(lane, done - staged, middle);
      staged = done += transmit_messages(lane, buffers.subspan(done), run, now);
      continue;
    }
    if (requester.plain_packets() == 0 && !requester.at_first()) requester.look_ahead(reliable_);
    const bool plain = requester.plain_packets() >= limit;
    const uint32_t packets = plain ? limit : requester.new_packets(reliable_, limit);
    if (packets == 0) break;
    const std::span<const FrameBuffer> frames = buffers.subspan(done, packets);
    bool goes_on = true;
    if (!plain && (requester.at_first() || packets == requester.packets_left())) {
      if (done > staged) stage_data(lane, done - staged, middle);
      staged = done + packets;
      transmit_ends(lane, queue_pair, frames, now);
      goes_on = requester.can_send(reliable_);
    } else {
      if (packets == 1) {
        writer.write_middle(path, requester.middle_opcode(), requester.next_psn(), frames.front(), place);
      } else {
        writer.write_middles(path, requester.middle_opcode(), requester.next_psn(), frames, place);
      }
      requester.middles_sent(packets);
    }
    done += packets;
    run += packets;
    if (run == turn || !goes_on) {
      end_turn(senders, goes_on);
      run = 0;
    }
  }
  lane.run = run;
  if (done > staged) stage_data(lane, done - staged, middle);
  return done > 0 || transmit_turn(lane, now);
}

// As long as whole messages are next, without anything out of the ordinary, and there are buffers for them: how many
// packets. `run` are those that the first of the senders has sent in its turn.
uint32_t RoceTransport::transmit_messages(TransmitLane& lane, std::span<const FrameBuffer> buffers, uint32_t& run,
                                          Time now) noexcept {
  const uint32_t turn = options_.turn;
  const auto room = static_cast<uint32_t>(buffers.size());
  const uint16_t header_length = templates_[lane.senders.front()].header_length;
  uint32_t done = 0, in_turn = run;
  for (IndexQueue::Rotation senders(lane.senders); !senders.empty();) {
    const uint32_t queue_pair = senders.front();
    const Requester& requester = requesters_[queue_pair];
    const uint32_t packets = requester.whole_message(reliable_);
    if (packets - 1 >= std::min(turn - in_turn, room - done) || templates_[queue_pair].header_length != header_length)
      break;
    transmit_message(lane, queue_pair, buffers.subspan(done, packets), now);
    done += packets;
    in_turn += packets;
    const bool goes_on = requester.can_send(reliable_);
    if (in_turn == turn || !goes_on) {
      end_turn(senders, goes_on);
      in_turn = 0;
    }
  }
  run = in_turn;
  return done;
}

// The turn of the first of the senders, or what is left of it. False when frames ran out before it was over.
bool RoceTransport::transmit_turn(TransmitLane& lane, Time now) noexcept {
  const uint32_t queue_pair = lane.senders.front();
  if (!transmit_up_to(lane, queue_pair, options_.turn, now)) return false;
  end_turn(lane.senders, requesters_[queue_pair].can_send(reliable_));
  lane.run = 0;
  return true;
}

// Until `turn` packets of this turn are sent, or as many as there are.
bool RoceTransport::transmit_up_to(TransmitLane& lane, uint32_t queue_pair, uint32_t turn, Time now) noexcept {
  if (!records_causes()) return transmit_packets(lane, queue_pair, turn, now);
  const Time begin = lane.pacer().schedule();
  const bool over = transmit_packets(lane, queue_pair, turn, now);
  note_transmission(queue_pair, lane.pacer().schedule() - begin, now);
  return over;
}

inline bool RoceTransport::transmit_packets(TransmitLane& lane, uint32_t queue_pair, uint32_t turn, Time now) noexcept {
  Requester& requester = requesters_[queue_pair];
  while (lane.run < turn) {
    const uint32_t packets = short_way_ ? requester.new_packets(reliable_, turn - lane.run) : 0;
    if (packets > 0) {
      if (!transmit_new(lane, queue_pair, packets, now)) return false;
    } else if (!requester.can_send(reliable_)) {
      break;
    } else if (!transmit_run(lane, queue_pair, turn - lane.run, now)) {
      return false;
    }
  }
  return true;
}

// Packets of one message, none of them out of the ordinary (see Requester::new_packets).
bool RoceTransport::transmit_new(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept {
  const uint32_t longest = writer_->middle_shape(templates_[queue_pair]).length() + uint32_t{sizeof(Reth)};
  const std::span<const FrameBuffer> buffers = lane.next_frames(now, longest, limit);
  if (buffers.empty()) return false;
  if (requesters_[queue_pair].whole_message(reliable_) == buffers.size()) {
    transmit_message(lane, queue_pair, buffers, now);
  } else {
    transmit_ends(lane, queue_pair, buffers, now);
  }
  lane.run += static_cast<uint32_t>(buffers.size());
  return true;
}

// Makes all packets of the queue pair's next message, at least three and none out of the ordinary.
[[gnu::always_inline]] inline void RoceTransport::transmit_message(TransmitLane& lane, uint32_t queue_pair,
                                                                   std::span<const FrameBuffer> buffers,
                                                                   Time now) noexcept {
  const HeaderTemplate& path = templates_[queue_pair];
  Requester& requester = requesters_[queue_pair];
  const RequestWriter& writer = *writer_;
  const OutboundMessage& message = pool_->messages[requester.next_message()];
  // The requester will look at it when this one has ended.
  if (message.next != OutboundMessage::kNone) pool_->messages.prefetch(message.next);
  const auto packets = static_cast<uint32_t>(buffers.size());
  const Time deadline = requester.deadline();
  const uint64_t kind = message.bytes | uint64_t{path.header_length} << 32 | static_cast<uint64_t>(message.verb) << 40;
  // The lane's state first: the frames that are written then might be anything to the compiler.
  counters_.bytes_tx += lane.stage_message(kind, [&] {
    return std::array<FrameRun, 3>{{{writer.first_shape(path, message.verb), 1},
                                    {writer.middle_shape(path), packets - 2},
                                    {writer.last_shape(path, message), 1}}};
  });
  counters_.data_packets_tx += packets;
  writer.write_message(path, message, ends_[queue_pair].remote, requester.next_psn(), buffers, lane.capabilities());
  requester.message_sent(*pool_, now);
  note_deadline(queue_pair, now, deadline);
}

// Makes new packets, the first or the last of a message among them, or not, in all of the buffers.
[[gnu::always_inline]] inline void RoceTransport::transmit_ends(TransmitLane& lane, uint32_t queue_pair,
                                                                std::span<const FrameBuffer> buffers,
                                                                Time now) noexcept {
  const HeaderTemplate& path = templates_[queue_pair];
  Requester& requester = requesters_[queue_pair];
  const RequestWriter& writer = *writer_;
  const RequestWriter::Place place = writer.place_in(lane.capabilities());
  const OutboundMessage& message = pool_->messages[requester.next_message()];
  if (message.next != OutboundMessage::kNone) pool_->messages.prefetch(message.next);
  const auto count = static_cast<uint32_t>(buffers.size());
  const uint32_t first = requester.at_first() ? 1 : 0;
  const uint32_t last = count == requester.packets_left() ? 1 : 0;
  const uint32_t middles = count - first - last;
  const uint32_t psn = requester.next_psn();
  const Time deadline = requester.deadline();
  if (first > 0) stage_data(lane, 1, writer.first_shape(path, message.verb));
  if (middles > 0) stage_data(lane, middles, writer.middle_shape(path));
  if (last > 0) stage_data(lane, 1, writer.last_shape(path, message));
  if (first > 0) writer.write_first(path, message, ends_[queue_pair].remote, psn, buffers.front(), place);
  if (middles > 0)
    writer.write_middles(path, requester.middle_opcode(), psn_add(psn, first), buffers.subspan(first, middles), place);
  if (last > 0) writer.write_last(path, message, psn_add(psn, count - 1), buffers.back(), lane.capabilities());
  requester.new_packets_sent(*pool_, count, now);
  if (last > 0) note_deadline(queue_pair, now, deadline);
}

bool RoceTransport::transmit_run(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept {
  const HeaderTemplate& path = templates_[queue_pair];
  Requester& requester = requesters_[queue_pair];
  RequestRun run = requester.next_run(*pool_, limit);
  const OutboundMessage& message = pool_->messages[run.message];
  const bool own_payload = RequestContext(message).own_payload();
  const FrameShape shape = own_payload ? RequestWriter::own_shape(path, run.opcode, run.length)
                                       : writer_->shape(path, run.opcode, run.length);
  const std::span<const FrameBuffer> buffers = lane.next_frames(now, shape.length(), run.count);
  if (buffers.empty()) return false;
  run.count = static_cast<uint32_t>(buffers.size());
  if (own_payload) {
    std::array<uint8_t, kMaxControlBytes> bytes;
    write_own_payload(message, bytes);
    writer_->write(path, message, run, std::span(bytes).first(run.length), lane.capabilities().place(buffers[0]));
  } else {
    writer_->write(path, message, run, buffers, lane.capabilities());
  }
  lane.stage(run.count, shape);
  lane.run += run.count;
  count_request(queue_pair, run, shape.length());
  const Time deadline = requester.deadline();
  requester.sent(*pool_, run, now);
  if (run.ack_request) note_deadline(queue_pair, now, deadline);
  return true;
}

void RoceTransport::write_own_payload(const OutboundMessage& message,
                                      std::span<uint8_t, kMaxControlBytes> bytes) const noexcept {
  const RequestContext context(message);
  if (context.purpose() == Purpose::kReadyToSend) {
    const Offer& offer = offers_[context.subject()];
    const EndPoint local = end_point(message.queue_pair);
    const ReadyToSend ready{Be32(offer.index), Be32(context.subject()),
                            Be64(local.address + context.subject() * kOfferStride), Be32(local.rkey),
                            Be32(offer.bytes)};
    std::memcpy(bytes.data(), &ready, sizeof ready);
  } else if (context.purpose() == Purpose::kGetFinished) {
    const GetFinished finished{Be32(gets_[context.subject()].cookie)};
    std::memcpy(bytes.data(), &finished, sizeof finished);
  } else {
    const std::array<uint32_t, 2> words{message.immediate, 0};
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(bytes.data(), words.data(), sizeof words);
    write_payload(message.payload_key, 0, bytes.subspan(sizeof words));
  }
}

void RoceTransport::count_request(uint32_t queue_pair, const RequestRun& run, uint32_t length) noexcept {
  if (run.opcode == Opcode::kReadRequest) {
    counters_.read_requests_tx += run.count;
    counters_.bytes_tx += uint64_t{length} * run.count;
  } else {
    count_data(run.count, length);
  }
  if (run.retransmission) {
    counters_.retransmitted += run.count;
    flow_counters_[queue_pair].retransmitted += run.count;
  }
}

}  // namespace rankwire
