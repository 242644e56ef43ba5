// Which of a rank's nodes compute, and which wait for a free place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "emulator/engine/queues.h"

namespace rankwire {

/// What a node takes the place of: of the accelerator (compute, memory), or of the host CPU.
enum class PlaceKind : uint8_t { kCompute, kHost };

/// The places of one rank. Of the ready nodes of a kind the one with the lowest id is the next to take a free place.
/// Its shard's thread alone; allocates as ReadyQueue.
class NodePlaces {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// Who has a place.
  struct Running {
    uint32_t node = 0;
    PlaceKind kind = PlaceKind::kCompute;
    Time start;
  };

  /// `compute`, `host`: how many places there are of each kind; `expected`: nodes that wait at once.
  NodePlaces(uint32_t compute, uint32_t host, size_t expected)
      : pools_{{{.waiting = ReadyQueue(expected), .limit = compute}, {.waiting = ReadyQueue(expected), .limit = host}}},
        running_(size_t{compute} + host) {
    for (uint32_t place = 0; place < running_.size(); ++place) unused_.push_back(place);
  }

  /// The node waits for a place from now on.
  void push(PlaceKind kind, uint64_t id, uint32_t node) noexcept { pool(kind).waiting.push(id, node); }
  /// Whose turn it is: it waits no longer, and has to `enter` before the next is asked for, unless it takes no time.
  /// kNone when nobody waits or no place is free.
  uint32_t next(PlaceKind kind) noexcept {
    Pool& of_kind = pool(kind);
    return of_kind.running == of_kind.limit || of_kind.waiting.empty() ? kNone : of_kind.waiting.pop();
  }
  /// Takes a place, which is free, and returns which.
  uint32_t enter(const Running& running) noexcept {
    ++pool(running.kind).running;
    const uint32_t place = unused_.back();
    unused_.pop_back();
    running_[place] = running;
    return place;
  }
  /// Frees the place, and returns who had it.
  Running leave(uint32_t place) noexcept {
    unused_.push_back(place);
    --pool(running_[place].kind).running;
    return running_[place];
  }

 private:
  struct Pool {
    ReadyQueue waiting;
    uint32_t limit = 0, running = 0;
  };
  Pool& pool(PlaceKind kind) noexcept { return pools_[static_cast<size_t>(kind)]; }

  std::array<Pool, 2> pools_;     // by PlaceKind
  std::vector<Running> running_;  // by place
  std::vector<uint32_t> unused_;  // places
};

}  // namespace rankwire
