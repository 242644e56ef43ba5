#include "emulator/diagnosis/network_waits.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace rankwire {
namespace {

/// Of a packet on its way through three tiers of switches: as often it is stored and forwarded, besides its way itself.
constexpr int64_t kMostHops = 6;
/// Messages of the model that are looked at for its latencies.
constexpr uint32_t kMessages = 1000;

Duration part_of(Duration whole, double part) {
  return std::min(whole, Duration(static_cast<int64_t>(static_cast<double>(whole.ps) * std::clamp(part, 0.0, 1.0))));
}

/// One way, as the model has it: the longest from each port, and of all under the invalid one. Only `flow` has messages
/// that are acknowledged just so much after their delivery.
std::map<PortId, Duration> latencies_of_model(const RunReader& record, std::span<const RankNic> nics) {
  std::map<PortId, Duration> longest;
  for (const RecordedRun* model : record.models()) {
    if (model->start.model != "flow") continue;
    for (const JoinedMessage& message : record.slowest_messages(*model, kMessages)) {
      if (message.acked == Time::never() || message.id.source >= nics.size()) continue;
      for (const PortId port : {nics[message.id.source].port, PortId()})
        longest[port] = std::max(longest[port], message.acked - message.delivered);
    }
    if (!longest.empty()) break;
  }
  return longest;
}

}  // namespace

NetworkWaits::NetworkWaits(const RunReader& record, const RecordedRun& run, const Executions& executions,
                           const std::set<ConnectionId>& waiting)
    : nics_(record.rank_nics(run)) {
  find_leaves(record, run);
  find_cables(record);
  read_lines(record, run, executions, waiting);
  read_round_trips(record, run);
}

void NetworkWaits::find_leaves(const RunReader& record, const RecordedRun& run) {
  // A port of the generator and that of the switch behind it have one number: "p0", "leaf0.p0".
  std::map<PortId, std::string> names;
  std::map<std::string, uint32_t> numbers;
  const std::vector<PortCounters> ports = record.ports(run);
  for (const PortCounters& port : ports) names.emplace(port.port, port.name);
  for (const PortCounters& port : ports) {
    const std::string behind = "." + names.at(port.port);
    if (!port.name.ends_with(behind)) continue;
    const std::string leaf = port.name.substr(0, port.name.size() - behind.size());
    leaves_[port.port] = numbers.try_emplace(leaf, static_cast<uint32_t>(numbers.size())).first->second;
  }
}

void NetworkWaits::find_cables(const RunReader& record) {
  std::map<std::string, uint32_t> numbers;
  const auto number = [&](const std::string& name) {
    return numbers.try_emplace(name, static_cast<uint32_t>(numbers.size())).first->second;
  };
  for (const ConnectionCables& row : record.connection_cables())
    cables_[row.connection] = {CableEnds{number(row.out), number(row.into)},
                               CableEnds{number(row.back_out), number(row.back_into)}};
}

std::vector<NetworkWaits::Place> NetworkWaits::places_of(ConnectionId connection, PortId from, PortId to,
                                                         bool back) const {
  if (back) std::swap(from, to);
  std::vector<Place> places = {{PlaceKind::kToPort, to.value}};
  const auto leaf = leaves_.find(from), other = leaves_.find(to);
  if (leaf == leaves_.end() || other == leaves_.end() || leaf->second == other->second) return places;
  if (const auto cables = cables_.find(connection); cables != cables_.end()) {
    const CableEnds& ends = cables->second[back ? 1 : 0];
    places.emplace_back(PlaceKind::kOnCable, ends.out);
    if (ends.into != ends.out) places.emplace_back(PlaceKind::kOnCable, ends.into);
    return places;
  }
  places.emplace_back(PlaceKind::kOutOfLeaf, leaf->second);
  places.emplace_back(PlaceKind::kIntoLeaf, other->second);
  return places;
}

