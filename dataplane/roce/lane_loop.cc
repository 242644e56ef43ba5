#include "dataplane/roce/lane_loop.h"

#include <algorithm>

namespace rankwire {

void LaneLoop::receive(Time now) noexcept {
  standstills_.look(now);
  now_ = now;
  requests_.place_waiting(now);
  if (watch_.on()) {
    receive_due(now);
  } else if (tally_.empty()) [[likely]] {
    for (uint32_t lane = 0; lane < lane_count_; ++lane) receiver_.receive(lane, now);
  } else {
    for (uint32_t lane = 0; lane < lane_count_; ++lane) receive_tallied(lane, now);
  }
  expiry_.expire(now);
}

void LaneLoop::receive_due(Time now) noexcept {
  watch_.hear([this](uint32_t lane) { return forecast_.next_report_of(lane); });
  watch_.agenda().begin(now, [&](uint32_t lane) {
    if (tally_.empty()) [[likely]]
      receiver_.receive(lane, now);
    else
      receive_tallied(lane, now);
  });
  while (watch_.foresees() && watch_.reports().next() <= now) {
    const uint32_t lane = watch_.reports().first();
    const Time next = forecast_.next_report_of(lane);
    watch_.reports().wake_at(lane, next);
    if (next <= now) break;  // the application must make room first
  }
}

void LaneLoop::transmit(Time now) noexcept {
  if (watch_.on()) {
    watch_.agenda().take(
        [&](uint32_t lane) {
          if (tally_.empty()) [[likely]]
            transmitter_.transmit(lane, now);
          else
            transmit_tallied(lane, now);
          return next_event_of(lane);
        },
        [](uint32_t, size_t) {});
  } else if (tally_.empty()) [[likely]] {
    for (uint32_t lane = 0; lane < lane_count_; ++lane) transmitter_.transmit(lane, now);
  } else {
    for (uint32_t lane = 0; lane < lane_count_; ++lane) transmit_tallied(lane, now);
  }
  if (resolves_) links_.follow(now);
}

// What the transport counts in the lane's turn is its port's.
void LaneLoop::receive_tallied(uint32_t lane, Time now) noexcept {
  const uint64_t packets = counters_.totals.packets_rx, bytes = counters_.totals.bytes_rx;
  receiver_.receive(lane, now);
  PortTally& tally = tally_[lanes_[lane].id().value];
  tally.rx_packets += counters_.totals.packets_rx - packets;
  tally.rx_bytes += counters_.totals.bytes_rx - bytes;
}

void LaneLoop::transmit_tallied(uint32_t lane, Time now) noexcept {
  const uint64_t packets = counters_.packets_tx(), bytes = counters_.totals.bytes_tx;
  transmitter_.transmit(lane, now);
  PortTally& tally = tally_[lanes_[lane].id().value];
  tally.tx_packets += counters_.packets_tx() - packets;
  tally.tx_bytes += counters_.totals.bytes_tx - bytes;
}

bool LaneLoop::has_to_report() const noexcept {
  return deliveries_.any() || requests_.any_waiting() || reports_.any();
}

Time LaneLoop::next_event_of(uint32_t lane) const noexcept {
  const Time next = std::min(lanes_[lane].wake(), lanes_[lane].port().next_event());
  return paced_ != nullptr ? std::min(next, paced_->next_event(lane)) : next;
}

Time LaneLoop::next_event() const noexcept {
  if (has_to_report()) return now_;
  Time next = Time::never();
  if (watch_.on()) {
    next = watch_.next([this](uint32_t lane) { return next_event_of(lane); });
  } else {
    for (uint32_t lane = 0; lane < lane_count_; ++lane) next = std::min(next, next_event_of(lane));
  }
  return std::min(next, expiry_.earliest(next));
}

}  // namespace rankwire
