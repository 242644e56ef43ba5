#include "emulator/diagnosis/common_trait.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace rankwire {
namespace {

constexpr double kLeastPart = 0.8, kLeastDifference = 0.3, kMostChance = 0.01;

/// What connections with one value of a trait have.
struct Parts {
  uint32_t value = 0, other = 0;
  double trouble = 0, traffic = 0;
};

/// The values of traits, one trait after the other.
class TraitValues {
 public:
  TraitValues(std::span<const TroubledPair> pairs, std::span<const RankNic> nics) : pairs_(pairs), nics_(nics) {
    std::map<std::pair<uint32_t, std::string_view>, uint32_t> known;
    for (const TroubledPair& pair : pairs) {
      const auto [entry, is_new] =
          known.try_emplace({pair.job.value, pair.group}, static_cast<uint32_t>(groups_.size()));
      if (is_new) groups_.push_back(&pair);
      group_of_pair_.push_back(entry->second);
    }
  }

  /// In the order in which the pairs have them.
  std::vector<Parts> of(Trait trait) const {
    std::vector<Parts> values;
    std::unordered_map<uint64_t, size_t> places;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const auto add = [&](uint32_t value, uint32_t other = 0) {
        const auto [place, is_new] = places.try_emplace(uint64_t{value} << 32 | other, values.size());
        if (is_new) values.push_back({.value = value, .other = other});
        Parts& parts = values[place->second];
        parts.trouble += pairs_[i].trouble, parts.traffic += pairs_[i].traffic;
      };
      add_values(trait, i, add);
    }
    return values;
  }
  /// A pair of the group that has this value.
  const TroubledPair& of_group(uint32_t value) const { return *groups_[value]; }

 private:
  template <class Add>
  void add_values(Trait trait, size_t i, const Add& add) const {
    const TroubledPair& pair = pairs_[i];
    const uint32_t source = pair.source.value, destination = pair.destination.value;
    switch (trait) {
      case Trait::kDestinationPort:
        return add_one(port_of(destination), add);
      case Trait::kSourcePort:
        return add_one(port_of(source), add);
      case Trait::kPort:
        return add_either(port_of(source), port_of(destination), add);
      case Trait::kPortPair:
        if (port_of(source) && port_of(destination)) add(*port_of(source), *port_of(destination));
        return;
      case Trait::kDestinationHost:
        return add_one(host_of(destination), add);
      case Trait::kSourceHost:
        return add_one(host_of(source), add);
      case Trait::kHost:
        return add_either(host_of(source), host_of(destination), add);
      case Trait::kDestinationRank:
        return add(destination);
      case Trait::kSourceRank:
        return add(source);
      case Trait::kRank:
        return add_either(source, destination, add);
      case Trait::kRankPair:
        return add(source, destination);
      case Trait::kJob:
        return add(pair.job.value);
      case Trait::kGroup:
        if (!pair.group.empty()) add(group_of_pair_[i]);
        return;
    }
  }

  std::optional<uint32_t> port_of(uint32_t rank) const {
    return rank < nics_.size() ? std::optional(nics_[rank].port.value) : std::nullopt;
  }
  std::optional<uint32_t> host_of(uint32_t rank) const { return rank < nics_.size() ? nics_[rank].host : std::nullopt; }
  template <class Add>
  static void add_one(std::optional<uint32_t> value, const Add& add) {
    if (value) add(*value);
  }
  template <class Add>
  static void add_either(std::optional<uint32_t> a, std::optional<uint32_t> b, const Add& add) {
    add_one(a, add);
    if (b != a) add_one(b, add);
  }

  std::span<const TroubledPair> pairs_;
  std::span<const RankNic> nics_;
  std::vector<const TroubledPair*> groups_;  // the first of each
  std::vector<uint32_t> group_of_pair_;      // places in groups_
};

