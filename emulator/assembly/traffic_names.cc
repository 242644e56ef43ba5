#include "emulator/assembly/traffic_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace rankwire {

std::string explain_job(const Setup& setup, uint32_t job) {
  const auto is_of = [job](const Connection& connection) { return connection.job.value == job; };
  if (std::ranges::any_of(setup.plan.transport.connections, is_of)) return {};
  return fmt::format("no job {} communicates", job);
}

std::string explain_group(const Setup& setup, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Group& group : setup.workload.groups) names.push_back(group.name);
  if (std::ranges::find(names, name) != names.end()) return {};
  return fmt::format("there is no process group '{}'; the groups are {}", name, fmt::join(names, ", "));
}

}  // namespace rankwire
