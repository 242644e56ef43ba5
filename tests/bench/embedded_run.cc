#include "tests/bench/embedded_run.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace rankwire::bench {

using testing::TemporaryFolder;

namespace {

/// A training step whose groups all cross the switch, with nothing to compute, on ports faster than any core.
std::string configuration(const EmbeddedRun& variant) {
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
workers: {{count: {}}}
run: {{deadline: 60s}}
)",
                     variant.core, variant.mtu, variant.workers);
}

}  // namespace

std::filesystem::path run_in(const TemporaryFolder& folder, const std::string& configuration,
                             std::string_view options) {
  const std::string config = (folder / "run.yaml").string(), out = (folder / "run").string();
  std::ofstream(config) << configuration;
  std::filesystem::remove_all(out);
  const std::string command = fmt::format("timeout 120 '{}' run '{}' --out '{}' {} >'{}.log' 2>&1 </dev/null",
                                          RANKWIRE_BINARY, config, out, options, config);
  const int status = std::system(command.c_str());
  if (status != 0) {
    std::string said;
    std::getline(std::ifstream(config + ".log"), said);
    fail_run("{} ended with {}: {}", command, WIFEXITED(status) ? WEXITSTATUS(status) : status, said);
  }
  return out;
}

double run_rate(const TemporaryFolder& folder, const EmbeddedRun& run) {
  const std::filesystem::path out = run_in(folder, configuration(run), run.live ? "--live" : "");
  const auto summary = nlohmann::json::parse(std::ifstream(out / "summary.json"));
  const auto& transport = summary.at("transport");
  const auto repeated = transport.at("retransmitted").get<uint64_t>();
  if (repeated > 0) std::printf("of a run %lu packets were repeated\n", repeated);
  return transport.at("data_packets_tx").get<double>() /
         (summary.at("emulated").at("completion_time_ps").get<double>() * 1e-12);
}

}  // namespace rankwire::bench
