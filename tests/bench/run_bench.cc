// Whole runs on the embedded switch: beside the transport alone around a loop of the same frames, and chains of small
// messages beside what the network takes for them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "dataplane/dpdk/port.h"
#include "proto/trace_stream.h"
#include "tests/bench/bench.h"
#include "tests/bench/embedded_run.h"
#include "tests/bench/transport_bench.h"
#include "tests/temporary_folder.h"

namespace rankwire::bench {
namespace {

using testing::TemporaryFolder;

// Of the run's connections about as many are busy at a time.
constexpr uint32_t kConnections = 64;

/// Of each of 8 ranks an all-gather of 1 KiB, and then, of the first four, an all-reduce of 1 KiB: rings of 7 and 6
/// steps, each of which waits for the one before.
void write_chain(const TemporaryFolder& folder) {
  for (int rank = 0; rank < 8; ++rank) {
    TraceWriter writer((folder / fmt::format("chain.{}.et", rank)).string());
    chakra::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    writer.write(metadata);
    const auto collective = [&](uint64_t id, const char* name, chakra::CollectiveCommType type, const char* group) {
      chakra::Node node;
      node.set_id(id);
      node.set_name(name);
      node.set_type(chakra::COMM_COLL_NODE);
      if (id > 1) node.add_data_deps(id - 1);
      const auto add = [&](const char* attribute) {
        node.add_attr()->set_name(attribute);
        return node.mutable_attr(node.attr_size() - 1);
      };
      add("comm_type")->set_int64_val(type);
      add("comm_size")->set_int64_val(1024);
      if (group != nullptr) add("pg_name")->set_string_val(group);
      writer.write(node);
    };
    collective(1, "gather", chakra::ALL_GATHER, nullptr);
    if (rank < 4) collective(2, "reduce", chakra::ALL_REDUCE, "four");
    writer.close();
  }
  std::ofstream(folder / "chain.json") << R"({"four": [0, 1, 2, 3]})";
}

std::string chain_configuration(const TemporaryFolder& folder) {
  return fmt::format(R"(
name: chain
workload: {{traces: {}, iterations: 1000}}
hosts: {{count: 8, npus: 1}}
ports: {{count: 8, device: ring, rate: 10Gbps}}
switch: {{latency: 1us, link_latency: 100ns}}
run: {{deadline: 60s}}
)",
                     (folder / "chain").string());
}

/// Of an iteration, in microseconds: the first, the median of the others, and the median in the reference.
struct ChainTimes {
  double first = 0, later = 0, reference = 0;
};

/// An iteration lasts from the end of the one before to its own, of all ranks.
ChainTimes chain_times(const std::filesystem::path& operations) {
  constexpr size_t kIteration = 1, kEmulatedEnd = 9, kReferenceEnd = 11;
  std::map<int, std::array<double, 2>> ends;
  std::ifstream in(operations);
  std::string line;
  for (std::getline(in, line); std::getline(in, line);) {
    std::vector<std::string> fields;
    std::stringstream row(line);
    for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
    std::array<double, 2>& end = ends[std::stoi(fields.at(kIteration))];
    end[0] = std::max(end[0], std::stod(fields.at(kEmulatedEnd)) * 1e-6);
    end[1] = std::max(end[1], std::stod(fields.at(kReferenceEnd)) * 1e-6);
  }
  std::vector<double> later, reference;
  for (auto end = std::next(ends.begin()), before = ends.begin(); end != ends.end(); before = end++) {
    later.push_back(end->second[0] - before->second[0]);
    reference.push_back(end->second[1] - before->second[1]);
  }
  return {ends.begin()->second[0], median(later), median(reference)};
}

void print_run(FramePort& near, FramePort& far, const TemporaryFolder& folder, const EmbeddedRun& variant) {
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

void print_workers(const TemporaryFolder& folder, uint32_t mtu) {
  std::vector<double> one, first, sharded, ratios, gains;
  for (int i = 0; i < kRuns; ++i) {
    one.push_back(run_rate(folder, {mtu, "shared", 1}));
    first.push_back(run_rate(folder, {mtu, "shared", 2}));
    sharded.push_back(run_rate(folder, {mtu, "sharded", 2}));
    ratios.push_back(sharded.back() / one.back());
    gains.push_back(sharded.back() / first.back());
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  const auto [least_gain, most_gain] = std::ranges::minmax(gains);
  std::printf(
      "run_spread  MTU %4u: %5.2f M data packets/s with one worker; with two %5.2f M/s where the first has the switch, "
      "%5.2f M/s where each has its shard: %.2f (%.2f .. %.2f) of one worker's, %.2f (%.2f .. %.2f) of the first's\n",
      mtu, median(one) / 1e6, median(first) / 1e6, median(sharded) / 1e6, median(ratios), least, most, median(gains),
      least_gain, most_gain);
  std::fflush(stdout);
}

}  // namespace

void run_spread(Dpdk&) {
  const TemporaryFolder folder;
  for (const uint32_t mtu : {1024u, 4096u}) print_workers(folder, mtu);
}

void run_chain(Dpdk&) {
  const TemporaryFolder folder;
  write_chain(folder);
  std::vector<double> firsts, laters, ratios;
  ChainTimes times;
  for (int i = 0; i < kRuns; ++i) {
    times = chain_times(run_in(folder, chain_configuration(folder)) / "operations.csv");
    firsts.push_back(times.first);
    laters.push_back(times.later);
    ratios.push_back(times.later / times.reference);
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  std::printf(
      "run_chain  13 steps of 1 KiB in rings of 8 and 4 ranks, 8 ports of 10 Gbit/s: an iteration %.1f us, the first "
      "%.0f "
      "us; on the network alone %.1f us; ratio %.2f (%.2f .. %.2f)\n",
      median(laters), median(firsts), times.reference, median(ratios), least, most);
}

void run_embedded(Dpdk& dpdk) {
  auto [near, far] = make_ring_link(dpdk.environment(), "beside", {.queue_frames = 1024, .frames = 4095});
  const TemporaryFolder folder;
  for (const std::string_view core : {"shared", "own"})
    for (const uint32_t mtu : {1024u, 4096u}) print_run(*near, *far, folder, {mtu, core});
}

}  // namespace rankwire::bench
