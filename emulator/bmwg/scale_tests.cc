// T7 and T8: scale, convergence after failures, and soak.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <optional>

#include "emulator/bmwg/cable_puller.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/formulas.h"
#include "emulator/bmwg/needs.h"
#include "emulator/bmwg/outcome.h"
#include "emulator/input/units.h"
#include "emulator/suite/jct_ratio.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

void scale_limit(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  MeasuredCurve curve{"AllReduce", "accelerators", "", "BusBW", "of the reference", {}};
  for (uint32_t ranks : parameters.counts("accelerators")) {
    if (ranks < 2 || ranks > bench.npus()) {
      outcome.anomaly(fmt::format("{} accelerators were left out: the hosts hold {}", ranks, bench.npus()));
      continue;
    }
    const std::string name = fmt::format("n{}", ranks);
    const BmwgMeasurement run =
        bench.measure_collective(name, "all_reduce", ranks, parameters.size("size"), parameters.count("iterations"));
    outcome.note(run, name);
    const Json& row = run.only_size();
    const std::string subject = fmt::format("{} accelerators", ranks);
    const double bus = row.at("emulated").at("busbw_GBps").get<double>() * 8;
    const double reference = row.at("reference").at("busbw_GBps").get<double>() * 8;
    outcome.compared("BusBW", bus, reference, "Gbit/s", subject, true, parameters);
    outcome.of_fabric(run, subject);
    curve.points.push_back({static_cast<double>(ranks), bus / reference});
  }
  outcome.add(std::move(curve));
}

/// Times in seconds of the calls of a collective that end after `from`, in their order, from the first rank's begin to
/// the last one's end. The first call, before which ranks were not in step, is left out.
std::vector<double> call_times(const BmwgMeasurement& run, Duration from = {}) {
  std::map<std::string, std::pair<double, double>> calls;  // by name: when it began and ended
  std::vector<std::string> order;
  for (const auto& row : run.rows("operations")) {
    if (row.at("emulated_end_ps").empty() || row.at("name").find(" iteration ") == std::string::npos) continue;
    const double begin = std::stod(row.at("emulated_start_ps")), end = std::stod(row.at("emulated_end_ps"));
    const auto [call, is_new] = calls.try_emplace(row.at("name"), begin, end);
    if (is_new) order.push_back(row.at("name"));
    call->second = {std::min(call->second.first, begin), std::max(call->second.second, end)};
  }
  std::vector<double> times;
  for (size_t i = 1; i < order.size(); ++i) {
    const auto& [begin, end] = calls[order[i]];
    if (end > static_cast<double>(from.ps)) times.push_back((end - begin) * 1e-12);
  }
  return times;
}

/// Those of them that all ranks have come to the end of.
size_t whole_calls(const BmwgMeasurement& run, uint32_t ranks) {
  std::map<std::string, uint32_t> ends;
  for (const auto& row : run.rows("operations"))
    if (!row.at("emulated_end_ps").empty() && row.at("name").find(" iteration ") != std::string::npos)
      ++ends[row.at("name")];
  return static_cast<size_t>(std::ranges::count_if(ends, [ranks](const auto& call) { return call.second == ranks; }));
}

/// The first call does not count, and a median takes two.
constexpr uint32_t kLeastCalls = 3;

/// Of the slowest of the steady state, which the machine alone can exceed by a part.
constexpr double kLate = 2;

/// What is called again and again while a cable fails.
struct FailingCalls {
  uint32_t ranks = 0;
  Bytes size;
  uint32_t iterations = 0;
};

/// The cable of an embedded fabric that carries most fails in the middle of the calls that count, so that somebody
/// notices. Absent: there is none.
std::optional<BmwgMeasurement> fail_embedded(BmwgBench& bench, const BmwgMeasurement& steady, const FailingCalls& calls,
                                             Duration middle) {
  const LinkBytes links = bench.uplinks(steady);
  if (links.empty()) return std::nullopt;
  const std::string busiest = std::ranges::max_element(links, {}, &LinkBytes::value_type::second)->first;
  const size_t dot = busiest.find('.');
  return bench.attempt_collective("failure", "all_reduce", calls.ranks, calls.size, calls.iterations,
                                  {fmt::format("fabric.failures=[{{a: {}, b: {}, down: {}ps}}]", busiest.substr(0, dot),
                                               busiest.substr(dot + 1), middle.ps)});
}

