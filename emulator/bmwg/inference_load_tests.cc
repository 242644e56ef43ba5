// I: transfers of KV caches beside other traffic, many of them at a time, and beside the dispatches of experts.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/formulas.h"
#include "emulator/bmwg/needs.h"
#include "emulator/bmwg/outcome.h"
#include "emulator/bmwg/transfers.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

uint32_t half_of_ports(const BmwgBench& bench) {
  return static_cast<uint32_t>(bench.ports() / 2);
}

std::string size_text(Bytes size) {
  return print_quantity(size.count, kSizeScale);
}

/// The rate at which each of the pairs takes so much of its port.
std::string rate_at(const BmwgBench& bench, double load) {
  return fmt::format("rate: {}bps", static_cast<int64_t>(bench.rate() * load));
}

void add_transfer_times(BmwgOutcome& outcome, const Json& kv, const std::string& subject) {
  for (const auto& [quantile, name] :
       {std::pair("p50_ps", "P50"), {"p95_ps", "P95"}, {"p99_ps", "P99"}, {"p999_ps", "P99.9"}})
    outcome.add(measured(fmt::format("KV transfer time {}", name), transfer_time(kv, quantile), "us", {}, {}, subject));
  outcome.add(measured("tail latency spread, P99 - P50", transfer_time(kv, "p99_ps") - transfer_time(kv, "p50_ps"),
                       "us", {}, {}, subject));
}

/// One transfer at a time of each pair, beside a load on the same ports.
void kv_latency(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const uint32_t half = half_of_ports(bench);
  for (const Bytes size : parameters.sizes("sizes")) {
    MeasuredCurve curve{size_text(size), "load", "%", "KV transfer time P99", "us", {}};
    for (const double load : parameters.shares("loads")) {
      const std::string name = fmt::format("{}-load{:.0f}", size_text(size), load * 100);
      std::string entries = transfers(bench, "kv", half, fmt::format("size: {}B, outstanding: 1", size.count));
      if (load > 0) entries += ", " + transfers(bench, "load", half, "size: 64KiB, " + rate_at(bench, load));
      const BmwgMeasurement run = bench.measure_flows(name, entries, transfer_length(bench, parameters, size));
      outcome.note(run, name);
      const Json& kv = ended_transfers(run, "kv");
      add_transfer_times(outcome, kv, fmt::format("{}, load {:.0f} %", size_text(size), load * 100));
      curve.points.push_back({load * 100, transfer_time(kv, "p99_ps")});
    }
    outcome.add(std::move(curve));
  }
}

double seconds_of_latency(const BmwgBench& bench, const BmwgParameters& parameters) {
  double sum = 0;
  for (const Bytes size : parameters.sizes("sizes"))
    sum += static_cast<double>(transfer_length(bench, parameters, size).ps) * 1e-12;
  return sum * static_cast<double>(parameters.shares("loads").size());
}

/// As many pairs at a time as there are ports for, and then several of each port.
void kv_concurrency(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const Bytes size = parameters.size("size");
  MeasuredCurve curve{"aggregate throughput", "pairs", "", "throughput", "Gbit/s", {}};
  for (const uint32_t pairs : parameters.counts("pairs")) {
    const std::string name = fmt::format("{}pairs", pairs);
    const BmwgMeasurement run =
        bench.measure_flows(name, transfers(bench, "kv", pairs, fmt::format("size: {}B, outstanding: 1", size.count)),
                            transfer_length(bench, parameters, size));
    outcome.note(run, name);
    const Json& kv = ended_transfers(run, "kv");
    const std::string subject = fmt::format("{} pairs", pairs);
    const double throughput = kv.at("delivered_bps").get<double>() * 1e-9;
    outcome.add(measured("aggregate KV throughput", throughput, "Gbit/s", {}, {}, subject));
    for (const auto& [quantile, quantile_name] : {std::pair("p50_ps", "P50"), {"p99_ps", "P99"}})
      outcome.add(measured(fmt::format("KV transfer time {}", quantile_name), transfer_time(kv, quantile), "us", {}, {},
                           subject));
    outcome.add(measured("JFI", jain_index(run.packets_by_flow()), "", {}, {}, subject));
    outcome.of_fabric(run, subject);
    curve.points.push_back({static_cast<double>(pairs), throughput});
  }
  outcome.add(std::move(curve));
}

double seconds_of_concurrency(const BmwgBench& bench, const BmwgParameters& parameters) {
  return static_cast<double>(transfer_length(bench, parameters, parameters.size("size")).ps) * 1e-12 *
         static_cast<double>(parameters.counts("pairs").size());
}

/// The P99 of a dispatch. Microseconds.
double dispatch_time(const BmwgMeasurement& run) {
  return run.only_size().at("emulated").at("p99_ps").get<double>() * 1e-6;
}

