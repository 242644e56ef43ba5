// Messages that others carry: what they take of the links, and what they are held to.
#include <memory>

#include "emulator/simulator/network_model.h"

namespace rankwire {

void NetworkModel::hold_loads(HeldSenders& senders) {
  holds_ = std::make_unique<LoadHolds>(network_.links.size(), flows_.size(), senders);
}

void NetworkModel::begin_load(ConnectionId connection, Time now) noexcept {
  advance(now);
  const uint32_t number = flow_of(connection);
  if (number == kNone || flows_[number].loads++ > 0) return;
  Flow& flow = flows_[number];
  flow.active = true;
  flow.updated = now;
  if (flow.variable == kNone) return;
  shares_.activate(flow.variable);
  if (holds_) holds_->begin_load(number, ways_[flow.variable].route);
  shares_changed_ = now;
}

void NetworkModel::end_load(ConnectionId connection, Time now) noexcept {
  advance(now);
  const uint32_t number = flow_of(connection);
  if (number == kNone || --flows_[number].loads > 0) return;
  Flow& flow = flows_[number];
  flow.active = false;
  flow.rate = 0;
  if (flow.variable == kNone) return;
  shares_.deactivate(flow.variable);
  if (holds_) {
    holds_->end_load(number, ways_[flow.variable].route);
    holds_->release(number, connection, now);
  }
  shares_changed_ = now;
}

void NetworkModel::settle(Time now) noexcept {
  advance(now);
  if (shares_changed_ <= now) share_rates();
}

void NetworkModel::renew_holds(Time now) noexcept {
  holds_->renew(shares_, now, [this](uint32_t connection) {
    const uint32_t variable = flows_[connection].variable;
    return LoadHolds::Load{.route = &ways_[variable].route, .variable = variable, .id = id_of(connection)};
  });
}

/// What takes part in the sharing goes another way. While it has none nothing holds it.
void NetworkModel::turn_holds(const Turn& turn, uint32_t before) noexcept {
  const Route* const from = before == kNone ? nullptr : &ways_[before].route;
  const Route* const to = turn.variable == kNone ? nullptr : &ways_[turn.variable].route;
  if (flows_[turn.connection].loads == 0) {
    if (from != nullptr) holds_->end(*from);
    if (to != nullptr) holds_->begin(*to);
    return;
  }
  if (from != nullptr) holds_->end_load(turn.connection, *from);
  if (to != nullptr) return holds_->begin_load(turn.connection, *to);
  holds_->release(turn.connection, id_of(turn.connection), turn.at);
}

}  // namespace rankwire
