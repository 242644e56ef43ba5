// Which version of the configuration's keys a file is written for.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "emulator/input/syntax.h"

namespace rankwire {

/// Raised when a key changes its meaning or goes away; an added key does not raise it.
inline constexpr uint32_t kConfigurationVersion = 1;

struct ConfigurationVersion {
  uint32_t parse(const Tree& scalar) const {
    const uint32_t version = Integer<uint32_t>{1}.parse(scalar);
    if (version > kConfigurationVersion)
      throw ValueError(fmt::format("{} is newer than {}, up to which this program knows the keys; take a newer one",
                                   version, kConfigurationVersion));
    return version;
  }
  ConfigJson print(uint32_t version) const { return version; }
};

}  // namespace rankwire
