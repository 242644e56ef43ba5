// Who is to blame for what a run lost, in words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// The first of the list in one sentence: kind, culprit, time, share, confidence and evidence. Empty where nobody is to
/// blame.
std::string blame_text(const RunReader& record, const Diagnosis& diagnosis);
/// `blame` of summary.json: an array, empty where nobody is to blame.
nlohmann::ordered_json blame_json(const RunReader& record, const Diagnosis& diagnosis);
/// A table; empty where nobody is to blame.
std::string html_blame(const RunReader& record, const Diagnosis& diagnosis);

}  // namespace rankwire
