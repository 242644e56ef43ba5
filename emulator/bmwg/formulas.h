// Key performance indicators as the drafts on benchmarking AI fabrics define them
// (draft-calabria-bmwg-ai-fabric-training-bench and -terminology).
#pragma once

#include <span>

namespace rankwire {

/// Jain's fairness index of what parallel links carried: (sum x)^2 / (n sum x^2), 1/n .. 1. NaN without links or where
/// all carried nothing.
double jain_index(std::span<const double> loads);

/// MMR: the load of the most loaded link over the mean, 1 .. n. NaN likewise.
double max_to_mean_ratio(std::span<const double> loads);

/// Standard deviation of the sample over its mean; NaN of fewer than two values, and where the mean is 0.
double coefficient_of_variation(std::span<const double> values);

/// NaN of none.
double mean_of(std::span<const double> values);

/// The value in the middle, of an even number halfway between the two there; NaN of none.
double median_of(std::span<const double> values);

/// Completion time in seconds of `iterations` that compute for `compute` seconds and then move `bytes`, one after the
/// other, at the line rate: iterations x (C + 8 S factor / B). `factor` is nccl-tests' from algbw to busbw.
double roofline_seconds(double iterations, double compute, double bytes, double factor, double bits_per_second);

}  // namespace rankwire
