#include "emulator/simulator/compute_device.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

PeakRates peaks_of(const char* name) {
  return find_device(name)->peaks;
}

// Data sheets: see docs/compute.md.
TEST(ComputeDevice, HasTheFiguresOfDataSheets) {
  EXPECT_EQ(peak_of(peaks_of("a100"), DataType::kBf16), 312'000'000'000'000);
  EXPECT_EQ(peak_of(peaks_of("a100"), DataType::kFp64), 19'500'000'000'000);
  EXPECT_EQ(peak_of(peaks_of("h100"), DataType::kFp8), 1'979'000'000'000'000);
  EXPECT_EQ(peak_of(peaks_of("b200"), DataType::kFp16), 2'250'000'000'000'000);
  EXPECT_EQ(peak_of(peaks_of("mi300x"), DataType::kTf32), 653'700'000'000'000);
  EXPECT_EQ(find_device("h200")->memory_bandwidth, Bandwidth(38'400'000'000'000));
  EXPECT_EQ(find_device("h300"), nullptr);
}

TEST(ComputeDevice, ComputesInTheNextWiderTypeThatItHas) {
  EXPECT_EQ(peak_of(peaks_of("a100"), DataType::kFp8), 312'000'000'000'000);
  EXPECT_EQ(peak_of(peaks_of("tpu_v4"), DataType::kFp16), 275'000'000'000'000);
  EXPECT_EQ(peak_of(peaks_of("tpu_v4"), DataType::kFp32), 0);
}

TEST(ComputeDevice, NamesAreUniqueAndEveryDeviceComputesInBf16) {
  for (const DevicePreset& preset : device_presets()) {
    EXPECT_EQ(find_device(preset.name), &preset);
    EXPECT_GT(preset.peaks[static_cast<size_t>(DataType::kBf16)], 0) << preset.name;
    EXPECT_GT(preset.memory_bandwidth.bits_per_second, 0) << preset.name;
  }
}

}  // namespace
}  // namespace rankwire
