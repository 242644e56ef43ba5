// How far a run is, by the time that what it has done takes.
#pragma once

#include "emulator/assembly/setup.h"
#include "emulator/engine/engine.h"

namespace rankwire {

/// What a run is going to do, by ranks that compute as long as their nodes take and messages that have a line of the
/// mean rate of the ports, or the interconnect, for themselves: the sum of both over all ranks, all iterations
/// included. What overlaps counts twice, in what is planned and in what is done. Constant once it is made, so that any
/// thread may ask.
class PredictedWork {
 public:
  /// Of an emulated run, a twin or a reference of this set-up.
  explicit PredictedWork(const Setup& setup);

  /// False where nobody knows beforehand what is in the traces, or nothing in them takes time.
  bool is_known() const noexcept { return total_ > 0; }
  /// 0 .. 1. Computing that varies (jitter, slow-downs) is predicted without that, so that it may get to 1 too early,
  /// or not all the way.
  double share_of(const WorkDone& done) const noexcept;

 private:
  /// Seconds.
  double time_of(const WorkDone& work) const noexcept;

  double wire_rate_ = 0, local_rate_ = 0;  // bits a second
  double total_ = 0;                       // seconds
};

}  // namespace rankwire
