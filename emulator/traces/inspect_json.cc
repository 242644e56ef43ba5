// An inspection as JSON.
#include "emulator/traces/inspect.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

Json tally_json(const Tally& tally) {
  return {{"nodes", tally.nodes}, {"bytes", tally.bytes.count}};
}

Json idle_json(const IdleTimes& idle) {
  Json json = Json::object();
  for (size_t i = 0; i < kIdleCauses.size(); ++i) json[std::string(kIdleCauses[i]) + "_ps"] = idle.by_cause[i].ps;
  return json;
}

void add_times(const RankTimes& times, Json& json) {
  json["begin_ps"] = times.begin.ps;
  json["end_ps"] = times.end.ps;
  json["compute_ps"] = times.compute.ps;
  json["communication_ps"] = times.communication.ps;
  json["exposed_ps"] = times.exposed().ps;
  json["memory_ps"] = times.memory.ps;
  json["idle_ps"] = times.idle.sum().ps;
  json["idle"] = idle_json(times.idle);
  Json streams = Json::array();
  for (const StreamTimes& stream : times.streams) {
    streams.push_back({{"stream", stream.stream},
                       {"operations", stream.operations},
                       {"busy_ps", stream.busy.ps},
                       {"idle_ps", stream.idle.sum().ps},
                       {"idle", idle_json(stream.idle)}});
  }
  json["streams"] = std::move(streams);
}

Json rank_json(const Inspection& inspection, size_t place) {
  const RankInspection& rank = inspection.ranks[place];
  Json json = {{"rank", rank.rank},
               {"file", rank.path},
               {"schema", to_string(rank.schema)},
               {"nodes", rank.nodes},
               {"collective_bytes", rank.traffic.collective.count},
               {"sent_bytes", rank.traffic.sent.count},
               {"received_bytes", rank.traffic.received.count}};
  if (rank.times) add_times(*rank.times, json);
  if (place < inspection.stragglers.ranks.size()) {
    const RankLateness& lateness = inspection.stragglers.ranks[place];
    json["lateness"] = {{"collectives", lateness.collectives},
                        {"last", lateness.last},
                        {"held_up_ps", lateness.held_up.ps},
                        {"waited_ps", lateness.waited.ps}};
  }
  if (rank.memory) {
    json["memory"] = {{"tensors", rank.memory->tensors},
                      {"peak_bytes", rank.memory->peak.count},
                      {"peak_node", rank.peak_node},
                      {"peak_name", rank.peak_name}};
  }
  return json;
}

Json table_json(const OperationTable& table, const char* name) {
  const auto total = static_cast<double>(table.total().ps);
  Json json = Json::array();
  for (const auto& [key, tally] : table.sorted()) {
    json.push_back({{"kind", key->kind},
                    {name, key->name},
                    {"count", tally->count},
                    {"bytes", tally->bytes.count},
                    {"min_ps", tally->least().ps},
                    {"median_ps", tally->median().ps},
                    {"max_ps", tally->most().ps},
                    {"total_ps", tally->total.ps},
                    {"share", total > 0 ? static_cast<double>(tally->total.ps) / total : 0}});
  }
  return json;
}

Json path_json(const Inspection& inspection) {
  Json kinds = Json::object(), nodes = Json::array();
  for (const auto& [kind, duration] : path_by_kind(inspection)) kinds[kind] = duration.ps;
  for (const PathNode& node : inspection.path) {
    nodes.push_back({{"rank", node.rank},
                     {"node", node.node},
                     {"name", node.name},
                     {"kind", node.kind},
                     {"start_ps", node.span.start.ps},
                     {"duration_ps", node.span.duration().ps}});
  }
  return {{"kinds_ps", kinds}, {"nodes", nodes}};
}

Json stragglers_json(const Inspection& inspection) {
  const Stragglers& stragglers = inspection.stragglers;
  Json worst = Json::array();
  for (const LateCall& call : stragglers.worst) {
    worst.push_back({{"kind", call.kind},
                     {"group", call.group},
                     {"number", call.number},
                     {"rank", inspection.ranks[call.place].rank},
                     {"late_ps", call.late.ps},
                     {"spread_ps", call.spread.ps}});
  }
  return {{"collectives", stragglers.collectives},
          {"clocks_set", !stragglers.clock_offsets.empty()},
          {"worst", std::move(worst)}};
}

Json imbalance_json(const std::optional<SizeImbalance>& imbalance) {
  if (!imbalance) return nullptr;
  return {{"kind", imbalance->key.kind}, {"group", imbalance->key.name},    {"rank", imbalance->rank},
          {"ranks", imbalance->ranks},   {"bytes", imbalance->bytes.count}, {"mean_bytes", imbalance->mean}};
}

}  // namespace

Json to_json(const Inspection& inspection) {
  Json kinds = Json::object(), groups = Json::array(), sizes = Json::array(), ranks = Json::array();
  for (const auto& [kind, tally] : inspection.kinds) kinds[kind] = tally_json(tally);
  for (const auto& [group, by_kind] : inspection.groups) {
    for (const auto& [kind, tally] : by_kind) {
      groups.push_back({{"group", group}, {"kind", kind}, {"nodes", tally.nodes}, {"bytes", tally.bytes.count}});
    }
  }
  for (const auto& [kind, by_class] : inspection.sizes) {
    for (const auto& [low, tally] : by_class) {
      sizes.push_back({{"kind", kind}, {"from_bytes", low}, {"nodes", tally.nodes}, {"bytes", tally.bytes.count}});
    }
  }
  for (size_t place = 0; place < inspection.ranks.size(); ++place) ranks.push_back(rank_json(inspection, place));
  return {{"name", inspection.name},
          {"ranks", ranks},
          {"nodes", inspection.nodes},
          {"dependencies", inspection.dependencies},
          {"kinds", kinds},
          {"groups", groups},
          {"sizes", sizes},
          {"imbalance", inspection.imbalance},
          {"largest_imbalance", imbalance_json(inspection.largest_imbalance)},
          {"communication", table_json(inspection.communication, "group")},
          {"operations", table_json(inspection.operations, "name")},
          {"times", inspection.timing.recorded ? "recorded" : "scheduled"},
          {"by_rank", inspection.by_rank},
          {"problem", inspection.timing.problem},
          {"end_ps", inspection.timing.end.ps},
          {"critical_path", path_json(inspection)},
          {"stragglers", stragglers_json(inspection)},
          {"remarks", remarks(inspection)}};
}

}  // namespace rankwire
