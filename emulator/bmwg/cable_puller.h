// A cable of a device that is pulled by the lab's hook `link_down` while calls of a run go on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "emulator/bmwg/bench.h"

namespace rankwire {

/// What became of it.
struct CablePull {
  std::string error;     ///< of the hook; empty: none
  bool is_done = false;  ///< the hook has run; else the run had ended before
  /// Ends of operations of the run that were on record when the cable had been pulled for longer than the record takes
  /// to know of an end: what is there beyond them has ended after that.
  uint64_t ends_before = 0;
  std::chrono::duration<double> took{0};  ///< from the first calls' end on record until then
};

/// The ends of operations that a run's record has by now, also while it is at work; 0 where there is none yet.
uint64_t ended_operations(const std::filesystem::path& folder);

/// Has a thread that waits until `operations` of the run in `folder` have ended, and then runs the hook.
class CablePuller {
 public:
  /// `bench` outlives it.
  CablePuller(const BmwgBench& bench, std::filesystem::path folder, uint64_t operations);
  ~CablePuller();
  CablePuller(const CablePuller&) = delete;
  CablePuller& operator=(const CablePuller&) = delete;

  /// The run has ended. Waits for the hook where that is at work.
  CablePull finish();

 private:
  void watch(const BmwgBench& bench, const std::filesystem::path& folder, uint64_t operations);

  CablePull pull_;
  std::atomic<bool> run_has_ended_{false};
  std::thread thread_;
};

}  // namespace rankwire
