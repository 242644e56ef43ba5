// Which processors threads run on.
#pragma once

#include <sched.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace rankwire {

/// The CPUs on which the calling thread may run, ascending, as sched_getaffinity(2) numbers them; empty where the
/// system does not say.
std::vector<uint32_t> allowed_cpus();

/// Of these CPUs one for each physical core, the lowest of its hardware threads, ascending. `sysfs` is where the kernel
/// says which share a core; a CPU of which it says nothing is a core of its own.
std::vector<uint32_t> one_of_each_core(std::span<const uint32_t> cpus, const std::filesystem::path& sysfs = "/sys");

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

/// The calling thread, and those that it makes meanwhile, leave some CPUs to others, from construction until
/// destruction by the same thread. Without effect where they have no other.
class AvoidedCpus {
 public:
  explicit AvoidedCpus(std::span<const uint32_t> cpus) noexcept;
  ~AvoidedCpus();
  AvoidedCpus(const AvoidedCpus&) = delete;
  AvoidedCpus& operator=(const AvoidedCpus&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace rankwire
