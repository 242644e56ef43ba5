#include "emulator/assembly/compute_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "emulator/assembly/traffic_names.h"

namespace rankwire {
namespace {

template <class T>
void override_with(std::optional<T>& value, const std::optional<T>& other) {
  if (other) value = other;
}

void override_with(StoreConfig& store, const StoreConfig& other) {
  override_with(store.bandwidth, other.bandwidth);
  override_with(store.latency, other.latency);
}

/// A device that an override names comes with its own figures.
void override_device(ComputeKeys& keys, const ComputeKeys& other) {
  if (other.device) {
    keys.peak.reset();
    keys.peaks = {};
    keys.memory_bandwidth.reset();
  }
  override_with(keys.device, other.device);
  override_with(keys.peak, other.peak);
  for (size_t i = 0; i < keys.peaks.size(); ++i) {
    // A peak for all types that comes later is for all types.
    if (other.peak) keys.peaks[i].reset();
    override_with(keys.peaks[i], other.peaks[i]);
  }
  override_with(keys.memory_bandwidth, other.memory_bandwidth);
}

void override_with(ComputeKeys& keys, const ComputeKeys& other) {
  override_with(keys.source, other.source);
  override_device(keys, other);
  override_with(keys.data_type, other.data_type);
  override_with(keys.latency, other.latency);
  override_with(keys.efficiency_axis, other.efficiency_axis);
  if (!other.efficiency.empty()) keys.efficiency = other.efficiency;
  if (!other.kernels_file.empty()) keys.kernels_file = other.kernels_file;
  override_with(keys.jitter, other.jitter);
  override_with(keys.jitter_deviation_ppm, other.jitter_deviation_ppm);
  override_with(keys.noise_period, other.noise_period);
  override_with(keys.noise_duration, other.noise_duration);
  override_with(keys.memory_location, other.memory_location);
  override_with(keys.local, other.local);
  override_with(keys.remote, other.remote);
  override_with(keys.pool, other.pool);
  override_with(keys.storage, other.storage);
}

}  // namespace

std::vector<RankId> members_of(const Setup& setup, const std::string& group) {
  std::vector<RankId> ranks;
  for (const Group& g : setup.workload.groups)
    if (g.name == group) ranks.insert(ranks.end(), g.members.begin(), g.members.end());
  std::ranges::sort(ranks);
  return ranks;
}

std::vector<RankId> chosen_ranks(const Setup& setup, const RankChoice& who, const std::string& place,
                                 const std::string& key) {
  const auto count = static_cast<uint32_t>(setup.workload.ranks.size());
  std::vector<bool> chosen(count, false);
  for (const NumberRange& range : who.ranks) {
    if (range.last >= count)
      fail_input("{}: {}.ranks: there is no rank {}; the workload has ranks 0 .. {}", place, key, range.last,
                 count - 1);
    std::fill(chosen.begin() + range.first, chosen.begin() + range.last + 1, true);
  }
  const uint32_t hosts = placement_options(setup.config, count).hosts;
  for (const NumberRange& range : who.hosts) {
    if (range.last >= hosts)
      fail_input("{}: {}.hosts: there is no host {}; there are hosts 0 .. {}", place, key, range.last, hosts - 1);
    for (uint32_t rank = 0; rank < count; ++rank) {
      const uint32_t host = setup.placement.ranks[rank].host;
      if (host >= range.first && host <= range.last) chosen[rank] = true;
    }
  }
  for (const std::string& group : who.groups) {
    if (const std::string problem = explain_group(setup, group); !problem.empty())
      fail_input("{}: {}.groups: {}", place, key, problem);
    for (const RankId rank : members_of(setup, group)) chosen[rank.value] = true;
  }
  for (const std::string& port : who.ports) {
    for (uint32_t rank = 0; rank < count; ++rank)
      if (setup.config.ports[setup.placement.ranks[rank].port.value].name == port) chosen[rank] = true;
  }
  std::vector<RankId> ranks;
  for (uint32_t rank = 0; rank < count; ++rank)
    if (chosen[rank]) ranks.push_back(RankId(rank));
  return ranks;
}

ComputeByRank compute_by_rank(const Setup& setup) {
  const ComputeConfig& compute = setup.config.compute;
  ComputeByRank result;
  result.keys.push_back(compute);
  result.of_rank.assign(setup.workload.ranks.size(), 0);
  for (size_t i = 0; i < compute.overrides.size(); ++i) {
    const ComputeOverride& item = compute.overrides[i];
    // Ranks with the same keys so far go on having the same.
    std::map<uint32_t, uint32_t> changed;
    for (const RankId rank : chosen_ranks(setup, item.who, item.place, fmt::format("compute.overrides[{}]", i))) {
      uint32_t& at = result.of_rank[rank.value];
      const auto [entry, added] = changed.try_emplace(at, static_cast<uint32_t>(result.keys.size()));
      if (added) {
        result.keys.push_back(result.keys[at]);
        override_with(result.keys.back(), item.keys);
      }
      at = entry->second;
    }
  }
  return result;
}

}  // namespace rankwire
