#include "feeder/dependency_window.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {
namespace {

template <class Value>
size_t bytes_of(const std::vector<Value>& values) noexcept {
  return values.capacity() * sizeof(Value);
}

}  // namespace

DependencyWindow::Slot DependencyWindow::add(uint64_t id, std::span<const uint64_t> parents,
                                             std::span<const uint64_t> optional) {
  Slot slot = slot_of_.find(id);
  if (slot != kNone) {
    if (nodes_[slot].state == State::kLive) return kNone;
    nodes_[slot].state = State::kLive;
  } else {
    if (finished_.contains(id)) return kNone;
    slot = take_slot(id, State::kLive);
  }
  ++live_;
  parents_.clear();
  collect(id, parents, false);
  collect(id, optional, true);
  drop_repeated();
  for (const auto& [parent, is_optional] : parents_) link(slot, parent, is_optional);
  return slot;
}

void DependencyWindow::collect(uint64_t id, std::span<const uint64_t> parents, bool optional) {
  for (const uint64_t parent : parents) {
    if (parent == id) {
      ++self_dependencies_;
    } else if (!finished_.contains(parent)) {
      parents_.emplace_back(parent, optional);
    }
  }
}

// Of what is both, the dependency that is not optional remains.
void DependencyWindow::drop_repeated() {
  if (parents_.size() < 2) return;
  std::ranges::sort(parents_);
  // (Not std::ranges::unique, whose result clang 14 cannot compile with libstdc++ 12.)
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  parents_.erase(std::unique(parents_.begin(), parents_.end(), same), parents_.end());
}

void DependencyWindow::link(Slot child, uint64_t parent, bool optional) {
  Slot slot = slot_of_.find(parent);
  if (slot == kNone) slot = take_slot(parent, State::kAwaited);
  uint32_t at;
  if (free_children_.empty()) {
    at = static_cast<uint32_t>(children_.size());
    children_.emplace_back();
  } else {
    at = free_children_.back();
    free_children_.pop_back();
  }
  children_[at] = {child, nodes_[slot].children, optional};
  nodes_[slot].children = at;
  ++nodes_[child].waiting;
}

DependencyWindow::Slot DependencyWindow::take_slot(uint64_t id, State state) {
  Slot slot;
  if (free_slots_.empty()) {
    slot = static_cast<Slot>(nodes_.size());
    nodes_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  nodes_[slot] = {.id = id, .state = state};
  slot_of_.insert(id, slot);
  return slot;
}

bool DependencyWindow::knows(uint64_t id) const noexcept {
  const Slot slot = slot_of_.find(id);
  return slot != kNone ? nodes_[slot].state == State::kLive : finished_.contains(id);
}

size_t DependencyWindow::bytes() const noexcept {
  return finished_.bytes() + slot_of_.bytes() + bytes_of(nodes_) + bytes_of(free_slots_) + bytes_of(children_) +
         bytes_of(free_children_) + bytes_of(parents_);
}

std::vector<DependencyWindow::Unresolved> DependencyWindow::unresolved() const {
  std::vector<Unresolved> found;
  for (const Waiter& node : nodes_) {
    if (node.state != State::kAwaited) continue;
    for (uint32_t at = node.children; at != kEnd; at = children_[at].next) {
      if (!children_[at].optional) found.push_back({nodes_[children_[at].slot].id, node.id});
    }
  }
  std::ranges::sort(found);
  return found;
}

std::vector<uint64_t> DependencyWindow::awaited() const {
  std::vector<uint64_t> ids;
  for (const Waiter& node : nodes_) {
    if (node.state == State::kAwaited) ids.push_back(node.id);
  }
  std::ranges::sort(ids);
  return ids;
}

// Whoever waits at the end waits for someone: going from each to one of those leads into a cycle.
std::vector<uint64_t> DependencyWindow::cycle() const {
  std::vector<Slot> parent_of(nodes_.size(), kNone);
  for (Slot slot = 0; slot < nodes_.size(); ++slot) {
    if (nodes_[slot].state != State::kLive) continue;
    for (uint32_t at = nodes_[slot].children; at != kEnd; at = children_[at].next) {
      parent_of[children_[at].slot] = slot;
    }
  }
  std::vector<uint32_t> round(nodes_.size(), 0);
  for (Slot begin = 0; begin < nodes_.size(); ++begin) {
    Slot slot = begin;
    while (slot != kNone && round[slot] == 0) {
      round[slot] = begin + 1;
      slot = parent_of[slot];
    }
    if (slot == kNone || round[slot] != begin + 1) continue;
    std::vector<uint64_t> ids;
    const Slot first = slot;
    do {
      ids.push_back(nodes_[slot].id);
      slot = parent_of[slot];
    } while (slot != first);
    std::ranges::reverse(ids);
    return ids;
  }
  return {};
}

void DependencyWindow::clear() noexcept {
  finished_.clear();
  slot_of_.clear();
  nodes_.clear();
  free_slots_.clear();
  children_.clear();
  free_children_.clear();
  live_ = 0;
  self_dependencies_ = 0;
}

std::string to_text(std::span<const uint64_t> cycle) {
  constexpr size_t kShown = 12;
  std::string text;
  for (size_t i = 0; i < cycle.size() && i < kShown; ++i) text += fmt::format("{} -> ", cycle[i]);
  if (cycle.size() > kShown) text += fmt::format("{} more -> ", cycle.size() - kShown);
  return text + fmt::format("{}", cycle.front());
}

}  // namespace rankwire
