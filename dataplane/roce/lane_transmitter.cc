#include "dataplane/roce/lane_transmitter.h"

#include <algorithm>
#include <cstring>

#include "dataplane/wire/frame.h"
#include "dataplane/wire/pause.h"

namespace rankwire {
namespace {

/// Of an ARP packet. Neighbour solicitations are a little longer; echo replies may be much longer, but are rare.
constexpr uint32_t kDiscoveryFrame = 60;

/// The shape of a frame that was written from `place` - kHeaderRoom on, a short one moved so that it ends at `place`.
FrameShape fit_around(uint8_t* place, const Frame& frame) noexcept {
  const uint32_t length = frame.head_length;
  if (length < kHeaderRoom) std::memmove(place - length, frame.head, length);
  const uint32_t in_front = std::min(length, kHeaderRoom);
  return {.payload_length = length - in_front, .header_length = static_cast<uint16_t>(in_front)};
}

}  // namespace

void LaneTransmitter::transmit(uint32_t lane_index, Time now) noexcept {
  TransmitLane& lane = lanes_[lane_index];
  RocePort& port = lanes_.port_of(lane_index);
  if (port.first_lane == lane_index) {
    // Deadlines pass whether or not the port takes frames.
    lane.discovery_due = port.neighbours.next_event();
    if (lane.discovery_due <= now) {
      port.neighbours.write(now, {});
      lane.discovery_due = port.neighbours.next_event();
    }
    if (port.buffer && lanes_.binding(lane_index).pause != PauseMode::kOff) lane.pause_due = port.buffer->pause_due();
  }
  if (const PrioritySet paused = port.pauses.paused(now); (paused | lane.paused()) != 0) [[unlikely]]
    lane.hold(paused, port.pauses.next_expiry(now));
  if (paced_ != nullptr) order_.release(lane_index, now);
  if (!lane.begin(now)) return;
  if (lane.pause_due <= now) transmit_pause(lane, port, now);
  if (lane.discovery_due <= now && lane.may_send(lane.priorities().discovery))
    transmit_discovery(lane, port.neighbours, now);
  if (lane.owes_notification) notices_->transmit(lane_index, now);
  for (bool go_on = true; go_on && lane.has_work();) {
    if (lane.owes_answer()) {
      go_on = answers_.transmit_reply(lane, now);
    } else if (lane.readers.empty()) {
      go_on = paced_ != nullptr ? transmit_controlled(lane, now) : turns_.transmit(lane, now);
    } else {
      go_on = transmit_next(lane, now);
    }
  }
  lane.finish(now);
}

// Pauses are for the far end of the line, which no pause of its own stops.
void LaneTransmitter::transmit_pause(TransmitLane& lane, RocePort& port, Time now) noexcept {
  while (lane.pause_due <= now) {
    const std::span<const FrameBuffer> buffers = lane.next_frames(now, kPauseFrameBytes, 1);
    if (buffers.empty()) return;
    Frame frame;
    frame.head = lane.capabilities().place(buffers[0]) - kPauseFrameBytes;
    write_pause(port.station, priority_pause(lane.priorities().data, port.buffer->take_pause(now)), frame);
    lane.stage(1, {.header_length = kPauseFrameBytes});
    ++port.pause_tx;
    lane.pause_due = port.buffer->pause_due();
  }
}

// Announcements, requests and answers of the port's NICs.
void LaneTransmitter::transmit_discovery(TransmitLane& lane, Neighbours& neighbours, Time now) noexcept {
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
bool LaneTransmitter::transmit_next(TransmitLane& lane, Time now) noexcept {
  if (!lane.pacer().due(now)) return false;
  const bool sends = !lane.senders.empty() && lane.after_response;
  lane.after_response = !sends;
  return sends ? turns_.transmit_turn(lane, now) : answers_.transmit_reader(lane, now);
}

// The turn of the first of the senders, or what is left of it: as many packets as it may send, requests or responses to
// READs, which share its rate. False when frames ran out before it was over.
bool LaneTransmitter::transmit_controlled(TransmitLane& lane, Time now) noexcept {
  if (!lane.pacer().due(now)) return false;
  const uint32_t queue_pair = lane.senders.front();
  const uint32_t begin = lane.run;
  const uint64_t bytes = counters_.totals.bytes_tx;
  const uint32_t limit = begin < turn_ ? turn_ - begin : 0;
  const uint32_t packets = paced_->packets(queue_pair, pairs_.requesters[queue_pair].in_flight(), limit, now);
  // Where it has both, their turns alternate.
  QueuePairEnd& end = pairs_.ends[queue_pair];
  const bool answers =
      pairs_.owes_response(queue_pair) && !(end.answered && pairs_.requesters[queue_pair].can_send(reliable_));
  const bool over = answers ? answers_.transmit_responses(lane, queue_pair, begin + packets, now)
                            : sender_.transmit_up_to(lane, queue_pair, begin + packets, now);
  if (const uint32_t sent = lane.run - begin; sent > 0) {
    const auto on_line = static_cast<int64_t>(counters_.totals.bytes_tx - bytes + uint64_t{kLineOverhead} * sent);
    paced_->sent(queue_pair, sent, Bytes(on_line), now);
    end.answered = answers;
  }
  if (!over) return false;
  lane.run = 0;
  lane.senders.pop();
  order_.place(queue_pair, now);
  return true;
}

}  // namespace rankwire
