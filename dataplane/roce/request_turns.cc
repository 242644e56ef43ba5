#include "dataplane/roce/request_turns.h"

#include <algorithm>

#include "dataplane/ports/frame_port.h"

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
[[gnu::always_inline]] inline void RequestTurns::look_ahead(const Queue& senders, const Requester* requesters,
                                                            const HeaderTemplate* templates,
                                                            uint32_t turn) const noexcept {
  if (senders.size() < 3) return;
  const uint32_t next = senders.second(), after_next = senders.third();
  const Requester& requester = requesters[next];
  if (requester.plain_packets() < turn && requester.next_message() != OutboundMessage::kNone) {
    prefetch_second(requester);
    outbound_.pool.messages.prefetch(requester.next_message());
    __builtin_prefetch(&tables_.ends[next], 1);
  }
  prefetch_first(requesters[after_next]);
  prefetch_first(templates[after_next]);
  prefetch_second(templates[after_next]);
}

template <class Queue>
[[gnu::always_inline]] inline void RequestTurns::end_turn(Queue& senders, bool goes_on) const noexcept {
  if (goes_on) {
    senders.rotate();
  } else {
    senders.pop();
  }
  look_ahead(senders, tables_.requesters, tables_.templates, turn_);
}

bool RequestTurns::transmit(TransmitLane& lane, Time now) noexcept {
  if (!joins_) return transmit_turn(lane, now);
  const FrameShape middle = writer_.middle_shape(tables_.templates[lane.senders.front()]);
  const FrameBuffers buffers = lane.next_frames(now, middle.length() + sizeof(Reth), TransmitLane::kHandful);
  if (buffers.empty()) return false;
  uint32_t done = 0;
  if (turn_ == 1) {
    done = transmit_singles(lane, buffers, now);
  } else {
    done = transmit_messages(lane, buffers, now);
    if (done < buffers.size() && !lane.senders.empty()) done += transmit_parts(lane, buffers.subspan(done), now);
  }
  return done > 0 || transmit_turn(lane, now);
}

// Where a turn is one packet: how many were sent.
uint32_t RequestTurns::transmit_singles(TransmitLane& lane, FrameBuffers buffers, Time now) noexcept {
  const RequestWriter& writer = writer_;
  const RequestWriter::Place place = writer.place_in(lane.capabilities());
  Requester* const requesters = tables_.requesters;
  const HeaderTemplate* const templates = tables_.templates;
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
    if (done > staged) sender_.stage_data(lane, done - staged, middle);
    const bool goes_on = sender_.transmit_end(lane, queue_pair, buffers[done], now);
    staged = ++done;
    end_turn(senders, goes_on);
  }
  if (done > staged) sender_.stage_data(lane, done - staged, middle);
  return done;
}

// Whatever part of its message each has left of its turn: how many packets.
uint32_t RequestTurns::transmit_parts(TransmitLane& lane, FrameBuffers buffers, Time now) noexcept {
  const RequestWriter& writer = writer_;
  const RequestWriter::Place place = writer.place_in(lane.capabilities());
  const FrameShape middle = writer.middle_shape(tables_.templates[lane.senders.front()]);
  const uint32_t turn = turn_;
  uint32_t done = 0, staged = 0;
  while (done < buffers.size() && !lane.senders.empty()) {
    const uint32_t queue_pair = lane.senders.front();
    Requester& requester = tables_.requesters[queue_pair];
    const HeaderTemplate& path = tables_.templates[queue_pair];
    const uint32_t limit = std::min(turn - lane.run, static_cast<uint32_t>(buffers.size()) - done);
    if (path.header_length != middle.header_length) break;
    if (requester.whole_message(reliable_) - 1 < limit) {
      if (done > staged) sender_.stage_data(lane, done - staged, middle);
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
      if (done > staged) sender_.stage_data(lane, done - staged, middle);
      staged = done + packets;
      sender_.transmit_ends(lane, queue_pair, frames, now);
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
  if (done > staged) sender_.stage_data(lane, done - staged, middle);
  return done;
}

// As long as whole messages are next, without anything out of the ordinary, and there are buffers for them: how many
// packets.
uint32_t RequestTurns::transmit_messages(TransmitLane& lane, FrameBuffers buffers, Time now) noexcept {
  const uint32_t turn = turn_;
  const size_t room = buffers.size();
  const uint16_t header_length = tables_.templates[lane.senders.front()].header_length;
  uint32_t left_of_turn = turn - lane.run;
  for (IndexQueue::Rotation senders(lane.senders); !senders.empty();) {
    const uint32_t queue_pair = senders.front();
    const Requester& requester = tables_.requesters[queue_pair];
    const uint32_t packets = requester.whole_message(reliable_);
    if (packets == 0 || packets > left_of_turn || packets > buffers.size() ||
        tables_.templates[queue_pair].header_length != header_length)
      break;
    sender_.transmit_message(lane, queue_pair, buffers.first(packets), now);
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

bool RequestTurns::transmit_turn(TransmitLane& lane, Time now) noexcept {
  const uint32_t queue_pair = lane.senders.front();
  if (!sender_.transmit_up_to(lane, queue_pair, turn_, now)) return false;
  end_turn(lane.senders, tables_.requesters[queue_pair].can_send(reliable_));
  lane.run = 0;
  return true;
}

}  // namespace rankwire
