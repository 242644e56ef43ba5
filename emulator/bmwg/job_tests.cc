// T6: job completion time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/measured_collective.h"
#include "converters/node_writer.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/formulas.h"
#include "emulator/bmwg/needs.h"
#include "emulator/bmwg/outcome.h"
#include "emulator/input/units.h"
#include "emulator/record/reader.h"
#include "emulator/suite/jct_ratio.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// Of each rank: computes, then an all-reduce among all, strictly one after the other.
void write_iteration(const std::string& prefix, uint32_t ranks, Duration compute, Bytes size) {
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    NodeWriter writer(trace_file(prefix, rank));
    const NodeWriter::Id computed[] = {
        writer.compute("compute", static_cast<uint64_t>(compute.ps / 1'000'000), 0, Bytes(), {})};
    writer.collective("gradients", chakra::ALL_REDUCE, "", size, computed);
    writer.close();
  }
}

double nccl_factor(uint32_t ranks) {
  return 2.0 * (ranks - 1) / ranks;
}

/// Seconds of a job at the line rate of an accelerator, whose port others may share.
double roofline_of(const BmwgBench& bench, uint32_t iterations, Duration compute, Bytes size, uint32_t ranks) {
  const double share = std::ceil(static_cast<double>(ranks) / static_cast<double>(bench.ports()));
  return roofline_seconds(iterations, static_cast<double>(compute.ps) * 1e-12, static_cast<double>(size.count),
                          nccl_factor(ranks), bench.rate() / share);
}

/// Of each iteration its time over the seconds that it was to take; none where the run's record has no operations.
std::vector<double> ratios_of_iterations(const BmwgMeasurement& run, double roofline) {
  std::vector<double> ratios;
  for (const IterationTime& time : iteration_times(RunReader(run.folder())))
    if (time.emulated) ratios.push_back(static_cast<double>(time.emulated->ps) * 1e-12 / roofline);
  return ratios;
}

void measure_job(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome, Duration compute, Bytes size,
                 uint32_t ranks) {
  const uint32_t iterations = parameters.count("iterations");
  const std::string subject = fmt::format("C {}, S {}, N {}", print_quantity(compute.ps, kDurationScale),
                                          print_quantity(size.count, kSizeScale), ranks);
  const double roofline = roofline_of(bench, iterations, compute, size, ranks);
  const std::string prefix = bench.trace_prefix(fmt::format("trace-{}-{}-{}", compute.ps, size.count, ranks));
  write_iteration(prefix, ranks, compute, size);
  std::vector<double> times, ratios;
  for (uint32_t i = 0; i < parameters.count("repetitions"); ++i) {
    const std::string name = fmt::format("c{}-s{}-n{}-{}", compute.ps / 1'000'000, size.count, ranks, i + 1);
    const BmwgMeasurement run =
        bench.measure(name,
                      {"workload=null", "workload.traces=" + std::filesystem::absolute(prefix).string(),
                       fmt::format("workload.iterations={}", iterations), fmt::format("seed={}", i + 1)},
                      Duration(static_cast<int64_t>(std::min(roofline * 2e12, 8e17))));
    outcome.note(run, name);
    times.push_back(run.completion());
    std::ranges::move(ratios_of_iterations(run, roofline / iterations), std::back_inserter(ratios));
    if (i > 0) continue;
    outcome.compared("JCT", run.completion() * 1e3, run.reference() * 1e3, "ms", subject, false, parameters);
    const double communication = roofline - iterations * static_cast<double>(compute.ps) * 1e-12;
    outcome.add(measured("overlap fraction",
                         1 - (run.completion() - iterations * static_cast<double>(compute.ps) * 1e-12) / communication,
                         "", {}, {}, subject));
  }
  outcome.add(measured("JCT ratio", median_of(times) / roofline, "of the roofline", {}, {}, subject));
  if (!ratios.empty())
    outcome.add(measured("JCT ratio P95", nearest_rank(std::move(ratios), 95), "of the roofline", {}, {}, subject));
  outcome.repeated("JCT, mean", times, "s", subject);
}