/// A failure, and the same calls without one: as many of them, since the slowest of more calls is slower.
struct FailedCalls {
  BmwgMeasurement steady, failed;
};

/// A cable of a device is pulled by the hook when a third of the calls has ended. Where all have ended by the time that
/// it is, which takes as long as the lab's command does, there are more of them the next time, if it is mended by then.
FailedCalls fail_by_hook(BmwgBench& bench, BmwgMeasurement steady, FailingCalls& calls, BmwgOutcome& outcome) {
  constexpr int kAttempts = 3;
  constexpr uint32_t kMostCalls = 10'000;
  const bool is_mended = bench.has_hook("link_up");
  const double call = steady.completion() / calls.iterations;
  double needed = 0;  // seconds
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const std::string suffix = attempt == 1 ? "" : fmt::format("-{}", attempt);
    if (attempt > 1) {
      steady = bench.measure_collective("steady" + suffix, "all_reduce", calls.ranks, calls.size, calls.iterations);
      outcome.note(steady, "steady" + suffix);
    }
    const std::string name = "failure" + suffix;
    CablePuller puller(bench, bench.run_folder(name), uint64_t{calls.iterations} * calls.ranks / 3);
    std::optional<BmwgMeasurement> run;
    std::exception_ptr wrong;
    try {
      run = bench.attempt_collective(name, "all_reduce", calls.ranks, calls.size, calls.iterations);
    } catch (...) {
      wrong = std::current_exception();
    }
    const CablePull pull = puller.finish();
    // Whatever came of the run: a cable that was pulled is not left so.
    if (pull.is_done && is_mended) bench.mending_hook("link_up");
    if (pull.is_done && !is_mended)
      outcome.anomaly(
          "the cable stays pulled: there is no hook `link_up` that mends it, and the tests after this one "
          "are without it");
    if (wrong) std::rethrow_exception(wrong);
    if (!pull.error.empty())
      fail_run("{}{}", pull.error,
               is_mended ? "" : "; the cable may be pulled and stays so: there is no hook `link_up` that mends it");
    // What stands still has no call that could end later.
    if (pull.is_done && (!run->ended_well() || ended_operations(run->folder()) > pull.ends_before))
      return {std::move(steady), *std::move(run)};
    if (pull.is_done && !is_mended)
      throw BmwgUndecided(
          "all calls had ended before the hook `link_down` had pulled the cable, which stays pulled, so that there is "
          "no second attempt: it takes the hook `link_up`, or more `iterations` or a larger `size`");
    // Twice as long as the hook takes, behind a third of them, and what passes until anybody knows of an end.
    needed = std::max(2 * needed, 2 * pull.took.count() + 3);
    calls.iterations = static_cast<uint32_t>(std::clamp(1.5 * needed / call, 1.0 * kLeastCalls, double{kMostCalls}));
  }
  throw BmwgUndecided(
      "all calls had ended before the hook `link_down` had pulled the cable, or before it could be told to: it takes "
      "more `iterations` or a larger `size`");
}

