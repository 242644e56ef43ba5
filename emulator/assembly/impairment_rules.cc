// The rules of a configuration in terms of packets.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "emulator/assembly/impairments.h"
#include "emulator/assembly/traffic_names.h"

namespace rankwire {
namespace {

/// One item of the configuration.
struct Item {
  const Setup& setup;
  const ImpairmentConfig& config;
  size_t number;

  template <class... Args>
  [[noreturn]] void fail(const std::string& key, fmt::format_string<Args...> format, Args&&... args) const {
    const auto place = config.places.find(key);
    const std::string path = key.empty() ? "" : "." + key;
    fail_input("{}: impairments[{}]{}: {}", place == config.places.end() ? setup.config.file : place->second, number,
               path, fmt::format(format, std::forward<Args>(args)...));
  }
};

bool has_name(const Node& node, const std::string& pattern) {
  return ::fnmatch(pattern.c_str(), std::string(node.name).c_str(), 0) == 0;
}

void check_ranks(const Item& item) {
  const size_t ranks = item.setup.workload.ranks.size();
  const auto check = [&](const char* key, const std::optional<uint32_t>& rank) {
    if (rank && *rank >= ranks) item.fail(key, "there is no rank {}; the workload has ranks 0 .. {}", *rank, ranks - 1);
  };
  check("rank", item.config.rank);
  check("peer", item.config.peer);
}

void check_names(const Item& item) {
  const Workload& workload = item.setup.workload;
  const ImpairmentConfig& config = item.config;
  const std::string job = config.job ? explain_job(item.setup, config.job->number) : "";
  if (!job.empty()) item.fail("job", "{}", job);
  const std::string group = config.group ? explain_group(item.setup, *config.group) : "";
  if (!group.empty()) item.fail("group", "{}", group);
  if (!config.operation) return;
  for (const RankTrace& trace : workload.ranks)
    for (const Node& node : trace.nodes)
      if (is_communication(node.kind) && has_name(node, *config.operation)) return;
  item.fail("operation", "no communication is named '{}'; operations.csv of a run has the names", *config.operation);
}

bool is_of(const ImpairmentConfig& config, const Connection& c) {
  return c.path == Path::kWire && (!config.job || config.job->number == c.job.value) &&
         (!config.rank || *config.rank == c.source.value) && (!config.peer || *config.peer == c.destination.value);
}

bool is_of(const Item& item, const Node& node) {
  const ImpairmentConfig& config = item.config;
  if (config.operation && !has_name(node, *config.operation)) return false;
  if (!config.group) return true;
  return node.kind == NodeKind::kCollective && item.setup.workload.groups[node.group.value].name == *config.group;
}

/// The chosen messages of one node at its rank.
void add_messages(const Item& item, RankId rank, uint32_t index, std::vector<MessageRange>& ranges) {
  const Plan& plan = item.setup.plan;
  const Node& node = item.setup.workload.ranks[rank.value].nodes[index];
  const NodePlan& planned = plan.nodes[rank.value][index];
  if (planned.schedule == NodePlan::kNone || !is_of(item, node)) return;
  const PlannedSchedule& schedule = plan.schedules[planned.schedule];
  for (size_t e = 0; e < schedule.edges.size(); ++e) {
    const Edges::Edge& edge = schedule.edges[e];
    const EdgePlan& place = plan.edges[planned.first_edge + e];
    if (edge.kind != StepKind::kSend || edge.control) continue;
    if (!is_of(item.config, plan.transport.connections[place.connection.value])) continue;
    for (uint32_t n = 0; n < edge.count; ++n) {
      const bool collective = node.kind == NodeKind::kCollective;
      const uint32_t step = collective ? schedule.schedule.steps[schedule.step_of(edge, n)].step : node.tag_ordinal;
      if (item.config.step.value_or(step) != step || item.config.message.value_or(n) != n) continue;
      ranges.push_back({place.connection, place.first_index + n, place.first_index + n});
    }
  }
}

/// Neighbours become one.
std::vector<MessageRange> joined(std::vector<MessageRange> ranges) {
  std::ranges::sort(ranges, {}, [](const MessageRange& r) { return std::pair(r.connection, r.first); });
  std::vector<MessageRange> result;
  for (const MessageRange& range : ranges) {
    MessageRange* const before = result.empty() ? nullptr : &result.back();
    if (before != nullptr && before->connection == range.connection && range.first <= before->last + 1) {
      before->last = std::max(before->last, range.last);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

/// Nothing when every message is meant.
std::optional<std::vector<MessageRange>> chosen_messages(const Item& item) {
  const ImpairmentConfig& config = item.config;
  const bool of_operations = config.operation || config.group || config.step || config.message;
  if (!of_operations && !config.job && !config.rank && !config.peer) return std::nullopt;
  std::vector<MessageRange> ranges;
  if (of_operations) {
    for (uint32_t rank = 0; rank < item.setup.plan.nodes.size(); ++rank)
      for (uint32_t n = 0; n < item.setup.plan.nodes[rank].size(); ++n) add_messages(item, RankId(rank), n, ranges);
  } else {
    for (const Connection& c : item.setup.plan.transport.connections)
      if (is_of(config, c)) ranges.push_back({.connection = c.id});
  }
  if (ranges.empty()) item.fail("", "no message that crosses the wire meets these conditions");
  return of_operations ? joined(std::move(ranges)) : ranges;
}

ImpairmentAction action_of(const ImpairmentConfig& config) {
  switch (config.action) {
    case ImpairmentActionName::kDrop:
      return ImpairmentAction::kDrop;
    case ImpairmentActionName::kDuplicate:
      return ImpairmentAction::kDuplicate;
    case ImpairmentActionName::kDelay:
      return ImpairmentAction::kDelay;
    case ImpairmentActionName::kReorder:
      return ImpairmentAction::kReorder;
    case ImpairmentActionName::kMarkCe:
      return ImpairmentAction::kMarkCe;
    case ImpairmentActionName::kForgeAck:
      return ImpairmentAction::kForgeAck;
    case ImpairmentActionName::kForgeNak:
      return ImpairmentAction::kForgeNak;
    case ImpairmentActionName::kForgeRnr:
      return ImpairmentAction::kForgeRnr;
    case ImpairmentActionName::kForgeCnp:
      return ImpairmentAction::kForgeCnp;
    case ImpairmentActionName::kPause:
      return ImpairmentAction::kPause;
    case ImpairmentActionName::kCorrupt:
      break;
  }
  switch (config.target.value_or(CorruptTarget::kPayload)) {
    case CorruptTarget::kPayload:
      return ImpairmentAction::kCorruptPayload;
    case CorruptTarget::kHeader:
      return ImpairmentAction::kCorruptHeader;
    case CorruptTarget::kIcrc:
      return ImpairmentAction::kCorruptIcrc;
  }
  return ImpairmentAction::kCorruptPayload;
}

std::optional<PacketClass> packets_of(const ImpairmentConfig& config) {
  switch (config.packets) {
    case PacketClassName::kAny: {
      return is_forged(action_of(config)) ? std::optional(PacketClass::kData) : std::nullopt;
    }
    case PacketClassName::kData:
      return PacketClass::kData;
    case PacketClassName::kAck:
      return PacketClass::kAck;
    case PacketClassName::kNak:
      return PacketClass::kNak;
    case PacketClassName::kCnp:
      return PacketClass::kCnp;
    case PacketClassName::kReadRequest:
      return PacketClass::kReadRequest;
    case PacketClassName::kReadResponse:
      return PacketClass::kReadResponse;
  }
  return std::nullopt;
}

PauseFrame pause_of(const ImpairmentConfig& config) {
  PrioritySet priorities = 0;
  for (const uint32_t priority : config.priorities) priorities |= priority_bit(priority);
  return priority_pause(priorities, static_cast<uint16_t>(config.quanta.value_or(kMaxQuanta)));
}

ImpairmentRule rule_of(const Item& item) {
  const ImpairmentConfig& config = item.config;
  check_ranks(item);
  check_names(item);
  ImpairmentRule rule{.action = action_of(config),
                      .side = config.on_receive ? PortSide::kReceive : PortSide::kTransmit,
                      .transmissions = config.all_transmissions ? Transmissions::kAll : Transmissions::kFirst,
                      .packets = packets_of(config),
                      .messages = chosen_messages(item),
                      .iteration = config.iteration,
                      .from = Time() + config.from,
                      .every = config.every,
                      .probability_ppm = config.probability_ppm,
                      .delay = config.delay.value_or(Duration()),
                      .behind = config.behind.value_or(1),
                      .pause = pause_of(config),
                      .interval = config.interval};
  if (config.until) rule.until = Time() + *config.until;
  if (config.count) rule.limit = *config.count;
  static_assert(PacketNumber::kLast == ImpairmentRule::kLastPacket);
  if (config.packet) rule.packet = config.packet->number;
  if (!config.port) return rule;
  const auto port = std::ranges::find(item.setup.config.ports, *config.port, &PortConfig::name);
  rule.port = PortId(static_cast<uint32_t>(port - item.setup.config.ports.begin()));
  return rule;
}

}  // namespace

std::vector<ImpairmentRule> impairment_rules(const Setup& setup) {
  std::vector<ImpairmentRule> rules;
  for (const ImpairmentConfig& config : setup.config.impairments)
    rules.push_back(rule_of({setup, config, rules.size()}));
  return rules;
}

}  // namespace rankwire