void NetworkWaits::read_lines(const RunReader& record, const RecordedRun& run, const Executions& executions,
                              const std::set<ConnectionId>& waiting) {
  std::map<ConnectionId, Way> ways;
  std::map<JobId, const BackgroundInfo*> background;
  for (const BackgroundInfo& entry : record.background()) background.emplace(entry.job, &entry);
  const Time end = Time() + run.end.completion;
  uint64_t packets = 0;
  Duration transmitting;
  record.for_each_flow(run, [&](const RecordedFlow& row) {
    const Connection& connection = row.flow.connection;
    if (!row.flow.counters.causes || connection.destination.value >= nics_.size()) return;
    const Duration on_line = (*row.flow.counters.causes)[Cause::kTransmitting];
    const Way way{.from = connection.source.value < nics_.size() ? nics_[connection.source.value].port : PortId(),
                  .to = nics_[connection.destination.value].port,
                  .job = connection.job};
    packets += row.flow.counters.packets, transmitting += on_line;
    ways.emplace(connection.id, way);
    // No execution says when.
    if (const auto entry = background.find(connection.job); entry != background.end())
      for (const Place& place : places_of(connection.id, way.from, way.to, false))
        jobs_[{place, way.job}].add(entry->second->start, std::min(end, entry->second->stop.value_or(end)), on_line);
  });
  if (packets > 0) frame_time_ = Duration(transmitting.ps / static_cast<int64_t>(packets));
  std::set<Place> asked;
  for (const ConnectionId id : waiting) {
    const auto way = ways.find(id);
    if (way == ways.end()) continue;
    for (const bool back : {false, true})
      for (const Place& place : places_of(id, way->second.from, way->second.to, back)) asked.insert(place);
  }
  const auto meets = [&](ConnectionId id, const Way& way) {
    return std::ranges::any_of(places_of(id, way.from, way.to, false),
                               [&](const Place& at) { return asked.contains(at); });
  };
  struct Sent {
    RankId rank;
    uint32_t node, iteration;
    ConnectionId connection;
    Duration on_line;
  };
  std::vector<Sent> all;
  record.for_each_cause(run, [&](const CauseRecord& row) {
    const auto way = ways.find(row.connection);
    if (way != ways.end() && meets(row.connection, way->second))
      all.push_back({row.rank, row.node, row.iteration, row.connection, row.causes[Cause::kTransmitting]});
  });
  const auto key = [](const auto& of) { return std::tuple(of.rank, of.node, of.iteration); };
  std::ranges::sort(all, {}, [&](const Sent& sent) { return std::pair(key(sent), sent.connection); });
  for (uint32_t i = 0; i < executions.count(); ++i) {
    const Executions::Execution& execution = executions.at(i);
    const auto behind = std::ranges::upper_bound(all, key(execution), {}, key);
    for (auto sent = std::ranges::lower_bound(all, key(execution), {}, key); sent != behind; ++sent) {
      const Way& way = ways.at(sent->connection);
      for (const Place& place : places_of(sent->connection, way.from, way.to, false))
        if (asked.contains(place)) jobs_[{place, way.job}].add(execution.start, execution.end, sent->on_line);
      if (waiting.contains(sent->connection)) own_[sent->connection].add(execution.start, execution.end, sent->on_line);
    }
  }
  for (auto& [place, times] : jobs_) times.finish();
  for (auto& [connection, times] : own_) times.finish();
}

