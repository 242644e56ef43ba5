// `view`: the reports of finished runs, for a browser.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "emulator/cli/commands.h"

namespace rankwire {

struct ViewRequest {
  std::vector<std::filesystem::path> runs;
  std::string listen = "127.0.0.1:0";    ///< as parse_listen reads it
  OutputForm form = OutputForm::kTable;  ///< of the address that is printed
};

/// Serves until it is interrupted. Throws Error(kInput) for what is no finished run, or an address that cannot be had.
int view_runs(const ViewRequest& request);

/// `request` and `status` outlive the parsing.
void add_view_verb(CLI::App& app, ViewRequest& request, int& status);

}  // namespace rankwire
