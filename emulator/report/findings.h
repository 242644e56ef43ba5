// What was found about a run, in sentences: what is wrong, where, and whose it is.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Who is to blame, and then the gravest first: failures, losses, slow messages, the shares of the gap, its main cause.
/// At most one sentence of each, and of several jobs one of who is to blame for each. Nothing where nothing is wrong.
std::vector<std::string> findings(const RunReader& record, const Diagnosis& diagnosis);

/// `diagnosis` of summary.json.
nlohmann::ordered_json diagnosis_json(const RunReader& record, const Diagnosis& diagnosis);

}  // namespace rankwire
