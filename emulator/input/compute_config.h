// How long ranks compute: the keys `compute`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/data_type.h"
#include "base/units.h"
#include "emulator/simulator/jitter.h"
#include "emulator/simulator/roofline.h"

namespace rankwire {

enum class ComputeSource : uint8_t {
  kAuto,      ///< the trace's duration where the node has one, else a model
  kRecorded,  ///< the trace's duration, 0 where it has none
  kRoofline,  ///< models
};

enum class MemoryLocation : uint8_t { kLocal, kRemote, kPool };

/// What it takes to move data to or from a memory or a storage: latency + bytes / bandwidth.
struct StoreConfig {
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
};

/// Keys that `compute` and each of its overrides have. Absent values are the device's in `compute`, and those of
/// `compute` in an override.
struct ComputeKeys {
  std::optional<ComputeSource> source;
  std::optional<std::string> device;  ///< name of a preset (emulator/simulator/compute_device.h)
  std::optional<DataType> data_type;  ///< of nodes that do not say theirs
  std::optional<int64_t> peak;        ///< flop/s, whatever the data type
  std::array<std::optional<int64_t>, kDataTypes.size()> peaks;
  std::optional<Bandwidth> memory_bandwidth;
  std::optional<Duration> latency;  ///< of each kernel that the roofline times
  std::optional<EfficiencyCurve::Axis> efficiency_axis;
  std::vector<EfficiencyCurve::Point> efficiency;  ///< none: as above
  std::string kernels_file;                        ///< empty: as above
  std::optional<JitterDistribution> jitter;
  std::optional<uint32_t> jitter_deviation_ppm;
  std::optional<Duration> noise_period, noise_duration;
  std::optional<MemoryLocation> memory_location;  ///< of memory nodes that do not say theirs
  StoreConfig local, remote, pool;                ///< keys `memory.*`
  StoreConfig storage;
};

/// Numbers `first` to `last`, both included.
struct NumberRange {
  uint32_t first = 0, last = 0;

  bool operator==(const NumberRange&) const = default;
};

/// Ranks that are in any of the lists.
struct RankChoice {
  std::vector<NumberRange> ranks, hosts;
  std::vector<std::string> groups, ports;  ///< names

  bool empty() const { return ranks.empty() && hosts.empty() && groups.empty() && ports.empty(); }
};

/// Of several overrides for a rank each key is that of the last that has it.
struct ComputeOverride {
  RankChoice who;
  ComputeKeys keys;
  std::string place;  ///< "FILE:LINE", for errors that only the workload shows
};

struct StragglerConfig {
  RankChoice who;
  Duration from;
  std::optional<Duration> until;  ///< absent: to the end of the run
  std::optional<Scale> factor;    ///< >= 1: how many times as long computing takes
  bool pause = false;             ///< instead of a factor; with an end
  std::string place;              ///< as above
};

struct ComputeConfig : ComputeKeys {
  std::vector<ComputeOverride> overrides;
  std::vector<StragglerConfig> stragglers;

  ComputeConfig() {
    source = ComputeSource::kAuto;
    device = "generic";
    data_type = DataType::kBf16;
    latency = Duration();
    efficiency_axis = EfficiencyCurve::Axis::kIntensity;
    jitter = JitterDistribution::kNone;
    jitter_deviation_ppm = 0;
    memory_location = MemoryLocation::kLocal;
    local.latency = remote.latency = pool.latency = storage.latency = Duration();
  }
};

}  // namespace rankwire
