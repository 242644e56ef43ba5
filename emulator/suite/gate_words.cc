#include "emulator/suite/gate_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "emulator/input/nearest_key.h"
#include "emulator/suite/test_case.h"

namespace rankwire {
namespace {

void require_one_of(const Gate& gate, const std::vector<std::string>& known, std::string_view what) {
  if (std::ranges::find(known, gate.bound) != known.end()) return;
  std::string lower = gate.bound;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // "failed", "skip".
  const auto is_part = [&](const std::string& word) { return lower.starts_with(word) || word.starts_with(lower); };
  const auto meant = std::ranges::find_if(known, is_part);
  const std::string nearest = meant != known.end() ? *meant : nearest_name(lower, known);
  fail_input("{}: '{}' is no {}; {}", gate.origin, gate.bound, what,
             nearest.empty() ? fmt::format("it is one of {}", fmt::join(known, ", "))
                             : fmt::format("did you mean '{}'?", nearest));
}

}  // namespace

void require_suite_word(const Gate& gate) {
  if (!gate.is_word) return;
  if (gate.path == "verdict")
    return require_one_of(gate, {"pass", "fail", "inconclusive", "interrupted", "nothing tested"},
                          "verdict of a suite");
  if (!gate.path.ends_with(".verdict")) return;
  std::vector<std::string> known;
  for (const CaseVerdict verdict : kCaseVerdicts) known.emplace_back(name_of(verdict));
  require_one_of(gate, known, "verdict of a test");
}

void require_run_word(const Gate& gate) {
  if (!gate.is_word) return;
  if (gate.path == "verdict" || gate.path == "verdict.base" || gate.path == "verdict.other")
    require_one_of(gate, {"ok", "degraded", "failed", "inconclusive", "stalled", "interrupted"}, "verdict of a run");
  if (gate.path == "fidelity") require_one_of(gate, {"ok", "generator_limited", "unknown"}, "fidelity of a run");
}

}  // namespace rankwire