void link_failure(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const bool is_embedded = bench.is_embedded();
  FailingCalls calls{ranks_that_fit(bench, parameters), parameters.size("size"), parameters.count("iterations")};
  const BmwgMeasurement first =
      bench.measure_collective("steady", "all_reduce", calls.ranks, calls.size, calls.iterations);
  outcome.note(first, "steady");
  // Of the calls that count.
  const Duration middle(static_cast<int64_t>(first.completion() * 1e12 * 0.6));
  std::optional<BmwgMeasurement> steady = first, failed;
  if (is_embedded) {
    failed = fail_embedded(bench, first, calls, middle);
  } else {
    FailedCalls of_hook = fail_by_hook(bench, first, calls, outcome);
    steady = std::move(of_hook.steady);
    failed = std::move(of_hook.failed);
  }
  if (!failed) return outcome.anomaly("the fabric has no cables between switches");
  const std::vector<double> before = call_times(*steady);
  if (before.size() < 2) fail_run("steady: fewer than two calls came to their end");
  const double usual = median_of(before);
  const double slowest = *std::ranges::max_element(before);
  outcome.note(*failed, "failure");
  if (!failed->ended_well()) outcome.anomaly("failure: " + failed->reason());
  // A cable that a hook pulls is pulled at some time of the run.
  const std::vector<double> after = call_times(*failed, is_embedded ? middle : Duration());
  if (failed->ended_well() && !after.empty()) {
    const double worst = *std::ranges::max_element(after);
    outcome.add(measured("JCT of the failure iteration, the slowest since", worst * 1e3, "ms"));
    outcome.add(measured("JCT of an iteration, steady state", usual * 1e3, "ms"));
    outcome.add(measured("JCT overhead of the failure", (worst - usual) * 1e3, "ms"));
    outcome.add(measured("zero-impact", worst <= slowest ? 1 : 0, "", {}, {},
                         "1: no iteration was slower than the slowest of the steady state, 0: one was"));
    // Of an embedded fabric it is known that the cable fails; a lab's command may do nothing.
    if (!is_embedded && failed->counter("retransmitted") == 0 && worst <= kLate * slowest)
      outcome.undecided(
          fmt::format("nothing was lost or late, no packet sent again and no call {:g} times as long as the slowest of "
                      "as many before: was a cable pulled that carries the traffic?",
                      kLate));
  }
  outcome.add(measured("packets lost or sent again", static_cast<double>(failed->counter("retransmitted")), "packets"));
  outcome.add(measured("calls that came to their end", static_cast<double>(whole_calls(*failed, calls.ranks)), "calls",
                       calls.iterations));
  MeasuredCurve curve{"calls", "call", "", "time", "ms", {}};
  for (size_t i = 0; i < after.size(); ++i) curve.points.push_back({static_cast<double>(i), after[i] * 1e3});
  outcome.add(std::move(curve));
}

/// What a soak consists of: runs of so many calls each.
struct SoakPlan {
  uint32_t samples = 1, iterations = 1;
};

