#include "emulator/input/validate_impairments.h"

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

using Action = ImpairmentActionName;

/// One item with the places of its keys.
struct Item {
  const ImpairmentConfig& rule;
  const Tree& root;
  std::string key;

  template <class... Args>
  [[noreturn]] void fail(const std::string& name, fmt::format_string<Args...> format, Args&&... args) const {
    fail_key(root, name.empty() ? key : fmt::format("{}.{}", key, name), format, std::forward<Args>(args)...);
  }
  bool has(std::string_view name) const { return nearest(root, key).find(name) != nullptr; }
};

bool is_forged(Action action) {
  return action == Action::kForgeAck || action == Action::kForgeNak || action == Action::kForgeRnr ||
         action == Action::kForgeCnp;
}

/// Keys that belong to one action.
void check_own_keys(const Item& item) {
  const ImpairmentConfig& rule = item.rule;
  const auto only = [&](const char* name, bool given, Action action, const char* word) {
    if (given && rule.action != action) item.fail(name, "is for 'action: {}'", word);
  };
  only("delay", rule.delay.has_value(), Action::kDelay, "delay");
  only("behind", rule.behind.has_value(), Action::kReorder, "reorder");
  only("target", rule.target.has_value(), Action::kCorrupt, "corrupt");
  only("priorities", !rule.priorities.empty(), Action::kPause, "pause");
  only("quanta", rule.quanta.has_value(), Action::kPause, "pause");
  only("interval", rule.interval.has_value(), Action::kPause, "pause");
  if (rule.action == Action::kDelay && !rule.delay) item.fail("", "'action: delay' needs 'delay'");
  if (rule.action == Action::kPause && rule.priorities.empty()) item.fail("", "'action: pause' needs 'priorities'");
}

/// A PFC frame is sent at a time, not for a packet.
void check_pause(const Item& item) {
  const ImpairmentConfig& rule = item.rule;
  if (rule.action != Action::kPause) return;
  const ImpairmentConfig defaults;
  const std::pair<const char*, bool> conditions[] = {{"class", rule.packets != defaults.packets},
                                                     {"direction", rule.on_receive},
                                                     {"transmissions", rule.all_transmissions},
                                                     {"job", rule.job.has_value()},
                                                     {"rank", rule.rank.has_value()},
                                                     {"peer", rule.peer.has_value()},
                                                     {"operation", rule.operation.has_value()},
                                                     {"group", rule.group.has_value()},
                                                     {"step", rule.step.has_value()},
                                                     {"iteration", rule.iteration.has_value()},
                                                     {"message", rule.message.has_value()},
                                                     {"packet", rule.packet.has_value()},
                                                     {"every", rule.every != defaults.every},
                                                     {"probability", rule.probability_ppm != defaults.probability_ppm}};
  for (const auto& [name, given] : conditions)
    if (given) item.fail(name, "chooses packets, and 'action: pause' looks at none; see from, interval and count");
}

void check_packets(const Item& item, const TransportConfig& transport) {
  const ImpairmentConfig& rule = item.rule;
  const bool pulled = transport.verb == VerbName::kRead;
  if (is_forged(rule.action) && rule.packets != PacketClassName::kAny && rule.packets != PacketClassName::kData)
    item.fail("class", "forged answers are to data; leave it out");
  if (rule.action == Action::kCorrupt && rule.target.value_or(CorruptTarget::kPayload) == CorruptTarget::kPayload) {
    const bool bare = rule.packets == PacketClassName::kAck || rule.packets == PacketClassName::kNak ||
                      rule.packets == PacketClassName::kCnp || rule.packets == PacketClassName::kReadRequest;
    if (bare) item.fail("class", "these packets have no payload to corrupt; use 'target: header' or 'target: icrc'");
  }
  for (const char* name : {"operation", "group", "step", "iteration", "message", "packet"}) {
    if (!item.has(name) || !rule.names_messages()) continue;
    if (pulled) item.fail(name, "needs messages that are sent; with 'transport.verb: read' they are fetched");
    if (rule.packets == PacketClassName::kCnp) item.fail(name, "a CNP names its queue pair, not a message");
  }
  if (!pulled && (rule.packets == PacketClassName::kReadRequest || rule.packets == PacketClassName::kReadResponse))
    item.fail("class", "needs 'transport.verb: read': nothing else READs");
}

void check_place(const Item& item, const RunConfig& config) {
  const ImpairmentConfig& rule = item.rule;
  if (rule.port && std::ranges::find(config.ports, *rule.port, &PortConfig::name) == config.ports.end())
    item.fail("port", "'{}' is not the name of a port", *rule.port);
  uint32_t most = config.workload.iterations;
  for (const JobConfig& job : config.jobs) most = std::max(most, job.workload.iterations);
  if (rule.iteration && *rule.iteration >= most)
    item.fail("iteration", "{} is not below workload.iterations {}", *rule.iteration, most);
  if (rule.until && *rule.until <= rule.from) item.fail("until", "is not after 'from'");
  if (rule.rank && rule.peer && *rule.rank == *rule.peer) item.fail("peer", "is the rank itself");
}

}  // namespace

void place_impairments(RunConfig& config, const Tree& root) {
  const Tree* list = root.find("impairments");
  for (size_t i = 0; i < config.impairments.size(); ++i) {
    const Tree& item = list->items[i];
    auto& places = config.impairments[i].places;
    places[""] = item.origin.place;
    for (const Tree::Entry& entry : item.entries) places[entry.key] = entry.value.origin.place;
  }
}

void validate_impairments(const RunConfig& config, const Tree& root) {
  if (config.impairments.empty()) return;
  const auto rdma = std::ranges::find_if(config.ports, &PortConfig::is_rdma_device);
  if (rdma != config.ports.end()) {
    fail_key(root, "impairments",
             "port '{}' is an RDMA device, which sends and receives packets by itself; use DPDK ports", rdma->name);
  }
  for (size_t i = 0; i < config.impairments.size(); ++i) {
    const Item item{config.impairments[i], root, fmt::format("impairments[{}]", i)};
    if (!item.has("action")) item.fail("", "'action' is required");
    check_own_keys(item);
    check_pause(item);
    check_packets(item, config.transport);
    check_place(item, config);
  }
}

}  // namespace rankwire
