// T4: load balancing efficacy.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/counted_links.h"
#include "emulator/bmwg/formulas.h"
#include "emulator/bmwg/mirror.h"
#include "emulator/bmwg/needs.h"
#include "emulator/bmwg/outcome.h"

namespace rankwire {
namespace {

constexpr Bytes kMessage(64 << 10);

/// Long enough for so many messages of a pair of ports, of which those that are under way at the end have not arrived.
Duration length_of(const BmwgBench& bench, const BmwgParameters& parameters) {
  constexpr double kLeastMessages = 50;
  const double seconds =
      kLeastMessages * 8 * static_cast<double>(kMessage.count) / (bench.rate() * parameters.share("load"));
  return std::max(parameters.duration("duration"), Duration(static_cast<int64_t>(std::min(seconds * 1e12, 8e17))));
}

/// Traffic that every port sends to one on another leaf, with so many queue pairs of each pair.
BmwgMeasurement spread(BmwgBench& bench, const BmwgParameters& parameters, const std::string& name,
                       uint32_t queue_pairs, std::vector<std::string> settings, LinkBytes& links,
                       MirrorCounts& mirrored) {
  const size_t n = bench.ports();
  const std::string from = bench.port_names(0, n), to = bench.port_names(n / 2, n);
  settings.push_back(fmt::format("transport.queue_pairs={}", queue_pairs));
  const bool is_embedded = bench.is_embedded();
  const LinkBytes before = is_embedded ? LinkBytes() : counted_links(bench.counters(), bench.hook_text("counters"));
  const MirrorLook mirror(bench);
  BmwgMeasurement run = bench.measure_flows(
      name,
      fmt::format("{{name: load, pattern: pairs, from: [{}], to: [{}], size: {}B, rate: {}bps}}", from, to,
                  kMessage.count, static_cast<int64_t>(bench.rate() * parameters.share("load"))),
      length_of(bench, parameters), std::move(settings));
  mirrored = mirror.since();
  if (is_embedded) {
    links = bench.uplinks(run);
  } else {
    const std::string hook = bench.hook_text("counters");
    links = counted_since(before, counted_links(bench.counters(), hook), hook);
  }
  return run;
}

std::string lacks_seen_links(const BmwgBench& bench, const BmwgParameters&) {
  if (bench.ports() < 4) return "it takes four ports or more";
  if (bench.is_embedded()) return bench.has_fabric() ? "" : "one switch has no parallel paths (fabric)";
  return bench.has_hook("counters")
             ? ""
             : "the device's links are counted by the hook `counters`, which there is none of, or "
               "not with --twin";
}

void add_balance(BmwgOutcome& outcome, const BmwgMeasurement& run, const LinkBytes& links, const std::string& subject,
                 MeasuredCurve& curve, double x) {
  std::vector<double> loads;
  for (const auto& [name, bytes] : links) loads.push_back(bytes);
  const double jain = jain_index(loads);
  outcome.add(measured("MMR", max_to_mean_ratio(loads), "", {}, {}, subject));
  outcome.add(measured("JFI", jain, "", {}, {}, subject));
  outcome.add(
      measured("out-of-order rate", run.share_of_packets("out_of_sequence"), "of data packets", {}, {}, subject));
  outcome.add(
      measured("retransmission rate", run.share_of_packets("retransmitted"), "of data packets", {}, {}, subject));
  outcome.add(measured("effective goodput",
                       run.carried("load", "bytes_delivered") / std::max(1.0, run.carried("load", "bytes_offered")),
                       "of what was offered", {}, {}, subject));
  curve.points.push_back({x, jain});
}

void ecmp(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  // Whether the hash takes in the destination queue pair is up to the lab on a device of its own.
  const std::vector<std::pair<const char*, std::vector<std::string>>> hashes =
      bench.is_embedded()
          ? std::vector<std::pair<
                const char*, std::vector<std::string>>>{{"5-tuple", {"fabric.balancing={spreading: flow}"}},
                                                        {"5-tuple and queue pair",
                                                         {"fabric.balancing={spreading: flow, hash_queue_pair: on}"}}}
          : std::vector<std::pair<const char*, std::vector<std::string>>>{{"as configured", {}}};
  for (const auto& [hash, settings] : hashes) {
    MeasuredCurve curve{hash, "queue pairs", "", "JFI", "", {}};
    for (const uint32_t queue_pairs : parameters.counts("queue_pairs")) {
      const std::string name = fmt::format("{}-{}qp", &hash == &hashes.front().first ? "a" : "b", queue_pairs);
      LinkBytes links;
      MirrorCounts mirrored;
      const BmwgMeasurement run = spread(bench, parameters, name, queue_pairs, settings, links, mirrored);
      outcome.note(run, name);
      add_mirrored(outcome, mirrored, fmt::format("{} queue pairs, {}", queue_pairs, hash));
      add_balance(outcome, run, links, fmt::format("{} queue pairs, {}", queue_pairs, hash), curve, queue_pairs);
    }
    outcome.add(std::move(curve));
  }
}

/// One strategy of the embedded switches, or whatever the device is configured for.
void strategy(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome, const char* spreading,
              bool reorders) {
  MeasuredCurve curve{spreading, "queue pairs", "", "JFI", "", {}};
  std::vector<std::string> settings;
  if (bench.is_embedded()) settings.push_back(fmt::format("fabric.balancing={{spreading: {}}}", spreading));
  for (const uint32_t queue_pairs : parameters.counts("queue_pairs")) {
    LinkBytes links;
    MirrorCounts mirrored;
    std::vector<std::string> own = settings;
    if (reorders) own.push_back("transport.out_of_order=256");
    const std::string name = fmt::format("{}-{}qp", spreading, queue_pairs);
    const BmwgMeasurement run = spread(bench, parameters, name, queue_pairs, std::move(own), links, mirrored);
    outcome.note(run, name);
    add_mirrored(outcome, mirrored, fmt::format("{} queue pairs", queue_pairs));
    add_balance(outcome, run, links, fmt::format("{} queue pairs", queue_pairs), curve, queue_pairs);
  }
  outcome.add(std::move(curve));
}

double seconds_of_balancing(const BmwgBench& bench, const BmwgParameters& p) {
  return static_cast<double>(p.counts("queue_pairs").size()) * static_cast<double>(length_of(bench, p).ps) * 1e-12;
}

constexpr const char* kCounted = "of a device that is not embedded: the hook `counters`, which prints bytes by link";

constexpr const char* kOrder = "the order of packets on a link";

}  // namespace

std::vector<BmwgTest> bmwg_balancing_tests() {
  return {
      {"T4.ecmp",
       "ECMP entropy and polarization",
       "every port sends to one half of the ports further, with ever more queue pairs a pair of ports",
       "MMR and JFI of the bytes of parallel links; not judged",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, ECMP Entropy and Polarization",
       kCounted,
       {{"queue_pairs", "1,4,8,16,32", "1,8"}, {"load", "50%", "30%"}, {"duration", "60s", "50ms"}},
       lacks_seen_links,
       [](const BmwgBench& bench, const BmwgParameters& p) { return 2 * seconds_of_balancing(bench, p); },
       ecmp,
       nullptr,
       kOrder,
       1,
       "",
       nullptr,
       refuses_no_load},
      {"T4.flowlet",
       "dynamic load balancing (flowlet)",
       "the same, where the device moves flows after gaps",
       "MMR, JFI, out-of-order rate; not judged",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, Dynamic Load Balancing (Flowlet)",
       kCounted,
       {{"queue_pairs", "4", "4"}, {"load", "50%", "30%"}, {"duration", "60s", "50ms"}},
       lacks_seen_links,
       seconds_of_balancing,
       [](BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
         strategy(bench, parameters, outcome, "flowlet", false);
       },
       nullptr,
       kOrder,
       1,
       "",
       nullptr,
       refuses_no_load},
      {"T4.spray",
       "packet spraying",
       "the same, where the device spreads packets one by one",
       "MMR and JFI of about 1, out-of-order rate and what is sent again for it; not judged",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, Packet Spraying",
       kCounted,
       {{"queue_pairs", "4", "4"}, {"load", "50%", "30%"}, {"duration", "60s", "50ms"}},
       lacks_seen_links,
       seconds_of_balancing,
       [](BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
         strategy(bench, parameters, outcome, "packet", true);
       },
       nullptr,
       kOrder,
       1,
       "",
       nullptr,
       refuses_no_load},
  };
}

}  // namespace rankwire
