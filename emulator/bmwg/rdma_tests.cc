// T1: RDMA transport benchmarks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/formulas.h"
#include "emulator/bmwg/needs.h"
#include "emulator/bmwg/outcome.h"
#include "emulator/bmwg/search.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// Messages that a flow must have had time for, or a rate that is a little too high would not show.
constexpr double kLeastMessages = 50;
/// Messages of a flow that may wait for their acknowledgement: as many as an RC queue pair of a NIC commonly takes.
constexpr uint32_t kBacklog = 16;

std::string size_name(Bytes size) {
  return print_quantity(size.count, kSizeScale);
}

/// Every port sends to its neighbour, and so receives as much.
std::string permutation(const BmwgBench& bench, std::string_view name, std::string_view rest) {
  return fmt::format("{{name: {}, pattern: pairs, from: [{}], to: [{}], {}}}", name, bench.port_names(0, bench.ports()),
                     bench.port_names(1, bench.ports()), rest);
}

/// The first half of the ports sends to the second.
std::string one_way(const BmwgBench& bench, std::string_view name, std::string_view rest) {
  const size_t half = bench.ports() / 2;
  return fmt::format("{{name: {}, pattern: pairs, from: [{}], to: [{}], {}}}", name, bench.port_names(0, half),
                     bench.port_names(half, half), rest);
}

Duration long_enough(const BmwgBench& bench, const BmwgParameters& parameters, Bytes size) {
  const double needed = kLeastMessages * 8e12 * static_cast<double>(size.count) / bench.rate();
  return std::max(parameters.duration("duration"), Duration(static_cast<int64_t>(needed)));
}

/// What the drafts call loss-free, of a reliable transport: nothing was sent again, and every message that was due
/// could be posted. What did not come to its end is not.
bool is_free_of_loss(const BmwgMeasurement& run) {
  if (!run.ended_well()) return false;
  const Json& load = run.background("load");
  return load.is_object() && load.at("messages_posted") == load.at("messages_offered") &&
         load.at("messages_failed") == 0 && run.counter("retransmitted") == 0 && run.counter("timeouts") == 0;
}

struct Throughput {
  double share = 0;            ///< of the line rate, payload
  double bits_per_second = 0;  ///< delivered, all flows
};

Throughput find_throughput(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome, Bytes size,
                           uint32_t queue_pairs, bool both_ways) {
  const std::string what =
      fmt::format("{}-{}qp-{}", size_name(size), queue_pairs, both_ways ? "bidirectional" : "unidirectional");
  const Duration length = long_enough(bench, parameters, size);
  double delivered = 0;
  int attempt = 0;
  const double share = highest_share(
      [&](double tried) {
        const std::string rest = fmt::format("size: {}B, rate: {}bps, backlog: {}", size.count,
                                             static_cast<int64_t>(bench.rate() * tried), kBacklog);
        const BmwgMeasurement run =
            bench.attempt_flows(fmt::format("{}-{}", what, ++attempt),
                                both_ways ? permutation(bench, "load", rest) : one_way(bench, "load", rest), length,
                                {fmt::format("transport.queue_pairs={}", queue_pairs)});
        outcome.note(run, what);
        if (!is_free_of_loss(run)) return false;
        delivered = run.carried("load", "delivered_bps");
        return true;
      },
      parameters.share("resolution"));
  return {share, share > 0 ? delivered : 0};
}

void throughput(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  for (const bool both_ways : {false, true}) {
    const double senders = static_cast<double>(both_ways ? bench.ports() : bench.ports() / 2);
    for (const uint32_t queue_pairs : parameters.counts("queue_pairs")) {
      MeasuredCurve curve{
          fmt::format("{} queue pairs, {}", queue_pairs, both_ways ? "bidirectional" : "unidirectional"),
          "message size",
          "B",
          "throughput efficiency",
          "",
          {}};
      for (const Bytes size : parameters.sizes("sizes")) {
        const Throughput found = find_throughput(bench, parameters, outcome, size, queue_pairs, both_ways);
        const double efficiency = found.bits_per_second / (bench.rate() * senders);
        const std::string subject = fmt::format("{}, {} queue pairs, {}", size_name(size), queue_pairs,
                                                both_ways ? "bidirectional" : "unidirectional");
        outcome.add(measured("aggregate throughput", found.bits_per_second / 1e9, "Gbit/s", {}, {}, subject));
        outcome.add(measured("throughput efficiency", efficiency, "of line rate", {}, {}, subject));
        curve.points.push_back({static_cast<double>(size.count), efficiency});
      }
      outcome.add(std::move(curve));
    }
  }
}

constexpr const char* kQuantiles[] = {"p50_ps", "p95_ps", "p99_ps", "p999_ps", "max_ps"};
constexpr const char* kQuantileNames[] = {"P50", "P95", "P99", "P99.9", "max"};
constexpr double kQuantileShares[] = {0.5, 0.95, 0.99, 0.999, 1};

