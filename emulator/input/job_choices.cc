#include "emulator/input/job_choices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/input/nearest_key.h"

namespace rankwire {
namespace {

/// By number. The one workload without a name is job 0.
std::vector<std::string> all_job_names(const RunConfig& config) {
  std::vector<std::string> names;
  for (const JobConfig& job : config.jobs) names.push_back(job.name);
  if (names.empty()) names.emplace_back();
  for (const BackgroundConfig& entry : config.background) names.push_back(entry.name);
  return names;
}

void settle_choice(std::optional<JobChoice>& choice, const std::vector<std::string>& names, const Tree& root,
                   const std::string& key) {
  if (!choice || choice->name.empty()) return;
  const auto found = std::ranges::find(names, choice->name);
  choice->number = static_cast<uint32_t>(found - names.begin());
  if (found != names.end()) return;
  std::vector<std::string> known = names;
  std::erase(known, std::string());
  if (known.empty())
    fail_key(root, key, "'{}' is not the name of a job: the one 'workload' has none, and is job 0", choice->name);
  if (const std::string nearest = nearest_name(choice->name, known); !nearest.empty())
    fail_key(root, key, "'{}' is not the name of a job; did you mean '{}'?", choice->name, nearest);
  fail_key(root, key, "'{}' is not the name of a job; the names are {}", choice->name, fmt::join(known, ", "));
}

}  // namespace

void settle_job_choices(RunConfig& config, const Tree& root) {
  const std::vector<std::string> names = all_job_names(config);
  for (size_t i = 0; i < config.impairments.size(); ++i)
    settle_choice(config.impairments[i].job, names, root, fmt::format("impairments[{}].job", i));
  std::vector<CongestionExceptionConfig>& exceptions = config.transport.congestion.exceptions;
  for (size_t i = 0; i < exceptions.size(); ++i)
    settle_choice(exceptions[i].job, names, root, fmt::format("transport.congestion_control.exceptions[{}].job", i));
}

}  // namespace rankwire
