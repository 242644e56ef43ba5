#include "emulator/assembly/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/engine/background_plan.h"
#include "emulator/input/size_table.h"
#include "emulator/record/message_join.h"
#include "emulator/workload/traffic_pattern.h"
#include "fabric/network.h"

namespace rankwire {
namespace {

bool is_host_number(const std::string& end) {
  return end.find_first_not_of("0123456789") == std::string::npos;
}

/// Whether the places of some ranks are given one by one, so that no rule says where others would be.
bool has_explicit_places(const RunConfig& config) {
  if (config.jobs.empty()) return config.mapping.policy == MappingPolicy::kExplicit;
  return std::ranges::any_of(config.jobs, [&](const JobConfig& job) {
    return job.mapping.value_or(config.mapping).policy == MappingPolicy::kExplicit;
  });
}

class EndFinder {
 public:
  EndFinder(const RunConfig& config, const Placement& placed, const PlacementOptions& options)
      : config_(config), options_(options), places_(placed.ranks) {}

  /// The end's place in `ends()`. `key` is where it is named.
  uint32_t find(const std::string& name, const std::string& key) {
    const Place place =
        is_host_number(name) ? place_of_host(static_cast<uint32_t>(std::stoul(name)), key) : place_of_port(name);
    const auto same = [&](const Place& other) { return other.host == place.host && other.nic == place.nic; };
    const auto known = std::ranges::find_if(ends_.places, same);
    if (known != ends_.places.end()) return static_cast<uint32_t>(known - ends_.places.begin());
    ends_.places.push_back(place);
    ends_.names.push_back(is_host_number(name) ? "host " + name : name);
    places_.push_back(place);
    return static_cast<uint32_t>(ends_.places.size() - 1);
  }
  const BackgroundEnds& ends() const { return ends_; }

 private:
  Place place_of_host(uint32_t host, const std::string& key) const {
    const Place* first = nullptr;
    for (const Place& place : places_)
      if (place.host == host && (first == nullptr || place.nic < first->nic)) first = &place;
    if (first != nullptr) return {.host = host, .npu = 0, .nic = first->nic, .port = first->port};
    if (has_explicit_places(config_))
      fail_input(
          "{}: host {} has no rank, and with 'policy: explicit' nothing else says which port it stands behind; "
          "name the port instead",
          key, host);
    const uint32_t port = host * options_.nics % options_.ports;
    return {.host = host,
            .npu = 0,
            .nic = 0,
            .port = options_.rank_ports.empty() ? PortId(port) : options_.rank_ports[port]};
  }

  Place place_of_port(const std::string& name) const {
    const auto configured = std::ranges::find(config_.ports, name, &PortConfig::name);
    const PortId port(static_cast<uint32_t>(configured - config_.ports.begin()));
    const auto behind = std::ranges::find(places_, port, &Place::port);
    if (behind != places_.end()) return {.host = behind->host, .npu = 0, .nic = behind->nic, .port = port};
    uint32_t hosts = options_.hosts;
    for (const Place& place : places_) hosts = std::max(hosts, place.host + 1);
    return {.host = hosts, .npu = 0, .nic = 0, .port = port};
  }

