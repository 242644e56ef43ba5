#include "emulator/bmwg/formulas.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace rankwire {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

double jain_index(std::span<const double> loads) {
  const double squares = std::inner_product(loads.begin(), loads.end(), loads.begin(), 0.0);
  if (squares <= 0) return kNone;
  const double sum = sum_of(loads);
  return sum * sum / (static_cast<double>(loads.size()) * squares);
}

double max_to_mean_ratio(std::span<const double> loads) {
  const double sum = sum_of(loads);
  if (sum <= 0) return kNone;
  return std::ranges::max(loads) * static_cast<double>(loads.size()) / sum;
}

double mean_of(std::span<const double> values) {
  return values.empty() ? kNone : sum_of(values) / static_cast<double>(values.size());
}

double coefficient_of_variation(std::span<const double> values) {
  if (values.size() < 2) return kNone;
  const auto n = static_cast<double>(values.size());
  const double mean = mean_of(values);
  if (mean == 0) return kNone;
  // Whose mean may be rounded to another value than theirs.
  if (std::ranges::all_of(values, [&](double value) { return value == values.front(); })) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (n - 1)) / std::abs(mean);
}

double median_of(std::span<const double> values) {
  if (values.empty()) return kNone;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double roofline_seconds(double iterations, double compute, double bytes, double factor, double bits_per_second) {
  return iterations * (compute + 8 * bytes * factor / bits_per_second);
}

}  // namespace rankwire
