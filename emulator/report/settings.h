// In what the configurations of two records differ.
#pragma once

#include <string>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// A key of the resolved configuration, "transport.congestion_control.algorithm", with its values as JSON; "" where
/// there is none.
struct DifferentSetting {
  std::string key, base, other;
};

/// In the order of their keys. A key that is not there is "none": what a section says so of a part that is left out is
/// what the configuration without the section says.
std::vector<DifferentSetting> different_settings(const RunReader& base, const RunReader& other);

}  // namespace rankwire
