// The requests of one queue pair, packet by packet.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/units.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/packet_codec.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/request_writer.h"
#include "dataplane/roce/requester_steps.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/roce/transmit_lane.h"

namespace rankwire {

/// Writes what a requester has to send into frames of its lane, stages them and tells the requester. All that it is
/// made from is borrowed. One thread.
class alignas(64) RequestSender {
 public:
  using FrameBuffers = std::span<const FrameBuffer>;

  RequestSender(const ReliableOptions& reliable, const PacketCodec& codec, QueuePairs& pairs,
                OutboundMessages& outbound, CauseWatch& causes, RequesterSteps& steps, RoceCounters& counters)
      : reliable_(reliable),
        writer_(codec.writer),
        short_way_(codec.writer.has_short_way()),
        pairs_(pairs),
        tables_(pairs.tables()),
        outbound_(outbound),
        causes_(causes),
        steps_(steps),
        counters_(counters) {}

  /// Whatever the queue pair has to send, until `turn` packets of its turn, which the lane counts, are sent or there
  /// are no more. False when frames ran out.
  bool transmit_up_to(TransmitLane& lane, uint32_t queue_pair, uint32_t turn, Time now) noexcept;

  // Only with RequestWriter::has_short_way. `buffers` are the next ones of TransmitLane::next_frames; the packets, all
  // of Requester::new_packets, fill them.
  /// All packets of the queue pair's next message (Requester::whole_message).
  void transmit_message(TransmitLane& lane, uint32_t queue_pair, FrameBuffers buffers, Time now) noexcept;
  /// Some packets of it. Its first or its last may be among them.
  void transmit_ends(TransmitLane& lane, uint32_t queue_pair, FrameBuffers buffers, Time now) noexcept;
  /// One packet, the first or the last of it. Returns whether the queue pair can send more.
  bool transmit_end(TransmitLane& lane, uint32_t queue_pair, FrameBuffer buffer, Time now) noexcept;
  /// Stages and counts `packets` data packets of one shape, which are written into the next frames of the lane before
  /// or after.
  void stage_data(TransmitLane& lane, uint32_t packets, FrameShape shape) noexcept {
    lane.stage(packets, shape);
    counters_.count_data(packets, shape.length());
  }

 private:
  bool transmit_new(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept;
  bool transmit_run(TransmitLane& lane, uint32_t queue_pair, uint32_t limit, Time now) noexcept;
  void write_own_payload(const OutboundMessage& message, std::span<uint8_t, kMaxControlBytes> bytes) const noexcept;

  const ReliableOptions& reliable_;
  const RequestWriter& writer_;
  const bool short_way_;
  const QueuePairs& pairs_;
  const QueuePairTables tables_;
  OutboundMessages& outbound_;
  CauseWatch& causes_;
  RequesterSteps& steps_;
  RoceCounters& counters_;
};

[[gnu::always_inline]] inline void RequestSender::transmit_message(TransmitLane& lane, uint32_t queue_pair,
                                                                   FrameBuffers buffers, Time now) noexcept {
  const HeaderTemplate& path = tables_.templates[queue_pair];
  Requester& requester = tables_.requesters[queue_pair];
  const RequestWriter& writer = writer_;
  const OutboundMessage& message = outbound_.pool.messages[requester.next_message()];
  // The requester will look at it when this one has ended.
  if (message.next != OutboundMessage::kNone) outbound_.pool.messages.prefetch(message.next);
  const auto packets = static_cast<uint32_t>(buffers.size());
  const Time deadline = requester.deadline();
  const uint64_t kind = message.bytes | uint64_t{path.header_length} << 32 | static_cast<uint64_t>(message.verb) << 40;
  // The lane's state first: the frames that are written then might be anything to the compiler.
  counters_.totals.bytes_tx += lane.stage_message(kind, [&] {
    return std::array<FrameRun, 3>{{{writer.first_shape(path, message.verb), 1},
                                    {writer.middle_shape(path), packets - 2},
                                    {writer.last_shape(path, message), 1}}};
  });
  counters_.totals.data_packets_tx += packets;
  writer.write_message(path, message, tables_.ends[queue_pair].remote, requester.next_psn(), buffers,
                       lane.capabilities());
  requester.message_sent(outbound_.pool, now);
  steps_.note_deadline(queue_pair, now, deadline);
}

[[gnu::always_inline]] inline void RequestSender::transmit_ends(TransmitLane& lane, uint32_t queue_pair,
                                                                FrameBuffers buffers, Time now) noexcept {
  const HeaderTemplate& path = tables_.templates[queue_pair];
  Requester& requester = tables_.requesters[queue_pair];
  const RequestWriter& writer = writer_;
  const RequestWriter::Place place = writer.place_in(lane.capabilities());
  const OutboundMessage& message = outbound_.pool.messages[requester.next_message()];
  if (message.next != OutboundMessage::kNone) outbound_.pool.messages.prefetch(message.next);
  const auto count = static_cast<uint32_t>(buffers.size());
  const uint32_t first = requester.at_first() ? 1 : 0;
  const uint32_t last = count == requester.packets_left() ? 1 : 0;
  const uint32_t middles = count - first - last;
  const uint32_t psn = requester.next_psn();
  const Time deadline = requester.deadline();
  if (first > 0) stage_data(lane, 1, writer.first_shape(path, message.verb));
  if (middles > 0) stage_data(lane, middles, writer.middle_shape(path));
  if (last > 0) stage_data(lane, 1, writer.last_shape(path, message));
  if (first > 0) writer.write_first(path, message, tables_.ends[queue_pair].remote, psn, buffers.front(), place);
  if (middles > 0)
    writer.write_middles(path, requester.middle_opcode(), psn_add(psn, first), buffers.subspan(first, middles), place);
  if (last > 0) writer.write_last(path, message, psn_add(psn, count - 1), buffers.back(), lane.capabilities());
  requester.new_packets_sent(outbound_.pool, count, now);
  if (last > 0) steps_.note_deadline(queue_pair, now, deadline);
}

}  // namespace rankwire