  const RunConfig& config_;
  const PlacementOptions& options_;
  std::vector<Place> places_;  // of ranks, and of the ends so far
  BackgroundEnds ends_;
};

/// What an entry leaves out: every port that ranks may have; nobody of an incast's receiver.
std::vector<std::string> named_from(const RunConfig& config, const PlacementOptions& options,
                                    const BackgroundConfig& entry) {
  if (!entry.from.empty()) return entry.from;
  std::vector<std::string> names;
  for (const PortId port : options.rank_ports) names.push_back(config.ports[port.value].name);
  return names;
}

TrafficPattern traffic_pattern(BackgroundPatternName name) {
  switch (name) {
    case BackgroundPatternName::kPairs:
      return TrafficPattern::kPairs;
    case BackgroundPatternName::kAllToAll:
      return TrafficPattern::kAllToAll;
    case BackgroundPatternName::kPermutation:
      return TrafficPattern::kPermutation;
    case BackgroundPatternName::kIncast:
      return TrafficPattern::kIncast;
    case BackgroundPatternName::kRandomPairs:
      return TrafficPattern::kRandomPairs;
  }
  return TrafficPattern::kPairs;
}

const char* pattern_name(BackgroundPatternName name) {
  switch (name) {
    case BackgroundPatternName::kPairs:
      return "pairs";
    case BackgroundPatternName::kAllToAll:
      return "all_to_all";
    case BackgroundPatternName::kPermutation:
      return "permutation";
    case BackgroundPatternName::kIncast:
      return "incast";
    case BackgroundPatternName::kRandomPairs:
      return "random_pairs";
  }
  return "";
}

SizeDistribution sizes_of(const MessageSizeConfig& size) {
  if (!size.file.empty()) return SizeDistribution(read_size_table(size.file));
  if (const auto points = published_sizes(size.published)) return SizeDistribution(*points);
  return SizeDistribution(size.fixed);
}

BackgroundEntry entry_of(const BackgroundConfig& config) {
  BackgroundEntry entry{.name = config.name,
                        .job = {},
                        .sizes = sizes_of(config.size),
                        .arrivals = BackgroundArrivals::kClosed,
                        .limit = config.outstanding.value_or(config.backlog),
                        .start = Time() + config.start};
  if (config.rate) {
    entry.rate = *config.rate;
    entry.arrivals = config.poisson ? BackgroundArrivals::kPoisson : BackgroundArrivals::kEven;
  }
  if (config.stop) entry.stop = Time() + *config.stop;
  if (config.burst) entry.on = config.burst->on, entry.off = config.burst->off;
  return entry;
}

}  // namespace

BackgroundEnds background_ends(const RunConfig& config, const Placement& placed, const PlacementOptions& options) {
  EndFinder finder(config, placed, options);
  BackgroundEnds ends;
  for (size_t i = 0; i < config.background.size(); ++i) {
    const BackgroundConfig& entry = config.background[i];
    const std::string key = fmt::format("{}: background[{}]", entry.place, i);
    BackgroundEnds::OfEntry& of_entry = ends.entries.emplace_back();
    for (const std::string& name : entry.to) of_entry.to.push_back(finder.find(name, key + ".to"));
    for (const std::string& name : named_from(config, options, entry)) {
      const uint32_t end = finder.find(name, key + ".from");
      // Everybody but the receiver, where nobody is named.
      if (!entry.from.empty() || entry.pattern != BackgroundPatternName::kIncast || end != of_entry.to.front())
        of_entry.from.push_back(end);
    }
    if (of_entry.to.empty() && entry.pattern != BackgroundPatternName::kPermutation) of_entry.to = of_entry.from;
  }
  ends.places = finder.ends().places;
  ends.names = finder.ends().names;
  return ends;
}

void plan_background(Setup& setup) {
  const RunConfig& config = setup.config;
  if (config.background.empty()) return;
  const BackgroundEnds& ends = setup.background_ends;
  const auto meet = [&](uint32_t a, uint32_t b) {
    const Place &x = ends.places[a], &y = ends.places[b];
    return x.host != y.host && x.port != y.port;
  };
  std::vector<BackgroundTold> told;
  for (size_t i = 0; i < config.background.size(); ++i) {
    const BackgroundConfig& entry = config.background[i];
    const BackgroundEnds::OfEntry& of_entry = ends.entries[i];
    BackgroundTold& one = told.emplace_back(BackgroundTold{.entry = entry_of(entry), .pairs = {}});
    one.pairs =
        traffic_pairs(traffic_pattern(entry.pattern),
                      {.from = of_entry.from, .to = of_entry.to, .pairs = entry.pairs.value_or(0), .meet = meet},
                      mix64(config.seed) ^ mix64(i + 1));
    if (one.pairs.empty())
      fail_input(
          "{}: background[{}]: no two of its ends stand behind different ports of different hosts, so that "
          "nothing would cross the network",
          entry.place, i);
    for (const auto& [from, to] : one.pairs)
      if (!meet(from, to))
        fail_input(
            "{}: background[{}]: {} and {} stand behind one port or in one host, so that what one sends to the "
            "other would never cross the network",
            entry.place, i, ends.names[from], ends.names[to]);
  }
  const auto jobs = static_cast<uint32_t>(std::max<size_t>(config.jobs.size(), 1));
  setup.background = add_background(setup.plan, setup.placement, std::move(told), ends.names, jobs, config.seed);
  for (const SimulationFidelity model : config.simulation.fidelity)
    if (!knows_background(model))
      setup.warnings.push_back(fmt::format(
          "simulation.fidelity: {} knows nothing of the background, as if there were none", to_string(model)));
}

bool knows_background(SimulationFidelity model) {
  return model == SimulationFidelity::kFlow || model == SimulationFidelity::kTwin;
}

std::vector<BackgroundInfo> background_infos(const Setup& setup) {
  std::vector<BackgroundInfo> infos;
  for (size_t i = 0; i < setup.background.entries.size(); ++i) {
    const BackgroundEntry& entry = setup.background.entries[i];
    const auto is_of = [i](const BackgroundFlow& flow) { return flow.entry == i; };
    BackgroundInfo& info = infos.emplace_back(
        BackgroundInfo{.job = entry.job,
                       .name = entry.name,
                       .pattern = pattern_name(setup.config.background[i].pattern),
                       .flows = static_cast<uint32_t>(std::ranges::count_if(setup.background.flows, is_of)),
                       .mean = entry.sizes.mean(),
                       .limit = entry.limit,
                       .start = entry.start});
    if (entry.arrivals != BackgroundArrivals::kClosed) info.rate = entry.rate;
    if (entry.stop != Time::never()) info.stop = entry.stop;
  }
  return infos;
}

std::vector<BackgroundRow> background_rows(std::span<const BackgroundCounters> counters) {
  std::vector<BackgroundRow> rows;
  const auto bytes = [](uint64_t count) { return Bytes(static_cast<int64_t>(count)); };
  for (const BackgroundCounters& c : counters) {
    BackgroundRow& row = rows.emplace_back(BackgroundRow{.offered = c.offered,
                                                         .posted = c.posted,
                                                         .acknowledged = c.acknowledged,
                                                         .delivered = c.delivered,
                                                         .failed = c.failed,
                                                         .bytes_offered = bytes(c.bytes_offered),
                                                         .bytes_posted = bytes(c.bytes_posted),
                                                         .bytes_delivered = bytes(c.bytes_delivered),
                                                         .payload_errors = c.payload_errors,
                                                         .failed_flows = c.failed_flows,
                                                         .completion = latency_of(c.completion)});
    if (c.delivered == 0) continue;
    if (c.first_arrival != Time::never()) row.first_arrival = c.first_arrival;
    row.last_delivery = c.last_delivery;
  }
  return rows;
}

std::vector<std::string> background_findings(const BackgroundPlan& background,
                                             std::span<const BackgroundCounters> counters, Time end, Duration silence) {
  std::vector<std::string> findings;
  for (size_t i = 0; i < counters.size(); ++i) {
    const BackgroundCounters& c = counters[i];
    const std::string& name = background.entries[i].name;
    if (c.failed_flows > 0)
      findings.push_back(
          fmt::format("background {}: {} of its flows failed and have sent nothing since, {} messages are "
                      "lost",
                      name, c.failed_flows, c.failed));
    if (c.behind > std::max(milliseconds(1), Duration((end - Time()).ps / 100)))
      findings.push_back(fmt::format(
          "background {}: its messages were up to {:g} s late, since more of them are due than this machine can post: "
          "give larger ones, or fewer flows",
          name, static_cast<double>(c.behind.ps) / 1e12));
    const Time last = std::max(c.last_delivery, background.entries[i].start);
    if (c.posted > c.acknowledged + c.failed && last < end && end - last > silence)
      findings.push_back(fmt::format("background {}: {} messages are under way, and none has arrived for {:g} s", name,
                                     c.posted - c.acknowledged - c.failed,
                                     static_cast<double>((end - last).ps) / 1e12));
  }
  return findings;
}

std::vector<BackgroundLoad> background_loads(const Setup& setup) {
  std::vector<BackgroundLoad> loads(setup.config.ports.size());
  const Framing framing = framing_of(setup.config.transport);
  for (const BackgroundFlow& flow : setup.background.flows) {
    const BackgroundEntry& entry = setup.background.entries[flow.entry];
    const Connection& c = setup.plan.transport.connections[flow.connection.value];
    const Nic &source = setup.placement.nics[c.source_nic.value],
              &destination = setup.placement.nics[c.destination_nic.value];
    const Bytes mean = entry.sizes.mean();
    const double line = static_cast<double>(line_size(mean, framing_of(source, framing)).count) /
                        static_cast<double>(mean.count) * static_cast<double>(entry.rate.bits_per_second);
    const auto add = [&](uint32_t& flows, Bandwidth& offered) {
      ++flows;
      offered.bits_per_second += static_cast<int64_t>(line);
    };
    add(loads[source.port.value].flows_tx, loads[source.port.value].offered_tx);
    add(loads[destination.port.value].flows_rx, loads[destination.port.value].offered_rx);
  }
  return loads;
}

}  // namespace rankwire
