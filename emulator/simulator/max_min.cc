#include "emulator/simulator/max_min.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace rankwire {
namespace {

constexpr int kFractionBits = 16;

}  // namespace

MaxMin::MaxMin(std::span<const int64_t> capacities, std::span<const std::vector<Draw>> draws, uint32_t whole)
    : whole_(whole), shares_(draws.size()), is_fixed_(draws.size(), 1) {
  std::vector<uint32_t> users(capacities.size());
  first_use_.push_back(0);
  for (const std::vector<Draw>& of_variable : draws) {
    for (const Draw draw : of_variable) {
      uses_.push_back({.constraint = draw.constraint, .weight = draw.weight, .place = 0});
      ++users[draw.constraint];
    }
    first_use_.push_back(static_cast<uint32_t>(uses_.size()));
  }
  uint32_t begin = 0;
  for (size_t c = 0; c < capacities.size(); ++c) {
    constraints_.push_back({.capacity = capacities[c], .begin = begin});
    begin += users[c];
  }
  slots_.resize(uses_.size());
  touched_.reserve(capacities.size());
  component_.reserve(capacities.size());
  levels_.reserve(capacities.size());
  bottlenecks_.reserve(capacities.size());
  changed_.reserve(draws.size());
}

void MaxMin::activate(uint32_t variable) noexcept {
  for (Use& use : uses_of(variable)) {
    Constraint& constraint = constraints_[use.constraint];
    use.place = constraint.begin + constraint.active++;
    slots_[use.place] = {variable, static_cast<uint32_t>(&use - uses_.data())};
    touch(use.constraint);
  }
}

void MaxMin::deactivate(uint32_t variable) noexcept {
  for (const Use& use : uses_of(variable)) {
    Constraint& constraint = constraints_[use.constraint];
    const Slot last = slots_[constraint.begin + --constraint.active];
    slots_[use.place] = last;
    uses_[last.use].place = use.place;
    touch(use.constraint);
  }
  shares_[variable] = 0;
}

std::span<const uint32_t> MaxMin::solve() noexcept {
  changed_.clear();
  collect_component();
  fill();
  constraints_visited_ += component_.size();
  for (const uint32_t c : component_) constraints_[c].visited = false;
  return changed_;
}

bool MaxMin::is_full(uint32_t constraint) const noexcept {
  const Constraint& c = constraints_[constraint];
  return c.active > 0 && c.remaining < (c.capacity << kFractionBits) / 1'000'000;
}

void MaxMin::touch(uint32_t constraint) noexcept {
  if (constraints_[constraint].touched) return;
  constraints_[constraint].touched = true;
  touched_.push_back(constraint);
}

void MaxMin::visit(uint32_t constraint) noexcept {
  if (constraints_[constraint].visited) return;
  constraints_[constraint].visited = true;
  component_.push_back(constraint);
}

void MaxMin::collect_component() noexcept {
  component_.clear();
  for (const uint32_t c : touched_) {
    constraints_[c].touched = false;
    visit(c);
  }
  touched_.clear();
  for (size_t i = 0; i < component_.size(); ++i) {
    Constraint& constraint = constraints_[component_[i]];
    constraint.unfixed = 0;
    constraint.remaining = constraint.capacity << kFractionBits;
    draws_visited_ += constraint.active;
    for (const Slot slot : slots_of(constraint)) {
      constraint.unfixed += uses_[slot.use].weight;
      // A variable is met once for each of its constraints; only the first time has something new to visit.
      if (!is_fixed_[slot.variable]) continue;
      is_fixed_[slot.variable] = 0;
      for (const Use& use : uses_of(slot.variable)) visit(use.constraint);
    }
  }
}

// Nobody, or one variable: what is left of its constraints' capacities is its alone.
bool MaxMin::fill_one() noexcept {
  const Slot* one = nullptr;
  int64_t level = std::numeric_limits<int64_t>::max();
  for (const uint32_t c : component_) {
    const Constraint& constraint = constraints_[c];
    if (constraint.active == 0) continue;
    const Slot& slot = slots_[constraint.begin];
    if (constraint.active > 1 || (one != nullptr && one->variable != slot.variable)) return false;
    one = &slot;
    level = std::min(level, constraint.remaining / constraint.unfixed);
  }
  if (one != nullptr) fix(one->variable, level);
  return true;
}

void MaxMin::fill() noexcept {
  if (fill_one()) return;
  levels_.clear();
  for (const uint32_t c : component_)
    if (constraints_[c].unfixed > 0) levels_.emplace_back(constraints_[c].remaining / constraints_[c].unfixed, c);
  std::make_heap(levels_.begin(), levels_.end(), std::greater<Level>());
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<Level>());
    const auto [level, c] = levels_.back();
    levels_.pop_back();
    if (!is_bottleneck(c, level)) continue;
    // All that fill up at this level do so together, before any variable has its share: what the numbers of the
    // constraints are does not matter.
    bottlenecks_.assign(1, c);
    while (!levels_.empty() && levels_.front().first == level) {
      std::pop_heap(levels_.begin(), levels_.end(), std::greater<Level>());
      const uint32_t other = levels_.back().second;
      levels_.pop_back();
      if (is_bottleneck(other, level)) bottlenecks_.push_back(other);
    }
    for (const uint32_t full : bottlenecks_)
      for (const Slot slot : slots_of(constraints_[full]))
        if (!is_fixed_[slot.variable]) fix(slot.variable, level);
  }
}

// Variables fixed at lower levels elsewhere leave more for the others, so a level only rises: an outdated one is put
// back and the lowest up-to-date one is the bottleneck.
bool MaxMin::is_bottleneck(uint32_t constraint, int64_t level) noexcept {
  const Constraint& c = constraints_[constraint];
  if (c.unfixed == 0) return false;
  if (c.remaining / c.unfixed == level) return true;
  push_level(constraint);
  return false;
}

void MaxMin::push_level(uint32_t constraint) noexcept {
  levels_.emplace_back(constraints_[constraint].remaining / constraints_[constraint].unfixed, constraint);
  std::push_heap(levels_.begin(), levels_.end(), std::greater<Level>());
}

void MaxMin::fix(uint32_t variable, int64_t level) noexcept {
  is_fixed_[variable] = 1;
  for (const Use& use : uses_of(variable)) {
    constraints_[use.constraint].remaining -= level * use.weight;
    constraints_[use.constraint].unfixed -= use.weight;
  }
  const int64_t share = level * whole_ >> kFractionBits;
  if (share == shares_[variable]) return;
  shares_[variable] = share;
  changed_.push_back(variable);
}

}  // namespace rankwire
