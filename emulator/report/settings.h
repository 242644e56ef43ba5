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

/// In the order of their keys. One that says "none" where the other has no such key does not differ: the section that
/// it stands in is left out there.
std::vector<DifferentSetting> different_settings(const RunReader& base, const RunReader& other);

}  // namespace rankwire
