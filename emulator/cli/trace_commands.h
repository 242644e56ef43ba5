// What the verbs of `rankwire trace` do to traces that exist. All return the exit status, as in commands.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/cli/commands.h"

namespace rankwire {

/// Which traces, and what is known of them.
struct TraceInputs {
  std::vector<std::string> paths;  ///< files, folders, prefixes
  std::string groups;              ///< process-group file, or ""
  std::string element_size = "1B";
  std::optional<uint32_t> ranks;
  OutputForm form = OutputForm::kTable;
};

struct TraceCheckRequest {
  TraceInputs inputs;
  bool notes = false;
  std::string repair;  ///< folder for the repaired copy, or ""
};

/// 1 when an error is found; with `repair` when one is left in the copy.
int check_traces(const TraceCheckRequest& request);

}  // namespace rankwire
