// What a signal ends of a run over several machines once it is over on the wires.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/assembly/run_control.h"
#include "emulator/machines/machines.h"

namespace rankwire {

/// How long the leader goes on after a signal that another machine's end has brought: `srun --kill-on-bad-exit` sends
/// it when one process has died, and others may be given as little as the ten seconds of mpirun as docs/hosts.md starts
/// it, in which the record has to be written.
inline constexpr std::chrono::milliseconds kSparedTime{4000};

/// Of the leader, where its models, and members of an ensemble that it shares with others, are simulated. A signal then
/// asks all machines whether they are there: when all answer, somebody wants to end the run, which it does at once;
/// when one does not, the signal is likely to be of its end, and what can still be simulated is, for `spared`. The
/// thread of `machines` does that; all functions belong to one other thread.
class MachineStop {
 public:
  /// Both outlive it. Of `control`, which must not be true by then, everything but the signal is as before.
  MachineStop(Machines& machines, const RunControl& control, std::chrono::milliseconds spared = kSparedTime);
  ~MachineStop();
  MachineStop(const MachineStop&) = delete;
  MachineStop& operator=(const MachineStop&) = delete;

  /// Of what is simulated; as long as this lives.
  const RunControl& control() const { return own_; }
  /// Those that were there when this began and have gone since: "machine 'b'", "machines 'b', 'c'". Empty: none has.
  std::string gone() const;
  /// What the run is to say of them, and of what is missing because of a signal; empty: nothing. The ensemble has
  /// `members` of the `planned`.
  std::string finding(size_t members, size_t planned) const;

 private:
  void turn(MachinePost& post);
  std::string reason() const;

  Machines& machines_;
  const RunControl& control_;
  const std::chrono::milliseconds spared_;
  std::vector<uint32_t> present_;  // when this began
  std::atomic<bool> stop_;
  std::atomic<bool> late_{false};  // stopped because the time was up
  const RunControl own_;
  // Of the thread of `machines`.
  std::vector<uint32_t> silent_;  // since the signal
  std::optional<MachinePost::Clock::time_point> asked_;
};

}  // namespace rankwire
