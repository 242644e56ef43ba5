// What the reports of a suite have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "emulator/suite/suite.h"

namespace rankwire {

/// Properties beneath one heading, without their prefix, in the order of their names.
struct PropertySection {
  std::string title;
  std::vector<std::pair<std::string, std::string>> properties;
};
/// "dut.", "topology.", "test." and "host." in this order, then other prefixes, then what has none.
std::vector<PropertySection> property_sections(const SuiteResult& suite);

/// The one verdict of a suite: "fail" where a test failed or could not be carried out, "inconclusive", or "pass";
/// "interrupted" where it is not whole, "nothing tested" where all was skipped.
std::string suite_verdict(const SuiteResult& suite);

/// Curves of a test over the same two quantities, which one graph shows.
std::vector<std::vector<MeasuredCurve>> graphs_of(const CaseResult& result);

/// "1.234 s", "2 min 5 s".
std::string took_text(std::chrono::milliseconds took);
/// A coefficient of variation in percent: "1.25 %"; "-" where it is unknown.
std::string variation_text(const Measured& m);

}  // namespace rankwire
