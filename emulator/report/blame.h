// Who is to blame for what a run lost, in words.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/diagnosis/diagnosis.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// The first of the list in one sentence: kind, culprit, time, share, confidence and evidence. Of several jobs first
/// the one that ended last, and then a sentence for each other one. Empty where nobody is to blame.
std::vector<std::string> blame_texts(const RunReader& record, const Diagnosis& diagnosis);
/// `blame` of summary.json: an array, empty where nobody is to blame.
nlohmann::ordered_json blame_json(const RunReader& record, const Diagnosis& diagnosis);
/// The same of a job; null where it is not known.
nlohmann::ordered_json job_blame_json(const RunReader& record, const Diagnosis& diagnosis, JobId job);
/// A table, of several jobs with all of them; empty where nobody is to blame.
std::string html_blame(const RunReader& record, const Diagnosis& diagnosis);

}  // namespace rankwire
