// What a run takes of the machine's memory, known before it is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/assembly/run.h"
#include "emulator/assembly/setup.h"

namespace rankwire {

/// Stages follow one another; of a stage several runs may be at work at a time.
enum class MemoryStage : uint8_t { kEmulated, kModels, kJobsAlone, kEnsemble, kWhatIf, kReport };

/// The most that one of a configuration's runs has at a time, beside what its set-up takes, by what it is for. Resident
/// memory: what is reserved and never written to does not count.
struct RunMemory {
  /// "emulated", "twin", "job alone", "ensemble", "what if", "report", or its name in `simulation.fidelity`; of static
  /// lifetime.
  const char* run = "";
  MemoryStage stage = MemoryStage::kEmulated;
  uint32_t times = 1;  ///< runs like this one
  Bytes connections;   ///< queue pairs, messages in flight, and what is looked up by connection
  Bytes frames;        ///< frame pools, queues of ports, the embedded switch, captures
  Bytes engine;        ///< what runs the plan, and the program's parts that a set-up does not use
  Bytes model;         ///< the modelled interconnect, or the network of a reference
  Bytes record;        ///< rows on their way to the record, and what is made of them

  Bytes total() const { return connections + frames + engine + model + record; }
};

/// A part of RunMemory by the name that it has in reports.
struct MemoryPart {
  const char* name;
  Bytes RunMemory::*bytes;
};
/// All of them.
std::span<const MemoryPart> memory_parts();

/// What a configuration takes: of the stage that takes most, the largest runs that may be at work at a time.
struct MemoryDemand {
  Bytes setup;                  ///< the program with traces, placement and plan, all through
  uint32_t threads = 1;         ///< runs of a stage at a time at most, > 0
  std::vector<RunMemory> runs;  ///< not empty; the last one is the report
  Bytes left_out;               ///< of `setup`, what this process does not hold, as it has folded the workload

  /// Those that count, the largest first; a run that there is several times may be there as often. Not empty.
  std::vector<const RunMemory*> peak() const;
  Bytes total() const;
};

/// Of what `PreparedRun` runs for a configuration of this kind. `resident`: of a process that has this set-up. Takes no
/// memory of the kind that it tells of, and touches no device. Queue pairs count what RoceTransport says of itself, all
/// else what follows from the plan and the sizes of the things; of RDMA devices their drivers' queues are a guess.
MemoryDemand memory_demand(const Setup& setup, RunKind kind, Bytes resident);

/// RoceTransport::queue_pair_bytes of so many ends of queue pairs behind so many lanes: asked of small transports in
/// memory, since it grows evenly.
Bytes queue_pair_memory(const RoceOptions& options, uint64_t ends, uint32_t lanes);

/// The warning when `demand` is more than there is, or nothing. `available` as available_memory tells it while this
/// process holds the set-up.
std::optional<std::string> memory_finding(const MemoryDemand& demand, std::optional<Bytes> available);

}  // namespace rankwire
