// A suite of benchmarks as a lab writes it: which device, over which ports, and what is other than the drafts have it.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "emulator/input/tree.h"

namespace rankwire {

struct BmwgSuite {
  /// `tests`: parameters of the tests that `select` chooses.
  struct Override {
    std::string select;
    Tree parameters;                    ///< a map; `select` and `set` are none
    std::vector<std::string> settings;  ///< "key=value", of the runs of these tests
    Origin origin;
  };

  std::string name;
  std::filesystem::path base;         ///< configuration with the ports
  std::vector<std::string> settings;  ///< "key=value", of all runs
  /// Free texts for the report: of the device (vendor, model, firmware, ...), of how it is cabled, and of the hosts;
  /// a text alone is the `name`.
  std::map<std::string, std::string> dut, topology, host;
  std::vector<Override> overrides;           ///< those later on hold
  std::map<std::string, std::string> hooks;  ///< link_down, link_up, counters: commands
  std::chrono::milliseconds hook_patience{10'000};
};

/// Reads the YAML of docs/bmwg.md. The configuration is not read. Throws Error(kInput) with file and line.
BmwgSuite read_bmwg_suite(const std::filesystem::path& file);

}  // namespace rankwire
