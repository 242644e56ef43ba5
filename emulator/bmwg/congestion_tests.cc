// T3: congestion management.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "emulator/bmwg/catalogue.h"
#include "emulator/bmwg/formulas.h"
#include "emulator/bmwg/mirror.h"
#include "emulator/bmwg/needs.h"
#include "emulator/bmwg/outcome.h"
#include "emulator/input/units.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNoCongestionControl = "transport.congestion_control=null";

std::vector<std::string> threshold_settings(const BmwgBench& bench, Bytes threshold) {
  if (!bench.is_embedded()) return {};  // the lab has configured it
  if (!bench.has_fabric()) return {fmt::format("switch.ecn_threshold={}B", threshold.count)};
  return {fmt::format("fabric.ecn={{minimum: {}B, maximum: {}B, probability: 100%}}", threshold.count,
                      threshold.count + 1)};
}

/// Bytes of each packet that a queue is filled with, headers included.
Bytes packet_on_the_line(const BmwgBench& bench) {
  constexpr int64_t kHeaders = 100;  // at most: Ethernet with VLAN tag, IPv6, UDP, BTH, RETH, ICRC, FCS
  return Bytes(bench.base().transport.mtu.value_or(4096) + kHeaders);
}

/// The two senders have one packet each under way at least, and as many as a flow may have, to four times the
/// threshold.
std::string refused_threshold(const BmwgBench& bench, Bytes threshold) {
  constexpr int64_t kMostOutstanding = 65'536;
  const int64_t packet = packet_on_the_line(bench).count;
  const Bytes least(2 * packet), most(kMostOutstanding * packet / 2);
  if (threshold < least)
    return fmt::format("with packets of {} B it takes {} B or more, a packet of each of two senders", packet,
                       least.count);
  if (threshold > most)
    return fmt::format("with packets of {} B it takes {} B or less, four times of which {} packets of two senders are",
                       packet, most.count, kMostOutstanding);
  return {};
}

/// A closed loop keeps a known number of bytes under way towards one port, so that its queue holds no more than that,
/// whoever can look into it.
void mark_at(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome, Bytes threshold) {
  const Bytes packet = packet_on_the_line(bench);
  const std::string subject = print_quantity(threshold.count, kSizeScale);
  MeasuredCurve curve{"threshold " + subject, "bytes under way", "B", "ECN marking ratio", "of data packets", {}};
  double first_marked = 0, highest_clear = 0, marks_below = 0;
  std::optional<double> mirrored_below;
  for (const double part : {0.25, 0.5, 0.9, 1.25, 1.5, 2.0, 4.0}) {
    const auto messages = static_cast<uint32_t>(std::max(
        1.0, std::floor(part * static_cast<double>(threshold.count) / 2.0 / static_cast<double>(packet.count))));
    const double under_way = 2.0 * messages * static_cast<double>(packet.count);
    std::vector<std::string> settings = threshold_settings(bench, threshold);
    settings.push_back(kNoCongestionControl);
    settings.push_back(fmt::format("transport.window={}", messages));
    const std::string name = fmt::format("{}-{:.0f}percent", subject, part * 100);
    const MirrorLook mirror(bench);
    const BmwgMeasurement run = bench.measure_flows(
        name,
        fmt::format("{{name: load, pattern: incast, from: [{}], to: {}, size: {}B, outstanding: {}}}",
                    bench.port_names(0, 2), bench.port(2), bench.base().transport.mtu.value_or(4096), messages),
        parameters.duration("duration"), std::move(settings));
    outcome.note(run, name);
    const MirrorCounts seen = mirror.since();
    add_mirrored(outcome, seen, fmt::format("{}, {:.1f} kB under way", subject, under_way / 1e3));
    const double ratio = run.share_of_packets("ecn_ce_rx");
    curve.points.push_back({under_way, ratio});
    if (ratio > 0 && first_marked == 0) first_marked = under_way;
    if (ratio == 0) highest_clear = under_way;
    if (under_way > static_cast<double>(threshold.count)) continue;
    marks_below += static_cast<double>(run.counter("ecn_ce_rx"));
    if (const auto marked = seen.find("marked"); marked != seen.end())
      mirrored_below = mirrored_below.value_or(0) + marked->second;
  }
  outcome.add(measured("packets marked below the threshold", marks_below, "packets", {}, 0, subject));
  if (mirrored_below)
    outcome.add(
        measured("packets marked below the threshold, mirrored port", *mirrored_below, "packets", {}, 0, subject));
  outcome.add(measured("bytes under way without a mark", highest_clear / 1e3, "kB", {}, {}, subject));
  if (first_marked == 0)
    outcome.because(
        fmt::format("threshold {}: nothing was marked, up to {:.6g} kB under way", subject, highest_clear / 1e3));
  outcome.add(measured("first marked at", first_marked > 0 ? first_marked / 1e3 : NAN, "kB",
                       static_cast<double>(threshold.count) / 1e3, {}, subject));
  outcome.add(std::move(curve));
}