/// The relative entropy of two coins, in nats: `seen` of the tosses of a coin that falls so with the probability
/// `expected`.
double relative_entropy(double seen, double expected) {
  const auto term = [](double p, double q) { return p <= 0 ? 0 : p * std::log(p / q); };
  if (expected <= 0 || expected >= 1) return 0;
  return term(seen, expected) + term(1 - seen, 1 - expected);
}

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

/// Of the probability that at least as many of those who have the trouble have the value, too: its logarithm.
double log_chance(const CommonTrait& found, const Observations& observations) {
  const auto seen = static_cast<double>(observations.count);
  if (!observations.population) return -seen * relative_entropy(found.part_of_trouble, found.part_of_traffic);
  const auto all = static_cast<double>(*observations.population);
  const double with_value = std::round(all * found.part_of_traffic);
  const double seen_there = std::min(std::round(seen * found.part_of_trouble), with_value);
  const double seen_elsewhere = std::min(seen - seen_there, all - with_value);
  // Each further one is less probable than the one before, so the first stands for all.
  return log_choose(with_value, seen_there) + log_choose(all - with_value, seen_elsewhere) - log_choose(all, seen);
}

bool may_be_chance(const CommonTrait& found, size_t values, const Observations& observations) {
  return std::exp(log_chance(found, observations)) * static_cast<double>(values) > kMostChance;
}

double difference(const CommonTrait& trait) {
  return trait.part_of_trouble - trait.part_of_traffic;
}

/// Whether at least two of a population have the trouble, and they are all that have the value.
bool is_just_those(const Parts& parts, const Parts& all, const Observations& observations) {
  if (!observations.population || observations.count < 2 || parts.trouble < all.trouble) return false;
  return std::round(parts.traffic / all.traffic * static_cast<double>(*observations.population)) ==
         static_cast<double>(observations.count);
}

}  // namespace

std::optional<CommonTrait> common_trait(std::span<const TroubledPair> pairs, std::span<const RankNic> nics,
                                        const Observations& observations) {
  Parts all;
  for (const TroubledPair& pair : pairs) all.trouble += pair.trouble, all.traffic += pair.traffic;
  if (all.trouble <= 0 || all.traffic <= 0) return std::nullopt;
  const TraitValues values(pairs, nics);
  std::optional<CommonTrait> best;
  bool is_explained = false;  // all of it, by one place alone
  for (auto f = static_cast<uint8_t>(Trait::kPortPair); f <= static_cast<uint8_t>(Trait::kGroup); ++f) {
    const auto trait = static_cast<Trait>(f);
    // Connections of a job or group may share the trouble only because theirs were the first to meet it there.
    if (is_explained && trait >= Trait::kJob) break;
    const std::vector<Parts> of_trait = values.of(trait);
    size_t explaining = 0;
    const auto is_exact = [&](const Parts& parts) { return is_just_those(parts, all, observations); };
    const bool is_plain = trait < Trait::kJob && std::ranges::count_if(of_trait, is_exact) == 1;
    for (const Parts& parts : of_trait) {
      CommonTrait found{.trait = trait,
                        .value = parts.value,
                        .other = parts.other,
                        .group = {},
                        .part_of_trouble = parts.trouble / all.trouble,
                        .part_of_traffic = parts.traffic / all.traffic};
      if (trait == Trait::kGroup) {
        const TroubledPair& pair = values.of_group(parts.value);
        found.value = pair.job.value, found.group = pair.group;
      }
      constexpr double kRounding = 1e-9;
      if (found.part_of_trouble >= 1 - kRounding && difference(found) >= kLeastDifference) ++explaining;
      if (found.part_of_trouble < kLeastPart || difference(found) < kLeastDifference) continue;
      if (best && difference(found) <= difference(*best) + kRounding) continue;
      if ((is_plain && is_exact(parts)) || !may_be_chance(found, of_trait.size(), observations)) best = found;
    }
    is_explained |= trait < Trait::kJob && explaining == 1;
  }
  return best;
}

}  // namespace rankwire
