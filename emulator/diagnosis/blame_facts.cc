#include "emulator/diagnosis/blame_facts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/diagnosis/loop_turns.h"
#include "emulator/diagnosis/slow_rank.h"
#include "emulator/record/reference_band.h"

namespace rankwire {
namespace {

using Kind = Culprit::Kind;

/// Much waits where it is one part in so many of what waits for the most crowded cable, or more.
constexpr double kMuch = 100;

/// Ports of a switch are called "SWITCH.NEIGHBOUR", or "switch.PORT" of the one without `fabric`.
std::pair<std::string_view, std::string_view> ends_of(std::string_view port) {
  const size_t dot = port.find('.');
  if (dot == std::string_view::npos) return {};
  return {port.substr(0, dot), port.substr(dot + 1)};
}

/// The same for both directions.
Culprit cable_of(std::string_view port) {
  auto [a, b] = ends_of(port);
  if (b < a) std::swap(a, b);
  return {.kind = Kind::kCable, .name = std::string(a) + " - " + std::string(b)};
}

/// Ports of the generator, and those of switches.
struct Ports {
  std::vector<PortCounters> own, of_switches;
  bool is_switch(std::string_view name) const {
    return std::ranges::any_of(of_switches, [&](const PortCounters& port) { return ends_of(port.name).first == name; });
  }
};

Ports read_ports(const RunReader& record, const RecordedRun& run) {
  Ports ports;
  for (PortCounters& port : record.ports(run))
    (ends_of(port.name).first.empty() ? ports.own : ports.of_switches).push_back(std::move(port));
  return ports;
}

Culprit culprit_of(const CommonTrait& found) {
  switch (found.trait) {
    case Trait::kPortPair:
      return {.kind = Kind::kPort, .number = found.other};
    case Trait::kDestinationPort:
    case Trait::kSourcePort:
    case Trait::kPort:
      return {.kind = Kind::kPort, .number = found.value};
    case Trait::kDestinationHost:
    case Trait::kSourceHost:
    case Trait::kHost:
      return {.kind = Kind::kHost, .number = found.value};
    case Trait::kRankPair:
      return {.kind = Kind::kRank, .number = found.other};
    case Trait::kDestinationRank:
    case Trait::kSourceRank:
    case Trait::kRank:
      return {.kind = Kind::kRank, .number = found.value};
    case Trait::kJob:
    case Trait::kGroup:
      return {.kind = Kind::kJob, .number = found.value};
  }
  return {};
}

/// The port at which four fifths of what was dropped or corrupted on purpose was; of events that were kept.
std::optional<Culprit> impaired_port(const RunReader& record, const RecordedRun& run) {
  std::map<PortId, uint64_t> of_port;
  uint64_t all = 0;
  for (const ImpairmentRow& event : record.impairments(run))
    if (makes_lost(event.action)) ++of_port[event.port], ++all;
  for (const auto& [port, events] : of_port)
    if (events * 5 >= all * 4) return Culprit{.kind = Kind::kPort, .number = port.value};
  return std::nullopt;
}

void read_losses(const RunReader& record, const RecordedRun& run, const Losses& losses, const Ports& ports,
                 BlameFacts& facts) {
  facts.packets = losses.packets, facts.lost = losses.lost, facts.missed = losses.missed;
  facts.buffer_drops = losses.buffer_drops;
  for (const StormRow& storm : record.storms(run)) facts.storm_drops += storm.dropped;
  if (losses.where) facts.loss_place = culprit_of(*losses.where);
  // Both directions of a cable.
  std::map<std::string, std::pair<uint64_t, Culprit>> of_cables;
  uint64_t dropped = 0;
  for (const PortCounters& port : ports.of_switches) {
    const Culprit cable = cable_of(port.name);
    auto& [frames, culprit] = of_cables[cable.name];
    frames += port.dropped, culprit = cable, dropped += port.dropped;
  }
  for (const auto& [name, cable] : of_cables) {
    if (cable.first * 5 < dropped * 4 || dropped * 2 < losses.lost || dropped == 0) continue;
    facts.loss_place = cable.second, facts.counted_there = true;
    if (losses.lost == 0) facts.answers_lost = cable.first;
  }
  facts.impaired = losses.impaired;
  if (losses.impaired * 2 < losses.lost) return;
  if (const auto port = impaired_port(record, run)) {
    facts.loss_place = *port, facts.counted_there = true;
    if (losses.lost == 0) facts.answers_lost = losses.impaired;
  } else if (losses.lost == 0) {
    // Not at one place, and then of all alike.
    facts.answers_lost = std::max(facts.answers_lost, losses.impaired);
  }
}

/// Sources count NAKs, destinations the packets for which they sent them.
void read_order(const Ports& ports, BlameFacts& facts) {
  uint64_t naks = 0, arrivals = 0;
  for (const PortCounters& port : ports.own) naks += port.rdma.packet_seq_err, arrivals += port.rdma.out_of_sequence;
  facts.out_of_order = naks;
  const auto has_most = [](uint64_t count, uint64_t all) { return all > 0 && count * 5 >= all * 4; };
  for (const PortCounters& port : ports.own) {
    if (!has_most(port.rdma.packet_seq_err, naks) && !has_most(port.rdma.out_of_sequence, arrivals)) continue;
    facts.order_place = {.kind = Kind::kPort, .number = port.port.value};
    if (has_most(port.rdma.packet_seq_err, naks)) return;
  }
}

/// For how long the switch in front of a port of the generator was told not to send to it.
Duration held_towards(const Ports& ports, std::string_view own) {
  Duration longest;
  for (const PortCounters& port : ports.of_switches)
    if (ends_of(port.name).second == own) longest = std::max(longest, *std::ranges::max_element(port.paused));
  return longest;
}

void read_pauses(const RunReader& record, const RecordedRun& run, const Ports& ports, BlameFacts& facts) {
  std::map<std::string, uint64_t> by_rule;  // frames by name of the port
  uint64_t ruled = 0, kept = 0;
  for (const ImpairmentRuleRow& rule : record.impairment_rules(run))
    if (rule.action == "pause") ruled += rule.done;
  std::map<PortId, uint64_t> of_port;
  for (const ImpairmentRow& event : record.impairments(run))
    if (event.action == "pause") ++of_port[event.port], ++kept;
  Duration longest;
  uint64_t most_rule = 0, most_buffer = 0;
  for (const PortCounters& port : ports.own) {
    const Culprit culprit{.kind = Kind::kPort, .number = port.port.value};
    // Of events that were not kept each port has as large a part as of those that were.
    const uint64_t on_purpose = kept == 0 ? 0 : std::min(port.pause_tx, of_port[port.port] * ruled / kept);
    const uint64_t others = port.pause_tx - on_purpose;
    const Duration held = held_towards(ports, port.name);
    facts.pauses_by_rule += on_purpose, facts.pauses_by_buffer += others, facts.pauses_heard += port.pause_rx;
    if (on_purpose > most_rule) most_rule = on_purpose, facts.paused_by_rule = culprit, facts.held_by_rule = held;
    if (others > most_buffer) most_buffer = others, facts.paused_by_buffer = culprit, facts.held_by_buffer = held;
    const Duration paused = *std::ranges::max_element(port.paused);
    if (paused > longest) longest = paused, facts.paused = culprit;
  }
}

/// Half of the marks fell to intervals at whose end as much waited, or less.
std::optional<Bytes> median_marked(const QueueSampling& sampling) {
  std::vector<std::pair<Bytes, uint64_t>> marks;
  uint64_t all = 0;
  for (const QueueSampleRow& row : sampling.rows)
    if (row.marks > 0) marks.emplace_back(row.length, row.marks), all += row.marks;
  std::ranges::sort(marks);
  uint64_t seen = 0;
  for (const auto& [length, count] : marks)
    if (seen += count; seen * 2 >= all) return length;
  return std::nullopt;
}

/// By what the NICs sent, and for how long that was on their lines.
std::optional<Bytes> sent_in(const RunReader& record, const RecordedRun& run, Duration time) {
  Duration transmitting;
  for (const GroupCauses& group : record.causes_of_groups(run)) transmitting += group.causes[Cause::kTransmitting];
  if (transmitting <= Duration()) return std::nullopt;
  return Bytes(static_cast<int64_t>(static_cast<double>(run.end.counters.bytes_tx) * static_cast<double>(time.ps) /
                                    static_cast<double>(transmitting.ps)));
}

void read_congestion(const RunReader& record, const RecordedRun& run, const Ports& ports, BlameFacts& facts) {
  uint64_t most = 0;
  for (const PortCounters& port : ports.of_switches) {
    facts.marked += port.marked;
    if (port.marked > most)
      most = port.marked, facts.marking = {.kind = Kind::kSwitch, .name = std::string(ends_of(port.name).first)};
  }
  if (most == 0) facts.marked = run.end.counters.ecn_ce_rx;
  for (const LatencyRow& row : record.latencies(run))
    if (!row.port.valid() && row.kind == LatencyKind::kRoundTrip && row.count > 0)
      facts.shortest_trip = row.min, facts.typical_trip = row.p50;
  if (facts.shortest_trip) facts.on_the_way = sent_in(record, run, *facts.shortest_trip);
}

/// What ports counted of losses is of all jobs: of each kind the job has had as large a part as of what was lost.
void take_part(BlameFacts& facts, uint64_t lost_of_run) {
  if (lost_of_run == 0) return;
  const double part = static_cast<double>(facts.lost) / static_cast<double>(lost_of_run);
  const auto scale = [&](uint64_t& count) {
    count = static_cast<uint64_t>(std::llround(part * static_cast<double>(count)));
  };
  for (uint64_t* count : {&facts.missed, &facts.buffer_drops, &facts.storm_drops, &facts.impaired}) scale(*count);
  if (facts.queue_drops) scale(*facts.queue_drops);
}

void read_receivers(const RunReader& record, const RecordedRun& run, std::optional<JobId> job, BlameFacts& facts) {
  if (!job) facts.rnr_naks = run.end.counters.rnr_naks;
  if (run.end.counters.rnr_naks == 0) return;
  std::vector<TroubledPair> pairs;
  record.for_each_pair(run, [&](const PairTraffic& pair) {
    if (job && pair.job != *job) return;
    if (job) facts.rnr_naks += pair.rnr_naks;
    pairs.push_back({.job = pair.job,
                     .group = pair.group,
                     .source = pair.source,
                     .destination = pair.destination,
                     .trouble = static_cast<double>(pair.rnr_naks),
                     .traffic = static_cast<double>(pair.packets)});
  });
  if (facts.rnr_naks == 0) return;
  // Receives are posted by ranks, whatever NIC they stand behind.
  if (const auto where = common_trait(pairs, {}, {facts.rnr_naks, {}})) facts.not_ready = culprit_of(*where);
}

/// Of cables between switches the direction that carries most beside the others of the same switch that lead to
/// switches.
BlamedTime fullest_cable(const Ports& ports) {
  BlamedTime fullest;
  std::map<std::string_view, std::pair<uint64_t, uint64_t>> siblings;  // bytes, ports
  for (const PortCounters& port : ports.of_switches) {
    const auto [from, to] = ends_of(port.name);
    if (!ports.is_switch(to)) continue;
    siblings[from].first += port.tx_bytes, ++siblings[from].second;
  }
  for (const PortCounters& port : ports.of_switches) {
    const auto [from, to] = ends_of(port.name);
    if (!ports.is_switch(to) || siblings[from].first == 0) continue;
    const double factor = static_cast<double>(port.tx_bytes) * static_cast<double>(siblings[from].second) /
                          static_cast<double>(siblings[from].first);
    if (siblings[from].second > 1 && factor > fullest.factor)
      fullest = {.time = {}, .culprit = cable_of(port.name), .count = port.tx_bytes, .factor = factor};
  }
  return fullest;
}

/// The sum of the lengths of a port's queues at the ends of the intervals, each as long as it lasted, in byte
/// intervals.
std::map<std::string, double> waiting(const QueueSampling& sampling, Time end) {
  std::map<std::pair<uint32_t, uint8_t>, std::pair<Time, Bytes>> last;
  std::map<std::string, double> areas;
  const auto hold = [&](uint32_t port, const std::pair<Time, Bytes>& sample, Time until) {
    areas[sampling.ports[port]] +=
        static_cast<double>(sample.second.count) * static_cast<double>((until - sample.first).ps);
  };
  for (const QueueSampleRow& row : sampling.rows) {
    const auto [place, is_new] = last.try_emplace({row.port, row.priority}, row.time, row.length);
    if (is_new) continue;
    hold(row.port, place->second, row.time);
    place->second = {row.time, row.length};
  }
  for (const auto& [queue, sample] : last) hold(queue.first, sample, std::max(end, sample.first));
  return areas;
}

/// Where most waits for cables between switches: a cable, or the switch where several cables of it end for which much
/// waits.
Culprit slowest_place(const RunReader& record, const RecordedRun& run, const Ports& ports) {
  const auto sampling = record.queue_samples(run);
  if (!sampling) return {};
  std::map<std::string, double> crowded;  // by name of a switch's port
  double most = 0;
  for (const auto& [name, area] : waiting(*sampling, Time() + run.end.completion)) {
    if (!ports.is_switch(ends_of(name).second) || area <= 0) continue;
    crowded.emplace(name, area);
    most = std::max(most, area);
  }
  std::erase_if(crowded, [&](const auto& port) { return port.second * kMuch < most; });
  std::set<std::string> cables;
  std::map<std::string_view, std::pair<double, std::set<std::string>>> of_switches;  // what waits, cables
  for (const auto& [name, area] : crowded) {
    const std::string cable = cable_of(name).name;
    cables.insert(cable);
    const auto [from, to] = ends_of(name);
    for (const std::string_view end : {from, to}) of_switches[end].first += area, of_switches[end].second.insert(cable);
  }
  if (cables.empty()) return {};
  if (cables.size() == 1) return {.kind = Kind::kCable, .name = *cables.begin()};
  const auto busiest = std::ranges::max_element(
      of_switches, {}, [](const auto& entry) { return std::pair(entry.second.second.size(), entry.second.first); });
  return {.kind = Kind::kSwitch, .name = std::string(busiest->first)};
}

/// What `flow` takes less without something. The formulas of `alpha_beta` know nothing of any of it.
std::optional<BlamedTime> saved_without(const RunReader& record, const RecordedRun& reference, std::string_view kind) {
  const RecordedRun* const flow = run_of_flow(record);
  if (flow == nullptr) return std::nullopt;
  for (const WhatIfRow& row : record.what_if())
    if (row.kind == kind && flow->end.completion > row.completion)
      return BlamedTime{.time = flow->end.completion - row.completion,
                        .culprit = {},
                        .in_gap = reference.start.model == "alpha_beta"};
  return std::nullopt;
}

/// Of a job, absent: of the one that ended last, what it takes in the reference beyond what it takes alone, and with
/// whom it shared links longest there. Absent with fewer than two jobs, or where either is not known.
std::optional<BlamedTime> lost_to_other_jobs(const RunReader& record, const RecordedRun& run,
                                             const RecordedRun& reference, std::optional<JobId> job) {
  const std::vector<JobSpan>& spans = run.end.jobs;
  if (record.jobs().size() < 2 || spans.size() != record.jobs().size() || reference.end.jobs.size() != spans.size())
    return std::nullopt;
  size_t last = 0;
  for (size_t j = 0; j < spans.size(); ++j)
    if (spans[j].end && (!spans[last].end || *spans[j].end > *spans[last].end)) last = j;
  const JobId victim = job.value_or(JobId(static_cast<uint32_t>(last)));
  const JobAlone* const alone = record.alone(victim);
  const std::optional<Duration> together = reference.end.jobs[victim.value].completion();
  if (alone == nullptr || !together || !is_of(reference, alone->model) || *together <= alone->completion)
    return std::nullopt;
  std::map<JobId, Duration> beside;  // time in which both used a link, of all links
  for (const SharedLinkRow& row : record.shared_links(reference)) {
    if (row.other != victim) continue;
    beside[row.job] += row.shared;
  }
  BlamedTime lost{.time = *together - alone->completion, .culprit = {}};
  const auto most = std::ranges::max_element(beside, {}, [](const auto& other) { return other.second; });
  if (most != beside.end()) lost.culprit = {.kind = Kind::kJob, .number = most->first.value};
  return lost;
}

void read_shared(const RunReader& record, const RecordedRun& run, const RecordedRun& reference, const Ports& ports,
                 BlameFacts& facts) {
  if (facts.collisions = saved_without(record, reference, "collisions"); facts.collisions) {
    const BlamedTime saved = *facts.collisions;
    facts.collisions = fullest_cable(ports);
    facts.collisions->time = saved.time, facts.collisions->in_gap = saved.in_gap;
  }
  if (facts.failures = saved_without(record, reference, "failures"); facts.failures)
    facts.failures->culprit = slowest_place(record, run, ports);
  facts.background = saved_without(record, reference, "background");
  if (auto jobs = lost_to_other_jobs(record, run, reference, std::nullopt);
      jobs && (!facts.background || jobs->time > facts.background->time * 2)) {
    // Alone a job is without background, too: the larger half is what the other jobs cost.
    if (facts.background) jobs->time = jobs->time - facts.background->time;
    facts.background = std::move(jobs);
  } else if (facts.background) {
    const std::vector<BackgroundInfo>& entries = record.background();
    for (size_t i = 0; i < std::min(entries.size(), run.end.background.size()); ++i) {
      const auto bytes = static_cast<uint64_t>(run.end.background[i].bytes_delivered.count);
      if (bytes <= facts.background->count) continue;
      facts.background->count = bytes;
      facts.background->culprit = {.kind = Kind::kJob, .number = entries[i].job.value, .name = entries[i].name};
    }
  }
}

}  // namespace

BlameFacts blame_facts(const RunReader& record, const BlameSubject& subject) {
  const RecordedRun* const run = record.emulated();
  const RecordedRun* const reference = record.reference();
  BlameFacts facts;
  facts.completion = subject.completion, facts.gap = subject.gap;
  facts.unsearched = subject.unsearched;
  facts.worth = subject.worth;
  if (subject.waterfall != nullptr) facts.parts = subject.waterfall->parts;
  facts.generator = generator_delay(*run, reference);
  facts.turn = typical_turn(run->end.turns);
  const Ports ports = read_ports(record, *run);
  facts.knows_switches = !ports.of_switches.empty();
  read_losses(record, *run, *subject.losses, ports, facts);
  facts.timeouts = run->end.counters.timeouts;
  facts.knows_causes = facts.parts && !record.causes_of_groups(*run).empty();
  if (const auto sampling = record.queue_samples(*run)) {
    facts.queue_drops = 0;
    for (const QueueSampleRow& row : sampling->rows) *facts.queue_drops += row.drops;
    facts.marked_length = median_marked(*sampling);
  }
  if (subject.job) take_part(facts, subject.lost_of_run);
  read_order(ports, facts);
  read_pauses(record, *run, ports, facts);
  read_congestion(record, *run, ports, facts);
  read_receivers(record, *run, subject.job, facts);
  if (subject.path != nullptr) facts.slow_rank = slow_rank(record, *run, *subject.path);
  if (subject.job) {
    facts.background = lost_to_other_jobs(record, *run, *reference, subject.job);
  } else {
    read_shared(record, *run, *reference, ports, facts);
  }
  return facts;
}

}  // namespace rankwire
