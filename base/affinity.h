// Which processors threads run on.
#pragma once

#include <sched.h>

#include <cstdint>
#include <vector>

namespace rankwire {

/// The CPUs on which the calling thread may run, ascending, as sched_getaffinity(2) numbers them; empty where the
/// system does not say.
std::vector<uint32_t> allowed_cpus();

/// The calling thread runs on one CPU alone, from construction until destruction by the same thread. Threads that it
/// makes meanwhile do so, too.
class PinnedThread {
 public:
  /// `cpu` may be one that threads do not get by themselves (isolcpus). Throws Error(kRun) when the system refuses.
  explicit PinnedThread(uint32_t cpu);
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

 private:
  cpu_set_t before_;
};

/// The calling thread, and those that it makes meanwhile, leave one CPU to others, from construction until destruction
/// by the same thread. Without effect where they have no other.
class AvoidedCpu {
 public:
  explicit AvoidedCpu(uint32_t cpu) noexcept;
  ~AvoidedCpu();
  AvoidedCpu(const AvoidedCpu&) = delete;
  AvoidedCpu& operator=(const AvoidedCpu&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace rankwire
