#include "base/affinity.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>

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

std::vector<uint32_t> one_of_each_core(std::span<const uint32_t> cpus, const std::filesystem::path& sysfs) {
  std::vector<uint32_t> chosen;
  std::set<std::string> cores;
  for (const uint32_t cpu : cpus) {
    // The list of a core's hardware threads, such as "3,67", is the same for all of them.
    std::ifstream file(sysfs / "devices/system/cpu" / fmt::format("cpu{}", cpu) / "topology/thread_siblings_list");
    std::string siblings;
    if (std::getline(file, siblings) && !cores.insert(siblings).second) continue;
    chosen.push_back(cpu);
  }
  return chosen;
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

AvoidedCpus::AvoidedCpus(std::span<const uint32_t> cpus) noexcept {
  CPU_ZERO(&before_);
  ::pthread_getaffinity_np(::pthread_self(), sizeof before_, &before_);
  cpu_set_t others = before_;
  for (const uint32_t cpu : cpus) CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) > 0) ::pthread_setaffinity_np(::pthread_self(), sizeof others, &others);
}

AvoidedCpus::~AvoidedCpus() {
  ::pthread_setaffinity_np(::pthread_self(), sizeof before_, &before_);
}

}  // namespace rankwire
