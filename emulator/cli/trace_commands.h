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
  std::string pictures;              ///< folder, or ""
  std::string html;                  ///< file, or ""
  std::vector<std::string> against;  ///< files, folders, prefixes of one other set; none: no comparison
  bool by_rank = false;              ///< rank by rank however small the set is
};

struct TraceScaleRequest {
  TraceInputs inputs;
  uint32_t replicas = 0;
  std::vector<std::string> across;
  std::string out;     ///< prefix
  bool force = false;  ///< also more than kMostGeneratedNodes
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

struct TraceObfuscateRequest {
  TraceInputs inputs;
  std::string key, sizes = "keep", times = "keep";
  std::vector<std::string> allowed;  ///< attributes
  std::string out;                   ///< prefix
  std::string mapping;               ///< file, or ""
};

struct TraceShrinkRequest {
  TraceInputs inputs;
  std::string keep;    ///< command
  std::string config;  ///< file, or ""
  std::string out;     ///< prefix
  std::string bundle;  ///< archive, or ""
  int status = 0;
  uint64_t tries = 500;
  std::string time = "3600s", patience = "60s";
};

struct TraceSynthesizeRequest {
  TraceInputs inputs;  ///< none: from a model alone
  TraceTimes times;
  std::string model;                 ///< file, or ""
  std::vector<std::string> against;  ///< sets to be compared with; none: the inputs
  std::optional<uint32_t> ranks, role;
  std::string scale_model = "weak";  ///< or "strong"
  uint32_t family = 0;
  uint64_t seed = 1;
  std::string out;     ///< prefix, or "": only the model is written
  bool force = false;  ///< also more than kMostGeneratedNodes
};

struct TraceChooseRequest {
  TraceInputs inputs;
  TraceTimes times;
  std::optional<uint32_t> count;
  std::string coverage;  ///< share, or "": one of the two
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
int obfuscate_traces(const TraceObfuscateRequest& request);
/// 1 when the whole set does not show it.
int shrink_traces(const TraceShrinkRequest& request);
int synthesize_traces(const TraceSynthesizeRequest& request);
int choose_traces(const TraceChooseRequest& request);
/// 1 when a format was asked for and Graphviz's program `dot` is not there or fails.
int draw_traces(const TraceDrawRequest& request);

}  // namespace rankwire
