#include "emulator/traces/shrink.h"

#include <algorithm>
#include <map>
#include <utility>

#include "emulator/traces/ddmin.h"
#include "emulator/traces/select.h"
#include "emulator/traces/trace_copy.h"

namespace rankwire {
namespace {

/// What stays or goes together, across ranks.
struct ShrinkUnit {
  double place = 1;  ///< of its first node in its file, 0 .. 1
  bool is_message = false;
  std::vector<NodeRef> nodes;
};

std::vector<ShrinkUnit> shrink_units(const RankSet& set, const Matches& matches) {
  std::vector<std::vector<bool>> taken;
  for (const RankFacts& facts : set.ranks) taken.emplace_back(facts.nodes.size(), false);
  std::vector<ShrinkUnit> units;
  const auto add = [&](std::vector<NodeRef> nodes, bool is_message) {
    ShrinkUnit unit{.is_message = is_message, .nodes = std::move(nodes)};
    for (const NodeRef at : unit.nodes) {
      taken[at.place][at.node] = true;
      const auto size = static_cast<double>(set.ranks[at.place].nodes.size());
      unit.place = std::min(unit.place, static_cast<double>(at.node) / size);
    }
    if (!unit.nodes.empty()) units.push_back(std::move(unit));
  };
  for (const auto& numbered : matches.collectives) {
    for (const std::vector<NodeRef>& members : numbered) add(members, false);
  }
  for (const auto& [send, receive] : matches.messages) add({send, receive}, true);
  for (uint32_t place = 0; place < set.ranks.size(); ++place) {
    for (uint32_t i = 0; i < set.ranks[place].nodes.size(); ++i) {
      const bool is_free = !taken[place][i] && set.ranks[place].nodes[i].type != chakra::METADATA_NODE;
      if (is_free) add({{place, i}}, false);
    }
  }
  std::ranges::stable_sort(units, {}, &ShrinkUnit::place);
  return units;
}

ItemList numbers_of(const std::vector<bool>& chosen) {
  ItemList numbers;
  for (uint32_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i]) numbers.push_back(i);
  }
  return numbers;
}

std::vector<bool> chosen_of(const ItemList& numbers, size_t size) {
  std::vector<bool> chosen(size, false);
  for (const uint32_t i : numbers) chosen[i] = true;
  return chosen;
}

class Shrinker {
 public:
  Shrinker(const RankSet& set, const Matches& matches, const ShrinkQuestions& questions)
      : set_(set), questions_(questions), units_(shrink_units(set, matches)) {
    state_.ranks.assign(set.ranks.size(), true);
    state_.units.assign(units_.size(), true);
    state_.keys.assign(questions.keys, true);
    for (const RankFacts& facts : set.ranks) {
      for (const NodeFacts& node : facts.nodes) {
        largest_ = std::max({largest_, node.size.value_or(0), node.tensor.value_or(0)});
        longest_ = std::max(longest_, node.duration);
      }
    }
  }

  bool run(ShrinkCandidate& best) {
    best = candidate(state_);
    if (!questions_.shows(ShrinkPass::kWhole, best)) return false;
    for (State before; before != state_ && questions_.go_on();) {
      before = state_;
      pass(ShrinkPass::kRanks, state_.ranks, &State::ranks);
      pass(ShrinkPass::kNodes, used_units(), &State::units);
      lower(ShrinkPass::kSizes, largest_, &State::largest);
      lower(ShrinkPass::kDurations, longest_, &State::longest);
      pass(ShrinkPass::kKeys, state_.keys, &State::keys);
    }
    best = candidate(state_);
    return true;
  }

 private:
  struct State {
    std::vector<bool> ranks, units, keys;
    uint64_t largest = INT64_MAX, longest = UINT64_MAX;
    auto operator<=>(const State&) const = default;
  };

  bool shows(ShrinkPass pass, const State& state) {
    const auto known = asked_.find(state);
    if (known != asked_.end()) return known->second;
    const ShrinkCandidate asked = candidate(state);
    return asked_[state] = asked.kept_nodes() > 0 && questions_.shows(pass, asked);
  }

  void pass(ShrinkPass pass, const std::vector<bool>& chosen, std::vector<bool> State::*part) {
    const auto with = [&](const ItemList& numbers) {
      State state = state_;
      state.*part = chosen_of(numbers, (state.*part).size());
      return state;
    };
    state_ = with(minimal_part(
        numbers_of(chosen), [&](const ItemList& numbers) { return shows(pass, with(numbers)); }, questions_.go_on));
  }

