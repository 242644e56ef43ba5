// What was found in a test, in words.
#pragma once

#include <string>

#include "emulator/suite/suite.h"

namespace rankwire {

/// "9.5 Gbit/s", or "none" where it is not a number.
std::string value_text(double value, const std::string& unit);
/// "at least 9 Gbit/s", "more than 9 Gbit/s", "1 to 2 us", "no bound".
std::string bounds_text(const Measured& m);
/// "9.5 Gbit/s, expected at least 9 Gbit/s".
std::string measurement_text(const Measured& m);
/// As reports show it: nothing that an inconclusive test has measured stands as a pass.
CaseVerdict shown_verdict(const CaseResult& result, const Measured& m);
/// Relative to the folder of the suite.
std::string artefact_path(const CaseResult& result, const Artefact& artefact);
/// All of a test but its verdict, a line each.
std::string case_text(const CaseResult& result);

}  // namespace rankwire
