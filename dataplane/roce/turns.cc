// RoceTransport's queue pairs in turns: new packets, and most of all those of whole messages.
#include <algorithm>
#include <array>

#include "dataplane/roce/transport.h"

namespace rankwire {
namespace {

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

}  // namespace

// Thousands of queue pairs that send in turns do not fit into the inner caches. What each will need is fetched turns
// beforehand: its headers and the first half of its requester; then, if the first or the last packet of a message will
// touch them, the other half and the message that the requester names. A turn has just ended.
template <class Queue>
[[gnu::always_inline]] inline void RoceTransport::look_ahead(const Queue& senders, const Requester* requesters,
                                                             const HeaderTemplate* templates,
                                                             uint32_t turn) const noexcept {
  if (senders.size() < 3) return;
  const uint32_t next = senders.second(), after_next = senders.third();
  const Requester& requester = requesters[next];
  if (requester.plain_packets() < turn && requester.next_message() != OutboundMessage::kNone) {
    prefetch_second(requester);
    outbound_->pool.messages.prefetch(requester.next_message());
    __builtin_prefetch(&pairs_->ends[next], 1);
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
  look_ahead(senders, pairs_->requesters.data(), pairs_->templates.data(), options_.turn);
}

// Turns of one or several senders, whose packets go into the frames of a burst one behind the other: up to the first
// that has something out of the ordinary to send, or headers of another length.
bool RoceTransport::transmit_turns(TransmitLane& lane, Time now) noexcept {
  if (!joins_turns_) return transmit_turn(lane, now);
  const FrameShape middle = codec_->writer.middle_shape(pairs_->templates[lane.senders.front()]);
  const FrameBuffers buffers = lane.next_frames(now, middle.length() + sizeof(Reth), TransmitLane::kHandful);
  if (buffers.empty()) return false;
  uint32_t done = 0;
  if (options_.turn == 1) {
    done = transmit_singles(lane, buffers, now);
  } else {
    done = transmit_messages(lane, buffers, now);
    if (done < buffers.size() && !lane.senders.empty()) done += transmit_parts(lane, buffers.subspan(done), now);
  }
  return done > 0 || transmit_turn(lane, now);
}

// Where a turn is one packet: how many were sent.
uint32_t RoceTransport::transmit_singles(TransmitLane& lane, FrameBuffers buffers, Time now) noexcept {
  const RequestWriter& writer = codec_->writer;
  const RequestWriter::Place place = writer.place_in(lane.capabilities());
  Requester* const requesters = pairs_->requesters.data();
  const HeaderTemplate* const templates = pairs_->templates.data();
  const FrameShape middle = writer.middle_shape(templates[lane.senders.front()]);
  IndexQueue::Rotation senders(lane.senders);
  uint32_t done = 0, staged = 0;
  const auto send_plain_packets = [&] {
    for (; done < buffers.size(); ++done) {
      Requester& requester = requesters[senders.front()];
      const HeaderTemplate& path = templates[senders.front()];
      if (requester.plain_packets() == 0 || path.header_length != middle.header_length) return;
      writer.write_middle(path, requester.middle_opcode(), requester.next_psn(), buffers[done], place);
      requester.plain_packet_sent();
      senders.rotate();
      look_ahead(senders, requesters, templates, 1);
    }
  };
  while (!senders.empty()) {
    send_plain_packets();
    const uint32_t queue_pair = senders.front();
    Requester& requester = requesters[queue_pair];
    if (done == buffers.size() || templates[queue_pair].header_length != middle.header_length) break;
    if (requester.look_ahead(reliable_)) continue;
    if (requester.new_packets(reliable_, 1) == 0) break;
    if (done > staged) stage_data(lane, done - staged, middle);
    const bool goes_on = transmit_end(lane, queue_pair, buffers[done], now);
    staged = ++done;
    end_turn(senders, goes_on);
  }
  if (done > staged) stage_data(lane, done - staged, middle);
  return done;
}

// Whatever part of its message each has left of its turn: how many packets.
uint32_t RoceTransport::transmit_parts(TransmitLane& lane, FrameBuffers buffers, Time now) noexcept {
  const RequestWriter& writer = codec_->writer;
  const RequestWriter::Place place = writer.place_in(lane.capabilities());
  const FrameShape middle = writer.middle_shape(pairs_->templates[lane.senders.front()]);
  const uint32_t turn = options_.turn;
  uint32_t done = 0, staged = 0;
  while (done < buffers.size() && !lane.senders.empty()) {
    const uint32_t queue_pair = lane.senders.front();
    Requester& requester = pairs_->requesters[queue_pair];
    const HeaderTemplate& path = pairs_->templates[queue_pair];
    const uint32_t limit = std::min(turn - lane.run, static_cast<uint32_t>(buffers.size()) - done);
    if (path.header_length != middle.header_length) break;
    if (requester.whole_message(reliable_) - 1 < limit) {
      if (done > staged) stage_data(lane, done - staged, middle);
      staged = done += transmit_messages(lane, buffers.subspan(done), now);
      continue;
    }
    if (requester.plain_packets() == 0) requester.look_ahead(reliable_);
    const bool plain = requester.plain_packets() >= limit;
    const uint32_t packets = plain ? limit : requester.new_packets(reliable_, limit);
    if (packets == 0) break;
    const FrameBuffers frames = buffers.subspan(done, packets);
    bool goes_on = true;
    if (!plain && (requester.at_first() || packets == requester.packets_left())) {
      if (done > staged) stage_data(lane, done - staged, middle);
      staged = done + packets;
      transmit_ends(lane, queue_pair, frames, now);
      goes_on = requester.can_send(reliable_);
    } else {
      writer.write_middles(path, requester.middle_opcode(), requester.next_psn(), frames, place);
      requester.middles_sent(packets);
    }
    done += packets;
    lane.run += packets;
    if (lane.run == turn || !goes_on) {
      end_turn(lane.senders, goes_on);
      lane.run = 0;
    }
  }
  if (done > staged) stage_data(lane, done - staged, middle);
  return done;
}

// As long as whole messages are next, without anything out of the ordinary, and there are buffers for them: how many
// packets.
uint32_t RoceTransport::transmit_messages(TransmitLane& lane, FrameBuffers buffers, Time now) noexcept {
  const uint32_t turn = options_.turn;
  const size_t room = buffers.size();
  const uint16_t header_length = pairs_->templates[lane.senders.front()].header_length;
  uint32_t left_of_turn = turn - lane.run;
  for (IndexQueue::Rotation senders(lane.senders); !senders.empty();) {
    const uint32_t queue_pair = senders.front();
    const Requester& requester = pairs_->requesters[queue_pair];
    const uint32_t packets = requester.whole_message(reliable_);
    if (packets == 0 || packets > left_of_turn || packets > buffers.size() ||
        pairs_->templates[queue_pair].header_length != header_length)
      break;
    transmit_message(lane, queue_pair, buffers.first(packets), now);
    buffers = buffers.subspan(packets);
    left_of_turn -= packets;
    const bool goes_on = requester.can_send(reliable_);
    if (left_of_turn == 0 || !goes_on) {
      end_turn(senders, goes_on);
      left_of_turn = turn;
    }
  }
  lane.run = turn - left_of_turn;
  return static_cast<uint32_t>(room - buffers.size());
}

// The turn of the first of the senders, or what is left of it. False when frames ran out before it was over.
bool RoceTransport::transmit_turn(TransmitLane& lane, Time now) noexcept {
  const uint32_t queue_pair = lane.senders.front();
  if (!transmit_up_to(lane, queue_pair, options_.turn, now)) return false;
  end_turn(lane.senders, pairs_->requesters[queue_pair].can_send(reliable_));
  lane.run = 0;
  return true;
}

// Until `turn` packets of this turn are sent, or as many as there are. False when frames ran out.
bool RoceTransport::transmit_up_to(TransmitLane& lane, uint32_t queue_pair, uint32_t turn, Time now) noexcept {
  const Time begin = lane.pacer().schedule();
  Requester& requester = pairs_->requesters[queue_pair];
  bool has_frames = true;
  while (has_frames && lane.run < turn) {
    const uint32_t packets = short_way_ ? requester.new_packets(reliable_, turn - lane.run) : 0;
    if (packets > 0) {
      has_frames = transmit_new(lane, queue_pair, packets, now);
    } else if (requester.can_send(reliable_)) {
      has_frames = transmit_run(lane, queue_pair, turn - lane.run, now);
    } else {
      break;
    }
  }
  if (causes_->on()) causes_->note_transmission(queue_pair, lane.pacer().schedule() - begin, now);
  return has_frames;
}

// Packets of one message, none of them out of the ordinary (see Requester::new_packets).
bool RoceTransport::transmit_new(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept {
  const uint32_t longest = codec_->writer.middle_shape(pairs_->templates[queue_pair]).length() + uint32_t{sizeof(Reth)};
  const FrameBuffers buffers = lane.next_frames(now, longest, limit);
  if (buffers.empty()) return false;
  if (pairs_->requesters[queue_pair].whole_message(reliable_) == buffers.size()) {
    transmit_message(lane, queue_pair, buffers, now);
  } else {
    transmit_ends(lane, queue_pair, buffers, now);
  }
  lane.run += static_cast<uint32_t>(buffers.size());
  return true;
}

// Makes all packets of the queue pair's next message, at least three and none out of the ordinary.
[[gnu::always_inline]] inline void RoceTransport::transmit_message(TransmitLane& lane, uint32_t queue_pair,
                                                                   FrameBuffers buffers, Time now) noexcept {
  const HeaderTemplate& path = pairs_->templates[queue_pair];
  Requester& requester = pairs_->requesters[queue_pair];
  const RequestWriter& writer = codec_->writer;
  const OutboundMessage& message = outbound_->pool.messages[requester.next_message()];
  // The requester will look at it when this one has ended.
  if (message.next != OutboundMessage::kNone) outbound_->pool.messages.prefetch(message.next);
  const auto packets = static_cast<uint32_t>(buffers.size());
  const Time deadline = requester.deadline();
  const uint64_t kind = message.bytes | uint64_t{path.header_length} << 32 | static_cast<uint64_t>(message.verb) << 40;
  // The lane's state first: the frames that are written then might be anything to the compiler.
  counters_->totals.bytes_tx += lane.stage_message(kind, [&] {
    return std::array<FrameRun, 3>{{{writer.first_shape(path, message.verb), 1},
                                    {writer.middle_shape(path), packets - 2},
                                    {writer.last_shape(path, message), 1}}};
  });
  counters_->totals.data_packets_tx += packets;
  writer.write_message(path, message, pairs_->ends[queue_pair].remote, requester.next_psn(), buffers,
                       lane.capabilities());
  requester.message_sent(outbound_->pool, now);
  steps_->note_deadline(queue_pair, now, deadline);
}

// Makes new packets, the first or the last of a message among them, or not, in all of the buffers.
[[gnu::always_inline]] inline void RoceTransport::transmit_ends(TransmitLane& lane, uint32_t queue_pair,
                                                                FrameBuffers buffers, Time now) noexcept {
  const HeaderTemplate& path = pairs_->templates[queue_pair];
  Requester& requester = pairs_->requesters[queue_pair];
  const RequestWriter& writer = codec_->writer;
  const RequestWriter::Place place = writer.place_in(lane.capabilities());
  const OutboundMessage& message = outbound_->pool.messages[requester.next_message()];
  if (message.next != OutboundMessage::kNone) outbound_->pool.messages.prefetch(message.next);
  const auto count = static_cast<uint32_t>(buffers.size());
  const uint32_t first = requester.at_first() ? 1 : 0;
  const uint32_t last = count == requester.packets_left() ? 1 : 0;
  const uint32_t middles = count - first - last;
  const uint32_t psn = requester.next_psn();
  const Time deadline = requester.deadline();
  if (first > 0) stage_data(lane, 1, writer.first_shape(path, message.verb));
  if (middles > 0) stage_data(lane, middles, writer.middle_shape(path));
  if (last > 0) stage_data(lane, 1, writer.last_shape(path, message));
  if (first > 0) writer.write_first(path, message, pairs_->ends[queue_pair].remote, psn, buffers.front(), place);
  if (middles > 0)
    writer.write_middles(path, requester.middle_opcode(), psn_add(psn, first), buffers.subspan(first, middles), place);
  if (last > 0) writer.write_last(path, message, psn_add(psn, count - 1), buffers.back(), lane.capabilities());
  requester.new_packets_sent(outbound_->pool, count, now);
  if (last > 0) steps_->note_deadline(queue_pair, now, deadline);
}

// The same of the one packet that is a message's first or last; whether the queue pair can go on.
[[gnu::noinline]] bool RoceTransport::transmit_end(TransmitLane& lane, uint32_t queue_pair, FrameBuffer buffer,
                                                   Time now) noexcept {
  const HeaderTemplate& path = pairs_->templates[queue_pair];
  Requester& requester = pairs_->requesters[queue_pair];
  const OutboundMessage& message = outbound_->pool.messages[requester.next_message()];
  const FramePort::Capabilities& port = lane.capabilities();
  if (requester.at_first()) {
    stage_data(lane, 1, codec_->writer.first_shape(path, message.verb));
    codec_->writer.write_first(path, message, pairs_->ends[queue_pair].remote, requester.next_psn(), buffer,
                               codec_->writer.place_in(port));
    requester.new_packets_sent(outbound_->pool, 1, now);
  } else {
    if (message.next != OutboundMessage::kNone) outbound_->pool.messages.prefetch(message.next);
    const Time deadline = requester.deadline();
    stage_data(lane, 1, codec_->writer.last_shape(path, message));
    codec_->writer.write_last(path, message, requester.next_psn(), buffer, port);
    requester.new_packets_sent(outbound_->pool, 1, now);
    steps_->note_deadline(queue_pair, now, deadline);
  }
  return requester.can_send(reliable_);
}

}  // namespace rankwire
