// The verb `interference`.
#pragma once

#include <CLI/CLI.hpp>

#include "emulator/cli/commands.h"

namespace rankwire {

/// Adds the verb to `app`. When it has run, `status` is its exit status. All outlive the parsing.
void add_interference_verb(CLI::App& app, InterferenceRequest& request, bool& quiet, int& status);

}  // namespace rankwire
