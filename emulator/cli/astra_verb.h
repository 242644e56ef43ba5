// The verb `astra`: a command line of ASTRA-sim's analytical programs, run here.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "emulator/cli/commands.h"

namespace rankwire {

/// Options by ASTRA-sim's names.
struct AstraRequest {
  std::string workload, groups = "empty", system, memory, network, congestion = "unaware";
  uint32_t queues = 1;
  bool rendezvous = false;
  std::string logging;  ///< taken and not used
  RunRequest run;       ///< folder and form of the result
};

/// The configuration that says the same. Paths are made absolute from the working directory.
RunConfig astra_config(const AstraRequest& request);

/// CLI11 keeps references to both until the verb has run.
void add_astra_verb(CLI::App& app, AstraRequest& request, int& status);

}  // namespace rankwire
