// How far the run is on other machines, while it goes on.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "emulator/engine/shard.h"
#include "emulator/engine/team.h"
#include "emulator/machines/machines.h"

namespace rankwire {

/// How far a run is, on one machine or on all.
struct MachineState {
  struct OfJob {
    uint32_t ended = 0;    ///< iterations
    int64_t last_end = 0;  ///< ps of run time
    bool operator==(const OfJob&) const = default;
  };

  bool finished = false;
  int64_t progress = INT64_MIN;    ///< the last, ps of run time
  std::vector<OfJob> jobs;         ///< by JobId
  Verdict verdict = Verdict::kOk;  ///< of a run that somebody has ended, and why
  std::string reason;

  /// As it is when others have come this far, too.
  void join(const MachineState& other);
  bool operator==(const MachineState&) const = default;
};

std::string bytes_of(const MachineState& state);
MachineState machine_state(const std::string& bytes);

/// As long as it lives, this machine's workers and those of all others are one team: what shards have ended is told to
/// the others, as is who has finished, when progress was made, and that somebody has ended the run. Where a machine has
/// gone, or cannot go on, it ends the run, naming it. All goes by the leader. Its work is done by the thread of
/// `machines`.
class MachineWatch {
 public:
  /// Members of `team` and shards of `iterations`, which are by JobId: the own ones in the same order, and all other
  /// machines together as the last. All are borrowed.
  MachineWatch(Machines& machines, RunTeam& team, std::span<SharedIterations> iterations);
  ~MachineWatch();
  MachineWatch(const MachineWatch&) = delete;
  MachineWatch& operator=(const MachineWatch&) = delete;

 private:
  void turn(MachinePost& post);
  void turn_of_leader(MachinePost& post);
  void turn_of_other(MachinePost& post);
  void look_for_failures(MachinePost& post);
  MachineState own_state() const;
  void take_over(const MachineState& others);
  bool is_worth_telling(const MachineState& state, MachinePost::Clock::time_point now) const;

  Machines& machines_;
  RunTeam& team_;
  const uint32_t others_;  // their number as member and as shard, which is how many are this machine's
  const std::span<SharedIterations> iterations_;
  std::vector<MachineState> states_;  // by machine; of the leader
  MachineState told_;
  MachinePost::Clock::time_point told_at_;
};

}  // namespace rankwire
