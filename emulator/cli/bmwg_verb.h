// `bmwg`: the benchmarks of the IETF's drafts on AI fabrics.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "emulator/cli/suite_run.h"

namespace rankwire {

struct BmwgRequest {
  std::string suite;  ///< file
  SuiteRunRequest run;
  bool quick = false;
  bool twin = false;  ///< packet by packet in virtual time, instead of emulated
};

/// `request` and `status` outlive the parse.
void add_bmwg_verb(CLI::App& app, BmwgRequest& request, bool& quiet, int& status);

}  // namespace rankwire
