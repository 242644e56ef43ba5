// The program at scale: what `check`, `simulate`, the twin and a run over embedded ports take in time and in memory as
// ranks and ports grow, beside growth in proportion. Each is a process of its own, from its traces to its report.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/bench/bench.h"
#include "tests/temporary_folder.h"

namespace rankwire::bench {
namespace {

/// What a process took.
struct Taken {
  double seconds = 0, cpu_seconds = 0, mebibytes = 0;  ///< the last: the most that was resident
};

/// A training step of ranks in tensor parallel 8 and pipeline parallel 4.
std::string scaled_step(uint32_t ranks, const std::string& ports) {
  return fmt::format(R"(
name: scale
workload:
  generate: {{layers: 8, hidden: 1024, sequence: 1024, vocabulary: 32000, micro_batches: 2, data_type: bf16,
             tensor_parallel: 8, pipeline_parallel: 4, data_parallel: {}, peak: 100Tflops}}
mapping: {{policy: block}}
ports: {}
)",
                     ranks / 32, ports);
}

/// 16 ranks behind each.
std::string memory_ports(uint32_t ranks) {
  return fmt::format("{{count: {}, device: memory, rate: 400Gbps}}", ranks / 16);
}

/// Four, whatever the number of ranks, at a rate that one core embeds, and a switch that pauses rather than lose what
/// hundreds of connections have on the way.
std::string embedded_ports(uint32_t) {
  return "{count: 4, device: ring, rate: 5Gbps}\nfabric: {topology: star, lossless: [3]}";
}

Taken taken_by(const std::vector<std::string>& arguments) {
  std::vector<char*> words;
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
    execv(words.front(), words.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
    fail_run("{} did not end by itself", fmt::join(arguments, " "));
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024};
}

/// A row for each number of ranks. What grows in proportion to them has the ratio that is named last.
void measure_growth(const char* what, const std::vector<std::string>& arguments, std::initializer_list<uint32_t> sizes,
                    std::string (*ports)(uint32_t ranks) = memory_ports) {
  const testing::TemporaryFolder folder;
  std::optional<Taken> before;
  uint32_t ranks_before = 0;
  for (const uint32_t ranks : sizes) {
    const std::string config = folder / "scale.yaml";
    std::ofstream(config) << scaled_step(ranks, ports(ranks));
    std::vector<std::string> words{RANKWIRE_BINARY, arguments.front(), config};
    words.insert(words.end(), arguments.begin() + 1, arguments.end());
    if (arguments.front() != "check") words.insert(words.end(), {"--force", "--out", folder / "run"});
    const Taken taken = taken_by(words);
    fmt::print("scale         {:<42} {:>6} ranks {:>8.2f} s {:>8.2f} s CPU {:>6.0f} MiB", what, ranks, taken.seconds,
               taken.cpu_seconds, taken.mebibytes);
    if (before)
      fmt::print("   time x {:.2f}, memory x {:.2f}, linear x {:.2f}", taken.seconds / before->seconds,
                 taken.mebibytes / before->mebibytes, static_cast<double>(ranks) / ranks_before);
    fmt::print("\n");
    std::fflush(stdout);
    before = taken, ranks_before = ranks;
  }
}

}  // namespace

void scale(Dpdk&) {
  measure_growth("check", {"check", "--no-measure"}, {1024, 4096, 16384});
  measure_growth("simulate", {"simulate"}, {1024, 4096, 16384});
  measure_growth(
      "simulate, every rank by itself",
      {"simulate", "--set", "record.messages=none", "--set", "compute.jitter={distribution: normal, deviation: 1%}"},
      {256, 1024, 4096});
  measure_growth("simulate --twin", {"simulate", "--twin"}, {64, 256});
  measure_growth("run, 4 embedded ports", {"run"}, {256, 1024}, embedded_ports);
}

}  // namespace rankwire::bench
