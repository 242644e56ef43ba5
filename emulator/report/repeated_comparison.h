// Whether the completion times of runs that were made several times on both sides differ by more than chance.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "emulator/diagnosis/repeated_times.h"

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

/// Completion times of what came to the end on either side; absent unless both have two or more.
std::optional<RepeatedComparison> compare_times(std::span<const Duration> base, std::span<const Duration> other);

/// `repetitions` of `compare --json`; null without a comparison.
nlohmann::ordered_json repeated_comparison_json(const std::optional<RepeatedComparison>& comparison);
/// In one sentence, for people.
std::string repeated_comparison_text(const RepeatedComparison& comparison);

}  // namespace rankwire
