#include "dataplane/roce/lane_loop.h"

#include <algorithm>
#include <utility>

namespace rankwire {

void LaneLoop::receive(Time now) noexcept {
  standstills_.look(now);
  now_ = now;
  requests_.place_waiting(now);
  if (watch_.on()) {
    receive_due(now);
  } else {
    for (uint32_t lane = 0; lane < lane_count_; ++lane) receive_lane(lane, now);
  }
  expiry_.expire(now);
}

void LaneLoop::receive_due(Time now) noexcept {
  watch_.hear([this](uint32_t lane) { return forecast_.next_report_of(lane); });
  watch_.agenda().begin(now, [&](uint32_t lane) { receive_lane(lane, now); });
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
          transmit_lane(lane, now);
          return next_event_of(lane);
        },
        [](uint32_t, size_t) {});
  } else {
    for (uint32_t lane = 0; lane < lane_count_; ++lane) transmit_lane(lane, now);
  }
  if (resolves_) links_.follow(now);
}

// What the transport has counted since the turn before is of the lane's port.
void LaneLoop::count_received(uint32_t lane, Time now) noexcept {
  const uint64_t packets =
      counters_.totals.packets_rx - std::exchange(counted_.rx_packets, counters_.totals.packets_rx);
  const uint64_t bytes = counters_.totals.bytes_rx - std::exchange(counted_.rx_bytes, counters_.totals.bytes_rx);
  const uint32_t port = lanes_[lane].id().value;
  if (rates_ != nullptr && now >= Time()) {
    rates_->ports.add({.at = now, .of = port, .rx_bytes = bytes});
    // What queue pairs may send may stay as it is for long.
    rates_->allowances.pass(now - rates_->allowances.interval() * 2);
  }
  if (tally_.empty()) return;
  tally_[port].rx_packets += packets;
  tally_[port].rx_bytes += bytes;
}

void LaneLoop::count_sent(uint32_t lane, Time now) noexcept {
  const uint64_t sent = counters_.packets_tx();
  const uint64_t packets = sent - std::exchange(counted_.tx_packets, sent);
  const uint64_t bytes = counters_.totals.bytes_tx - std::exchange(counted_.tx_bytes, counters_.totals.bytes_tx);
  const uint32_t port = lanes_[lane].id().value;
  if (rates_ != nullptr && now >= Time()) rates_->ports.add({.at = now, .of = port, .tx_bytes = bytes});
  if (tally_.empty()) return;
  tally_[port].tx_packets += packets;
  tally_[port].tx_bytes += bytes;
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
