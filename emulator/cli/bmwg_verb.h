// `bmwg`: the benchmarks of the IETF's drafts on AI fabrics.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace rankwire {

struct BmwgRequest {
  std::string suite;              ///< file
  std::filesystem::path out;      ///< empty: runs/NAME
  std::vector<std::string> only;  ///< patterns of ids; empty: all
  bool quick = false, resume = false, yes = false, json = false;
  bool twin = false;  ///< packet by packet in virtual time, instead of emulated
};

/// `request` and `status` outlive the parse.
void add_bmwg_verb(CLI::App& app, BmwgRequest& request, bool& quiet, int& status);

}  // namespace rankwire
