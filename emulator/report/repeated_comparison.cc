#include "emulator/report/repeated_comparison.h"

#include <fmt/format.h>

#include <cstdlib>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr double kSignificant = 0.05;

std::string significance(const RepeatedComparison& comparison) {
  if (!comparison.can_tell())
    return fmt::format("too few to tell, since {} and {} give {:.2g} at the least", comparison.base.times,
                       comparison.other.times, comparison.test.least_p);
  return comparison.differs() ? "a difference" : "no difference that chance would not make";
}

}  // namespace

bool RepeatedComparison::can_tell() const {
  return test.least_p < kSignificant;
}

bool RepeatedComparison::differs() const {
  return test.p < kSignificant;
}

std::optional<RepeatedComparison> compare_times(std::span<const Duration> base, std::span<const Duration> other) {
  const std::optional<TimeSpread> base_spread = spread_of(base), other_spread = spread_of(other);
  if (!base_spread || !other_spread) return std::nullopt;
  return RepeatedComparison{.base = {base.size(), base_spread->median},
                            .other = {other.size(), other_spread->median},
                            .test = rank_test(base, other),
                            .shift = shift_of(base, other)};
}

nlohmann::ordered_json repeated_comparison_json(const std::optional<RepeatedComparison>& comparison) {
  if (!comparison) return nullptr;
  const auto& [base, other, test, shift] = *comparison;
  nlohmann::ordered_json json = {{"times", {{"base", base.times}, {"other", other.times}}},
                                 {"median_ps", {{"base", base.median.ps}, {"other", other.median.ps}}},
                                 {"test",
                                  {{"method", "mann_whitney_u"},
                                   {"is_exact", test.is_exact},
                                   {"u", test.u},
                                   {"p", test.p},
                                   {"least_p", test.least_p}}},
                                 {"difference_ps", shift.estimate.ps},
                                 {"confidence", nullptr},
                                 {"can_tell", comparison->can_tell()},
                                 {"differs", comparison->differs()}};
  if (shift.has_interval) {
    json["confidence"] = {
        {"method", "hodges_lehmann"}, {"level", 0.95}, {"low_ps", shift.low.ps}, {"high_ps", shift.high.ps}};
  }
  return json;
}

std::string repeated_comparison_text(const RepeatedComparison& comparison) {
  const auto& [base, other, test, shift] = comparison;
  const char* const how = shift.estimate < Duration(0) ? "shorter" : "longer";
  const std::string interval = shift.has_interval
                                   ? fmt::format(" (95 % confidence {} .. {} longer, Hodges and Lehmann)",
                                                 readable(shift.low), readable(shift.high))
                                   : "";
  return fmt::format("{} and {} times, medians {} -> {}: {} by {}{}; p = {:.2g} (Mann-Whitney U {:g}, {}): {}",
                     base.times, other.times, readable(base.median), readable(other.median), how,
                     readable(Duration(std::abs(shift.estimate.ps))), interval, test.p, test.u,
                     test.is_exact ? "exact" : "normal approximation", significance(comparison));
}

}  // namespace rankwire