SoakPlan plan_of_soak(const BmwgBench& bench, const BmwgParameters& parameters) {
  const double all = static_cast<double>(parameters.duration("duration").ps);
  const double interval = static_cast<double>(parameters.duration("interval").ps);
  const double call = 2 * 8 * static_cast<double>(parameters.size("size").count) / bench.rate() * 1e12;
  return {static_cast<uint32_t>(std::max(1.0, std::floor(all / interval))),
          static_cast<uint32_t>(std::clamp(interval / call, 1.0, 10'000.0))};
}

double seconds_of_soak(const BmwgBench& bench, const BmwgParameters& parameters) {
  const SoakPlan plan = plan_of_soak(bench, parameters);
  return plan.samples *
         bench.seconds_of_calls(ranks_that_fit(bench, parameters), parameters.size("size"), plan.iterations);
}

void soak(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const uint32_t ranks = ranks_that_fit(bench, parameters);
  const double interval = static_cast<double>(parameters.duration("interval").ps);
  const SoakPlan plan = plan_of_soak(bench, parameters);
  std::map<std::string, MeasuredCurve> curves, counters;
  std::map<std::string, std::vector<double>> ratios;
  for (uint32_t i = 0; i < plan.samples; ++i) {
    const char* const operation = i % 2 == 0 ? "all_reduce" : "all_to_all";
    const std::string name = fmt::format("sample-{}", i + 1);
    const BmwgMeasurement run =
        bench.measure_collective(name, operation, ranks, parameters.size("size"), plan.iterations);
    outcome.note(run, name);
    const Json& row = run.only_size();
    const double ratio = row.at("ratio").is_null() ? NAN : row.at("ratio").get<double>();
    ratios[operation].push_back(ratio);
    MeasuredCurve& curve = curves[operation];
    if (curve.points.empty()) curve = {operation, "time", "s", "JCT ratio", "of the reference", {}};
    curve.points.push_back({i * interval * 1e-12, ratio});
    const std::string subject = fmt::format("{}, sample {}", operation, i + 1);
    outcome.add(measured("BusBW", row.at("emulated").at("busbw_GBps").get<double>() * 8, "Gbit/s", {}, {}, subject));
    const Json counted = bench.counters();
    for (const auto& [key, value] : counted.items()) {
      if (!value.is_number()) continue;
      outcome.add(measured(key, value.get<double>(), "", {}, {}, subject));
      MeasuredCurve& of_device = counters[key];
      if (of_device.points.empty()) of_device = {key, "time", "s", key, "", {}};
      of_device.points.push_back({i * interval * 1e-12, value.get<double>()});
    }
  }
  for (auto& [operation, curve] : curves) outcome.add(std::move(curve));
  for (auto& [name, curve] : counters) outcome.add(std::move(curve));
  for (const auto& [operation, values] : ratios) {
    outcome.add(measured("JCT ratio, median", median_of(values), "of the reference", {}, {}, operation));
    outcome.add(measured("JCT ratio P95", nearest_rank(values, 95), "of the reference", {}, {}, operation));
    outcome.repeated("JCT ratio, mean", values, "of the reference", operation);
  }
}

std::string lacks_cables(const BmwgBench& bench, const BmwgParameters& parameters) {
  if (bench.is_embedded() && !bench.has_fabric()) return "one switch has no cables between switches (fabric)";
  if (!bench.is_embedded() && !bench.has_hook("link_down"))
    return "a cable is pulled by the hook `link_down`, which there is none of, or not with --twin";
  return lacks_two_ranks(bench, parameters);
}

std::optional<RefusedValue> refuses_few_calls(const BmwgBench&, const BmwgParameters& parameters) {
  const uint32_t calls = parameters.count("iterations");
  if (calls >= kLeastCalls) return std::nullopt;
  return RefusedValue{"iterations", fmt::format("{}: it takes {} or more, since the first call does not count and a "
                                                "steady state is of two",
                                                calls, kLeastCalls)};
}

double seconds_of_scales(const BmwgBench& bench, const BmwgParameters& p) {
  double sum = 0;
  for (const uint32_t ranks : p.counts("accelerators"))
    if (ranks >= 2 && ranks <= bench.npus())
      sum += bench.seconds_of_calls(ranks, p.size("size"), p.count("iterations"));
  return sum;
}

double seconds_of_failure(const BmwgBench& bench, const BmwgParameters& p) {
  const uint32_t ranks = ranks_that_fit(bench, p);
  return 2 * bench.seconds_of_calls(ranks, p.size("size"), p.count("iterations"));
}

}  // namespace

std::vector<BmwgTest> bmwg_scale_tests() {
  return {
      {"T7.scale",
       "fabric scale limits",
       "AllReduce among ever more accelerators",
       "BusBW beside the reference's; with `tolerance` not worse than that by more",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, Fabric Scale Limits",
       "",
       {{"accelerators", "64,128,256,512,1024", "2,4,8"},
        {"size", "1GB", "64KiB"},
        {"iterations", "100", "3"},
        {"tolerance", "", ""}},
       lacks_accelerators,
       seconds_of_scales,
       scale_limit,
       nullptr,
       "",
       kElementBytes},
      {"T7.link_failure",
       "link failure convergence",
       "a cable between two switches fails in the middle of AllReduces",
       "all calls come to their end; what the worst of them takes longer; zero-impact where that is within the slowest "
       "of the steady state",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, Link Failure Convergence, Zero-Impact Failover Measurement",
       "of a device that is not embedded: the hook `link_down`, and `link_up` to mend it",
       {{"accelerators", "128", "8"}, {"size", "1GB", "64KiB"}, {"iterations", "100", "10"}},
       lacks_cables,
       seconds_of_failure,
       link_failure,
       ranks_that_fit,
       "",
       kElementBytes,
       "",
       nullptr,
       refuses_few_calls},
      {"T8.soak",
       "sustained load",
       "AllReduces and AllToAlls in turn, sampled",
       "JCT ratio, BusBW and the device's counters over time, and how much they vary; not judged",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, 24-Hour Sustained Load",
       "of the device's own memory and CPU: the hook `counters`",
       {{"duration", "86400s", "200ms"},
        {"interval", "60s", "50ms"},
        {"size", "64MB", "64KiB"},
        {"accelerators", "1024", "8"}},
       lacks_two_ranks,
       seconds_of_soak,
       soak,
       ranks_that_fit,
       "",
       kElementBytes,
       "",
       nullptr,
       refuses_empty_parts},
  };
}

}  // namespace rankwire