void synthetic(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  for (const uint32_t ranks : parameters.counts("accelerators")) {
    if (ranks < 2 || ranks > bench.npus()) {
      outcome.anomaly(fmt::format("{} accelerators were left out: the hosts hold {}", ranks, bench.npus()));
      continue;
    }
    for (const Duration compute : parameters.durations("compute"))
      for (const Bytes size : parameters.sizes("sizes")) measure_job(bench, parameters, outcome, compute, size, ranks);
  }
}

/// Hosts of two jobs: of the first every other one of the first half, of the second as many, of which so many share a
/// leaf with the first.
struct Placement {
  std::string first, second;
};

Placement overlapping(uint32_t hosts, double overlap) {
  const uint32_t each = hosts / 4;
  const auto shared = static_cast<uint32_t>(std::lround(overlap * each));
  Placement placement;
  for (uint32_t i = 0; i < each; ++i) {
    placement.first += (i == 0 ? "" : ", ") + std::to_string(2 * i);
    // Shared leaves are the last of the first job's; beyond them come those that nobody else is on.
    const uint32_t leaf = each - shared + i;
    placement.second += (i == 0 ? "" : ", ") + std::to_string(2 * leaf + 1);
  }
  return placement;
}

uint32_t hosts_of(const BmwgBench& bench) {
  return bench.base().hosts.count.value_or(static_cast<uint32_t>(bench.ports()));
}

/// Jobs of so many hosts share whole leaves.
bool is_whole(double overlap, uint32_t each) {
  const double leaves = overlap * each;
  return std::abs(leaves - std::round(leaves)) <= 1e-6;
}

std::string lacks_leaves(const BmwgBench& bench, const BmwgParameters& parameters) {
  const uint32_t hosts = hosts_of(bench), each = hosts / 4;
  if (hosts < 8)
    return fmt::format("two jobs of two hosts each on leaves of two take 8 hosts, and there are {}", hosts);
  if (std::ranges::any_of(parameters.shares("overlaps"), [&](double overlap) { return is_whole(overlap, each); }))
    return {};
  return fmt::format("none of its overlaps is possible: jobs of {} hosts share whole leaves, a {:.3g} % each", each,
                     100.0 / each);
}

/// How long two jobs of `each` ranks take that share everything, about. Seconds.
double seconds_of_two_jobs(const BmwgBench& bench, const BmwgParameters& parameters, uint32_t each) {
  const double compute = static_cast<double>(parameters.durations("compute").front().ps) * 1e-12;
  return 2 * roofline_seconds(parameters.count("iterations"), compute,
                              2 * static_cast<double>(parameters.size("size").count), nccl_factor(each), bench.rate());
}

