// What a certificate of the generator says: the smallest gap to the reference that is not its own.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "emulator/record/reader.h"

namespace rankwire {

/// The smallest gap that a run can resolve, as a part of its time: the mean error of the certificate's runs and the
/// distance within which, with 95 %, one more would be of it (Student's t x deviation x root of 1 + 1/n), and the same
/// of the port that is furthest from its rate, of those that have a link. Absent where nothing was measured, or one run
/// alone.
std::optional<double> resolvable_part(const Certificate& certificate);

/// `certification` of summary.json and of `check --json`. `run`: the time that a part is of, where it is known.
nlohmann::ordered_json certification_json(const Certificate& certificate, std::optional<Duration> run);
/// "gaps below 1.2 % (71 ms) are the generator's own: ...", for people.
std::string certification_text(const Certificate& certificate, std::optional<Duration> run);

/// The record's; null and empty where it has none.
nlohmann::ordered_json certification_json(const RunReader& record);
std::string certification_text(const RunReader& record);

}  // namespace rankwire