/// Of each quantile, in microseconds, its values in the repetitions.
using QuantileTimes = std::map<std::string, std::vector<double>>;

/// The entry of the probe where one of its messages at least came to its end.
const Json* probed(const BmwgMeasurement& run) {
  const Json& entry = run.background("probe");
  return entry.is_object() && entry.at("completion_time").at("count") > 0 ? &entry : nullptr;
}

QuantileTimes probe(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome, Bytes size, bool loaded) {
  QuantileTimes times;
  // One message at a time from the first port to the one in the middle.
  const std::string probing =
      fmt::format("{{name: probe, pattern: pairs, from: [{}], to: [{}], size: {}B, outstanding: 1}}", bench.port(0),
                  bench.port(bench.ports() / 2), size.count);
  const std::string load = permutation(
      bench, "load",
      fmt::format("size: 64KiB, rate: {}bps", static_cast<int64_t>(bench.rate() * parameters.share("load"))));
  const auto measure = [&](const std::string& name, Duration length, uint32_t seed) {
    BmwgMeasurement run =
        bench.measure_flows(name, loaded ? probing + ", " + load : probing, length, {fmt::format("seed={}", seed)});
    outcome.note(run, name);
    return run;
  };
  for (uint32_t i = 1; i <= parameters.count("repetitions"); ++i) {
    const std::string name = fmt::format("{}-{}-{}", size_name(size), loaded ? "loaded" : "unloaded", i);
    BmwgMeasurement run = measure(name, parameters.duration("duration"), i);
    // A packet that is lost is not sent again before a time-out, which may be longer than a short measurement.
    if (probed(run) == nullptr) run = measure(name + "-longer", parameters.duration("duration") * 20, i);
    const Json* const entry = probed(run);
    if (entry == nullptr && run.generator_limited()) continue;
    if (entry == nullptr) fail_run("{}: no message of the probe came to its end", name);
    for (const char* quantile : kQuantiles)
      times[quantile].push_back(entry->at("completion_time").at(quantile).get<double>() * 1e-6);
  }
  return times;
}

void latency(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  for (const Bytes size : parameters.sizes("sizes")) {
    double unloaded_median = 0;
    for (const bool loaded : {false, true}) {
      const QuantileTimes times = probe(bench, parameters, outcome, size, loaded);
      if (times.empty()) continue;
      const std::string subject = fmt::format("{}, {}", size_name(size), loaded ? "loaded" : "unloaded");
      MeasuredCurve curve{subject, "message completion time", "us", "share of messages", "", {}};
      for (size_t i = 0; i < std::size(kQuantiles); ++i) {
        const double middle = median_of(times.at(kQuantiles[i]));
        outcome.add(measured(kQuantileNames[i], middle, "us", {}, {}, subject));
        curve.points.push_back({middle, kQuantileShares[i]});
      }
      outcome.add(std::move(curve));
      const std::vector<double>& medians = times.at("p50_ps");
      outcome.repeated("P50, mean", medians, "us", subject);
      if (!loaded) unloaded_median = median_of(medians);
      if (loaded && unloaded_median > 0)
        outcome.add(
            measured("latency increase factor", median_of(medians) / unloaded_median, "", {}, {}, size_name(size)));
    }
  }
}

/// From one burst of each sender to the next: as long again as the burst of all takes at the receiver, and a round trip
/// or two, so that bursts do not meet. Seconds.
double between_bursts(const BmwgBench& bench, double burst_bytes, uint32_t ratio) {
  return 2 * 8 * burst_bytes * ratio / bench.rate() + 1e-3;
}

