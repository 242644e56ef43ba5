// T5: collective communication benchmarks.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/measured_collective.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/needs.h"
#include "emulator/bmwg/outcome.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// BusBW in Gbit/s of a call that takes so long.
double bus_bandwidth(MeasuredCollective collective, Bytes size, uint32_t ranks, double picoseconds) {
  return measured_bandwidth(collective, ranks, size, Duration(static_cast<int64_t>(picoseconds))).bus * 8;
}

void measure_size(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome,
                  MeasuredCollective collective, uint32_t ranks, Bytes size, MeasuredCurve& curve) {
  const std::string name =
      fmt::format("{}-{}-{}", traits_of(collective).name, ranks, print_quantity(size.count, kSizeScale));
  const BmwgMeasurement run = bench.measure_collective(name, traits_of(collective).name, ranks, size,
                                                       parameters.count("iterations"), bench.sampling());
  outcome.note(run, name);
  const Json& row = run.only_size();
  // Sizes that parts of ranks do not divide are rounded.
  const Bytes moved(row.at("size").get<int64_t>());
  const std::string subject = fmt::format("{}, {} accelerators", print_quantity(moved.count, kSizeScale), ranks);
  const double average = row.at("emulated").at("busbw_GBps").get<double>() * 8;
  const double reference = row.at("reference").is_null() ? 0 : row.at("reference").at("busbw_GBps").get<double>() * 8;
  outcome.compared("BusBW", average, reference, "Gbit/s", subject, true, parameters);
  for (const auto& [quantile, kpi] :
       {std::pair("p50_ps", "BusBW P50"), {"p95_ps", "BusBW P95"}, {"p99_ps", "BusBW P99"}})
    outcome.add(measured(kpi, bus_bandwidth(collective, moved, ranks, row.at("emulated").at(quantile).get<double>()),
                         "Gbit/s", {}, {}, subject));
  outcome.add(measured("BusBW efficiency", average * 1e9 / bench.rate(), "of line rate", {}, {}, subject));
  outcome.of_fabric(run, subject);
  const Json& calls = run.summary().at("collective");
  const double count = calls.at("warmup").get<double>() + calls.at("iterations").get<double>();
  outcome.add(measured("fabric-visible data volume", run.summary().at("bytes_wire").get<double>() / count / 1e6,
                       "MB a call", {}, {}, subject));
  curve.points.push_back({static_cast<double>(moved.count), average});
}

void collective(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome,
                MeasuredCollective operation) {
  for (const uint32_t ranks : parameters.counts("accelerators")) {
    if (ranks < 2 || ranks > bench.npus()) {
      outcome.anomaly(fmt::format("{} accelerators were left out: the hosts hold {}", ranks, bench.npus()));
      continue;
    }
    MeasuredCurve curve{fmt::format("{} accelerators", ranks), "size", "B", "BusBW", "Gbit/s", {}};
    for (const Bytes size : parameters.sizes("sizes"))
      measure_size(bench, parameters, outcome, operation, ranks, size, curve);
    outcome.add(std::move(curve));
  }
}

double seconds_of(const BmwgBench& bench, const BmwgParameters& p) {
  double sum = 0;
  for (const uint32_t ranks : p.counts("accelerators")) {
    if (ranks < 2 || ranks > bench.npus()) continue;
    for (const Bytes size : p.sizes("sizes")) sum += bench.seconds_of_calls(ranks, size, p.count("iterations"));
  }
  return sum;
}

BmwgTest collective_test(const char* id, const char* title, const char* stimulus, const char* source,
                         void (*run)(BmwgBench&, const BmwgParameters&, BmwgOutcome&),
                         std::optional<RefusedValue> (*contradicts)(const BmwgBench&, const BmwgParameters&)) {
  return {id,
          title,
          stimulus,
          "BusBW, the average and of the P50, P95 and P99 of calls, beside the reference's; with `tolerance` not worse "
          "than that by more",
          source,
          "",
          {{"sizes", "1MiB,8MiB,64MiB,256MiB,1GiB,4GiB", "64KiB,256KiB"},
           {"accelerators", "8,16,32,64,128,256,512,1024", "4,8"},
           {"iterations", "100", "5"},
           {"tolerance", "", ""}},
          lacks_accelerators,
          seconds_of,
          run,
          nullptr,
          "",
          kElementBytes,
          "",
          nullptr,
          contradicts};
}

}  // namespace

std::vector<BmwgTest> bmwg_collective_tests() {
  return {
      collective_test(
          "T5.all_reduce", "AllReduce", "AllReduce (sum) of each size by each number of accelerators",
          "draft-calabria-bmwg-ai-fabric-training-bench-03, AllReduce Benchmark",
          [](BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
            collective(bench, parameters, outcome, MeasuredCollective::kAllReduce);
          },
          nullptr),
      collective_test(
          "T5.all_to_all", "AllToAll", "AllToAll of each size by each number of accelerators",
          "draft-calabria-bmwg-ai-fabric-training-bench-03, AllToAll Benchmark",
          [](BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
            collective(bench, parameters, outcome, MeasuredCollective::kAllToAll);
          },
          refuses_empty_parts),
      collective_test(
          "T5.all_gather", "AllGather", "AllGather of each size by each number of accelerators",
          "draft-calabria-bmwg-ai-fabric-training-bench-03, AllGather Benchmark",
          [](BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
            collective(bench, parameters, outcome, MeasuredCollective::kAllGather);
          },
          refuses_empty_parts),
  };
}

}  // namespace rankwire
