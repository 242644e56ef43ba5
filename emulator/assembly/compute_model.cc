#include "emulator/assembly/compute_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "emulator/assembly/compute_choice.h"
#include "emulator/input/kernel_table.h"
#include "emulator/simulator/compute_device.h"
#include "emulator/simulator/jitter.h"
#include "emulator/simulator/kernel_times.h"
#include "emulator/simulator/roofline.h"
#include "emulator/simulator/slow_downs.h"

namespace rankwire {
namespace {

using Tables = std::map<std::string, std::shared_ptr<const KernelTimes>>;

/// Latency + bytes / bandwidth.
struct Store {
  std::optional<Bandwidth> bandwidth;  ///< absent: as fast as can be
  Duration latency;

  Duration time_of(Bytes bytes) const {
    if (!bandwidth) return latency;
    const Duration moving = roofline(0, bytes, {.peak_flops = 1, .memory_bandwidth = *bandwidth}).time;
    return moving < Duration::max() - latency ? moving + latency : Duration::max();
  }
};

Store store_of(const StoreConfig& config, std::optional<Bandwidth> bandwidth) {
  return {config.bandwidth ? config.bandwidth : bandwidth, config.latency.value_or(Duration())};
}

/// What the ranks with the same keys have.
class RankModel {
 public:
  RankModel(const ComputeKeys& keys, std::shared_ptr<const KernelTimes> table, Scale scale)
      : source_(*keys.source),
        device_name_(*keys.device),
        data_type_(*keys.data_type),
        latency_(*keys.latency),
        efficiency_{*keys.efficiency_axis, keys.efficiency},
        table_(std::move(table)),
        location_(*keys.memory_location),
        scale_(scale) {
    const DevicePreset& device = *find_device(device_name_);
    peaks_ = device.peaks;
    if (keys.peak) peaks_.fill(*keys.peak);
    for (size_t i = 0; i < peaks_.size(); ++i) peaks_[i] = keys.peaks[i].value_or(peaks_[i]);
    memory_bandwidth_ = keys.memory_bandwidth.value_or(device.memory_bandwidth);
    local_ = store_of(keys.local, memory_bandwidth_);
    remote_ = store_of(keys.remote, std::nullopt);
    pool_ = store_of(keys.pool, std::nullopt);
    storage_ = store_of(keys.storage, std::nullopt);
  }

  void apply(RankId rank, Node& node) const {
    const bool works =
        node.kind == NodeKind::kCompute || node.kind == NodeKind::kHost || node.kind == NodeKind::kMemory;
    if (!works || timed_by_table(rank, node) || node.kind == NodeKind::kHost) return;
    if (source_ == ComputeSource::kRecorded || (source_ == ComputeSource::kAuto && node.recorded)) return;
    if (node.kind == NodeKind::kMemory) {
      time_memory(node);
    } else {
      time_kernel(rank, node);
    }
  }

 private:
  void set(Node& node, Duration duration, TimedBy model) const {
    node.duration = scaled_duration(duration, scale_);
    node.timed_by = model;
  }

  bool timed_by_table(RankId rank, Node& node) const {
    if (!table_) return false;
    const std::optional<Duration> time = table_->find(rank, node.name, node.operations, node.tensor);
    if (time) set(node, *time, TimedBy::kTable);
    return time.has_value();
  }

  void time_memory(Node& node) const {
    if (node.subject.memory() == MemoryPlace::kStorage)
      return set(node, storage_.time_of(node.bytes), TimedBy::kStorage);
    set(node, store(node.subject.memory()).time_of(node.bytes), TimedBy::kMemory);
  }

  const Store& store(MemoryPlace place) const {
    switch (place) {
      case MemoryPlace::kRemote:
        return remote_;
      case MemoryPlace::kPool:
        return pool_;
      case MemoryPlace::kUnspecified:
        return location_ == MemoryLocation::kRemote ? remote_ : location_ == MemoryLocation::kPool ? pool_ : local_;
      case MemoryPlace::kLocal:
      case MemoryPlace::kStorage:
        return local_;
    }
    return local_;
  }

  void time_kernel(RankId rank, Node& node) const {
    if (node.operations == 0 && node.tensor.count == 0) return set(node, latency_, TimedBy::kDefault);
    const DataType type = node.subject.data_type() == DataType::kUnknown ? data_type_ : node.subject.data_type();
    const int64_t peak = peak_of(peaks_, type);
    if (peak == 0) {
      fail_input("rank {}, node {} \"{}\" computes in {}, for which device {} has no peak rate: give compute.peaks.{}",
                 rank.value, node.id, node.name, to_string(type), device_name_, to_string(type));
    }
    const RooflineTime found =
        roofline(node.operations, node.tensor, {.peak_flops = peak, .memory_bandwidth = memory_bandwidth_},
                 efficiency_.share_of(node.operations, node.tensor));
    const Duration time = found.time < Duration::max() - latency_ ? found.time + latency_ : Duration::max();
    set(node, time,
        found.bound == RooflineBound::kArithmetic ? TimedBy::kRooflineArithmetic : TimedBy::kRooflineMemory);
  }

