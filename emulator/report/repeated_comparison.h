// Whether the completion times of two records that both repeat their run differ by more than chance.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "emulator/diagnosis/repeated_times.h"
#include "emulator/record/reader.h"

namespace rankwire {

struct RepeatedComparison {
  struct Side {
    size_t times = 0;  ///< of repetitions that came to the end
    Duration median;
  };
  Side base, other;
  RankTest test;    ///< first: base
  TimeShift shift;  ///< of the other's times from the base's

  /// Whether any times of so many could have shown a difference.
  bool can_tell() const;
  /// p < 0.05.
  bool differs() const;
};

/// Absent unless both records have two repetitions or more that came to the end.
std::optional<RepeatedComparison> compare_repetitions(const RunReader& base, const RunReader& other);

/// `repetitions` of `compare --json`; null without a comparison.
nlohmann::ordered_json repeated_comparison_json(const std::optional<RepeatedComparison>& comparison);
/// In one sentence, for people.
std::string repeated_comparison_text(const RepeatedComparison& comparison);

}  // namespace rankwire
