// The part of a trace that has been read and is not finished: who waits for whom, by id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "feeder/finished_ids.h"
#include "feeder/id_map.h"

namespace rankwire {

/// Nodes are added in the order of the file and completed in any order that their dependencies allow. What a node may
/// depend on: nodes that are finished (their ids are remembered), nodes that wait, and nodes that are still to be
/// added, whose places are kept free. Dependencies may repeat; those of a node on itself are dropped and counted.
///
/// Slots of completed nodes are used again, so that the caller may keep what belongs to nodes in arrays. Memory: 24
/// bytes a slot and 12 an open dependency at the most of both, the index of ids, and FinishedIds. Used by one thread.
class DependencyWindow {
 public:
  using Slot = uint32_t;
  static constexpr Slot kNone = UINT32_MAX;

  /// A node that waits for one that was never added.
  struct Unresolved {
    uint64_t child = 0, parent = 0;
    auto operator<=>(const Unresolved&) const = default;
  };

  /// Adds a node with the ids that it depends on, and returns its slot; kNone, and nothing is changed, when its id has
  /// been added before.
  Slot add(uint64_t id, std::span<const uint64_t> parents) { return add(id, parents, {}); }
  /// The same with `optional` dependencies, which `unresolved` does not name.
  Slot add(uint64_t id, std::span<const uint64_t> parents, std::span<const uint64_t> optional);

  /// Whether nothing is left that the node waits for.
  bool is_ready(Slot slot) const noexcept { return nodes_[slot].waiting == 0; }
  bool is_live(Slot slot) const noexcept { return nodes_[slot].state == State::kLive; }
  uint64_t id(Slot slot) const noexcept { return nodes_[slot].id; }
  /// Whether a node with this id has been added.
  bool knows(uint64_t id) const noexcept;
  /// Takes a ready node for finished and its slot back, then calls `ready(slot)` for each node that waits no longer.
  /// The callback may add nodes.
  template <class Ready>
  void complete(Slot slot, Ready ready) {
    finished_.insert(nodes_[slot].id);
    --live_;
    release(slot, ready);
  }
  /// Takes an id for finished that was never added.
  void finish(uint64_t id) { finished_.insert(id); }

  /// Nodes added and not complete.
  size_t live() const noexcept { return live_; }
  /// Slots in use: live nodes, and ids that are awaited.
  size_t slots() const noexcept { return slot_of_.size(); }
  /// One more than the highest slot so far.
  size_t capacity() const noexcept { return nodes_.size(); }
  uint64_t self_dependencies() const noexcept { return self_dependencies_; }
  size_t bytes() const noexcept;

  /// For when all nodes have been added: dependencies, but not optional ones, on ids that were not. Sorted by (child,
  /// parent).
  std::vector<Unresolved> unresolved() const;
  /// Ids that were never added and that nodes wait for. Sorted.
  std::vector<uint64_t> awaited() const;
  /// Drops all dependencies on ids that were never added, calls `ready(slot)` for each node that waits no longer, and
  /// returns how many dependencies there were.
  template <class Ready>
  uint64_t drop_awaited(Ready ready) {
    const size_t before = open_dependencies();
    for (Slot slot = 0; slot < nodes_.size(); ++slot) {
      if (nodes_[slot].state == State::kAwaited) release(slot, ready);
    }
    return before - open_dependencies();
  }
  /// For when all nodes have been added: ids that wait for each other, each for the one before it and the first for the
  /// last; empty when there are none.
  std::vector<uint64_t> cycle() const;

  /// As new, but with the memory that it has.
  void clear() noexcept;

 private:
  static constexpr uint32_t kEnd = UINT32_MAX;

  enum class State : uint8_t { kFree, kAwaited, kLive };
  struct Waiter {
    uint64_t id = 0;
    uint32_t waiting = 0;      ///< open dependencies
    uint32_t children = kEnd;  ///< the first of a list of dependencies on this node
    State state = State::kFree;
  };
  /// A dependency; those on one node are a list.
  struct Child {
    Slot slot = kNone;
    uint32_t next = kEnd;
    bool optional = false;
  };

  size_t open_dependencies() const noexcept { return children_.size() - free_children_.size(); }
  Slot take_slot(uint64_t id, State state);
  void collect(uint64_t id, std::span<const uint64_t> parents, bool optional);
  void drop_repeated();
  void link(Slot child, uint64_t parent, bool optional);

  template <class Ready>
  void release(Slot slot, Ready& ready) {
    uint32_t at = nodes_[slot].children;
    slot_of_.erase(nodes_[slot].id);
    nodes_[slot] = Waiter();
    free_slots_.push_back(slot);
    while (at != kEnd) {
      const Child child = children_[at];
      free_children_.push_back(at);
      at = child.next;
      if (--nodes_[child.slot].waiting == 0) ready(child.slot);
    }
  }

  FinishedIds finished_;
  IdMap slot_of_;  ///< of live and awaited ids
  std::vector<Waiter> nodes_;
  std::vector<Slot> free_slots_;
  std::vector<Child> children_;
  std::vector<uint32_t> free_children_;
  std::vector<std::pair<uint64_t, bool>> parents_;  ///< of the node that is being added, and whether they are optional
  size_t live_ = 0;
  uint64_t self_dependencies_ = 0;
};

/// "3 -> 5 -> 3", shortened in the middle when it is long.
std::string to_text(std::span<const uint64_t> cycle);

}  // namespace rankwire