void contention(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const uint32_t ranks = ranks_that_fit(bench, parameters), iterations = parameters.count("iterations");
  const Bytes block = parameters.size("size");
  const auto dispatch = [&](const std::string& name, Bytes size, std::vector<std::string> settings) {
    BmwgMeasurement run = bench.measure_collective(name, "all_to_all", ranks, size, iterations, std::move(settings));
    outcome.note(run, name);
    return run;
  };
  for (const Bytes size : parameters.sizes("sizes")) {
    const double alone = dispatch_time(dispatch(size_text(size) + "-alone", size, {}));
    outcome.add(measured("EP dispatch time P99", alone, "us", {}, {}, size_text(size) + ", alone"));
    for (const double load : parameters.shares("loads")) {
      const std::string entry =
          transfers(bench, "kv", half_of_ports(bench), fmt::format("size: {}B, {}", block.count, rate_at(bench, load)));
      const std::string at = fmt::format("load{:.0f}", load * 100);
      const BmwgMeasurement kv_alone = bench.measure_flows(fmt::format("{}-kv-{}", size_text(size), at), entry,
                                                           transfer_length(bench, parameters, block));
      outcome.note(kv_alone, "KV transfers alone");
      const BmwgMeasurement both =
          dispatch(fmt::format("{}-both-{}", size_text(size), at), size, {"background=[" + entry + "]"});
      const double kv_before = transfer_time(ended_transfers(kv_alone, "kv"), "p99_ps"),
                   kv_after = transfer_time(ended_transfers(both, "kv"), "p99_ps"), dispatched = dispatch_time(both);
      const std::string subject = fmt::format("{}, KV load {:.0f} %", size_text(size), load * 100);
      outcome.add(measured("KV transfer time P99", kv_before, "us", {}, {}, subject + ", alone"));
      outcome.add(measured("KV transfer time P99", kv_after, "us", {}, {}, subject));
      outcome.add(measured("EP dispatch time P99", dispatched, "us", {}, {}, subject));
      outcome.add(measured("contention penalty of EP", dispatched / alone, "", {}, {}, subject));
      outcome.add(measured("contention penalty of KV", kv_after / kv_before, "", {}, {}, subject));
      outcome.of_fabric(both, subject);
    }
  }
}

double seconds_of_contention(const BmwgBench& bench, const BmwgParameters& parameters) {
  const auto loads = static_cast<double>(parameters.shares("loads").size());
  const double transferring =
      static_cast<double>(transfer_length(bench, parameters, parameters.size("size")).ps) * 1e-12;
  double sum = 0;
  for (const Bytes size : parameters.sizes("sizes"))
    sum += loads * transferring + (1 + loads) * bench.seconds_of_calls(ranks_that_fit(bench, parameters), size,
                                                                       parameters.count("iterations"));
  return sum;
}

std::optional<RefusedValue> refuses_contention(const BmwgBench& bench, const BmwgParameters& parameters) {
  const std::optional<RefusedValue> load = refuses_no_load(bench, parameters);
  return load ? load : refuses_empty_parts(bench, parameters);
}

std::string lacks_pair_and_ranks(const BmwgBench& bench, const BmwgParameters& parameters) {
  const std::string lacks = lacks_two_ports(bench, parameters);
  return lacks.empty() ? lacks_two_ranks(bench, parameters) : lacks;
}

}  // namespace

std::vector<BmwgTest> bmwg_inference_load_tests() {
  return {
      {"I.kv_latency",
       "KV-cache transfer latency under load",
       "one transfer at a time from each port of the first half to one of the second, beside `loads` on the same ports",
       "transfer time and its tail; not judged",
       "draft-calabria-bmwg-ai-fabric-inference-bench, KV Cache Transfer Latency",
       "",
       {{"sizes", "64KiB,1MiB,16MiB,256MiB", "64KiB"},
        {"loads", "0%,25%,50%,75%,90%", "0%,50%"},
        {"duration", "120s", "20ms"}},
       lacks_two_ports,
       seconds_of_latency,
       kv_latency,
       nullptr,
       "",
       1,
       "sizes"},
      {"I.kv_concurrency",
       "concurrent KV-cache transfers",
       "ever more pairs of a prefill and a decode port transfer at a time",
       "aggregate throughput, transfer time and fairness; not judged",
       "draft-calabria-bmwg-ai-fabric-inference-bench, Concurrent KV Cache Transfer Scaling",
       "",
       {{"pairs", "1,2,4,8,16,32,64,128", "1,8"}, {"size", "16MiB", "64KiB"}, {"duration", "60s", "20ms"}},
       lacks_two_ports,
       seconds_of_concurrency,
       kv_concurrency,
       nullptr,
       "",
       1,
       "size"},
      {"I.contention",
       "expert dispatches beside KV-cache transfers",
       "an all-to-all of `sizes` again and again, transfers of `size` at `loads` of the line rate, and both at a time",
       "times of both beside what they are alone; not judged",
       "draft-calabria-bmwg-ai-fabric-inference-bench, Expert Parallelism and KV Cache Transfer Contention",
       "",
       {{"sizes", "2MiB,16MiB", "64KiB"},
        {"size", "16MiB", "64KiB"},
        {"loads", "50%,75%", "50%"},
        {"iterations", "100", "10"},
        {"accelerators", "96", "8"},
        {"duration", "60s", "20ms"}},
       lacks_pair_and_ranks,
       seconds_of_contention,
       contention,
       ranks_that_fit,
       "",
       kElementBytes,
       "size",
       nullptr,
       refuses_contention},
  };
}

}  // namespace rankwire
