// Looks on for a worker while its loop turns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/event.h"
#include "base/id.h"
#include "base/transport.h"
#include "base/units.h"
#include "emulator/engine/background_traffic.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/live_feed.h"

namespace rankwire {

/// Publishes what a worker has come to, four times a second of run time, and tells who waits for whom when that was
/// asked for. Its worker's thread alone. After construction it takes no memory, no lock and makes no system call, but
/// when somebody has asked.
class LiveObserver {
 public:
  static constexpr Duration kInterval = milliseconds(250);

  /// What a message counts for.
  struct Route {
    JobId job;  ///< invalid: none, as in the background
    /// Of ports whose transport keeps no tally: what is sent and received there is counted by whole messages, and no
    /// packets. Invalid: it keeps one.
    PortId source, destination;
  };

  /// `routes`: by connection. `background`: the worker's; null: none. All outlive it.
  LiveObserver(LiveFeed& feed, uint32_t worker, const Engine& engine, const Transport& transport,
               std::span<const Route> routes, const BackgroundTraffic* background = nullptr);

  /// Of this worker's ranks, before anybody takes them.
  void note(std::span<const Event> events) noexcept;
  /// In each turn of the loop.
  void look(Time now) {
    if (now >= next_) [[unlikely]]
      publish(now);
  }
  void publish(Time now);

 private:
  void look_at_background();
  void answer();

  LiveFeed& feed_;
  const uint32_t worker_;
  const Engine& engine_;
  const Transport& transport_;
  const std::span<const Route> routes_;
  const BackgroundTraffic* const background_;
  const std::span<PortTally> tally_;
  LiveFigures figures_;
  std::vector<uint64_t> words_;
  Time next_ = Time::long_ago();
  uint32_t answered_ = 0;
};

}  // namespace rankwire