void NetworkWaits::read_round_trips(const RunReader& record, const RecordedRun& run) {
  const std::map<PortId, Duration> model = latencies_of_model(record, nics_);
  const std::vector<LatencyRow> rows = record.latencies(run);
  Duration least = Duration::max();
  for (const LatencyRow& row : rows)
    if (row.kind == LatencyKind::kRoundTrip && row.count > 0) least = std::min(least, row.min);
  for (const LatencyRow& row : rows) {
    if (row.kind != LatencyKind::kRoundTrip || row.count == 0 || row.mean <= Duration()) continue;
    Parts& parts = parts_[row.port];
    const auto mean = static_cast<double>(row.mean.ps);
    // Beyond the least of its own port, which the longer way ends at; where that is not known, all of it is waiting.
    parts.queueing = static_cast<double>((row.mean - (model.empty() ? least : row.min)).ps) / mean;
    auto latency = model.find(row.port);
    if (latency == model.end()) latency = model.find(PortId());
    if (latency == model.end()) continue;
    const Duration longer = row.min - latency->second * 2 - frame_time_ * kMostHops;
    parts.path_latency = static_cast<double>(std::max(Duration(), longer).ps) / mean;
  }
}

const NetworkWaits::Parts& NetworkWaits::parts_of(const Connection& connection) const {
  static constexpr Parts kNone;
  auto parts = parts_.end();
  if (connection.source.value < nics_.size()) parts = parts_.find(nics_[connection.source.value].port);
  if (parts == parts_.end()) parts = parts_.find(PortId());
  return parts == parts_.end() ? kNone : parts->second;
}

NetworkWaits::Traffic NetworkWaits::traffic_at(const Place& place, const Connection& connection, bool passes, Time from,
                                               Time to) const {
  Traffic traffic;
  for (auto at = jobs_.lower_bound({place, JobId(0)}); at != jobs_.end() && at->first.first == place; ++at)
    (at->first.second == connection.job ? traffic.own : traffic.others) += at->second.between(from, to);
  if (const auto self = own_.find(connection.id); passes && self != own_.end())
    traffic.own = std::max(0.0, traffic.own - self->second.between(from, to));
  return traffic;
}

/// Data wait on their way, and acknowledgements on theirs back, at the port and between switches: mostly behind the
/// same traffic, which counts where there is more of it.
NetworkWaits::Traffic NetworkWaits::beside(const Connection& connection, PortId source, PortId destination, Time from,
                                           Time to) const {
  Traffic at_ports, between;
  for (const bool is_back : {false, true}) {
    if (is_back && source == destination) break;
    Traffic most;
    for (const Place& place : places_of(connection.id, source, destination, is_back)) {
      const Traffic there = traffic_at(place, connection, !is_back, from, to);
      if (place.first == PlaceKind::kToPort) {
        at_ports.own += there.own, at_ports.others += there.others;
      } else if (there.together() > most.together()) {
        most = there;
      }
    }
    between.own += most.own, between.others += most.others;
  }
  return between.together() > at_ports.together() ? between : at_ports;
}

NetworkWaits::Share NetworkWaits::of(std::span<const Wait> waits, Time from, Time to, Duration waited) const {
  Share share;
  Duration all;
  double path_latency = 0, queueing = 0, own = 0, others = 0;
  for (const Wait& wait : waits) {
    const Connection& connection = wait.connection;
    if (connection.destination.value >= nics_.size()) continue;
    const PortId port = nics_[connection.destination.value].port;
    const Parts& parts = parts_of(connection);
    all += wait.time;
    path_latency += parts.path_latency * static_cast<double>(wait.time.ps);
    queueing += parts.queueing * static_cast<double>(wait.time.ps);
    const PortId source = connection.source.value < nics_.size() ? nics_[connection.source.value].port : port;
    const Traffic traffic = beside(connection, source, port, from, to);
    own += traffic.own, others += traffic.others;
  }
  if (all <= Duration() || waited <= Duration()) return share;
  const auto whole = static_cast<double>(all.ps);

  const Duration queued = std::min(part_of(waited, queueing / whole), Duration(static_cast<int64_t>(own + others)));
  share.path_latency = std::min(part_of(waited, path_latency / whole), waited - queued);
  if (queued <= Duration()) return share;
  share.others = part_of(queued, others / (own + others));
  share.own_job = queued - share.others;
  return share;
}

}  // namespace rankwire
