#include "dataplane/roce/frame_receiver.h"

#include <algorithm>

#include "dataplane/roce/fetch.h"
#include "dataplane/wire/mirror_image.h"
#include "dataplane/wire/packet.h"

namespace rankwire {
namespace {

bool follows(const Frame& before, const Frame& frame) noexcept {
  return frame.head_length == before.head_length && frame.head_length >= MirrorImage::kEnd &&
         (frame.tail_length | before.tail_length) == 0 && MirrorImage::follow(before.head, frame.head);
}

// What a switch marks is answered for them alone: acknowledgements and requests of READs are not what fills queues.
bool carries_data(Opcode opcode) noexcept {
  if (opcode == Opcode::kReadRequest || opcode == Opcode::kCongestionNotification) return false;
  return !is_response(opcode) || is_read_response(opcode);
}

}  // namespace

// Queue pairs send several packets in a row, so what is the same of neighbours is looked at once.
inline uint32_t FrameReceiver::find_runs(std::span<const Frame> frames,
                                         std::span<Run, ReceiveBatch::kFrames> runs) const noexcept {
  uint32_t found = 0;
  const Frame* before = nullptr;
  for (const Frame& frame : frames) {
    if (before != nullptr && follows(*before, frame)) {
      ++runs[found - 1].count;
    } else {
      runs[found++] = {prefetch_state(frame, tables_), 1};
    }
    before = &frame;
  }
  return found;
}

inline void FrameReceiver::count_data(uint32_t queue_pair, uint64_t packets) noexcept {
  counters_.totals.data_packets_rx += packets;
  tables_.arrived[queue_pair] += packets;
}

// The short way for what most packets are: acknowledgements and MIDDLEs as the peer must have written them. How many of
// the run's leading frames are of that kind, and accepted.
inline size_t FrameReceiver::accept_image(uint32_t port, std::span<const Frame> run, uint32_t presumed,
                                          Time now) noexcept {
  const Frame& first = run.front();
  if (presumed == QueuePairs::kNone || lanes_.port_index(tables_.ends[presumed].lane) != port) return 0;
  const auto opcode = static_cast<Opcode>(first.head[MirrorImage::kBth]);
  if (opcode == Opcode::kAcknowledge) return accept_acknowledgement(port, presumed, first, now) ? 1 : 0;
  if (opcode != Opcode::kWriteMiddle || !pattern_) return 0;
  if (first.tail_length > 0 || MirrorImage(tables_.templates[presumed], first.head).asks())
    return accept_middle(presumed, first, now) ? 1 : 0;
  return accept_middles(presumed, run, now);
}

[[gnu::always_inline]] inline bool FrameReceiver::accept_acknowledgement(uint32_t port, uint32_t queue_pair,
                                                                         const Frame& frame, Time now) noexcept {
  const HeaderTemplate& own = tables_.templates[queue_pair];
  if (frame.head_length < MirrorImage::kAcknowledgementBytes || frame.tail_length > 0 ||
      !MirrorImage(own, frame.head).is_acknowledgement())
    return false;
  const uint8_t* const end = frame.head + MirrorImage::kEnd;
  const auto psn = reinterpret_cast<const Be32*>(end - sizeof(Be32))->value();
  if (!check_.matches_acknowledgement(own.peer, psn, end)) return false;
  ++counters_.totals.packets_rx;
  counters_.totals.bytes_rx += frame.length();
  const uint32_t aeth = reinterpret_cast<const Be32*>(end)->value();
  answers_.on_acknowledgement(port, queue_pair,
                              {.psn = psn, .msn = aeth & kPsnMask, .syndrome = static_cast<uint8_t>(aeth >> 24)}, now);
  return true;
}

// One that asks for an acknowledgement, or whose payload is by reference: it is known without being parsed, and from
// there on a request like others.
bool FrameReceiver::accept_middle(uint32_t queue_pair, const Frame& frame, Time now) noexcept {
  const HeaderTemplate& own = tables_.templates[queue_pair];
  const bool by_reference = frame.tail_length > 0;
  const uint32_t behind = mtu_ + uint32_t{kIcrcBytes};
  const bool is_full = frame.head_length == MirrorImage::kEnd + (by_reference ? 0 : behind) &&
                       frame.payload_length == (by_reference ? mtu_ : 0) &&
                       frame.tail_length == (by_reference ? uint32_t{kIcrcBytes} : 0);
  const MirrorImage image(own, frame.head);
  ParsedPacket packet;
  packet.opcode = Opcode::kWriteMiddle;
  packet.ack_request = image.asks();
  packet.payload_length = mtu_;
  if (!is_full || requests_.keeps_early() || !image.is_middle(packet.ack_request)) return false;
  packet.psn = reinterpret_cast<const Be32*>(frame.head + MirrorImage::kEnd - sizeof(Be32))->value() & kPsnMask;
  if (!check_.matches_middle(own.peer, packet.ack_request, packet.psn, frame)) return false;
  ++counters_.totals.packets_rx;
  counters_.totals.bytes_rx += frame.length();
  count_data(queue_pair, 1);
  requests_.on_request(queue_pair, packet, frame.arrival, now);
  return true;
}

size_t FrameReceiver::accept_middles(uint32_t queue_pair, std::span<const Frame> run, Time now) noexcept {
  const HeaderTemplate& own = tables_.templates[queue_pair];
  Responder& responder = tables_.responders[queue_pair];
  const Frame& first = run.front();
  const uint32_t length = MirrorImage::kEnd + mtu_ + uint32_t{kIcrcBytes};
  if (first.head_length != length || tables_.ends[queue_pair].failed || !MirrorImage(own, first.head).is_middle())
    return 0;
  const auto psn = reinterpret_cast<const Be32*>(first.head + MirrorImage::kEnd - sizeof(Be32))->value();
  const size_t expected = std::min<size_t>(run.size(), responder.expected_middles(responder_options_, psn));
  const size_t good = check_.matching_middles(own.peer, psn, run.first(expected));
  if (good == 0) return 0;
  responder.take_middles(responder_options_, static_cast<uint32_t>(good));
  if (requests_.keeps_early()) requests_.place_early(queue_pair, run[good - 1].arrival, now);
  counters_.totals.packets_rx += good;
  counters_.totals.bytes_rx += uint64_t{length} * good;
  count_data(queue_pair, good);
  return good;
}

void FrameReceiver::receive(uint32_t lane_index, Time now) noexcept {
  TransmitLane& lane = lanes_[lane_index];
  const uint32_t port = lanes_.port_index(lane_index);
  for (uint32_t received = 0; received < TransmitLane::kBurst; received += ReceiveBatch::kFrames) {
    // A frame delivers at most one message. Frames that find no room wait in the port, until the application has taken
    // what is there.
    if (deliveries_.room() < ReceiveBatch::kFrames) return;
    const auto frames = batch_.receive(lane.port(), now);
    if (frames.empty()) return;
    const size_t kept = lanes_.port(port).buffer ? lanes_.port(port).keep_in_buffer(frames) : frames.size();
    std::array<Run, ReceiveBatch::kFrames> runs;
    const uint32_t found = find_runs(frames.first(kept), runs);
    std::span<const Frame> waiting = frames.first(kept);
    for (const Run& run : std::span(runs).first(found)) {
      for (const size_t behind = waiting.size() - run.count; waiting.size() > behind;) {
        size_t accepted = accept_image(port, waiting.first(waiting.size() - behind), run.queue_pair, now);
        if (accepted == 0) {
          if (accept(port, waiting.front(), now)) batch_.keep(waiting.front());
          accepted = 1;
        }
        waiting = waiting.subspan(accepted);
      }
    }
    batch_.release(lane.port(), frames);
    if (frames.size() < ReceiveBatch::kFrames) return;
  }
}

// True: the frame is kept.
bool FrameReceiver::accept(uint32_t port_index, const Frame& frame, Time now) noexcept {
  RocePort& port = lanes_.port(port_index);
  const ParsedPacket packet = parse(frame);
  if (is_foreign(packet.reject)) {
    if (is_for_neighbours(packet.reject)) port.neighbours.receive(frame);
    if (packet.reject == Reject::kEtherType && port.accept_pause(frame)) return false;
    counters_.count_reject(packet.reject);
    return false;
  }
  ++counters_.totals.packets_rx;
  counters_.totals.bytes_rx += frame.length();
  if (packet.reject != Reject::kNone) {
    counters_.count_reject(packet.reject);
    return false;
  }
  const uint32_t queue_pair = tables_.index_of(packet.destination_qp);
  const bool known = queue_pair < tables_.size;
  const bool addressed = known && is_addressed_to(tables_.templates[queue_pair], packet);
  const bool intact = addressed && is_mirrored(tables_.templates[queue_pair], packet)
                          ? check_.matches(tables_.templates[queue_pair].peer, frame, packet)
                          : icrc_matches(frame, packet);
  if (!intact) {
    ++counters_.totals.icrc_errors;
    ++port.icrc_errors;
    return false;
  }
  if (!known) {
    ++counters_.totals.unknown_qp;
    return false;
  }
  if (!addressed || &lanes_.port_of(tables_.ends[queue_pair].lane) != &port) {
    ++counters_.details.misdirected;
    return false;
  }
  if (packet.ecn == Ecn::kCongestionExperienced) {
    ++counters_.totals.ecn_ce_rx;
    if (notices_ != nullptr && carries_data(packet.opcode)) notices_->on_mark(queue_pair, frame.arrival);
  }
  if (packet.opcode == Opcode::kAcknowledge) {
    answers_.on_acknowledgement(port_index, queue_pair,
                                {.psn = packet.psn, .msn = packet.msn, .syndrome = packet.syndrome}, now);
  } else if (is_read_response(packet.opcode)) {
    count_data(queue_pair, 1);
    answers_.on_response(queue_pair, packet, frame.arrival, now);
  } else if (packet.opcode == Opcode::kCongestionNotification) {
    answers_.on_notification(queue_pair, now);
  } else if (is_response(packet.opcode)) {
    ++counters_.details.ghost_acks;
  } else {
    if (packet.opcode == Opcode::kReadRequest) {
      ++counters_.totals.read_requests_rx;
    } else {
      count_data(queue_pair, 1);
    }
    const auto early =
        requests_.keeps_early() ? requests_.keep_early(queue_pair, frame, packet) : EarlyPackets::Outcome::kNoRoom;
    if (early != EarlyPackets::Outcome::kNoRoom) return early == EarlyPackets::Outcome::kKept;
    requests_.on_request(queue_pair, packet, frame.arrival, now);
    if (requests_.keeps_early()) requests_.place_early(queue_pair, frame.arrival, now);
  }
  return false;
}

}  // namespace rankwire
