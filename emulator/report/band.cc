#include "emulator/report/band.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/hybrid.h"

namespace rankwire {
namespace {

/// The emulated side's, where it ended well.
std::optional<Duration> emulated_completion(const RunReader& record) {
  const RecordedRun* const run = record.emulated();
  if (run == nullptr || !run->ended || run->end.verdict != "ok") return std::nullopt;
  return run->end.completion;
}

/// What the configuration says of it; null where it says nothing.
nlohmann::ordered_json configured(const RunReader& record) {
  const auto config = nlohmann::ordered_json::parse(record.config(), nullptr, false);
  if (!config.is_object() || !config.contains("simulation")) return nullptr;
  const auto& simulation = config["simulation"];
  return simulation.is_object() ? simulation.value("ensemble", nlohmann::ordered_json()) : nullptr;
}

/// Whether the model that a band is of is what all else is compared with, and ended well.
bool has_flow_reference(const RunReader& record) {
  const RecordedRun* const run = record.reference();
  return run != nullptr && run->ended && is_of_flow(*run) && run->end.verdict == "ok";
}

}  // namespace

std::optional<double> predicted_ratio(const RunReader& record) {
  const std::optional<ReferenceBand> band = reference_band(record);
  if (!band) return completion_ratio(record);
  const std::optional<Duration> emulated = emulated_completion(record);
  return emulated ? ratio_of(*emulated, band->median) : std::nullopt;
}

std::optional<RatioRange> ratio_range(const RunReader& record) {
  const std::optional<ReferenceBand> band = reference_band(record);
  const std::optional<Duration> emulated = emulated_completion(record);
  if (!band || !emulated) return std::nullopt;
  const auto low = ratio_of(*emulated, band->high), high = ratio_of(*emulated, band->low);
  return low && high ? std::optional(RatioRange{*low, *high}) : std::nullopt;
}

nlohmann::ordered_json band_json(const RunReader& record) {
  const std::optional<ReferenceBand> band = reference_band(record);
  if (!band) return nullptr;
  const auto ratio = [&](Duration reference) {
    const auto emulated = emulated_completion(record);
    const auto value = emulated ? ratio_of(*emulated, reference) : std::nullopt;
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  const auto symmetric = symmetric_completion(record);
  const std::vector<ReferenceBand> ranks = rank_bands(record);
  const auto by_rank = [&](Duration ReferenceBand::*quantile) {
    if (ranks.empty()) return nlohmann::ordered_json(nullptr);
    auto times = nlohmann::ordered_json::array();
    for (const ReferenceBand& rank : ranks) times.push_back((rank.*quantile).ps);
    return times;
  };
  return {
      {"runs", band->runs},
      {"p5_ps", band->low.ps},
      {"median_ps", band->median.ps},
      {"p95_ps", band->high.ps},
      {"per_rank_p5_ps", by_rank(&ReferenceBand::low)},
      {"per_rank_median_ps", by_rank(&ReferenceBand::median)},
      {"per_rank_p95_ps", by_rank(&ReferenceBand::high)},
      {"symmetric_ps", symmetric ? nlohmann::ordered_json(symmetric->ps) : nlohmann::ordered_json(nullptr)},
      {"has_reference", symmetric ? nlohmann::ordered_json(band->has(*symmetric)) : nlohmann::ordered_json(nullptr)},
      {"ratio_median", ratio(band->median)},
      {"ratio_low", ratio(band->high)},
      {"ratio_high", ratio(band->low)}};
}

std::string missing_band_text(const RunReader& record) {
  if (reference_band(record)) return {};
  const RecordedRun* const reference = record.reference();
  const bool has_flow = std::ranges::any_of(record.models(), [](const RecordedRun* run) { return is_of_flow(*run); });
  if (reference == nullptr || !has_flow) return {};
  if (!record.ensemble().empty() || (configured(record) == "auto" && !is_of_flow(*reference)))
    return fmt::format("none: it is of the model flow, and the reference is {}", reference->start.model);
  if (configured(record) != "auto" || !has_flow_reference(record)) return {};
  static constexpr const char* kAllTheSame = "; simulation.ensemble says how often it is repeated all the same";
  const auto none = [](const char* why) { return fmt::format("none: {}{}", why, kAllTheSame); };
  const RecordedRun* const run = record.emulated();
  if (read_hybrid(record) && run != nullptr && run->end.bytes_wire.count == 0)
    return none("nothing is on wires, and what is modelled keeps the symmetry of the single run");
  if (!record.background().empty()) return none("traffic in the background goes on as long as the jobs do");
  if (run != nullptr && run->end.verdict == "interrupted") return "none: the run was stopped before";
  return none("the run is too large to be repeated by itself");
}

std::string band_text(const RunReader& record) {
  const std::optional<ReferenceBand> band = reference_band(record);
  if (!band) return missing_band_text(record);
  const nlohmann::ordered_json planned = configured(record);
  const bool lacks_some = planned.is_number_unsigned() && planned.get<uint64_t>() > band->runs;
  std::string text =
      fmt::format("{} .. {} of {} runs{}, median {}", readable(band->low), readable(band->high), band->runs,
                  lacks_some ? fmt::format(" (of {}: the others did not end)", planned.get<uint64_t>()) : "",
                  readable(band->median));
  if (const auto emulated = emulated_completion(record))
    text +=
        fmt::format("; ratio {}, {} .. {}", readable_ratio(ratio_of(*emulated, band->median)),
                    readable_ratio(ratio_of(*emulated, band->high)), readable_ratio(ratio_of(*emulated, band->low)));
  if (const auto symmetric = symmetric_completion(record); symmetric && band->is_far(*symmetric))
    text += fmt::format(
        "; {} of the single run is outside: groups that wait for each other in step, an unstable prediction, or turns "
        "at ports and acknowledgements, which it has not",
        readable(*symmetric));
  return text;
}

}  // namespace rankwire
