#include "emulator/simulator/compute_device.h"

#include <algorithm>

namespace rankwire {
namespace {

/// flop/s from tenths of Tflop/s, the precision of data sheets: int8, fp8, fp16, bf16, tf32, fp32, fp64.
constexpr PeakRates tenths(PeakRates teraflops) {
  for (int64_t& rate : teraflops) rate *= 100'000'000'000;
  return teraflops;
}

constexpr Bandwidth gigabytes(int64_t a_second) {
  return Bandwidth(a_second * 8'000'000'000);
}

constexpr DevicePreset kPresets[] = {
    {"generic", tenths({1'000, 1'000, 1'000, 1'000, 1'000, 1'000, 1'000}), gigabytes(2'000)},
    {"a100", tenths({6'240, 0, 3'120, 3'120, 1'560, 195, 195}), gigabytes(2'039)},
    {"h100", tenths({19'790, 19'790, 9'895, 9'895, 4'945, 670, 670}), gigabytes(3'350)},
    {"h200", tenths({19'790, 19'790, 9'895, 9'895, 4'945, 670, 670}), gigabytes(4'800)},
    {"b200", tenths({45'000, 45'000, 22'500, 22'500, 11'000, 750, 370}), gigabytes(7'700)},
    {"mi300x", tenths({26'149, 26'149, 13'074, 13'074, 6'537, 1'634, 1'634}), gigabytes(5'300)},
    {"tpu_v4", tenths({2'750, 0, 0, 2'750, 0, 0, 0}), gigabytes(1'200)},
    {"tpu_v5p", tenths({9'180, 0, 0, 4'590, 0, 0, 0}), gigabytes(2'765)},
};

}  // namespace

int64_t peak_of(const PeakRates& peaks, DataType type) {
  const auto from = peaks.begin() + static_cast<std::ptrdiff_t>(type);
  const auto found = std::find_if(from, peaks.end(), [](int64_t rate) { return rate > 0; });
  return found == peaks.end() ? 0 : *found;
}

std::span<const DevicePreset> device_presets() {
  return kPresets;
}

const DevicePreset* find_device(std::string_view name) {
  const auto found = std::ranges::find(kPresets, name, &DevicePreset::name);
  return found == std::end(kPresets) ? nullptr : found;
}

}  // namespace rankwire