void ecn(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  std::vector<Bytes> thresholds = parameters.sizes("thresholds");
  if (!bench.is_embedded() && thresholds.size() > 1) {
    outcome.anomaly("a device has one threshold at a time: the first is taken for the one that it is configured with");
    thresholds.resize(1);
  }
  for (const Bytes threshold : thresholds) mark_at(bench, parameters, outcome, threshold);
}

void pfc_incast(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  MeasuredCurve pauses{"PFC pause frames", "incast ratio", "senders", "rate", "frames/s", {}};
  MeasuredCurve throughput{"throughput at the receiver", "incast ratio", "senders", "frames", "of line rate", {}};
  for (const uint32_t ratio : parameters.counts("ratios")) {
    if (ratio + 1 > bench.ports()) {
      outcome.anomaly(fmt::format("{}:1 was left out: there are {} ports", ratio, bench.ports()));
      continue;
    }
    const std::string name = fmt::format("{}to1", ratio);
    const MirrorLook mirror(bench);
    const BmwgMeasurement run = bench.measure_flows(
        name,
        fmt::format("{{name: load, pattern: incast, from: [{}], to: {}, size: 1MiB, outstanding: 4}}",
                    bench.port_names(0, ratio), bench.port(ratio)),
        parameters.duration("duration"), {kNoCongestionControl, "transport.window=1024"});
    outcome.note(run, name);
    add_mirrored(outcome, mirror.since(), name);
    const double seconds = static_cast<double>(parameters.duration("duration").ps) * 1e-12;
    // Frames, since of few large messages many are under way at the end; what drains after it is not counted as more.
    double received = 0;
    for (const auto& row : run.rows("ports"))
      if (row.at("name") == bench.port(ratio)) received = std::stod(row.at("rx_bytes"));
    const double goodput = std::min(1.0, 8 * received / (bench.rate() * seconds));
    outcome.add(measured("PFC PAUSE frames received", static_cast<double>(run.counter("pause_rx")) / seconds,
                         "frames/s", {}, {}, name));
    outcome.add(measured("PFC PAUSE duration, longest of a port", run.longest_pause() * 1e3, "ms", {}, {}, name));
    outcome.add(measured("throughput at the receiver", goodput, "of line rate", {}, {}, name));
    // What is paused in time loses nothing; a device without pauses is not one that this test is about.
    const auto lost = static_cast<double>(run.counter("retransmitted"));
    if (run.counter("pause_rx") > 0) {
      outcome.add(measured("packets sent again", lost, "packets", {}, 0, name));
    } else {
      outcome.add(measured("packets sent again", lost, "packets", {}, {}, name));
      if (lost > 0) outcome.anomaly(name + ": the device lost packets and sent no pause");
    }
    pauses.points.push_back({static_cast<double>(ratio), static_cast<double>(run.counter("pause_rx")) / seconds});
    throughput.points.push_back({static_cast<double>(ratio), goodput});
  }
  outcome.add(std::move(pauses));
  outcome.add(std::move(throughput));
}

constexpr int kWindows = 6;

double packet_bytes(const BmwgBench& bench) {
  return static_cast<double>(bench.base().transport.mtu.value_or(4096));
}

/// The first window after the second M flows begin: a quarter of the time before, or what it takes a flow to send so
/// many packets at its fair share, of which one more or less must not look like a deviation.
Duration first_window(const BmwgBench& bench, const BmwgParameters& parameters, uint32_t flows) {
  constexpr double kPackets = 40;
  const double needed = kPackets * 2 * flows * 8 * packet_bytes(bench) / bench.rate();
  return std::max(Duration(parameters.duration("duration").ps / 4), Duration(static_cast<int64_t>(needed * 1e12)));
}

/// From the second flows' begin to the end of window `number`: 1, 2, 4, ... times the first one.
Duration end_of_window(Duration first, int number) {
  return number == 0 ? Duration() : Duration(first.ps << (number - 1));
}

