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
  std::string repair;             ///< folder for the repaired copy, or ""
  std::string unmatched, absurd;  ///< what is done about them in the copy: "drop", "complete", or ""
};

/// How long what is not timed in the traces is taken to take.
struct TraceTimes {
  std::string rate = "100Gbps", peak = "100Tflops";
};

struct TraceInspectRequest {
  TraceInputs inputs;
  TraceTimes times;
  std::string pictures;  ///< folder, or ""
};

struct TraceScaleRequest {
  TraceInputs inputs;
  uint32_t replicas = 0;
  std::vector<std::string> across;
  std::string out;  ///< prefix
};

/// Each as written; "" where it does not restrict.
struct TraceSelectRequest {
  TraceInputs inputs;
  TraceTimes times;
  std::string ranks, ids;  ///< "0-3,7"
  std::vector<std::string> kinds, names;
  std::string window;  ///< "1ms-2.5ms"
  std::string out;     ///< prefix
};

struct TraceDrawRequest {
  TraceInputs inputs;
  TraceTimes times;
  uint32_t rank = 0;
  uint32_t most = 60;                ///< vertices
  std::vector<std::string> formats;  ///< of the graph: svg, pdf
  std::string out;                   ///< prefix
};

/// 1 when an error is found; with `repair` when one is left in the copy.
int check_traces(const TraceCheckRequest& request);
/// 1 when a file cannot be read to its end.
int inspect_traces(const TraceInspectRequest& request);
int scale_traces(const TraceScaleRequest& request);
int select_traces(const TraceSelectRequest& request);
/// 1 when a format was asked for and Graphviz's program `dot` is not there or fails.
int draw_traces(const TraceDrawRequest& request);

}  // namespace rankwire
