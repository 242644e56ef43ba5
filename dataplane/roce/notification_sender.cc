#include "dataplane/roce/notification_sender.h"

#include <span>

namespace rankwire {
namespace {

uint16_t notification_bytes(const HeaderTemplate& path) noexcept {
  return static_cast<uint16_t>(header_bytes(path, Opcode::kCongestionNotification) + kIcrcBytes);
}

}  // namespace

void NotificationSender::on_mark(uint32_t queue_pair, Time arrival) noexcept {
  const QueuePairEnd& end = pairs_.ends[queue_pair];
  if (end.failed || end.link != LinkState::kOpen) return;
  ++counters_.notified[queue_pair].marked_packets;
  if (!marks_.marked(queue_pair, end.lane, arrival)) return;
  lanes_[end.lane].owes_notification = true;
  watch_.mark(end.lane);
}

void NotificationSender::transmit(uint32_t lane_index, Time now) noexcept {
  TransmitLane& lane = lanes_[lane_index];
  OwedNotifications& owed = marks_.owed(lane_index);
  if (!lane.may_send(lane.priorities().notifications)) return;
  for (; !owed.empty(); owed.pop()) {
    const uint32_t queue_pair = owed.front();
    const HeaderTemplate& path = pairs_.templates[queue_pair];
    const FrameShape shape{.header_length = notification_bytes(path)};
    const std::span<const FrameBuffer> buffers = lane.next_frames(now, shape.length(), 1);
    if (buffers.empty()) return;
    Frame frame;
    frame.head = lane.capabilities().place(buffers[0]) - shape.header_length;
    write_congestion_notification(path, hop_limit_, frame);
    lane.stage(1, shape);
    counters_.count_notification(queue_pair, shape.length());
  }
  lane.owes_notification = false;
}

}  // namespace rankwire
