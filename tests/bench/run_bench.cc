// Whole runs on the embedded switch, beside the transport alone around a loop of the same frames.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "dataplane/dpdk/port.h"
#include "tests/bench/bench.h"
#include "tests/bench/transport_bench.h"

namespace rankwire::bench {
namespace {

// Of the run's connections about as many are busy at a time.
constexpr uint32_t kConnections = 64;

struct Variant {
  uint32_t mtu;
  std::string_view core;
};

/// Gone with its contents when this is.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "rankwire_bench.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail_run("no folder in {}", std::filesystem::temp_directory_path().string());
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A training step whose groups all cross the switch, with nothing to compute, on ports faster than any core.
std::string configuration(const Variant& variant) {
  return fmt::format(R"(
name: embedded
workload:
  generate:
    layers: 16
    hidden: 1024
    sequence: 1024
    vocabulary: 32000
    micro_batches: 4
    micro_batch_size: 1
    data_type: bf16
    tensor_parallel: 2
    data_parallel: 4
    peak: 100Tflops
  scale: {{compute: 1/1000000}}
hosts: {{count: 4, npus: 2, nics: 1}}
ports: {{count: 4, device: ring, rate: 400Gbps}}
switch: {{latency: 1us, link_latency: 100ns, buffer: 64MiB, core: {}}}
transport: {{mtu: {}B}}
run: {{deadline: 60s}}
)",
                     variant.core, variant.mtu);
}

/// Data packets a second, from time 0 to the completion of the last rank.
double run_rate(const Folder& folder, const Variant& variant) {
  const std::string config = (folder.path() / "run.yaml").string(), out = (folder.path() / "run").string();
  std::ofstream(config) << configuration(variant);
  std::filesystem::remove_all(out);
  const std::string command = fmt::format("timeout 120 '{}' run '{}' --out '{}' >'{}.log' 2>&1 </dev/null",
                                          RANKWIRE_BINARY, config, out, config);
  const int status = std::system(command.c_str());
  if (status != 0) {
    std::string said;
    std::getline(std::ifstream(config + ".log"), said);
    fail_run("{} ended with {}: {}", command, WIFEXITED(status) ? WEXITSTATUS(status) : status, said);
  }
  const auto summary = nlohmann::json::parse(std::ifstream(out + "/summary.json"));
  const auto& transport = summary.at("transport");
  const auto repeated = transport.at("retransmitted").get<uint64_t>();
  if (repeated > 0) std::printf("run_embedded  %lu packets were repeated\n", repeated);
  return transport.at("data_packets_tx").get<double>() /
         (summary.at("emulated").at("completion_time_ps").get<double>() * 1e-12);
}

void print_run(FramePort& near, FramePort& far, const Folder& folder, const Variant& variant) {
  std::vector<double> runs, loops, ratios;
  for (int i = 0; i < kRuns; ++i) {
    loops.push_back(transport_loop_rate(near, far, variant.mtu, kConnections));
    runs.push_back(run_rate(folder, variant));
    ratios.push_back(runs.back() / loops.back());
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  std::printf(
      "run_embedded  MTU %4u, switch.core %-6s: %5.2f M data packets/s, %3.0f Gbit/s; transport_loop %5.2f M/s on one "
      "core; ratio %.2f (%.2f .. %.2f)\n",
      variant.mtu, std::string(variant.core).c_str(), median(runs) / 1e6, median(runs) * variant.mtu * 8e-9,
      median(loops) / 1e6, median(ratios), least, most);
  std::fflush(stdout);
}

}  // namespace

void run_embedded(Dpdk& dpdk) {
  auto [near, far] = make_ring_link(dpdk.environment(), "beside", {.queue_frames = 1024, .frames = 4095});
  const Folder folder;
  for (const std::string_view core : {"shared", "own"})
    for (const uint32_t mtu : {1024u, 4096u}) print_run(*near, *far, folder, {mtu, core});
}

}  // namespace rankwire::bench
