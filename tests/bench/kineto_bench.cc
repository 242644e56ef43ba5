// A large trace of Kineto's: bytes a second while it is read, and while it is converted, and the memory that each
// takes.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "converters/kineto.h"
#include "converters/pytorch.h"
#include "tests/bench/bench.h"
#include "tests/temporary_folder.h"

namespace rankwire::bench {
namespace {

// The memory grows with the number of operators.
constexpr uint64_t kOperators = 400'000;            ///< 0.3 GB
constexpr uint64_t kGigabyteOperators = 1'400'000;  ///< more than 1 GB

/// Each operator launches a kernel, as PyTorch 2 records them: times, ids and the arguments of a kernel.
void write_kineto(const std::string& path, uint64_t operators) {
  std::ofstream file(path);
  file << R"({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [)";
  const char* comma = "\n";
  for (uint64_t i = 0; i < operators; ++i, comma = ",\n") {
    const uint64_t at = 1'000'000 + 20 * i;
    file
        << comma
        << fmt::format(
               R"(  {{"ph": "X", "cat": "cpu_op", "name": "aten::operator_{}", "pid": 7, "tid": 7, "ts": {}.125, )"
               R"("dur": 15.250, "args": {{"External id": {}, "Record function id": {}, "Ev Idx": {}}}}},)"
               R"(  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, )"
               R"("ts": {}.500, "dur": 4.125, "args": {{"External id": {}, "cbid": 211, "correlation": {}}}}},)"
               R"(  {{"ph": "X", "cat": "kernel", "name": "void at::native::elementwise_kernel_{}<128, 4>", "pid": 0, )"
               R"("tid": 7, "ts": {}.750, "dur": 11.500, "args": {{"External id": {}, "queued": 0, "device": 0, )"
               R"("context": 1, "stream": 7, "correlation": {}, "registers per thread": 32, "grid": [1728, 1, 1], )"
               R"("block": [128, 1, 1], "est. achieved occupancy %": 100}}}})",
               i % 200, at, i + 1, i + 1, i, at + 3, i + 1, i + 1, i % 100, at + 9, i + 1, i + 1);
  }
  file << "\n]}\n";
}

double most_memory_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

template <class Work>
void print_reading(const char* what, double megabytes, Work work) {
  const double begin = cpu_seconds();
  work();
  std::printf("kineto        %-44s %8.0f MB/s, at most %.0f MiB resident\n", what, megabytes / (cpu_seconds() - begin),
              most_memory_mib());
}

void read_and_convert(uint64_t operators) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "kineto.json";
  write_kineto(path, operators);
  const double megabytes = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  std::printf("kineto        %.0f MB, %.1f M events, CPU time; %.0f MiB resident before\n", megabytes,
              3e-6 * static_cast<double>(operators), most_memory_mib());
  print_reading("read", megabytes, [&] {
    Warnings warnings;
    read_kineto(path, warnings);
  });
  print_reading("converted to Chakra", megabytes, [&] {
    ConversionProgress progress;
    convert_pytorch(pair_pytorch_files({path}), folder / "out", progress);
  });
}

}  // namespace

void kineto_reading(Dpdk&) {
  read_and_convert(kOperators);
}

void kineto_gigabyte(Dpdk&) {
  read_and_convert(kGigabyteOperators);
}

}  // namespace rankwire::bench