double seconds_of_convergence(const BmwgBench& bench, const BmwgParameters& parameters) {
  double sum = 0;
  for (const uint32_t flows : parameters.counts("flows"))
    for (int window = 0; window <= kWindows; ++window)
      sum += static_cast<double>(
                 (parameters.duration("duration") + end_of_window(first_window(bench, parameters, flows), window)).ps) *
             1e-12;
  return sum;
}

/// The largest deviation of one from the mean of all, as a part of it.
double worst_deviation(const std::vector<double>& rates) {
  const double mean = mean_of(rates);
  double worst = 0;
  for (const double rate : rates) worst = std::max(worst, std::abs(rate / mean - 1));
  return worst;
}

/// 2M flows into one port, of which the second M begin later. Runs of growing length tell what each flow has sent by
/// then, and their differences its rate meanwhile.
void converge(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome, uint32_t flows) {
  const Duration begin = parameters.duration("duration"), first = first_window(bench, parameters, flows);
  const size_t sending = bench.ports() - 1;
  std::string from, to;
  for (uint32_t i = 0; i < flows; ++i) {
    from += (i == 0 ? "" : ", ") + bench.port(i % sending);
    to += (i == 0 ? "" : ", ") + bench.port(sending);
  }
  const auto entry = [&](const char* name, Duration start) {
    return fmt::format("{{name: {}, pattern: pairs, from: [{}], to: [{}], size: 16KiB, outstanding: 8, start: {}ps}}",
                       name, from, to, start.ps);
  };
  const std::string subject = fmt::format("M {}", flows);
  std::vector<double> before;
  MeasuredCurve curve{subject, "time since the second M flows began", "ms", "worst deviation from the fair share", "",
                      {}};
  double converged = -1;
  for (int window = 0; window <= kWindows; ++window) {
    const Duration after = end_of_window(first, window);
    const std::string name = fmt::format("m{}-{}", flows, window);
    const BmwgMeasurement run =
        bench.measure_flows(name, entry("first", Duration()) + ", " + entry("second", begin), begin + after);
    outcome.note(run, name);
    const std::vector<double> sent = run.packets_by_flow();
    if (!before.empty() && sent.size() == before.size()) {
      std::vector<double> rates;
      for (size_t i = 0; i < sent.size(); ++i) rates.push_back(sent[i] - before[i]);
      const double worst = worst_deviation(rates), at = static_cast<double>(after.ps) * 1e-9;
      curve.points.push_back({at, worst});
      if (worst > 0.1) converged = -1;
      if (worst <= 0.1 && converged < 0) converged = at;
    }
    before = sent;
  }
  if (converged < 0) {
    outcome.anomaly(fmt::format("{}: not all flows were within 10 % of the fair share by the end", subject));
  } else {
    outcome.add(measured("convergence time", converged, "ms", {}, {}, subject + ", at most"));
  }
  if (!curve.points.empty())
    outcome.add(measured("worst deviation from the fair share at the end", curve.points.back().y, "", {}, {}, subject));
  outcome.add(std::move(curve));
}

void convergence(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  for (const uint32_t flows : parameters.counts("flows")) converge(bench, parameters, outcome, flows);
}

/// A receiver pauses the network for good and then lets go: others must go on meanwhile, and all of them afterwards.
void storm(BmwgBench& bench, const BmwgParameters& parameters, BmwgOutcome& outcome) {
  const Duration length = parameters.duration("duration");
  const auto entry = [](const char* name, const std::string& from, const std::string& to) {
    return fmt::format("{{name: {}, pattern: pairs, from: [{}], to: [{}], size: 64KiB, outstanding: 4}}", name, from,
                       to);
  };
  // The pair beside shares no port with the storm.
  const std::string load =
      entry("paused", bench.port(0), bench.port(1)) + ", " + entry("beside", bench.port(2), bench.port(3));
  const BmwgMeasurement calm = bench.measure_flows("calm", load, length);
  outcome.note(calm, "calm");
  const Json& lossless =
      calm.summary().at("config").contains("fabric") ? calm.summary()["config"]["fabric"]["lossless"] : Json();
  const std::string priorities = lossless.is_array() && !lossless.empty() ? lossless.dump() : "[3]";
  // Pauses of 65535 quanta follow each other for the second quarter of the run.
  const double quanta = 65535.0 * 512 / bench.rate();
  const auto count = static_cast<uint32_t>(std::max(1.0, static_cast<double>(length.ps) * 1e-12 / 4 / (quanta / 2)));
  const std::string rule =
      fmt::format("impairments=[{{action: pause, port: {}, priorities: {}, from: {}ps, interval: {}ps, count: {}}}]",
                  bench.port(1), priorities, length.ps / 4, static_cast<int64_t>(quanta / 2 * 1e12), count);
  const BmwgMeasurement stormy = bench.measure_flows("storm", load, length, {rule});
  outcome.note(stormy, "storm");
  const auto rate_of = [](const BmwgMeasurement& run, const char* name) { return run.carried(name, "delivered_bps"); };
  const double beside = rate_of(stormy, "beside") / rate_of(calm, "beside");
  outcome.add(measured("PFC PAUSE frames sent", static_cast<double>(stormy.counter("pause_tx")), "frames", 1));
  outcome.add(measured("throughput beside the storm", beside, "of that without it", 0.9));
  outcome.add(measured("throughput of the paused flow", rate_of(stormy, "paused") / rate_of(calm, "paused"),
                       "of that without it", 0.25));
  outcome.add(measured("messages that failed",
                       stormy.carried("paused", "messages_failed") + stormy.carried("beside", "messages_failed"),
                       "messages", {}, 0));
}

