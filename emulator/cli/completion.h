// `completion` and `man`: what shells and manuals are told of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "emulator/cli/verb_model.h"

namespace rankwire {

/// A script that completes verbs, options and their values, for a shell to source. `shell`: "bash", "zsh" or "fish".
std::string completion_script(const VerbModel& program, const std::string& shell);
/// `rankwire.1` in the macros of man(7).
std::string manual_page(const VerbModel& program, const std::string& version);

/// Verbs that print these. `shell` outlives the parsing.
void add_completion_verbs(CLI::App& app, std::string& shell);

}  // namespace rankwire
