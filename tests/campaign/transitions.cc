#include "tests/campaign/transitions.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire::testing {

TransitionCounts::TransitionCounts(const TransitionTable& table)
    : table_(table), counts_(table.rows.size() * table.states.size() * table.states.size()) {}

void TransitionCounts::note(uint8_t event, uint8_t before, uint8_t after) noexcept {
  const size_t i = index(event, before, after);
  if (counts_[i].times++ > 0) return;
  counts_[i].first_seed = seed_;
  if (unknown_ == SIZE_MAX && place(i) == Place::kNone) unknown_ = i;
}

std::string TransitionCounts::unknown() const {
  return unknown_ == SIZE_MAX ? std::string() : "no transition of the table: " + name(unknown_);
}

std::string TransitionCounts::name(size_t index) const {
  const size_t states = table_.states.size();
  return fmt::format("{}, {}: {} -> {}", table_.machine, table_.rows[index / states / states].event,
                     table_.states[index / states % states].name, table_.states[index % states].name);
}

TransitionCounts::Place TransitionCounts::place(size_t index) const {
  const size_t states = table_.states.size();
  const std::string_view after = table_.rows[index / states / states].after[index / states % states];
  const size_t found = after.find(table_.states[index % states].letter);
  if (found == std::string_view::npos) return Place::kNone;
  return found + 1 < after.size() && after[found + 1] == '?' ? Place::kRare : Place::kAskedFor;
}

void TransitionCounts::print() const {
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i].times > 0)
      fmt::print("{:80} {:12} {:8}{}\n", name(i), counts_[i].times, counts_[i].first_seed,
                 place(i) == Place::kRare ? "  rare" : "");
    else if (place(i) == Place::kAskedFor)
      fmt::print("{:80} {:>12}\n", name(i), "never");
  }
}

size_t TransitionCounts::asked_for() const {
  size_t n = 0;
  for (size_t i = 0; i < counts_.size(); ++i) n += place(i) == Place::kAskedFor;
  return n;
}

size_t TransitionCounts::missing() const {
  size_t n = 0;
  for (size_t i = 0; i < counts_.size(); ++i) n += place(i) == Place::kAskedFor && counts_[i].times == 0;
  return n;
}

template <>
TransitionCounts& transitions_of<Requester>() {
  static TransitionCounts counts(kRequesterTransitions);
  return counts;
}
template <>
TransitionCounts& transitions_of<Responder>() {
  static TransitionCounts counts(kResponderTransitions);
  return counts;
}

}  // namespace rankwire::testing