/// Whether bursts of `frames` packets each, from `ratio` ports at the same time, all get through at the first attempt.
bool takes_bursts(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome, uint32_t ratio,
                  Bytes packet, uint64_t frames) {
  const std::string from = bench.port_names(0, ratio);
  const double burst_bytes = static_cast<double>(packet.count) * static_cast<double>(frames);
  const double between = between_bursts(bench, burst_bytes, ratio);
  const auto length = static_cast<int64_t>(between * 1e12 * parameters.count("repetitions"));
  const std::string entry = fmt::format(
      "{{name: load, pattern: incast, from: [{}], to: {}, size: {}B, rate: {}bps, backlog: 1}}", from,
      bench.port(ratio), static_cast<int64_t>(burst_bytes), static_cast<int64_t>(8 * burst_bytes / between));
  const std::string what = fmt::format("{}to1-{}frames", ratio, frames);
  const BmwgMeasurement run =
      bench.attempt_flows(what, entry, Duration(length),
                          {fmt::format("transport.window={}", std::clamp<uint64_t>(frames, 1, 65'536)),
                           "transport.congestion_control=null"});
  outcome.note(run, what);
  return run.ended_well() && run.counter("retransmitted") == 0 && run.counter("timeouts") == 0;
}

void bursts(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const Bytes packet(bench.base().transport.mtu.value_or(4096));
  constexpr uint64_t kMostFrames = 65'536;
  const uint64_t most =
      std::clamp<uint64_t>(static_cast<uint64_t>(parameters.size("size").count / packet.count), 1, kMostFrames);
  MeasuredCurve curve{"burst absorption", "incast ratio", "senders", "burst capacity of a sender", "frames", {}};
  for (const uint32_t ratio : parameters.counts("ratios")) {
    if (ratio + 1 > bench.ports()) {
      outcome.anomaly(fmt::format("{}:1 was left out: there are {} ports", ratio, bench.ports()));
      continue;
    }
    const uint64_t frames = largest_count(
        [&](uint64_t tried) { return takes_bursts(bench, parameters, outcome, ratio, packet, tried); }, most);
    if (frames == most)
      outcome.anomaly(fmt::format("{}:1: nothing was lost of the longest bursts that were tried", ratio));
    const std::string subject = fmt::format("{}:1, packets of {}", ratio, size_name(packet));
    outcome.add(measured("burst absorption", static_cast<double>(frames), "frames", {}, {}, subject));
    outcome.add(measured("burst absorption",
                         static_cast<double>(frames) * static_cast<double>(packet.count * ratio) / 1e3,
                         "kB of all senders", {}, {}, subject));
    curve.points.push_back({static_cast<double>(ratio), static_cast<double>(frames)});
  }
  outcome.add(std::move(curve));
}

/// The search doubles up to the longest bursts where nothing is lost of them.
double seconds_of_bursts(const BmwgBench& bench, const BmwgParameters& parameters) {
  double sum = 0;
  for (const uint32_t ratio : parameters.counts("ratios")) {
    if (ratio + 1 > bench.ports()) continue;
    for (auto bytes = static_cast<double>(parameters.size("size").count); bytes >= 4096; bytes /= 2)
      sum += between_bursts(bench, bytes, ratio) * parameters.count("repetitions");
  }
  return sum;
}

double steps_of_search(const BmwgParameters& parameters) {
  return 1 + std::ceil(-std::log2(parameters.share("resolution")));
}

/// In one direction and in both, of each number of queue pairs.
double seconds_of_throughput(const BmwgBench& bench, const BmwgParameters& parameters) {
  double attempts = 0;
  for (const Bytes size : parameters.sizes("sizes"))
    attempts += static_cast<double>(long_enough(bench, parameters, size).ps) * 1e-12;
  return 2 * static_cast<double>(parameters.counts("queue_pairs").size()) * steps_of_search(parameters) * attempts;
}

}  // namespace

std::vector<BmwgTest> bmwg_rdma_tests() {
  return {
      {"T1.throughput",
       "baseline throughput",
       "RDMA WRITEs at an offered rate that is searched for, of each message size and number of queue pairs, in one "
       "direction between halves of the ports and in both around all ports",
       "the highest rate at which nothing is sent again and every message that is due can be posted; not judged",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, Baseline Throughput; RFC 2544, 26.1",
       "",
       {{"sizes", "64B,256B,1KiB,4KiB,64KiB,256KiB,1MiB,4MiB", "4KiB,64KiB"},
        {"queue_pairs", "1,4,16,32", "1,4"},
        {"duration", "60s", "50ms"},
        {"resolution", "0.1%", "2%"}},
       lacks_two_ports,
       seconds_of_throughput,
       throughput,
       nullptr,
       "",
       1,
       "sizes"},
      {"T1.latency",
       "latency, unloaded and loaded",
       "one message at a time between two ports, alone and beside a load on all ports",
       "quantiles of the time from a message's post to its acknowledgement, the median of the repetitions of each; not "
       "judged",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, Latency Characterization",
       "",
       {{"sizes", "64B,1KiB,4KiB,64KiB,1MiB", "64B,4KiB"},
        {"duration", "120s", "50ms"},
        {"repetitions", "20", "3"},
        {"load", "90%", "70%"}},
       lacks_two_ports,
       [](const BmwgBench&, const BmwgParameters& p) {
         return 2 * static_cast<double>(p.sizes("sizes").size()) * p.count("repetitions") *
                static_cast<double>(p.duration("duration").ps) * 1e-12;
       },
       latency,
       nullptr,
       "",
       1,
       "sizes",
       nullptr,
       refuses_no_load},
      {"T1.burst",
       "back-to-back burst absorption",
       "bursts at line rate from N ports to one at the same time, without congestion control, ever longer",
       "the longest burst of which nothing is lost; not judged",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, Back-to-Back Burst Absorption; RFC 9004",
       "",
       {{"ratios", "2,4,8,16,32", "2,3"}, {"repetitions", "50", "3"}, {"size", "64MiB", "4MiB"}},
       lacks_incasts,
       seconds_of_bursts,
       bursts},
  };
}

}  // namespace rankwire
