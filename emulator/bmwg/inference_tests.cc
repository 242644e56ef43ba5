// I: benchmarks of inference fabrics.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "converters/node_writer.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/formulas.h"
#include "emulator/bmwg/needs.h"
#include "emulator/bmwg/outcome.h"
#include "emulator/bmwg/transfers.h"
#include "emulator/input/units.h"
#include "emulator/report/output_file.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

double seconds_of_transfers(const BmwgBench& bench, const BmwgParameters& parameters) {
  double sum = 0;
  for (const Bytes size : parameters.sizes("sizes"))
    sum += static_cast<double>(transfer_length(bench, parameters, size).ps) * 1e-12;
  return sum;
}

/// Of each prefill port to a decode port of its own, one transfer at a time.
void kv_transfer(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const auto half = static_cast<uint32_t>(bench.ports() / 2);
  MeasuredCurve curve{"KV-cache transfer", "size", "B", "throughput", "of line rate", {}};
  for (const Bytes size : parameters.sizes("sizes")) {
    const std::string subject = print_quantity(size.count, kSizeScale);
    const Duration length = transfer_length(bench, parameters, size);
    const BmwgMeasurement run = bench.measure_flows(
        subject, transfers(bench, "kv", half, fmt::format("size: {}B, outstanding: 1", size.count)), length);
    outcome.note(run, subject);
    const Json& kv = ended_transfers(run, "kv");
    const double goodput = kv.at("delivered_bps").get<double>() / (bench.rate() * static_cast<double>(half));
    for (const auto& [quantile, name] : {std::pair("p50_ps", "P50"), {"p99_ps", "P99"}})
      outcome.add(
          measured(fmt::format("KV transfer time {}", name), transfer_time(kv, quantile), "us", {}, {}, subject));
    outcome.add(measured("KV transfer throughput", goodput, "of line rate", {}, {}, subject));
    curve.points.push_back({static_cast<double>(size.count), goodput});
  }
  outcome.add(std::move(curve));
}

/// One request a pair of ranks: the first half computes prompts and sends their KV cache, the second half decodes a
/// token at a time, each with an all-reduce among the decoding ranks.
void write_requests(const std::string& prefix, uint32_t ranks, Duration prefill, Duration decode, Bytes cache,
                    uint32_t tokens) {
  const uint32_t half = ranks / 2;
  constexpr Bytes kActivations(16 << 10);  // of a token: hidden size 8192 in bf16
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    NodeWriter writer(trace_file(prefix, rank));
    if (rank < half) {
      const NodeWriter::Id prompt[] = {
          writer.compute("prefill", static_cast<uint64_t>(prefill.ps / 1'000'000), 0, Bytes(), {})};
      writer.send("kv", rank, rank + half, 0, cache, prompt);
    } else {
      NodeWriter::Id last = writer.receive("kv", rank - half, rank, 0, cache, {});
      for (uint32_t token = 0; token < tokens; ++token) {
        const NodeWriter::Id before[] = {last};
        const NodeWriter::Id computed[] = {writer.compute(
            fmt::format("token {}", token), static_cast<uint64_t>(decode.ps / 1'000'000), 0, Bytes(), before)};
        last = writer.collective(fmt::format("activations {}", token), chakra::ALL_REDUCE, "decode", kActivations,
                                 computed);
      }
    }
    writer.close();
  }
  Json members = Json::array();
  for (uint32_t rank = half; rank < ranks; ++rank) members.push_back(rank);
  write_file(prefix + ".json", Json{{"decode", members}}.dump());
}

/// How long the requests take, about.
Duration length_of_requests(const BmwgBench& bench, const BmwgParameters& parameters, Bytes cache) {
  const std::vector<Duration> compute = parameters.durations("compute");
  const double length = static_cast<double>(compute.front().ps + compute.back().ps * parameters.count("iterations")) +
                        2 * 8e12 * static_cast<double>(cache.count) / bench.rate();
  return Duration(static_cast<int64_t>(length));
}

double seconds_of_requests(const BmwgBench& bench, const BmwgParameters& parameters) {
  double sum = 0;
  for (const Bytes size : parameters.sizes("sizes"))
    sum += static_cast<double>(length_of_requests(bench, parameters, size).ps) * 1e-12;
  return sum;
}

