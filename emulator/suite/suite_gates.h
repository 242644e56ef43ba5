// Gates on what the tests of a suite have measured: "T6.jct.jct_ratio_p95 <= 1.10", or of all tests together
// "jct_ratio_p95 <= 1.10".
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/suite/gate.h"
#include "emulator/suite/suite.h"

namespace rankwire {

/// Beginnings of the names of what tests are known to measure, as gate_name writes them, by id of the test.
using SuiteKpis = std::map<std::string, std::vector<std::string>>;

/// A measurement as a gate calls it: "JCT ratio P95" is "jct_ratio_p95".
std::string gate_name(std::string_view measured);

/// What gates of a suite may ask for. Parts of the ids of tests, divided by dots, are members within each other; that
/// of a test has its `verdict`, `took_ms`, and each of its measurements by gate_name and the ending of its unit, as
/// rows of `of` (what it is of), `value`, `repetitions` and `variation` (null: unknown). Beside the tests stand
/// `verdict`, `verdicts` (how many tests ended so), `interrupted` and the measurements of all tests, whose rows name
/// them.
nlohmann::ordered_json suite_figures(const SuiteResult& suite);

/// check_gates on these figures. What an inconclusive test has measured, and that it has not passed, decides nothing:
/// as check_figure says of doubted figures. A measurement that is not there of a test that was skipped or is
/// inconclusive is inconclusive; of one that failed or could not be carried out, and of a suite that was interrupted, a
/// failure. A path in which `*` or `?` stand before its last dot is of all tests whose ids they select, as `selects`
/// does, and that measure the figure. Throws Error(kInput), with the gate's origin, for a name that no test of the
/// suite has, for a word that is no verdict, and for a pattern's figure that is next to one that tests have.
std::vector<GateResult> check_suite_gates(const std::vector<Gate>& gates, const SuiteResult& suite,
                                          const SuiteKpis& kpis = {});

/// Before any test is run: throws Error(kInput) likewise for gates that name a test which is none of these or a verdict
/// that is none. Names of measurements are not known by then.
void require_tests_of_gates(const std::vector<Gate>& gates, std::span<const TestCase> cases);

/// For the reports: behind the tests of the suite each gate as a test.
SuiteResult with_gates(SuiteResult suite, const std::vector<GateResult>& results);

}  // namespace rankwire