/// JCT of both jobs together, and of the first alone. Each repetition has a seed of its own, by which its flows take
/// their paths: the same for the job alone and beside the other.
void interference(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const uint32_t hosts = hosts_of(bench), each = hosts / 4;
  const Duration compute = parameters.durations("compute").front();
  const Bytes size = parameters.size("size");
  const std::string prefix = std::filesystem::absolute(bench.trace_prefix("trace")).string();
  write_iteration(prefix, each, compute, size);
  const auto job = [&](const char* name, const std::string& where) {
    return fmt::format("{{name: {}, workload: {{traces: '{}', iterations: {}}}, hosts: [{}]}}", name, prefix,
                       parameters.count("iterations"), where);
  };
  const auto length = Duration(static_cast<int64_t>(1e12 * seconds_of_two_jobs(bench, parameters, each)));
  const uint32_t repetitions = parameters.count("repetitions");
  std::vector<double> alone;  // of each repetition, milliseconds
  MeasuredCurve curve{"JCT interference factor", "overlap", "%", "factor", "", {}};
  const auto jct = [&](const std::string& what, const std::string& jobs, uint32_t repetition) {
    const std::string name = fmt::format("{}-{}", what, repetition);
    const BmwgMeasurement run =
        bench.measure(name, {"workload=null", "jobs=[" + jobs + "]", fmt::format("seed={}", repetition)}, length);
    outcome.note(run, name);
    return run.summary().at("jobs").at(0).at("emulated").at("completion_time_ps").get<double>() * 1e-9;
  };
  for (uint32_t i = 1; i <= repetitions; ++i)
    alone.push_back(jct("baseline", job("first", overlapping(hosts, 0).first), i));
  outcome.repeated("baseline JCT", alone, "ms", "");
  for (const double overlap : parameters.shares("overlaps")) {
    if (!is_whole(overlap, each)) {
      outcome.anomaly(
          fmt::format("an overlap of {:.0f} % was left out: jobs of {} hosts share whole leaves, a {:.3g} % each",
                      overlap * 100, each, 100.0 / each));
      continue;
    }
    const Placement placement = overlapping(hosts, overlap);
    const std::string jobs = job("first", placement.first) + ", " + job("second", placement.second);
    std::vector<double> factors;
    for (uint32_t i = 1; i <= repetitions; ++i)
      factors.push_back(jct(fmt::format("overlap-{:.0f}", overlap * 100), jobs, i) / alone.at(i - 1));
    outcome.repeated("JCT interference factor", factors, "", fmt::format("overlap {:.0f} %", overlap * 100));
    curve.points.push_back({overlap * 100, mean_of(factors)});
  }
  outcome.add(std::move(curve));
  if (!bench.has_fabric())
    outcome.anomaly("the configuration names no fabric: hosts 2n and 2n + 1 are taken to be on one leaf");
}

double seconds_of_jobs(const BmwgBench& bench, const BmwgParameters& p) {
  double sum = 0;
  for (const uint32_t ranks : p.counts("accelerators")) {
    if (ranks < 2 || ranks > bench.npus()) continue;
    for (const Duration compute : p.durations("compute"))
      for (const Bytes size : p.sizes("sizes")) sum += roofline_of(bench, p.count("iterations"), compute, size, ranks);
  }
  return sum * p.count("repetitions");
}

}  // namespace

std::vector<BmwgTest> bmwg_job_tests() {
  return {
      {"T6.jct",
       "synthetic JCT under controlled conditions",
       "iterations that compute for C and then all-reduce S among N accelerators, one after the other",
       "JCT ratio = JCT / (iterations x (C + 8 S factor / B)), and P95 of it over the iterations of all "
       "repetitions, beside the reference's JCT; with `tolerance` the JCT is not worse than that by more",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, Synthetic JCT Under Controlled Conditions",
       "",
       {{"compute", "10ms,50ms,100ms,500ms", "1ms"},
        {"sizes", "256MB,1GB,4GB", "256KiB"},
        {"accelerators", "64,128,256,512,1024", "4"},
        {"iterations", "1000", "5"},
        {"repetitions", "3", "2"},
        {"tolerance", "", ""}},
       lacks_accelerators,
       seconds_of_jobs,
       synthetic},
      {"T6.interference",
       "multi-tenant JCT interference",
       "a job alone, and beside another that shares a part of its leaves' spine links",
       "JCT interference factor = JCT beside the other / JCT alone, the mean of the repetitions; not judged",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, Multi-Tenant JCT Interference",
       "8 hosts or more, 16 for quarters, hosts 2n and 2n + 1 on one leaf",
       {{"compute", "10ms", "100us"},
        {"size", "256MB", "256KiB"},
        {"iterations", "100", "5"},
        {"repetitions", "3", "2"},
        {"overlaps", "0%,25%,50%,75%", "0%,50%"}},
       lacks_leaves,
       [](const BmwgBench& bench, const BmwgParameters& p) {
         return seconds_of_two_jobs(bench, p, hosts_of(bench) / 4) * p.count("repetitions") *
                static_cast<double>(1 + p.shares("overlaps").size());
       },
       interference},
  };
}

}  // namespace rankwire
