// The parts of a gap between a run and its reference, in words and figures.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "emulator/diagnosis/diagnosis.h"
#include "emulator/diagnosis/gap_cause.h"
#include "emulator/diagnosis/waterfall.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// `waterfall` of summary.json; null where it is not known.
nlohmann::ordered_json waterfall_json(const Diagnosis& diagnosis);
/// The same of a job's own gap; the run's of the job that ended last.
nlohmann::ordered_json job_waterfall_json(const Diagnosis& diagnosis, JobId job);
/// `without_causes` of summary.json; null where nothing was replayed.
nlohmann::ordered_json without_causes_json(const RunReader& record, const Diagnosis& diagnosis);
/// `error` of without_causes; absent where nothing was replayed.
std::optional<double> replay_error(const RunReader& record, const Diagnosis& diagnosis);
/// "a longer way than the model's": the part of a gap in words.
const char* phrase_of(GapCause cause);
/// The parts that are not zero, the largest first, whatever their sign.
std::vector<std::pair<GapCause, Duration>> parts_of(const Waterfall& waterfall);
/// Without its sign.
Duration extent_of(Duration part);
/// "+20 us", "-3 ms".
std::string signed_time(Duration duration);
/// A part of a gap, signed, and what it is called.
struct GapPart {
  std::string name;
  Duration time;
};
std::vector<GapPart> named_parts(const GapParts& parts);
/// "+20 us window full, -3 us faster communication": the largest four of those that are not zero, and the sum of
/// others.
std::string parts_text(std::vector<GapPart> parts);

}  // namespace rankwire
