// `rankwire nic-check`.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace rankwire {

/// Options of `nic-check`.
struct NicCheckRequest {
  std::string config;  ///< empty with `emulated`
  bool list = false;
  std::vector<std::string> only;  ///< patterns of ids
  bool emulated = false;
  std::string mutant;         ///< of the emulated NIC; empty: none
  std::filesystem::path out;  ///< empty: runs/nic-check, numbered
  bool resume = false;
  bool json = false;
  bool yes = false;  ///< frames may be sent on the configured port
};

/// The exit status of the suite.
int check_nic(const NicCheckRequest& request);

void add_nic_check_verb(CLI::App& app, NicCheckRequest& request, bool& quiet, int& status);

}  // namespace rankwire
