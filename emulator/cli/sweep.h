// `simulate --sweep`: one configuration with many values of some of its keys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/cli/commands.h"

namespace rankwire {

/// Keys that change together, and the values that they take together.
struct SweepAxis {
  std::vector<std::string> keys;
  std::vector<std::vector<std::string>> values;  ///< one a key
};

/// "KEY=V1,V2,..." or "KEY+KEY=V+V,V+V,...": commas and pluses within [] and {} belong to the value. Throws
/// Error(kInput) unless there are keys, and as many values as keys each time.
SweepAxis parse_sweep_axis(std::string_view text);

/// The settings, "KEY=VALUE", of every combination of the axes' values, the last axis fastest. Throws Error(kInput)
/// when an axis repeats a key, or there are more than 10,000.
std::vector<std::vector<std::string>> sweep_settings(const std::vector<SweepAxis>& axes);

}  // namespace rankwire
