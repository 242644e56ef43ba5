#include "emulator/simulator/load_holds.h"

#include <algorithm>
#include <utility>

namespace rankwire {

LoadHolds::LoadHolds(size_t links, size_t connections, HeldSenders& senders)
    : senders_(senders), modelled_(links), loads_(links), place_(connections, kNone), told_(connections) {
  begun_.reserve(connections);
}

// A link that a route uses twice counts twice, at the beginning and at the end.
void LoadHolds::count(const Route& route, std::vector<uint32_t>& by_link, int32_t change) noexcept {
  for (const LinkUse& use : route.links) by_link[use.link.value] += static_cast<uint32_t>(change);
}

void LoadHolds::begin_load(uint32_t connection, const Route& route) noexcept {
  place_[connection] = static_cast<uint32_t>(begun_.size());
  begun_.push_back(connection);
  count(route, loads_, 1);
}

void LoadHolds::end_load(uint32_t connection, const Route& route) noexcept {
  const uint32_t place = std::exchange(place_[connection], kNone);
  if (begun_[place] = begun_.back(); begun_[place] != connection) place_[begun_[place]] = place;
  begun_.pop_back();
  count(route, loads_, -1);
}

bool LoadHolds::concerns_loads(const MaxMin& shares) const noexcept {
  return std::ranges::any_of(shares.looked_at(), [this](uint32_t link) { return loads_[link] > 0; });
}

void LoadHolds::renew(uint32_t connection, const Load& load, const MaxMin& shares, Time now) noexcept {
  const bool is_held = std::ranges::any_of(load.route->links, [&](const LinkUse& use) {
    return modelled_[use.link.value] > 0 && shares.is_full(use.link.value);
  });
  tell(connection, load.id, is_held ? Bandwidth(shares.share(load.variable)) : Bandwidth(), now);
}

void LoadHolds::tell(uint32_t connection, ConnectionId id, Bandwidth rate, Time now) noexcept {
  if (std::exchange(told_[connection], rate) != rate) senders_.hold(id, rate, now);
}

}  // namespace rankwire