uint32_t disaggregated_ranks(const BmwgBench& bench, const BmwgParameters& parameters) {
  return ranks_that_fit(bench, parameters) / 2 * 2;
}

std::string lacks_pairs(const BmwgBench& bench, const BmwgParameters& parameters) {
  return disaggregated_ranks(bench, parameters) < 4 ? "two ranks that prefill and two that decode take four NPUs" : "";
}

void disaggregated(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const uint32_t ranks = disaggregated_ranks(bench, parameters);
  const uint32_t tokens = parameters.count("iterations");
  const std::vector<Duration> compute = parameters.durations("compute");
  const Duration prefill = compute.front(), decode = compute.back();
  MeasuredCurve curve{"TTFT", "KV cache", "B", "TTFT P99", "ms", {}};
  for (const Bytes size : parameters.sizes("sizes")) {
    const std::string subject = "KV cache of " + print_quantity(size.count, kSizeScale);
    const std::string prefix =
        std::filesystem::absolute(bench.trace_prefix(fmt::format("trace-{}", size.count))).string();
    write_requests(prefix, ranks, prefill, decode, size, tokens);
    const BmwgMeasurement run =
        bench.measure(print_quantity(size.count, kSizeScale), {"workload=null", "workload.traces=" + prefix},
                      length_of_requests(bench, parameters, size));
    outcome.note(run, subject);
    std::vector<double> first, between;
    std::map<std::string, std::map<uint32_t, double>> ends;  // by rank and token
    for (const auto& row : run.rows("operations")) {
      const std::string& name = row.at("name");
      if (!name.starts_with("activations ") || row.at("emulated_end_ps").empty()) continue;
      ends[row.at("rank")][static_cast<uint32_t>(std::stoul(name.substr(12)))] =
          std::stod(row.at("emulated_end_ps")) * 1e-9;
    }
    for (const auto& [rank, by_token] : ends) {
      first.push_back(by_token.at(0));
      for (const auto& [token, end] : by_token)
        if (token > 0) between.push_back(end - by_token.at(token - 1));
    }
    std::ranges::sort(first);
    outcome.add(measured("TTFT, median", median_of(first), "ms", {}, {}, subject));
    outcome.add(measured("TTFT, longest", first.empty() ? NAN : first.back(), "ms", {}, {}, subject));
    outcome.add(measured("inter-token latency, median", median_of(between), "ms", {}, {}, subject));
    outcome.compared("completion time", run.completion() * 1e3, run.reference() * 1e3, "ms", subject, false,
                     parameters);
    curve.points.push_back({static_cast<double>(size.count), first.empty() ? NAN : first.back()});
  }
  outcome.add(std::move(curve));
}

void moe_dispatch(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const uint32_t ranks = ranks_that_fit(bench, parameters);
  for (const Bytes size : parameters.sizes("sizes")) {
    for (const char* spread : {"0%", "100%"}) {
      const std::string name =
          fmt::format("{}-{}", print_quantity(size.count, kSizeScale), spread[0] == '0' ? "even" : "uneven");
      const BmwgMeasurement run =
          bench.measure_collective(name, "all_to_all_v", ranks, size, parameters.count("iterations"),
                                   {fmt::format("workload.generate.collective.spread={}", spread)});
      outcome.note(run, name);
      const Json& row = run.only_size();
      outcome.compared("dispatch time", row.at("emulated").at("time_ps").get<double>() * 1e-6,
                       row.at("reference").at("time_ps").get<double>() * 1e-6, "us", name, false, parameters);
      outcome.add(
          measured("dispatch time P99", row.at("emulated").at("p99_ps").get<double>() * 1e-6, "us", {}, {}, name));
    }
  }
}

