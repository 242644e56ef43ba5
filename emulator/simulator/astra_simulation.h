// Runs a program as ASTRA-sim's workload and system layers do over its analytical network.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/record.h"
#include "base/units.h"
#include "emulator/simulator/astra_model.h"
#include "emulator/simulator/astra_program.h"

namespace rankwire {

enum class AstraVerdict : uint8_t { kOk, kFailed, kStalled, kInterrupted };

struct AstraResult {
  AstraVerdict verdict = AstraVerdict::kOk;
  std::string reason;                ///< empty when ok
  std::vector<std::string> waiting;  ///< of the first ranks that hang: what they wait for
  std::vector<Duration> per_rank;    ///< by rank: the end of its last node so far
};

/// Integer nanoseconds throughout. A rank runs one host node, one compute node, and one of collectives, sends and
/// memory accesses at a time, and receives at once, the lowest id first. Ring phases without congestion are computed as
/// a whole (astra_ring.h), the others event by event, with the same result.
class AstraSimulation {
 public:
  struct Options {
    bool event_by_event = false;  ///< ring phases, too: to compare both ways
  };

  /// Model, program and sink outlive the simulation; of the program's collectives none has an AstraPlanner::obstacle.
  AstraSimulation(const AstraModel& model, const AstraProgram& program, RecordSink& sink, Options options);
  ~AstraSimulation();

  /// Once. Ends at the next event after `interrupted` is set.
  AstraResult run(const std::atomic<bool>& interrupted);
  /// Any thread may ask.
  uint64_t nodes_completed() const noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace rankwire
