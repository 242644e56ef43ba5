// `rankwire nic-check`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
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
  bool quiet = false;
  bool yes = false;  ///< frames may be sent on the configured port
};

/// The exit status of the suite.
int check_nic(const NicCheckRequest& request);

/// Options of `agent`.
struct AgentRequest {
  std::string listen = "127.0.0.1:7791", token, device, ip;
  std::optional<uint32_t> gid_index;
};

/// Serves until interrupted.
int serve_nic(const AgentRequest& request);

void add_agent_verb(CLI::App& app, AgentRequest& request, int& status);
void add_nic_check_verb(CLI::App& app, NicCheckRequest& request, int& status);

}  // namespace rankwire
