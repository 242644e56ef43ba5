// Which processors threads run on.
#pragma once

#include <sched.h>

#include <cstdint>
#include <vector>

namespace rankwire {

/// The CPUs on which the calling thread may run, ascending, as sched_getaffinity(2) numbers them.
std::vector<uint32_t> allowed_cpus();

/// The calling thread runs on one CPU alone, from construction until destruction by the same thread. Threads that it
/// makes meanwhile do so, too.
class PinnedThread {
 public:
  /// `cpu`: one of `allowed_cpus`; throws Error(kRun) when the system refuses.
  explicit PinnedThread(uint32_t cpu);
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace rankwire
