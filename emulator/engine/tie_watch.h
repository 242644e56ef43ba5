// Whether equal times needed an order that nothing but the numbers of connections has decided.
#pragma once

#include <cstdint>
#include <vector>

#include "base/event.h"
#include "base/id.h"

namespace rankwire {

/// Watches what each event makes ready. What happens between two calls of `begin_round` happens at once; when events of
/// one round on different connections have made two messages of one connection ready, or two reduces of one channel,
/// their order is that of the events, and the run is tied. Without connections and channels it watches nothing. Its
/// shard's thread alone; no allocation after construction.
class TieWatch {
 public:
  TieWatch() = default;
  TieWatch(size_t connections, size_t channels) : sends_(connections), reduces_(channels) {}

  void begin_round() noexcept { ++round_; }
  /// What is made ready up to `end_event` follows from this event.
  void begin_event(const Event& event) noexcept {
    event_ = uint64_t{event.connection.value} << 1 | uint64_t{event.at_source};
  }
  void end_event() noexcept { event_ = kNone; }
  /// A message of the connection, or a reduce of the channel, is ready.
  void note_send(ConnectionId connection) noexcept { note(sends_, connection.value); }
  void note_reduce(uint64_t channel) noexcept { note(reduces_, channel); }

  bool tied() const noexcept { return tied_; }

 private:
  static constexpr uint64_t kNone = UINT64_MAX;
  /// What made something ready last: when, and which end of which connection.
  struct Source {
    uint64_t round = 0;
    uint64_t event = kNone;
  };

  void note(std::vector<Source>& sources, uint64_t of) noexcept {
    if (sources.empty() || event_ == kNone) return;
    Source& last = sources[of];
    tied_ |= last.round == round_ && last.event != kNone && last.event != event_;
    last = {round_, event_};
  }

  std::vector<Source> sends_, reduces_;  // by connection; by channel; empty: not watched
  uint64_t round_ = 0, event_ = kNone;
  bool tied_ = false;
};

}  // namespace rankwire
