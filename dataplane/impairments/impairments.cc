#include "dataplane/impairments/impairments.h"

#include <algorithm>
#include <utility>

namespace rankwire {

Impairments::Impairments(std::vector<ImpairmentRule> rules, const ImpairmentOptions& options)
    : rules_(std::move(rules)), options_(options), flows_(options.flows), counts_(rules_.size()) {
  for (uint64_t i = 0; i < rules_.size(); ++i)
    states_.push_back({.random = Random(mix64(mix64(options.seed + 0x9E3779B97F4A7C15u) + i))});
  events_.reserve(options.recorded);
}

void Impairments::connect(const TransportPlan& plan, std::span<const EndPoint> ends) {
  nics_ = plan.nics;
  flows_.connect(plan, ends);
}

MacAddress Impairments::address_of(PortId port) const noexcept {
  const auto nic = std::ranges::find(nics_, port, &Nic::port);
  return nic == nics_.end() ? MacAddress() : nic->mac;
}

std::optional<uint32_t> Impairments::choose(const PacketPlace& place, PortId port, PortSide side, Time now) noexcept {
  for (uint32_t rule = 0; rule < rules_.size(); ++rule)
    if (matches(rules_[rule], place, port, side, now) && takes_turn(rule)) return rule;
  return std::nullopt;
}

bool Impairments::matches(const ImpairmentRule& rule, const PacketPlace& place, PortId port, PortSide side,
                          Time now) const noexcept {
  if (rule.action == ImpairmentAction::kPause || rule.side != side) return false;
  if (now < rule.from || now >= rule.until) return false;
  if (rule.port && *rule.port != port) return false;
  if (rule.packets && *rule.packets != place.packets) return false;
  if (rule.transmissions == Transmissions::kFirst && place.again) return false;
  if (rule.packet && !(*rule.packet == ImpairmentRule::kLastPacket ? place.last : *rule.packet == place.packet))
    return false;
  const bool named = place.message != ImpairmentEvent::kUnknown;
  if (rule.iteration && !(named && place.message / flows_.messages_of(place.connection) == *rule.iteration))
    return false;
  return !rule.messages || is_among(*rule.messages, place);
}

bool Impairments::is_among(const std::vector<MessageRange>& messages, const PacketPlace& place) const noexcept {
  const bool named = place.message != ImpairmentEvent::kUnknown;
  const uint32_t index = named ? place.message % flows_.messages_of(place.connection) : 0;
  auto range = std::ranges::lower_bound(messages, place.connection, {}, &MessageRange::connection);
  for (; range != messages.end() && range->connection == place.connection; ++range)
    if (range->last == MessageRange::kWhole || (named && range->first <= index && index <= range->last)) return true;
  return false;
}

bool Impairments::takes_turn(uint32_t rule) noexcept {
  const ImpairmentRule& chosen = rules_[rule];
  State& state = states_[rule];
  if (state.chosen == chosen.limit || ++state.matched % chosen.every != 0) return false;
  if (chosen.probability_ppm < 1'000'000 && !state.random.chance(chosen.probability_ppm)) return false;
  ++state.chosen;
  return true;
}

bool Impairments::choose_pause(uint32_t rule) noexcept {
  State& state = states_[rule];
  if (state.chosen == rules_[rule].limit) return false;
  ++state.chosen;
  return true;
}

void Impairments::note_done(const ImpairmentEvent& event) noexcept {
  ++counts_[event.rule].done;
  if (events_.size() < events_.capacity()) {
    events_.push_back(event);
  } else {
    ++unrecorded_;
  }
}

}  // namespace rankwire
