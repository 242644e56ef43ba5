// The fidelity `astra`: ASTRA-sim's files and a workload become a model and a program.
#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/input/config.h"
#include "emulator/simulator/astra_model.h"
#include "emulator/simulator/astra_program.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// What only ASTRA-sim's semantics ask of the nodes of a trace.
class AstraTraits {
 public:
  /// Adds to `options` what `AstraWorkload` needs; the traits outlive the loading. Both kinds of dependencies hold
  /// unless the user has chosen, and no trace stays in its files.
  void observe(WorkloadOptions& options);

  /// The dimensions that a collective names, a bit each; all where it names none.
  uint32_t dimensions(RankId rank, uint32_t place) const;
  /// Of a COMP node: whether it has both num_ops and tensor_size, be they 0.
  bool gives_work(RankId rank, uint32_t place) const;
  /// METADATA nodes, and INVALID ones on which others depend, abort and hang ASTRA-sim. Throws Error(kInput).
  void check(const Workload& workload) const;

 private:
  struct Trait {
    RankId rank;
    uint32_t place = 0, type = 0, dimensions = 0;
    std::pair<uint32_t, uint32_t> key() const { return {rank.value, place}; }
  };
  std::vector<Trait> traits_;  // by key, ascending
};

/// Reads the files that the configuration names. Throws Error(kInput).
AstraModel load_astra_model(const AstraConfig& config, Warnings& warnings);

/// A program with the graphs that it refers to.
struct AstraWorkload {
  AstraProgram program;
  std::vector<Workload> custom;  ///< of collectives that are traces
};

/// `workload` outlives the result. Throws Error(kInput) naming file and node for what ASTRA-sim has no semantics for,
/// and when there are not as many ranks as NPUs.
AstraWorkload make_astra_workload(const AstraModel& model, const Workload& workload, const AstraTraits& traits,
                                  const RunConfig& config, Warnings& warnings);

}  // namespace rankwire
