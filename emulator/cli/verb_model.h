// What the command line understands, as plain data: read from the description that `--help` is made of, so that
// completions and the manual cannot say something else.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace rankwire {

struct OptionModel {
  std::vector<std::string> names;  ///< "-b", "--min"; of a positional one its name, "CONFIG"
  std::string description;
  std::string value;                 ///< "TEXT", "UINT", "{plain,nccl}"; empty: a flag
  std::vector<std::string> choices;  ///< of the value; empty: whatever it is
  bool is_positional = false, is_required = false;
};

struct VerbModel {
  std::string name;  ///< "trace check"; of the program ""
  std::string description, footer;
  std::vector<OptionModel> options;
  std::vector<VerbModel> verbs;
};

/// The program with all verbs beneath it.
VerbModel verb_model(const CLI::App& app);

}  // namespace rankwire