/// Bursts of KV transfers into one port, switched on and off, beside a steady flow that goes elsewhere.
void bursty(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  for (const uint32_t ratio : parameters.counts("ratios")) {
    if (ratio + 1 > bench.ports()) {
      outcome.anomaly(fmt::format("{}:1 was left out: there are {} ports", ratio, bench.ports()));
      continue;
    }
    const std::string from = bench.port_names(0, ratio);
    const std::string name = fmt::format("{}to1", ratio);
    const BmwgMeasurement run = bench.measure_flows(
        name,
        fmt::format(
            "{{name: burst, pattern: incast, from: [{}], to: {}, size: {}B, outstanding: 4, burst: {{on: 1ms, off: "
            "4ms}}}}",
            from, bench.port(ratio), parameters.size("size").count),
        parameters.duration("duration"), bench.sampling());
    outcome.note(run, name);
    outcome.add(
        measured("KV transfer time P99", transfer_time(ended_transfers(run, "burst"), "p99_ps"), "us", {}, {}, name));
    outcome.of_fabric(run, name);
  }
}

std::string lacks_burst_ports(const BmwgBench& bench, const BmwgParameters& parameters) {
  if (bench.ports() < 4) return "two senders, a receiver and a pair beside them take four ports";
  return lacks_incasts(bench, parameters);
}

double seconds_of_durations(const BmwgBench& bench, const BmwgParameters& p) {
  const auto fits = [&](uint32_t ratio) { return ratio + 1 <= bench.ports(); };
  return static_cast<double>(p.duration("duration").ps) * 1e-12 *
         static_cast<double>(std::ranges::count_if(p.counts("ratios"), fits));
}

/// Of equal and of uneven parts.
double seconds_of_dispatches(const BmwgBench& bench, const BmwgParameters& p) {
  const uint32_t ranks = ranks_that_fit(bench, p);
  double sum = 0;
  for (const Bytes size : p.sizes("sizes")) sum += 2 * bench.seconds_of_calls(ranks, size, p.count("iterations"));
  return sum;
}

constexpr const char* kInference = "draft-calabria-bmwg-ai-fabric-inference-bench";

}  // namespace

std::vector<BmwgTest> bmwg_inference_tests() {
  return {
      {"I.kv_transfer",
       "KV-cache transfer",
       "from each port of the first half to one of the second, one at a time",
       "transfer time and throughput; not judged",
       kInference,
       "",
       {{"sizes", "1MiB,16MiB,64MiB,256MiB,1GiB", "64KiB,256KiB"}, {"duration", "60s", "20ms"}},
       lacks_two_ports,
       seconds_of_transfers,
       kv_transfer,
       nullptr,
       "",
       1,
       "sizes"},
      {"I.disaggregated",
       "prefill and decode disaggregation",
       "half of the ranks compute prompts and send their KV cache to one of the other half, which decodes token by "
       "token "
       "with an AllReduce each; `compute`: of a prompt, and of a token",
       "TTFT and inter-token latency, and the completion time beside the reference's; with `tolerance` not worse than "
       "that by more",
       kInference,
       "",
       {{"sizes", "16MiB,256MiB,1GiB", "256KiB"},
        {"compute", "100ms,10ms", "1ms,200us"},
        {"iterations", "128", "4"},
        {"accelerators", "64", "8"},
        {"tolerance", "", ""}},
       lacks_pairs,
       seconds_of_requests,
       disaggregated,
       disaggregated_ranks},
      {"I.moe_dispatch",
       "MoE dispatch",
       "all-to-all of equal and of uneven parts",
       "dispatch time beside the reference's; with `tolerance` not worse than that by more",
       kInference,
       "",
       {{"sizes", "64KiB,1MiB,16MiB", "64KiB"},
        {"iterations", "100", "5"},
        {"accelerators", "64", "8"},
        {"tolerance", "", ""}},
       lacks_two_ranks,
       seconds_of_dispatches,
       moe_dispatch,
       ranks_that_fit,
       "",
       kElementBytes,
       "",
       nullptr,
       refuses_empty_parts},
      {"I.bursts",
       "bursty KV transfers",
       "N ports send to one while they are on, 1 ms of every 5",
       "transfer time, marks, pauses and what is sent again; not judged",
       kInference,
       "",
       {{"ratios", "2,4,8,16", "2,4"}, {"size", "1MiB", "16KiB"}, {"duration", "60s", "50ms"}},
       lacks_burst_ports,
       seconds_of_durations,
       bursty,
       nullptr,
       "",
       1,
       "size"},
  };
}

}  // namespace rankwire
