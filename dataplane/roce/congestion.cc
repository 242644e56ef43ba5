// RoceTransport's part in congestion control: it answers marks, and holds its senders to what they may send.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "dataplane/congestion/mixed_control.h"
#include "dataplane/roce/transport.h"

namespace rankwire {
namespace {

constexpr uint32_t kLineOverhead = 24;  // of a frame: FCS, preamble, gap

uint16_t notification_bytes(const HeaderTemplate& path) noexcept {
  return static_cast<uint16_t>(header_bytes(path, Opcode::kCongestionNotification) + kIcrcBytes);
}

}  // namespace

const CongestionOptions& RoceTransport::congestion_options_of(const Connection& connection) const {
  const auto holds = [&](const CongestionException& exception) {
    return (!exception.job.valid() || exception.job == connection.job) &&
           (!exception.group.valid() || exception.group == connection.group);
  };
  const auto exception = std::ranges::find_if(options_.congestion_exceptions, holds);
  return exception == options_.congestion_exceptions.end() ? options_.congestion : exception->options;
}

void RoceTransport::make_congestion_control(const TransportPlan& plan) {
  std::vector<Bandwidth> lines;
  std::vector<const CongestionOptions*> options;
  for (const QueuePairEnd& end : pairs_->ends) {
    lines.push_back(bindings_[end.lane].rate);
    options.push_back(&congestion_options_of(plan.connections[end.connection.value]));
  }
  const WindowLimits limits{.packet = Bytes(options_.mtu), .largest = Bytes(int64_t{reliable_.window} * options_.mtu)};
  paced_.reset();
  if (auto control = rankwire::make_congestion_control(options, limits, lines))
    paced_ = std::make_unique<PacedSenders>(
        std::move(control),
        PacingOptions{.mtu = options_.mtu, .burst = options_.congestion.burst, .catch_up = options_.catch_up}, lines,
        static_cast<uint32_t>(lanes_->size()));
  marks_.reset();
  if (options_.congestion.notifies)
    marks_.emplace(options_.congestion.notification.min_time_between_cnps, notification_groups(),
                   pairs_->count_by_lane(bindings_.size()));
}

// By queue pair: the number of what its interval between CNPs is kept for.
std::vector<uint32_t> RoceTransport::notification_groups() const {
  const NotificationScope scope = options_.congestion.notification.scope;
  std::map<std::tuple<uint32_t, IpAddress, IpAddress>, uint32_t> known;
  std::vector<uint32_t> groups;
  for (uint32_t i = 0; i < pairs_->size(); ++i) {
    const QueuePairEnd& end = pairs_->ends[i];
    std::tuple<uint32_t, IpAddress, IpAddress> key;
    if (scope == NotificationScope::kQueuePair) key = {i, {}, {}};
    if (scope == NotificationScope::kAddressPair) key = {0, pairs_->nic_of(end).ip, pairs_->peer_nic_of(end).ip};
    if (scope == NotificationScope::kPort) key = {bindings_[end.lane].id.value, {}, {}};
    groups.push_back(known.try_emplace(key, static_cast<uint32_t>(known.size())).first->second);
  }
  return groups;
}

// A data packet for the queue pair was marked on its way.
void RoceTransport::on_mark(uint32_t queue_pair, Time arrival) noexcept {
  const QueuePairEnd& end = pairs_->ends[queue_pair];
  if (end.failed || end.link != LinkState::kOpen) return;
  ++counters_->notified[queue_pair].marked_packets;
  if (!marks_->marked(queue_pair, end.lane, arrival)) return;
  (*lanes_)[end.lane].owes_notification = true;
  watch_->mark(end.lane);
}

void RoceTransport::on_notification(uint32_t queue_pair, Time now) noexcept {
  ++counters_->totals.cnp_rx;
  const bool heeded = paced_ && paced_->control().heeds_notifications(queue_pair) && !pairs_->ends[queue_pair].failed;
  ++(heeded ? counters_->notified[queue_pair].handled : counters_->of[queue_pair].notifications_ignored);
  if (heeded) paced_->control().notified(queue_pair, now);
}

// An acknowledgement has come; before it `oldest_before` was the oldest packet not acknowledged.
void RoceTransport::on_progress(uint32_t queue_pair, uint32_t oldest_before, const AckReception& reception,
                                Time now) noexcept {
  const int64_t packets = psn_distance(oldest_before, pairs_->requesters[queue_pair].oldest_unacknowledged());
  CongestionControl& control = paced_->control();
  if (packets > 0) control.acknowledged(queue_pair, now, Bytes(packets * options_.mtu), reception.round_trip);
  if (reception.outcome == AckOutcome::kRewind || reception.outcome == AckOutcome::kImpliedNak)
    control.rewound(queue_pair, now);
}

void RoceTransport::transmit_notifications(uint32_t lane_index, Time now) noexcept {
  TransmitLane& lane = (*lanes_)[lane_index];
  OwedNotifications& owed = marks_->owed(lane_index);
  if (!lane.may_send(lane.priorities().notifications)) return;
  for (; !owed.empty(); owed.pop()) {
    const uint32_t queue_pair = owed.front();
    const HeaderTemplate& path = pairs_->templates[queue_pair];
    const FrameShape shape{.header_length = notification_bytes(path)};
    const std::span<const FrameBuffer> buffers = lane.next_frames(now, shape.length(), 1);
    if (buffers.empty()) return;
    Frame frame;
    frame.head = lane.capabilities().place(buffers[0]) - shape.header_length;
    write_congestion_notification(path, options_.profile.notification_hop_limit, frame);
    lane.stage(1, shape);
    counters_->count_notification(queue_pair, shape.length());
  }
  lane.owes_notification = false;
}

// The turn of the first of the senders, or what is left of it: as many packets as it may send, requests or responses to
// READs, which share its rate. False when frames ran out before it was over.
bool RoceTransport::transmit_controlled(TransmitLane& lane, Time now) noexcept {
  if (!lane.pacer().due(now)) return false;
  const uint32_t queue_pair = lane.senders.front();
  const uint32_t begin = lane.run;
  const uint64_t bytes = counters_->totals.bytes_tx;
  const uint32_t limit = begin < options_.turn ? options_.turn - begin : 0;
  const uint32_t packets = paced_->packets(queue_pair, pairs_->requesters[queue_pair].in_flight(), limit, now);
  // Where it has both, their turns alternate.
  QueuePairEnd& end = pairs_->ends[queue_pair];
  const bool answers =
      pairs_->owes_response(queue_pair) && !(end.answered && pairs_->requesters[queue_pair].can_send(reliable_));
  const bool over = answers ? transmit_responses(lane, queue_pair, begin + packets, now)
                            : transmit_up_to(lane, queue_pair, begin + packets, now);
  if (const uint32_t sent = lane.run - begin; sent > 0) {
    const auto on_line = static_cast<int64_t>(counters_->totals.bytes_tx - bytes + uint64_t{kLineOverhead} * sent);
    paced_->sent(queue_pair, sent, Bytes(on_line), now);
    end.answered = answers;
  }
  if (!over) return false;
  lane.run = 0;
  lane.senders.pop();
  order_->place(queue_pair, now);
  return true;
}

// Until `turn` packets of this turn are sent, or as many as are owed. False when frames ran out before.
bool RoceTransport::transmit_responses(TransmitLane& lane, uint32_t queue_pair, uint32_t turn, Time now) noexcept {
  while (lane.run < turn && pairs_->owes_response(queue_pair)) {
    const uint32_t sent = transmit_response(lane, queue_pair, turn - lane.run, now);
    if (sent == 0) return false;
    lane.run += sent;
  }
  order_->owe_answer(queue_pair, last_now_);
  return true;
}

// Empty where nothing is held back.
std::string RoceTransport::describe_control(uint32_t queue_pair) const {
  if (!paced_) return {};
  std::string text;
  const Allowance& allowance = paced_->allowance(queue_pair);
  if (paced_->is_paced(queue_pair) && allowance.rate > Bandwidth())
    text += fmt::format(", paced at {:.3f} Gb/s, next packet from {:.6f} ms",
                        static_cast<double>(allowance.rate.bits_per_second) / 1e9,
                        static_cast<double>((paced_->schedule(queue_pair) - Time()).ps) / 1e9);
  if (allowance.window != Allowance::kUnlimited)
    text += fmt::format(", congestion window {} bytes", allowance.window.count);
  return text;
}

}  // namespace rankwire
