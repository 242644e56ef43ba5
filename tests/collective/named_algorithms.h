// Every algorithm between members that a configuration can name, for tests of each; in_network_test.cc has the other.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emulator/collective/schedule.h"

namespace rankwire {

struct NamedAlgorithm {
  Operation operation;
  Algorithm algorithm;
};

inline std::vector<NamedAlgorithm> named_algorithms() {
  std::vector<NamedAlgorithm> result;
  for (uint32_t i = 0; i < kCollectiveOperations; ++i)
    for (const Algorithm algorithm : algorithms_for(static_cast<Operation>(i)))
      if (algorithm != Algorithm::kAuto && algorithm != Algorithm::kInNetwork)
        result.push_back({static_cast<Operation>(i), algorithm});
  return result;
}

inline std::string name_of(const ::testing::TestParamInfo<NamedAlgorithm>& info) {
  return std::string(to_string(info.param.operation)) + "_" + std::string(to_string(info.param.algorithm));
}

inline ScheduleOptions options_of(const NamedAlgorithm& named, uint32_t channels, Bytes chunk) {
  ScheduleOptions options{.channels = channels, .chunk = chunk};
  options.algorithms[static_cast<size_t>(named.operation)] = named.algorithm;
  return options;
}

}  // namespace rankwire