  ComputeSource source_;
  std::string device_name_;
  DataType data_type_;
  PeakRates peaks_;
  Bandwidth memory_bandwidth_;
  Duration latency_;
  EfficiencyCurve efficiency_;
  std::shared_ptr<const KernelTimes> table_;  ///< null: none
  MemoryLocation location_;
  Store local_, remote_, pool_, storage_;
  Scale scale_;
};

struct ComputeModel {
  std::vector<RankModel> models;
  std::vector<uint32_t> of_rank;
};

std::shared_ptr<const KernelTimes> table_of(const Setup& setup, Tables& tables, const std::string& file) {
  if (file.empty()) return nullptr;
  auto& table = tables[file];
  if (!table) {
    table = std::make_shared<KernelTimes>(
        read_kernel_table(file, [&](const std::string& group) { return members_of(setup, group); }));
  }
  return table;
}

/// Jitter, noise and stragglers of all ranks.
class Variation final : public NodeVariation {
 public:
  explicit Variation(const Setup& setup) : seed_(mix64(setup.config.seed ^ kStream)) {
    ComputeByRank compute = compute_by_rank(setup);
    of_rank_ = std::move(compute.of_rank);
    for (const ComputeKeys& keys : compute.keys) {
      std::optional<Noise> noise;
      if (keys.noise_period && *keys.noise_duration > Duration(0)) noise = {*keys.noise_period, *keys.noise_duration};
      jitters_.emplace_back(*keys.jitter, *keys.jitter_deviation_ppm, noise);
      varies_ |= noise || (*keys.jitter != JitterDistribution::kNone && *keys.jitter_deviation_ppm > 0);
    }
    std::vector<std::vector<SlowDown>> of_rank(of_rank_.size());
    for (const StragglerRow& row : straggler_rows(setup)) {
      of_rank[row.rank.value].push_back(
          {row.from, row.until.value_or(Time::never()), row.factor_ppm.value_or(SlowDown::kPause)});
      varies_ = true;
    }
    for (const std::vector<SlowDown>& slow_downs : of_rank) slow_downs_.emplace_back(slow_downs);
  }

  bool varies() const { return varies_; }

  VariedTime vary(RankId rank, uint32_t place, uint32_t iteration, Duration takes, Time start) const noexcept override {
    const uint64_t key = mix64(mix64(seed_ + rank.value) ^ (uint64_t{iteration} << 32 | place));
    const Jitter::Varied varied = jitters_[of_rank_[rank.value]].vary(takes, key);
    if (varied.interrupted >= Duration::max() - varied.jittered) return {kLatest};
    const Duration work = varied.jittered + varied.interrupted;
    const Time end = slow_downs_[rank.value].end_of(start, work);
    if (end == kLatest) return {kLatest};
    return {end, varied.jittered - takes, varied.interrupted, (end - start) - work};
  }

 private:
  static constexpr uint64_t kStream = 0x636f6d70757465;  // "compute": other draws from the seed are others
  static constexpr Time kLatest = Time(Time::never().ps - 1);

  uint64_t seed_;
  std::vector<Jitter> jitters_;  // that differ
  std::vector<uint32_t> of_rank_;
  std::vector<SlowDowns> slow_downs_;  // by rank
  bool varies_ = false;
};

Scale compute_scale(const Setup& setup, RankId rank) {
  const RunConfig& config = setup.config;
  const JobId job = setup.workload.ranks[rank.value].job;
  return config.jobs.empty() ? config.workload.compute_scale : config.jobs[job.value].workload.compute_scale;
}

}  // namespace

void apply_compute_model(Setup& setup) {
  const auto model = std::make_shared<ComputeModel>();
  ComputeByRank compute = compute_by_rank(setup);
  Tables tables;
  // By the keys and the scale, of which each job has its own.
  std::map<std::pair<uint32_t, std::pair<int64_t, int64_t>>, uint32_t> known;
  for (uint32_t rank = 0; rank < compute.of_rank.size(); ++rank) {
    const uint32_t own = compute.of_rank[rank];
    const Scale scale = compute_scale(setup, RankId(rank));
    const auto [entry, is_new] =
        known.try_emplace({own, {scale.numerator, scale.denominator}}, static_cast<uint32_t>(model->models.size()));
    if (is_new) {
      const ComputeKeys& keys = compute.keys[own];
      model->models.emplace_back(keys, table_of(setup, tables, keys.kernels_file), scale);
    }
    model->of_rank.push_back(entry->second);
  }
  const auto apply = [model](RankId rank, Node& node) { model->models[model->of_rank[rank.value]].apply(rank, node); };
  for (uint32_t rank = 0; rank < setup.workload.ranks.size(); ++rank) {
    for (Node& node : setup.workload.ranks[rank].nodes) apply(RankId(rank), node);
  }
  for (Streaming& streaming : setup.workload.streaming) streaming.model = apply;
}

std::unique_ptr<NodeVariation> make_variation(const Setup& setup) {
  auto variation = std::make_unique<Variation>(setup);
  if (!variation->varies()) return nullptr;
  return variation;
}

std::vector<StragglerRow> straggler_rows(const Setup& setup) {
  std::vector<StragglerRow> rows;
  const std::vector<StragglerConfig>& stragglers = setup.config.compute.stragglers;
  for (size_t i = 0; i < stragglers.size(); ++i) {
    const StragglerConfig& item = stragglers[i];
    for (const RankId rank : chosen_ranks(setup, item.who, item.place, fmt::format("compute.stragglers[{}]", i))) {
      StragglerRow row{.rank = rank, .from = Time() + item.from};
      if (item.until) row.until = Time() + *item.until;
      if (item.factor) {
        constexpr int64_t kMillion = 1'000'000;
        row.factor_ppm = static_cast<uint64_t>(item.factor->numerator * kMillion / item.factor->denominator);
      }
      rows.push_back(row);
    }
  }
  std::ranges::stable_sort(rows, {}, &StragglerRow::rank);
  return rows;
}

}  // namespace rankwire
