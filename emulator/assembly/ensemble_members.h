// The members of an ensemble, of which a machine simulates all or some.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "emulator/assembly/ensemble.h"
#include "emulator/assembly/nic_network.h"
#include "emulator/assembly/operation_means.h"
#include "emulator/assembly/run_control.h"
#include "emulator/assembly/setup.h"
#include "fabric/network.h"

namespace rankwire {

/// What a member says that ended well.
struct MemberTimes {
  Duration completion;
  uint64_t work = 0;                                ///< NetworkModel::work
  std::vector<Duration> per_rank;                   ///< completion, by RankId
  std::vector<std::optional<Duration>> operations;  ///< mean, by OperationPatterns; absent where none was executed

  bool operator==(const MemberTimes&) const = default;
};

/// What became of a member.
struct MemberOutcome {
  bool is_known = false;             ///< false: nobody has simulated it to its end
  std::optional<MemberTimes> times;  ///< absent: it did not end well
  std::exception_ptr thrown;         ///< null: nothing was
};

/// They follow from the set-up and their numbers, so that it is the same who simulates which. Belongs to one thread.
class EnsembleMembers {
 public:
  /// Of `most` at the most. The set-up and `control` outlive it.
  EnsembleMembers(const Setup& setup, uint32_t most, const RunControl& control);

  uint32_t most() const { return static_cast<uint32_t>(outcomes_.size()); }
  /// What NICs do in all that are run from now on.
  Nics nics() const { return nics_; }
  void use(Nics nics);

  /// The first, and by it what NICs do in all.
  void run_first(uint64_t most_work = UINT64_MAX);
  /// These, up to `threads` at a time. `ended` is told of each whose outcome is known by then, in the thread that has
  /// simulated it; empty: nobody is.
  void run(std::span<const uint32_t> members, uint32_t threads,
           const std::function<void(uint32_t member)>& ended = nullptr);

  const MemberOutcome& outcome(uint32_t member) const { return outcomes_[member]; }
  /// Of one that was simulated elsewhere.
  void put(uint32_t member, MemberOutcome outcome) { outcomes_[member] = std::move(outcome); }
  /// Of all, once.
  Ensemble take();

 private:
  void run(uint32_t member, uint64_t most_work);
  void add(Ensemble& ensemble, uint32_t number, MemberTimes times) const;

  const Setup& setup_;
  const RunControl& control_;
  Network network_;
  Nics nics_ = Nics::kTurns;
  const std::vector<Duration> communication_;
  const uint64_t operations_;
  const OperationPatterns patterns_;
  std::vector<MemberOutcome> outcomes_;  // by number
};

}  // namespace rankwire
