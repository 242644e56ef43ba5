// One phase of a chunk: a collective among the members of one dimension or group, run by one algorithm.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.h"
#include "emulator/simulator/astra_model.h"

namespace rankwire {

struct AstraPhase {
  AstraCollective collective = AstraCollective::kAllReduce;
  AstraImplementation implementation;
  uint32_t members = 2;        ///< > 1
  Bytes data;                  ///< of a member when it begins
  bool anticlockwise = false;  ///< kRing, kDirect: to whom a member sends
  bool second_tree = false;    ///< kDoubleBinaryTree: the root is the first member, otherwise the last

  bool operator==(const AstraPhase&) const = default;
};

/// What a member has after the phase, with which the chunk's next phase begins.
Bytes data_after(const AstraPhase& phase);

/// What the members of a phase pay at their ends.
struct AstraEndpoint {
  Duration delay;               ///< of each message, before it is sent and after it is received
  double memory_bandwidth = 0;  ///< units of 10^9 bytes a second

  /// Of adding up two pieces of data: two reads and a write.
  Duration reduction(Bytes bytes) const {
    return whole_nanoseconds(static_cast<double>(bytes.count) / (memory_bandwidth * 1e9) * 1e9) * 3;
  }
};

/// Which sends and receives a phase consists of, where one message and one step depend on the one before.
struct AstraSteps {
  uint32_t sends = 0;        ///< of each member
  uint32_t window = 1;       ///< messages that a member has in the air
  uint32_t cycle = 1;        ///< received messages are added up or not in cycles of this length
  bool reduces = false;      ///< in the even cycles, but for the first `window` of each
  bool every_cycle = false;  ///< in the odd ones, too
  uint32_t barrier = 0;      ///< after so many sends, > 0, a member waits for as many messages

  /// Whether the `n`-th packet, from 0, that a member prepares has been added up.
  bool reduced(uint32_t n) const noexcept {
    return reduces && n % cycle >= window && (every_cycle || n / cycle % 2 == 0);
  }
};

/// Of kRing, kDirect and kHalvingDoubling.
AstraSteps steps_of(const AstraPhase& phase);
/// The ring's or direct algorithm's message; 0 when there is less data than members.
Bytes message_size(const AstraPhase& phase);

/// What algorithms ask of the simulation. Members are 0 .. AstraPhase::members - 1. Messages to a member are told apart
/// by their number; at most AstraAlgorithm::numbers() of them in a row are under way.
class AstraPhaseHost {
 public:
  virtual ~AstraPhaseHost() = default;
  virtual void send(uint32_t from, uint32_t to, uint32_t number, Bytes bytes) = 0;
  /// Leads to `received` when the message has arrived, at once if it has already.
  virtual void receive(uint32_t at, uint32_t from, uint32_t number, Bytes bytes) = 0;
  /// Leads to `due`.
  virtual void wait(uint32_t member, uint32_t step, Duration delay) = 0;
  /// The member has ended the phase; nothing more is asked for it.
  virtual void end(uint32_t member) = 0;
};

/// The algorithm's state for all members of one phase. The host outlives it.
class AstraAlgorithm {
 public:
  virtual ~AstraAlgorithm() = default;
  virtual void begin(uint32_t member) = 0;
  virtual void received(uint32_t member, uint32_t number) = 0;
  /// A message to the member has arrived, whether the member waits for it or not.
  virtual void arrived(uint32_t /*member*/, uint32_t /*number*/) {}
  virtual void due(uint32_t member, uint32_t step) = 0;
  virtual uint32_t numbers() const = 0;
};

/// kRing, kDirect, kHalvingDoubling.
std::unique_ptr<AstraAlgorithm> make_astra_exchange(const AstraPhase& phase, const AstraEndpoint& endpoint,
                                                    AstraPhaseHost& host);
/// kDoubleBinaryTree: an all-reduce, whatever the collective.
std::unique_ptr<AstraAlgorithm> make_astra_tree(const AstraPhase& phase, const AstraEndpoint& endpoint,
                                                AstraPhaseHost& host);

}  // namespace rankwire
