// What the workers of a run hand each other: messages to whoever has the port that sends them, and events to whoever
// has the rank that they are about.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/event.h"
#include "base/message.h"
#include "base/spsc_ring.h"
#include "base/time_by_cause.h"
#include "base/transport.h"
#include "base/units.h"

namespace rankwire {

/// Which workers have to do with a connection. A number beyond the workers: another machine.
struct WorkerRoute {
  uint16_t sender = 0;       ///< whose transport sends its messages
  uint16_t receiver = 0;     ///< whose transport receives them
  uint16_t source = 0;       ///< who has the rank at its source
  uint16_t destination = 0;  ///< and the one at its destination
};

/// A ring from each worker to each other one, of messages and of events. Items bear the time of the turn in which they
/// were handed over, so that nobody is told of what has not happened yet by the clock of its own turn.
class WorkerExchange {
 public:
  struct Post {
    Message message;
    Time at;
  };
  struct Report {
    Event event;
    Time at;
    TimeByCause causes;  ///< of the event, if it has any
  };

  explicit WorkerExchange(uint32_t workers) : workers_(workers) {
    const size_t capacity = ring_capacity(workers);
    for (uint32_t pair = 0; pair < workers * workers; ++pair) {
      const bool of_two = pair / workers != pair % workers;
      posts_.push_back(of_two ? std::make_unique<SpscRing<Post>>(capacity) : nullptr);
      reports_.push_back(of_two ? std::make_unique<SpscRing<Report>>(capacity) : nullptr);
    }
  }

  uint32_t workers() const noexcept { return workers_; }
  /// `from` pushes, `to` pops; they are not the same.
  SpscRing<Post>& posts(uint32_t from, uint32_t to) noexcept { return *posts_[from * workers_ + to]; }
  SpscRing<Report>& reports(uint32_t from, uint32_t to) noexcept { return *reports_[from * workers_ + to]; }

  /// Items of a ring. What finds no room waits with who hands it over.
  static size_t ring_capacity(uint32_t workers) { return std::clamp<size_t>(16384 / workers, 64, 1024); }
  /// Memory of all rings.
  static size_t bytes(uint32_t workers) {
    return size_t{workers} * (workers - 1) * ring_capacity(workers) * (sizeof(Post) + sizeof(Report));
  }

 private:
  const uint32_t workers_;
  std::vector<std::unique_ptr<SpscRing<Post>>> posts_;  // by from, then to
  std::vector<std::unique_ptr<SpscRing<Report>>> reports_;
};

}  // namespace rankwire
