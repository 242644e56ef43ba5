// Messages on their way, and who waits for them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "emulator/simulator/astra_events.h"
#include "emulator/simulator/astra_model.h"
#include "emulator/simulator/astra_network.h"

namespace rankwire {

/// Of a rendezvous.
inline constexpr Bytes kAstraHandshake = Bytes(8192);

struct AstraMessage {
  uint32_t source = 0, destination = 0;    ///< ranks
  uint32_t owner = 0, to = 0, number = 0;  ///< of whoever sends it
  bool collective = false;                 ///< whose the owner is
  bool answer = false;                     ///< of a rendezvous: against the data, which it lets go
  Bytes bytes;                             ///< of the data

  uint32_t from_rank() const noexcept { return answer ? destination : source; }
  uint32_t to_rank() const noexcept { return answer ? source : destination; }
  Bytes size() const noexcept { return answer ? kAstraHandshake : bytes; }
};

/// What has happened to a message at both ends. Each function returns whether what it names now happens.
struct AstraMatch {
  bool sent : 1 = false, awaited : 1 = false, answered : 1 = false, has_arrived : 1 = false;

  /// Leaves.
  bool send(bool rendezvous) noexcept { return sent = true, !rendezvous || answered; }
  /// Leaves.
  bool answer() noexcept { return answered = true, sent; }
  /// Is received.
  bool await() noexcept { return awaited = true, has_arrived; }
  /// Is received.
  bool arrive() noexcept { return has_arrived = true, awaited; }
};

class AstraTransfers {
 public:
  /// The events outlive it.
  AstraTransfers(const AstraModel& model, AstraEvents& events);

  /// Leads to events kMessage, whose number is for `advance`.
  void start(const AstraMessage& message);
  /// The message if it is at its destination; otherwise it goes on.
  std::optional<AstraMessage> advance(uint32_t slot);

 private:
  struct Travelling {
    AstraMessage message;
    uint32_t device = 0;
  };
  void hop(uint32_t slot);

  const AstraDelays delays_;
  std::optional<AstraLinks> links_;
  AstraEvents& events_;
  std::vector<Travelling> travelling_;
  std::vector<uint32_t> unused_;
};

}  // namespace rankwire