  /// Units that still have a node: those without are neither asked about nor kept.
  std::vector<bool> used_units() const {
    std::vector<bool> used = state_.units;
    for (size_t u = 0; u < units_.size(); ++u) used[u] = used[u] && is_used(units_[u], state_);
    return used;
  }

  bool is_used(const ShrinkUnit& unit, const State& state) const {
    const auto stays = [&](NodeRef at) { return state.ranks[at.place]; };
    return unit.is_message ? std::ranges::all_of(unit.nodes, stays) : std::ranges::any_of(unit.nodes, stays);
  }

  /// The least power of four that still shows it, as if all above did, too.
  void lower(ShrinkPass pass, uint64_t most, uint64_t State::*bound) {
    uint64_t powers = 0;  // those that are below `most`
    while (powers < 31 && (uint64_t{1} << (2 * powers)) < std::min(most, state_.*bound)) ++powers;
    const auto with = [&](uint64_t power) {
      State state = state_;
      state.*bound = uint64_t{1} << (2 * power);
      return state;
    };
    uint64_t low = 0, high = powers;  // `high` shows it, or is as good as no bound
    while (low < high && questions_.go_on()) {
      const uint64_t middle = (low + high) / 2;
      shows(pass, with(middle)) ? high = middle : low = middle + 1;
    }
    if (high < powers) state_ = with(high);
  }

  ShrinkCandidate candidate(const State& state) const {
    ShrinkCandidate made{.ranks = state.ranks, .keys = state.keys};
    made.largest = static_cast<int64_t>(state.largest);
    made.longest = state.longest;
    for (const RankFacts& facts : set_.ranks) made.keep.emplace_back(facts.nodes.size(), false);
    for (size_t u = 0; u < units_.size(); ++u) {
      if (!state.units[u] || !is_used(units_[u], state)) continue;
      for (const NodeRef at : units_[u].nodes) made.keep[at.place][at.node] = state.ranks[at.place];
    }
    return made;
  }

  const RankSet& set_;
  const ShrinkQuestions& questions_;
  const std::vector<ShrinkUnit> units_;
  uint64_t longest_ = 0;
  int64_t largest_ = 0;
  State state_;
  std::map<State, bool> asked_;
};

}  // namespace

uint64_t ShrinkCandidate::kept_ranks() const {
  return static_cast<uint64_t>(std::ranges::count(ranks, true));
}

uint64_t ShrinkCandidate::kept_nodes() const {
  uint64_t nodes = 0;
  for (const std::vector<bool>& of_rank : keep) nodes += static_cast<uint64_t>(std::ranges::count(of_rank, true));
  return nodes;
}

uint64_t ShrinkCandidate::kept_keys() const {
  return static_cast<uint64_t>(std::ranges::count(keys, true));
}

const char* to_string(ShrinkPass pass) {
  constexpr const char* kNames[] = {"whole", "ranks", "nodes", "sizes", "durations", "keys"};
  return kNames[static_cast<size_t>(pass)];
}

bool shrink(const RankSet& set, const Matches& matches, const ShrinkQuestions& questions, ShrinkCandidate& best) {
  return Shrinker(set, matches, questions).run(best);
}

void write_candidate(const RankSet& set, const Matches& matches, const ShrinkCandidate& candidate,
                     const std::string& prefix) {
  PartOptions options;
  options.prefix = prefix;
  options.keep_unmatched = true;
  for (uint32_t place = 0; place < set.ranks.size(); ++place) {
    if (candidate.ranks[place]) options.ranks.emplace_back(set.ranks[place].rank, set.ranks[place].rank);
  }
  options.chosen = [&](NodeRef at) { return candidate.keep[at.place][at.node]; };
  options.edit = [&](const NodeFacts& facts, chakra::Node& node) {
    if (node.duration_micros() > candidate.longest) node.set_duration_micros(candidate.longest);
    if (facts.size > candidate.largest && !facts.has_splits) set_integer(node, "comm_size", candidate.largest);
    if (facts.tensor > candidate.largest) set_integer(node, "tensor_size", candidate.largest);
  };
  select_part(set, matches, Timing(), options);
}

}  // namespace rankwire
