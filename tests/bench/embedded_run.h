// Whole runs of the program on the embedded switch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/temporary_folder.h"

namespace rankwire::bench {

struct EmbeddedRun {
  uint32_t mtu;
  std::string_view core;  ///< switch.core
  uint32_t workers = 1;
  bool live = false;  ///< with a page of the run as it goes on
};

/// Runs a configuration with further options, and returns the run's folder in `folder`, where the one before stood.
/// Throws Error with the program's first line when it fails.
std::filesystem::path run_in(const testing::TemporaryFolder& folder, const std::string& configuration,
                             std::string_view options = "");

/// Data packets a second, from time 0 to the completion of the last rank.
double run_rate(const testing::TemporaryFolder& folder, const EmbeddedRun& run);

}  // namespace rankwire::bench
