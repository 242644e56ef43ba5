#include "emulator/assembly/schedules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "emulator/assembly/custom_algorithm_files.h"

namespace rankwire {
namespace {

NcclProtocol nccl_protocol(ProtocolName protocol) {
  switch (protocol) {
    case ProtocolName::kAuto:
      return NcclProtocol::kAuto;
    case ProtocolName::kLl:
      return NcclProtocol::kLl;
    case ProtocolName::kLl128:
      return NcclProtocol::kLl128;
    case ProtocolName::kSimple:
      return NcclProtocol::kSimple;
  }
  return NcclProtocol::kAuto;
}

void read_custom_algorithms(ScheduleOptions& options, const CollectivesConfig& collectives) {
  for (uint32_t i = 0; i < kCollectiveOperations; ++i) {
    if (options.algorithms[i] != Algorithm::kCustom) continue;
    const Operation operation = static_cast<Operation>(i);
    options.custom[i] =
        std::make_shared<CustomAlgorithm>(read_custom_algorithm(collectives.algorithms[i].files, operation));
  }
}

ScheduleOptions schedule_options(const RunConfig& config, const CollectivesConfig& collectives) {
  ScheduleOptions options{.ring_order = collectives.ring.order,
                          .ring_direction = collectives.ring.direction,
                          .ring_ranks = collectives.ring.ranks,
                          .channels = collectives.channels,
                          .chunk = collectives.chunk};
  std::ranges::transform(collectives.algorithms, options.algorithms.begin(), &AlgorithmChoice::algorithm);
  read_custom_algorithms(options, collectives);
  if (collectives.profile == CollectivesProfile::kPlain) return options;
  const Bandwidth nic = std::ranges::min(config.ports, {}, &PortConfig::rate).rate;
  const NcclConfig& nccl = collectives.nccl;
  options.nccl = {.channels = nccl.channels.value_or(nccl_channels(nic)),
                  .p2p_channels = nccl.p2p_channels.value_or(nccl_p2p_channels(nic)),
                  .protocol = nccl_protocol(nccl.protocol),
                  .steps_in_flight = nccl.steps_in_flight,
                  .clear_to_send = nccl.clear_to_send,
                  .buffer = nccl.buffer,
                  .p2p_chunk = nccl.p2p_chunk,
                  .network = nic};
  return options;
}

/// The run's with what a job has instead.
CollectivesConfig collectives_of(const RunConfig& config, const JobCollectivesConfig& own) {
  CollectivesConfig collectives = config.collectives;
  for (size_t i = 0; i < own.algorithms.size(); ++i)
    if (own.algorithms[i].algorithm != Algorithm::kAuto) collectives.algorithms[i] = own.algorithms[i];
  if (own.channels) collectives.channels = *own.channels;
  if (own.chunk) collectives.chunk = *own.chunk;
  return collectives;
}

bool has_own(const JobCollectivesConfig& collectives) {
  const auto is_chosen = [](const AlgorithmChoice& choice) { return choice.algorithm != Algorithm::kAuto; };
  return collectives.channels || collectives.chunk || std::ranges::any_of(collectives.algorithms, is_chosen);
}

/// `own` null: those of all jobs that have none.
void name_keys(ScheduleOptions& options, const RunConfig& config, const JobCollectivesConfig* own, size_t job) {
  const auto key_of = [&](const char* name, bool is_own) {
    return config.places.of(is_own ? fmt::format("jobs[{}].collectives.{}", job, name)
                                   : fmt::format("collectives.{}", name));
  };
  const bool nccl = options.nccl.has_value();
  options.channels_key = key_of("channels", own != nullptr && own->channels);
  options.chunk_key = key_of(nccl ? "nccl" : "chunk", own != nullptr && own->chunk);
}

}  // namespace

void choose_schedules(Setup& setup) {
  const RunConfig& config = setup.config;
  setup.schedules = schedule_options(config, config.collectives);
  name_keys(setup.schedules, config, nullptr, 0);
  setup.schedules_of_job.assign(std::max<size_t>(config.jobs.size(), 1), &setup.schedules);
  for (size_t j = 0; j < config.jobs.size(); ++j) {
    const JobCollectivesConfig& own = config.jobs[j].collectives;
    if (!has_own(own)) continue;
    setup.own_schedules.push_back(schedule_options(config, collectives_of(config, own)));
    name_keys(setup.own_schedules.back(), config, &own, j);
    setup.schedules_of_job[j] = &setup.own_schedules.back();
  }
}

void warn_of_other_groups(Setup& setup) {
  std::map<std::pair<uint32_t, const CustomAlgorithm*>, std::set<size_t>> others;
  std::vector<std::pair<uint32_t, const CustomAlgorithm*>> met;  // in the order of ranks and nodes
  for (const RankTrace& trace : setup.workload.ranks) {
    const ScheduleOptions& options = *setup.schedules_of_job[setup.workload.jobs.empty() ? 0 : trace.job.value];
    for (const Node& node : trace.nodes) {
      if (node.kind != NodeKind::kCollective) continue;
      const auto operation = static_cast<uint32_t>(operation_of(node));
      const size_t members = setup.workload.groups[node.group.value].members.size();
      const CustomAlgorithm* custom = options.custom[operation].get();
      if (custom == nullptr || custom->size() == members || members < 2) continue;
      std::set<size_t>& sizes = others[{operation, custom}];
      if (sizes.empty()) met.emplace_back(operation, custom);
      sizes.insert(members);
    }
  }
  std::ranges::stable_sort(met, {}, &std::pair<uint32_t, const CustomAlgorithm*>::first);
  for (const auto& key : met) {
    setup.warnings.push_back(fmt::format("{}: {} describes groups of {}; groups of {} take the default",
                                         to_string(static_cast<Operation>(key.first)), key.second->name,
                                         key.second->size(), fmt::join(others[key], ", ")));
  }
}

}  // namespace rankwire
