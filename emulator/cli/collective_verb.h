// The verb `collective`: one collective over a range of sizes, as nccl-tests measures it.
#pragma once

#include <CLI/CLI.hpp>

#include "emulator/assembly/collective_spec.h"
#include "emulator/cli/commands.h"

namespace rankwire {

struct CollectiveRequest {
  CollectiveSpec spec;
  RunRequest run;       ///< folder and form of the result
  std::string against;  ///< output of nccl-tests to show beside it, as read_nccl_tests reads it; empty: none
  bool twin = false;    ///< packet by packet in virtual time instead of emulated
  bool no_run = false;  ///< the reference alone
  bool force = false;
};

int measure_collective(const CollectiveRequest& request);

/// CLI11 keeps references to all but `app` until the verb has run.
void add_collective_verb(CLI::App& app, CollectiveRequest& request, bool& quiet, int& status);

}  // namespace rankwire
