#include "emulator/cli/traffic_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

std::optional<uint32_t> stride_of(std::span<const RankId> members) {
  if (members.size() < 2 || members[1].value <= members[0].value) return std::nullopt;
  const uint32_t stride = members[1].value - members[0].value;
  for (size_t m = 2; m < members.size(); ++m) {
    if (members[m].value != members[m - 1].value + stride) return std::nullopt;
  }
  return stride;
}

}  // namespace

std::vector<GroupTraffic> group_traffic(const Setup& setup) {
  const std::vector<Group>& groups = setup.workload.groups;
  std::vector<GroupTraffic> kinds = {{.group = "point-to-point", .members = 2}};
  std::vector<size_t> kind_of(groups.size());
  std::map<std::tuple<std::string, size_t, std::optional<uint32_t>>, size_t> known;
  for (size_t g = 0; g < groups.size(); ++g) {
    std::string pattern;
    append_pattern(pattern, groups[g].name);
    const size_t members = groups[g].members.size();
    const std::optional<uint32_t> stride = stride_of(groups[g].members);
    const auto [at, is_new] = known.try_emplace({pattern, members, stride}, kinds.size());
    if (is_new) kinds.push_back({.group = pattern, .members = static_cast<uint32_t>(members), .stride = stride});
    kind_of[g] = at->second;
  }
  std::vector<bool> sends(groups.size());
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.control) continue;
    GroupTraffic& kind = kinds[c.group.valid() ? kind_of[c.group.value] : 0];
    (c.path == Path::kWire ? kind.wire : kind.local) += c.bytes_per_iteration;
    if (c.group.valid() && !sends[c.group.value]) sends[c.group.value] = true, ++kind.groups;
  }
  std::erase_if(kinds, [](const GroupTraffic& kind) { return kind.wire + kind.local == Bytes(0); });
  std::ranges::stable_sort(kinds, std::greater<>(), [](const GroupTraffic& kind) { return kind.wire + kind.local; });
  return kinds;
}

std::vector<TransferTraffic> transfer_traffic(const Setup& setup) {
  std::map<std::pair<RankId, RankId>, Path> paths;
  for (const Connection& c : setup.plan.transport.connections) {
    if (!c.group.valid() && !c.control) paths.emplace(std::pair(c.source, c.destination), c.path);
  }
  std::unordered_map<std::string, TransferTraffic> kinds;
  std::string pattern;
  for (uint32_t rank = 0; rank < setup.workload.ranks.size(); ++rank) {
    const RankTrace& trace = setup.workload.ranks[rank];
    for (size_t n = 0; n < trace.nodes.size(); ++n) {
      const Node& node = trace.nodes[n];
      const auto path = node.kind == NodeKind::kSend ? paths.find({RankId(rank), node.peer}) : paths.end();
      if (path == paths.end()) continue;
      pattern.clear();
      append_pattern(pattern, node.name);
      TransferTraffic& kind = kinds[pattern];
      kind.messages += trace.times_of(n);
      (path->second == Path::kWire ? kind.wire : kind.local) += Bytes(node.bytes.count * trace.times_of(n));
    }
  }
  std::vector<TransferTraffic> traffic;
  for (auto& [name, kind] : kinds) traffic.push_back({name, kind.messages, kind.wire, kind.local});
  std::ranges::sort(traffic, [](const TransferTraffic& a, const TransferTraffic& b) {
    const Bytes left = a.wire + a.local, right = b.wire + b.local;
    return left != right ? left > right : a.name < b.name;
  });
  if (traffic.size() <= kMostTransferNames) return traffic;
  TransferTraffic other{.name = "(other)"};
  for (size_t i = kMostTransferNames; i < traffic.size(); ++i)
    other.messages += traffic[i].messages, other.wire += traffic[i].wire, other.local += traffic[i].local;
  traffic.resize(kMostTransferNames);
  traffic.push_back(other);
  return traffic;
}

nlohmann::ordered_json transfer_traffic_json(const std::vector<TransferTraffic>& traffic) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TransferTraffic& kind : traffic) {
    list.push_back({{"name", kind.name},
                    {"messages", kind.messages},
                    {"bytes_wire_per_iteration", kind.wire.count},
                    {"bytes_local_per_iteration", kind.local.count}});
  }
  return list;
}

std::string mapping_advice(const Setup& setup, const std::vector<GroupTraffic>& traffic) {
  if (setup.config.mapping.policy != MappingPolicy::kRoundRobin || !setup.config.jobs.empty()) return {};
  const uint32_t npus = placement_options(setup.config, static_cast<uint32_t>(setup.workload.ranks.size())).npus;
  const auto strays = std::ranges::find_if(traffic, [npus](const GroupTraffic& kind) {
    return kind.stride == 1u && kind.members <= npus && kind.wire > Bytes(0);
  });
  if (strays == traffic.end()) return {};
  return fmt::format(
      "groups \"{}\" are {} ranks next to each other, which 'mapping.policy: round_robin' puts on different hosts; "
      "with "
      "'block' hosts of {} hold them together",
      strays->group, strays->members, npus);
}

nlohmann::ordered_json group_traffic_json(const std::vector<GroupTraffic>& traffic) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const GroupTraffic& kind : traffic) {
    nlohmann::ordered_json& json =
        list.emplace_back(nlohmann::ordered_json{{"group", kind.group},
                                                 {"groups", kind.groups},
                                                 {"members", kind.members},
                                                 {"stride", nullptr},
                                                 {"bytes_wire_per_iteration", kind.wire.count},
                                                 {"bytes_local_per_iteration", kind.local.count}});
    if (kind.stride) json["stride"] = *kind.stride;
  }
  return list;
}

}  // namespace rankwire
