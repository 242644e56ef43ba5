#include "base/affinity.h"

#include <pthread.h>

#include <cstring>

#include "base/error.h"

namespace rankwire {

std::vector<uint32_t> allowed_cpus() {
  cpu_set_t set;
  std::vector<uint32_t> cpus;
  if (::pthread_getaffinity_np(::pthread_self(), sizeof set, &set) != 0) return cpus;
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

PinnedThread::PinnedThread(uint32_t cpu) {
  CPU_ZERO(&before_);
  ::pthread_getaffinity_np(::pthread_self(), sizeof before_, &before_);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (const int error = ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one); error != 0)
    fail_run("the thread cannot be moved to CPU {}: {}", cpu, std::strerror(error));
}

PinnedThread::~PinnedThread() {
  ::pthread_setaffinity_np(::pthread_self(), sizeof before_, &before_);
}

AvoidedCpu::AvoidedCpu(uint32_t cpu) noexcept {
  CPU_ZERO(&before_);
  ::pthread_getaffinity_np(::pthread_self(), sizeof before_, &before_);
  cpu_set_t others = before_;
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) > 0) ::pthread_setaffinity_np(::pthread_self(), sizeof others, &others);
}

AvoidedCpu::~AvoidedCpu() {
  ::pthread_setaffinity_np(::pthread_self(), sizeof before_, &before_);
}

}  // namespace rankwire
