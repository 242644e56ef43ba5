#include "emulator/input/validate_compute.h"

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

void check_efficiency(const Tree& root, const ComputeKeys& keys, const std::string& path) {
  for (size_t i = 0; i < keys.efficiency.size(); ++i) {
    const std::string key = fmt::format("{}.efficiency.points[{}]", path, i);
    const Tree& item = nearest(root, key);
    for (const char* needed : {"at", "share"})
      if (item.find(needed) == nullptr) fail_key(root, key, "'{}' is required", needed);
    if (i > 0 && keys.efficiency[i].at_thousandths <= keys.efficiency[i - 1].at_thousandths)
      fail_key(root, key + ".at", "is not above that of the point before");
  }
}

/// `inherited` is what holds where a key is absent.
void check_variation(const Tree& root, const ComputeKeys& keys, const ComputeKeys& inherited, const std::string& path) {
  const auto distribution = keys.jitter ? keys.jitter : inherited.jitter;
  const auto deviation = keys.jitter_deviation_ppm ? keys.jitter_deviation_ppm : inherited.jitter_deviation_ppm;
  constexpr uint32_t kWidest = 577'350;  // 1 / sqrt 3: a wider uniform distribution would have negative factors
  if (distribution == JitterDistribution::kUniform && deviation > kWidest)
    fail_key(root, path + ".jitter.deviation", "of a uniform distribution is at most 57.735%");
  if (deviation > 0u && distribution == JitterDistribution::kNone && keys.jitter_deviation_ppm)
    fail_key(root, path + ".jitter.deviation", "needs '{}.jitter.distribution'", path);
  if (deviation.value_or(0) == 0 && keys.jitter.value_or(JitterDistribution::kNone) != JitterDistribution::kNone)
    fail_key(root, path + ".jitter.distribution", "needs '{}.jitter.deviation'", path);
  const bool period = keys.noise_period || inherited.noise_period;
  const bool duration = keys.noise_duration || inherited.noise_duration;
  if (duration && !period) fail_key(root, path + ".noise", "needs 'period'");
  if (period && !duration) fail_key(root, path + ".noise", "needs 'duration'");
}

void check_choice(const Tree& root, const RunConfig& config, const RankChoice& who, const std::string& path) {
  if (who.empty()) fail_key(root, path, "needs 'ranks', 'hosts', 'groups' or 'ports'");
  for (size_t i = 0; i < who.ports.size(); ++i) {
    if (std::ranges::find(config.ports, who.ports[i], &PortConfig::name) == config.ports.end())
      fail_key(root, fmt::format("{}.ports[{}]", path, i), "'{}' is not the name of a port", who.ports[i]);
  }
}

void check_straggler(const Tree& root, const StragglerConfig& straggler, const std::string& path) {
  if (straggler.until && *straggler.until <= straggler.from) fail_key(root, path + ".until", "is not after 'from'");
  if (straggler.pause && straggler.factor) fail_key(root, path + ".pause", "contradicts 'factor'; give one of them");
  if (straggler.pause && !straggler.until) fail_key(root, path + ".pause", "needs 'until', or the run would not end");
  if (!straggler.pause && !straggler.factor) fail_key(root, path, "needs 'factor' or 'pause: on'");
}

}  // namespace

void settle_compute(RunConfig& config, const Tree& root) {
  ComputeConfig& chosen = config.compute;
  const ComputeConfig defaults;
  const auto settle = [](auto& value, const auto& otherwise) {
    if (!value) value = otherwise;
  };
  settle(chosen.source, defaults.source);
  settle(chosen.device, defaults.device);
  settle(chosen.data_type, defaults.data_type);
  settle(chosen.latency, defaults.latency);
  settle(chosen.efficiency_axis, defaults.efficiency_axis);
  settle(chosen.jitter, defaults.jitter);
  settle(chosen.jitter_deviation_ppm, defaults.jitter_deviation_ppm);
  settle(chosen.memory_location, defaults.memory_location);
  for (StoreConfig* store : {&chosen.local, &chosen.remote, &chosen.pool, &chosen.storage})
    settle(store->latency, std::optional(Duration()));

  const Tree* compute = root.find("compute");
  const auto place = [&](const char* key, auto& items) {
    const Tree* list = compute == nullptr ? nullptr : compute->find(key);
    for (size_t i = 0; i < items.size(); ++i) items[i].place = list->items[i].origin.place;
  };
  place("overrides", config.compute.overrides);
  place("stragglers", config.compute.stragglers);
}

void validate_compute(const RunConfig& config, const Tree& root) {
  const ComputeConfig& compute = config.compute;
  check_efficiency(root, compute, "compute");
  check_variation(root, compute, ComputeKeys(), "compute");
  for (size_t i = 0; i < compute.overrides.size(); ++i) {
    const std::string path = fmt::format("compute.overrides[{}]", i);
    check_choice(root, config, compute.overrides[i].who, path);
    check_efficiency(root, compute.overrides[i].keys, path);
    check_variation(root, compute.overrides[i].keys, compute, path);
  }
  for (size_t i = 0; i < compute.stragglers.size(); ++i) {
    const std::string path = fmt::format("compute.stragglers[{}]", i);
    check_choice(root, config, compute.stragglers[i].who, path);
    check_straggler(root, compute.stragglers[i], path);
  }
}

}  // namespace rankwire
