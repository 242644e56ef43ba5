#include "emulator/traces/groups_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace rankwire {
namespace {

nlohmann::ordered_json ranks_of(const Group& group) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const RankId member : group.members) ranks.push_back(member.value);
  return ranks;
}

}  // namespace

void write_groups_file(const std::string& path, std::span<const Group> groups) {
  if (std::filesystem::exists(path)) fail_input("{}: exists already and is not overwritten", path);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Group& group : groups) json[group.name] = ranks_of(group);
  std::ofstream file(path);
  file << json.dump() << "\n";
  file.close();
  if (!file) fail_run("{}: cannot be written", path);
}

bool defines_groups(const chakra::Node& node) {
  return node.type() == chakra::METADATA_NODE && node.inputs().values().find("pg_name") != std::string::npos;
}

std::string groups_metadata(std::span<const Group> groups, RankId rank) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Group& group : groups) {
    if (std::ranges::find(group.members, rank) == group.members.end()) continue;
    list.push_back({{"pg_name", group.name}, {"ranks", ranks_of(group)}});
  }
  return list.dump();
}

}  // namespace rankwire
