// `rankwire trace inspect` of a set that no machine holds at once: 256 ranks of 100,000 nodes, with its page.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include "emulator/traces/inspect_page.h"
#include "proto/trace_stream.h"
#include "tests/bench/bench.h"
#include "tests/temporary_folder.h"

namespace rankwire::bench {
namespace {

constexpr uint32_t kInspectedRanks = 256;
constexpr uint64_t kNodesOfRank = 100'000;

void add_integer(chakra::Node& node, const char* name, int64_t value) {
  chakra::AttributeProto& attribute = *node.add_attr();
  attribute.set_name(name);
  attribute.set_int64_val(value);
}

/// In turns a host operation, three kernels that it launches, and every twentieth time a collective instead of the
/// last; at recorded times that differ a little from rank to rank.
void write_recorded_rank(const std::string& path, uint32_t rank) {
  TraceWriter writer(path);
  chakra::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  writer.write(metadata);
  uint64_t now = 1'700'000'000'000'000, host = 0;
  for (uint64_t id = 0; id < kNodesOfRank; ++id) {
    const bool on_host = id % 4 == 0, collective = id % 80 == 79;
    chakra::Node node;
    node.set_id(id);
    node.set_type(collective ? chakra::COMM_COLL_NODE : chakra::COMP_NODE);
    node.set_start_time_micros(now + (on_host ? 0 : rank % 7));
    node.set_duration_micros(collective ? 30 - rank % 7 : 5 + (id * 7 + rank) % 11);
    node.add_attr()->set_name("is_cpu_op");
    node.mutable_attr(0)->set_bool_val(on_host);
    if (on_host) {
      host = id;
      node.set_name("aten::operator_" + std::to_string(id % 200));
      add_integer(node, "tid", 1);
    } else {
      node.set_name("void at::native::kernel_" + std::to_string(id % 150) + "<128, 4>(float*, long)");
      add_integer(node, "stream", collective ? 20 : 7);
      node.add_data_deps(host);
    }
    if (id > 0) node.add_data_deps(id - 1);
    if (collective) {
      add_integer(node, "comm_type", chakra::ALL_REDUCE);
      add_integer(node, "comm_size", 1 << 20);
    }
    writer.write(node);
    now += on_host ? 2 : collective ? 32 : 17;
  }
  writer.close();
}

}  // namespace

void inspect_large(Dpdk&) {
  const testing::TemporaryFolder folder;
  uint64_t bytes = 0;
  for (uint32_t rank = 0; rank < kInspectedRanks; ++rank) {
    const std::string path = folder / ("large." + std::to_string(rank) + ".et");
    write_recorded_rank(path, rank);
    bytes += std::filesystem::file_size(path);
  }
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const double cpu = cpu_seconds();
  std::atomic<uint64_t> done = 0;
  const Inspection inspection = inspect_by_rank(find_trace_sets({folder / "large"}, "").at(0), {}, {}, done);
  const std::string page = inspection_html(inspection, std::nullopt);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "inspect_large %.1f M nodes, %.0f MB of traces: %.1f s, CPU %.1f s, at most %.0f MiB resident, page %.1f MB\n",
      1e-6 * static_cast<double>(inspection.nodes), 1e-6 * static_cast<double>(bytes),
      std::chrono::duration<double>(Clock::now() - begin).count(), cpu_seconds() - cpu,
      static_cast<double>(usage.ru_maxrss) / 1024, 1e-6 * static_cast<double>(page.size()));
}

}  // namespace rankwire::bench