std::string lacks_senders(const BmwgBench& bench, const BmwgParameters&) {
  return bench.ports() < 3 ? "two senders and a receiver take three ports" : "";
}

std::string lacks_lossless_incasts(const BmwgBench& bench, const BmwgParameters& parameters) {
  const std::string why = lacks_incasts(bench, parameters);
  return why.empty() ? lacks_lossless_priority(bench) : why;
}

std::string lacks_congestion_control(const BmwgBench& bench, const BmwgParameters& parameters) {
  const bool is_there = bench.base().transport.congestion.algorithm != AlgorithmName::kNone;
  return is_there ? lacks_two_ports(bench, parameters)
                  : "no congestion control is configured (transport.congestion_control.algorithm)";
}

std::string lacks_lossless_pairs(const BmwgBench& bench, const BmwgParameters&) {
  if (bench.ports() < 4) return "a storm, its sender and a pair beside it take four ports";
  return lacks_lossless_priority(bench);
}

double whole(const BmwgParameters& p) {
  return static_cast<double>(p.duration("duration").ps) * 1e-12;
}

}  // namespace

std::vector<BmwgTest> bmwg_congestion_tests() {
  return {
      {"T3.ecn",
       "ECN marking accuracy and threshold",
       "two ports send to one with ever more bytes under way, which bounds the queue in front of it from above",
       "nothing is marked while less than the threshold is under way, and something once much more is",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, ECN Marking Accuracy and Threshold",
       "a device that marks at the first of `thresholds`",
       {{"thresholds", "100KB,1MB,5MB", "100KB"}, {"duration", "10s", "50ms"}},
       lacks_senders,
       [](const BmwgBench&, const BmwgParameters& p) {
         return 7 * whole(p) * static_cast<double>(p.sizes("thresholds").size());
       },
       ecn,
       nullptr,
       "marks where they are made",
       1,
       "",
       refused_threshold},
      {"T3.pfc_incast",
       "PFC behavior under incast",
       "N ports send to one at line rate without congestion control",
       "PAUSE frames and their duration, throughput at the receiver; a device that pauses loses nothing",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, PFC Behavior Under Incast",
       "a lossless priority, in which the data are sent",
       {{"ratios", "2,4,8,16,32,64", "2,4"}, {"duration", "60s", "50ms"}},
       lacks_lossless_incasts,
       [](const BmwgBench&, const BmwgParameters& p) {
         return whole(p) * static_cast<double>(p.counts("ratios").size());
       },
       pfc_incast,
       nullptr,
       "PAUSE frames where they are sent"},
      {"T3.dcqcn",
       "congestion control convergence time",
       "M flows into one port, beside which M more begin",
       "the time until all 2M flows are within 10 % of the fair share for good; not judged",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, DCQCN Convergence Time",
       "a device that marks, and congestion control in the configuration",
       {{"flows", "4,16,64,256", "4"}, {"duration", "100ms", "10ms"}},
       lacks_congestion_control,
       seconds_of_convergence,
       convergence},
      {"T3.storm",
       "PFC storm resilience",
       "a port pauses the network again and again for a quarter of the time, beside flows that do not go there",
       "flows beside keep nine tenths of their throughput, and the paused one goes on afterwards",
       "draft-calabria-bmwg-ai-fabric-training-bench-03, PFC Storm and Deadlock Resilience",
       "a lossless priority, in which the data are sent",
       {{"duration", "300s", "400ms"}},
       lacks_lossless_pairs,
       [](const BmwgBench&, const BmwgParameters& p) { return 2 * whole(p); },
       storm},
  };
}

}  // namespace rankwire
