// What accelerators can do at most.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/data_type.h"
#include "base/units.h"

namespace rankwire {

/// By data type, flop/s (or integer operations a second) of dense matrices; 0: the device does not compute in it.
using PeakRates = std::array<int64_t, kDataTypes.size()>;

/// The rate of `type`, or of the next wider type that has one; 0 when there is none. `type` is not kUnknown.
int64_t peak_of(const PeakRates& peaks, DataType type);

struct DevicePreset {
  std::string_view name;
  PeakRates peaks;
  Bandwidth memory_bandwidth;
};

/// "generic", and devices by the figures of their vendors without structured sparsity. The source of each figure stands
/// in docs/compute.md.
std::span<const DevicePreset> device_presets();
/// Null when no preset has the name.
const DevicePreset* find_device(std::string_view name);

}  // namespace rankwire
