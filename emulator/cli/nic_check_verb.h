// `rankwire nic-check`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "emulator/cli/suite_run.h"

namespace rankwire {

/// Options of `nic-check`.
struct NicCheckRequest {
  std::string config;  ///< empty with `emulated`
  SuiteRunRequest run;
  bool list = false;
  bool emulated = false;
  std::string mutant;  ///< of the emulated NIC; empty: none
  std::string largest = "1MiB";
  uint32_t queue_pairs = 256;
  std::string replay;    ///< run folder whose messages are what is sent; empty: the catalogue
  uint32_t rank = 0;     ///< of `replay`: what the NIC stands for
  bool is_long = false;  ///< `largest` and `queue_pairs` are the most that there may be
};

/// The exit status of the suite.
int check_nic(const NicCheckRequest& request);

/// Options of `agent`.
struct AgentRequest {
  std::string listen = "127.0.0.1:7791", token, token_file, device, ip;
  std::string largest = "1MiB";
  std::optional<uint32_t> gid_index;
};

/// Serves until interrupted.
int serve_nic(const AgentRequest& request);

void add_agent_verb(CLI::App& app, AgentRequest& request, int& status);
void add_nic_check_verb(CLI::App& app, NicCheckRequest& request, bool& quiet, int& status);

}  // namespace rankwire
