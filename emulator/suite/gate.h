// What a pipeline asks of the figures of a result: "transport.retransmitted == 0", a line each.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/suite/suite.h"

namespace rankwire {

struct Gate {
  std::string text;        ///< as it is written
  std::string origin;      ///< "FILE:LINE"
  std::string function;    ///< "max", "min", "sum", "mean", "count" of all that the path selects; empty: each of them
  std::string path;        ///< as select_metric() takes it
  std::string comparison;  ///< "<=", "<", ">=", ">", "==" or "!="
  std::string bound;       ///< as written, without its unit
  std::string unit;        ///< empty: the figure's own
  bool is_word = false;    ///< the bound is a text, such as "ok", or "true"
};

/// The gates of a file: a line each, behind which `#` begins a comment; empty lines do not count. So that the file may
/// be YAML as well, a line may be an item, "- ", and in quotes, and the first one `gates:`. Throws Error(kInput) naming
/// file and line.
std::vector<Gate> read_gates(const std::filesystem::path& file);
/// `name` stands for the file in errors.
std::vector<Gate> parse_gates(std::string_view text, const std::string& name);

struct GateResult {
  Gate gate;
  nlohmann::ordered_json value;              ///< in the unit of the gate; of several the worst; null: no such figure
  CaseVerdict verdict = CaseVerdict::kPass;  ///< or kFail, kInconclusive
  std::string text;                          ///< "ratio: 1.432 is above 1.1"
};

/// Whether a run of this configuration recorded no operations (`record.operations: none`).
bool lacks_operations(const nlohmann::ordered_json& config);

/// Each gate on `document`: a summary or a comparison, whose `verdict` says how the run ended. A figure that the run
/// has not is inconclusive in an inconclusive run, and else a failure, as is any figure that is not there of a run that
/// did not end well. So is a ratio, a bus bandwidth or a completion time that is nearer to the bound than the part that
/// `certification.resolvable` says, and `ratio` where one end of the reference's band keeps the bound and the other
/// does not. Throws Error(kInput), with the gate's origin, for a figure that nobody knows or whose unit is another, and
/// for one of operations where `config` of the document says that none was recorded.
std::vector<GateResult> check_gates(const std::vector<Gate>& gates, const nlohmann::ordered_json& document);

/// Figures that decide nothing, by where they stand in their document, and why: "T8.soak is inconclusive".
using DoubtedFigures = std::map<const nlohmann::ordered_json*, std::string>;

/// The same of one gate and figures of another kind, which errors call so: "suite". Its `verdict` is a figure as others
/// are. A gate that others than the doubted ones do not break already is inconclusive if it selects one of these; not
/// what holds of an inconclusive test as it stands: `!= fail`, `== inconclusive`, and how many there are. Throws
/// Error(kInput) where there is no such figure. `paths`: what the gate's path stands for where that is no path itself.
GateResult check_figure(const Gate& gate, const nlohmann::ordered_json& figures, std::string_view kind,
                        const DoubtedFigures& doubted = {}, const std::vector<std::string>& paths = {});

/// 1 where one is broken, else 3 where one is inconclusive, else 0.
int exit_status(const std::vector<GateResult>& results);

/// A line for each, for people. Empty without gates.
std::string gates_table(const std::vector<GateResult>& results);
/// `gates` of what `--json` prints.
nlohmann::ordered_json gates_json(const std::vector<GateResult>& results);
/// For reports: a gate as a test.
CaseResult gate_case(const GateResult& result);
/// For reports: the verdict of the run as the test "verdict", then its limits, then each gate.
SuiteResult gates_suite(const std::string& name, const nlohmann::ordered_json& document,
                        const std::vector<GateResult>& results);

}  // namespace rankwire
