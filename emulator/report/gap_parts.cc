#include "emulator/report/gap_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "emulator/report/format.h"
#include "emulator/report/time_shares.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNamedParts = 4;

Json json_of(const Waterfall& waterfall) {
  Json json = {{"gap_ps", waterfall.gap.ps}};
  for (size_t i = 0; i < kGapCauses; ++i)
    json[fmt::format("{}_ps", to_string(static_cast<GapCause>(i)))] = waterfall.parts[i].ps;
  return json;
}

}  // namespace

const char* phrase_of(GapCause cause) {
  for (const auto& [held, of_gap] : kHeldUp)
    if (of_gap == cause) return phrase_of(held);
  switch (cause) {
    case GapCause::kCompute:
      return "compute";
    case GapCause::kPathLatency:
      return "a longer way than the model's";
    case GapCause::kQueueingOwnJob:
      return "queueing behind other traffic of the job";
    case GapCause::kQueueingOthers:
      return "queueing behind other jobs or the background";
    case GapCause::kFaster:
      return "faster communication";
    case GapCause::kBetween:
      return "between operations";
    case GapCause::kOtherChain:
      return "another chain of the reference";
    case GapCause::kGenerator:
      return "lateness of the generator";
    case GapCause::kAcknowledgementFrames:
      return "acknowledgements first";
    default:
      return "communication without a known cause";
  }
}

Duration extent_of(Duration part) {
  return std::max(part, Duration() - part);
}

std::string signed_time(Duration duration) {
  return duration < Duration() ? "-" + readable(Duration() - duration) : "+" + readable(duration);
}

std::vector<std::pair<GapCause, Duration>> parts_of(const Waterfall& waterfall) {
  std::vector<std::pair<GapCause, Duration>> parts;
  for (size_t i = 0; i < kGapCauses; ++i)
    if (waterfall.parts[i] != Duration()) parts.emplace_back(static_cast<GapCause>(i), waterfall.parts[i]);
  std::ranges::stable_sort(parts, std::ranges::greater(), [](const auto& part) { return extent_of(part.second); });
  return parts;
}

std::string parts_text(std::vector<GapPart> parts) {
  std::erase_if(parts, [](const GapPart& part) { return part.time == Duration(); });
  std::ranges::stable_sort(parts, std::ranges::greater(), [](const GapPart& part) { return extent_of(part.time); });
  std::vector<std::string> texts;
  Duration rest;
  for (const GapPart& part : parts) {
    if (texts.size() < kNamedParts) {
      texts.push_back(fmt::format("{} {}", signed_time(part.time), part.name));
    } else {
      rest += part.time;
    }
  }
  if (rest != Duration()) texts.push_back(signed_time(rest) + " others");
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<GapPart> named_parts(const GapParts& parts) {
  std::vector<GapPart> named;
  for (size_t i = 0; i < kGapCauses; ++i) named.push_back({phrase_of(static_cast<GapCause>(i)), parts[i]});
  return named;
}

Json waterfall_json(const Diagnosis& diagnosis) {
  return diagnosis.waterfall ? json_of(*diagnosis.waterfall) : Json(nullptr);
}

Json job_waterfall_json(const Diagnosis& diagnosis, JobId job) {
  if (diagnosis.path && diagnosis.path->steps.back().node.job == job) return waterfall_json(diagnosis);
  const auto found = std::ranges::find(diagnosis.jobs, job, &JobDiagnosis::job);
  return found == diagnosis.jobs.end() ? Json(nullptr) : json_of(found->waterfall);
}

std::optional<double> replay_error(const RunReader& record, const Diagnosis& diagnosis) {
  if (!diagnosis.removed) return std::nullopt;
  const Duration reference = record.reference()->end.completion;
  return ratio_of(diagnosis.removed->all - reference, reference);
}

Json without_causes_json(const RunReader& record, const Diagnosis& diagnosis) {
  if (!diagnosis.removed) return nullptr;
  const CausesRemoved& removed = *diagnosis.removed;
  const std::optional<double> error = replay_error(record, diagnosis);
  Json json = {{"all_ps", removed.all.ps}, {"error", error ? Json(*error) : Json(nullptr)}};
  for (size_t i = 0; i < kGapCauses; ++i)
    if (CausesRemoved::is_of_executions(static_cast<GapCause>(i)))
      json[fmt::format("{}_ps", to_string(static_cast<GapCause>(i)))] =
          removed.without[i] ? Json(removed.without[i]->ps) : Json(nullptr);
  return json;
}

}  // namespace rankwire
