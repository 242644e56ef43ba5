// `suite`: the result of tests that were carried out, drawn again.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "emulator/cli/commands.h"

namespace rankwire {

struct SuiteRequest {
  std::string folder;                    ///< with suite.json, or that file
  std::string formats;                   ///< some of junit,markdown,html; empty: all
  std::vector<std::string> gates;        ///< files, as read_gates reads them
  OutputForm form = OutputForm::kTable;  ///< of what is printed
};

/// Writes the reports beside `suite.json`, prints the verdicts and returns their exit status. Throws Error(kInput)
/// where there is no suite.
int draw_suite(const SuiteRequest& request);

/// `request` and `status` outlive the parsing.
void add_suite_verb(CLI::App& app, SuiteRequest& request, int& status);

}  // namespace rankwire
