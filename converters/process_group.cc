#include "converters/process_group.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace rankwire {
namespace {

using Json = nlohmann::json;

bool holds_integers(const Json& list) {
  if (!list.is_array()) return false;
  return std::ranges::all_of(list, [](const Json& element) { return element.is_number_integer(); });
}

}  // namespace

std::vector<ProcessGroup> parse_group_list(std::string_view json, const std::string& where, Warnings& warnings) {
  std::vector<ProcessGroup> groups;
  const Json list = Json::parse(json, nullptr, false);
  if (!list.is_array()) {
    warnings.push_back(fmt::format("{}: the process groups are no JSON list, perhaps cut off: {:.60}", where, json));
    return groups;
  }
  for (const Json& element : list) {
    const bool named = element.is_object() && element.contains("pg_name") && element.contains("ranks");
    // A name that is a number is written as one; what is nested is none, and perhaps too deep to be printed.
    if (!named || element["pg_name"].is_structured() || !holds_integers(element["ranks"])) {
      warnings.push_back(
          fmt::format("{}: a process group without pg_name and ranks is left out of: {:.60}", where, json));
      continue;
    }
    const Json& name = element["pg_name"];
    groups.push_back({name.is_string() ? name.get<std::string>() : name.dump(), element["ranks"]});
  }
  return groups;
}

std::vector<int64_t> parse_integers(std::string_view json) {
  const Json list = Json::parse(json, nullptr, false);
  if (!holds_integers(list)) return {};
  return list;
}

std::string print_groups(std::span<const ProcessGroup> groups) {
  Json list = Json::array();
  for (const ProcessGroup& group : groups) list.push_back({{"pg_name", group.name}, {"ranks", group.ranks}});
  std::string literal;
  for (const char c : list.dump()) {
    if (c == '\'' || c == '\\') literal += '\\';
    literal += c;
  }
  return "['" + literal + "']";
}

void write_groups_file(const std::string& path, std::span<const ProcessGroup> groups) {
  Json object = Json::object();
  for (const ProcessGroup& group : groups) object[group.name] = group.ranks;
  std::ofstream file(path);
  file << object.dump(1) << "\n";
  if (!file.flush()) fail_run("{}: cannot write the process groups", path);
}

}  // namespace rankwire
