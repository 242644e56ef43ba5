#include "dataplane/congestion/paced_senders.h"

namespace rankwire {
namespace {

/// What is left of a wait when the rate becomes another.
Duration stretched(Duration left, Bandwidth before, Bandwidth after) {
  return Duration(
      static_cast<int64_t>(static_cast<__int128>(left.ps) * before.bits_per_second / after.bits_per_second));
}

}  // namespace

PacedSenders::PacedSenders(std::unique_ptr<CongestionControl> control, const PacingOptions& options,
                           std::span<const Bandwidth> lines, uint32_t lanes)
    : control_(std::move(control)),
      options_(options),
      flows_(lines.size()),
      places_(lines.size()),
      wheels_(lanes, TimingWheel(places_)) {
  for (size_t i = 0; i < lines.size(); ++i) flows_[i].line = lines[i];
}

bool PacedSenders::offer(uint32_t queue_pair, uint32_t lane, uint32_t in_flight, Time now) noexcept {
  Flow& flow = flows_[queue_pair];
  if (flow.state != State::kIdle) return flow.state == State::kQueued;
  flow.next = std::max(flow.next, now);
  flow.left = 0;
  if (options_.holds != nullptr) options_.holds->resume(queue_pair, now);
  return place(queue_pair, lane, in_flight, now);
}

bool PacedSenders::place(uint32_t queue_pair, uint32_t lane, uint32_t in_flight, Time now) noexcept {
  look(queue_pair, now);
  Flow& flow = flows_[queue_pair];
  if (window_room(flow, in_flight) == 0) {
    flow.state = State::kIdle;
  } else if (is_due(queue_pair, now)) {
    if (flow.state == State::kWaiting && is_paced(flow)) {
      // For as long as it was held nothing was late.
      flow.next = std::max(flow.next, std::min(held_until(queue_pair), now));
      if (const Duration lost = lose(flow, now); lost > Duration()) {
        ++slips_;
        flow.slipped += lost;
        longest_slip_ = std::max(longest_slip_, flow.slipped);
      }
    }
    flow.state = State::kQueued;
  } else {
    flow.state = State::kWaiting;
    const bool waits_for_control = is_paced(flow) && flow.left == 0 && flow.next > now;
    const Time due = waits_for_control ? std::min(flow.next, control_->next_update(queue_pair)) : now;
    wheels_[lane].add(queue_pair, std::max(due, held_until(queue_pair)), now);
  }
  return flow.state == State::kQueued;
}

bool PacedSenders::renew(uint32_t queue_pair, uint32_t lane, Time now) noexcept {
  if (flows_[queue_pair].state != State::kWaiting) return false;
  wheels_[lane].remove(queue_pair);
  wheels_[lane].add(queue_pair, now, now);
  return true;
}

// By the control's schedule and by what holds it from outside.
bool PacedSenders::is_due(uint32_t queue_pair, Time now) const noexcept {
  const Flow& flow = flows_[queue_pair];
  return (!is_paced(flow) || flow.left > 0 || flow.next <= now) && held_until(queue_pair) <= now;
}

uint32_t PacedSenders::packets(uint32_t queue_pair, uint32_t in_flight, uint32_t limit, Time now) noexcept {
  look(queue_pair, now);
  Flow& flow = flows_[queue_pair];
  limit = std::min(limit, window_room(flow, in_flight));
  if (options_.holds != nullptr && options_.holds->is_held(queue_pair))
    limit = std::min(limit, held_until(queue_pair) <= now ? 1u : 0u);
  if (!is_paced(flow)) return limit;
  if (flow.left == 0 && flow.next <= now) flow.left = options_.burst;
  return std::min(limit, flow.left);
}

void PacedSenders::sent(uint32_t queue_pair, uint32_t packets, Bytes on_line, Time now) noexcept {
  Flow& flow = flows_[queue_pair];
  control_->sent(queue_pair, now, on_line);
  if (options_.holds != nullptr) options_.holds->sent(queue_pair, on_line, now);
  if (!is_paced(flow)) {
    flow.next = now;
    flow.left = 0;
    return;
  }
  if (lose(flow, now) > Duration()) ++displaced_;
  flow.next += serialization_time(on_line, flow.allowance.rate);
  flow.left -= std::min(packets, flow.left);
}

uint32_t PacedSenders::take(uint32_t lane, Time now) noexcept {
  return wheels_[lane].take(now);
}

size_t PacedSenders::bytes() const noexcept {
  size_t bytes = flows_.size() * sizeof(Flow) + places_.size() * sizeof(TimingWheel::Place);
  for (const TimingWheel& wheel : wheels_) bytes += wheel.bytes();
  return bytes;
}

// What cannot be made good any more.
Duration PacedSenders::lose(Flow& flow, Time now) const noexcept {
  const Duration lost = std::max(now - flow.next - options_.catch_up, Duration());
  flow.next += lost;
  return lost;
}

// Asks the algorithm.
void PacedSenders::look(uint32_t queue_pair, Time now) noexcept {
  Flow& flow = flows_[queue_pair];
  const Allowance before = std::exchange(flow.allowance, control_->allowance(queue_pair, now));
  if (options_.series != nullptr && flow.allowance != before && now >= Time())
    options_.series->add({.at = now,
                          .of = queue_pair,
                          .allowance = flow.allowance,
                          .lowest = flow.allowance.rate,
                          .smallest_window = flow.allowance.window});
  if (flow.next > now && before.rate > Bandwidth() && before.rate != flow.allowance.rate)
    flow.next = now + stretched(flow.next - now, before.rate, flow.allowance.rate);
}

// In packets; a window holds at least one.
uint32_t PacedSenders::window_room(const Flow& flow, uint32_t in_flight) const noexcept {
  const int64_t window = std::max<int64_t>(flow.allowance.window.count / options_.mtu, 1);
  return static_cast<uint32_t>(std::clamp<int64_t>(window - in_flight, 0, UINT32_MAX));
}

}  // namespace rankwire
