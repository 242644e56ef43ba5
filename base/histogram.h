// A fixed-size histogram of durations with bounded relative error.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/units.h"

namespace rankwire {

/// Log-linear buckets: 32 a power of two, so a quantile is at most 1/32 (3.2 %) above the true value. Values are
/// 0 .. 2^63 - 1 ps; negative ones count as 0. One thread writes; no allocation.
///
/// The bounds are the same in every histogram: below 32 ps a bucket for each picosecond, and from 32 ps on the
/// picoseconds 2^e .. 2^(e+1) - 1 cut into 32 equal parts.
class Histogram {
 public:
  /// Values of `low` .. `high`, both included.
  struct Bucket {
    Duration low, high;
    uint64_t count = 0;
    bool operator==(const Bucket&) const = default;
  };

  void add(Duration value) noexcept {
    const uint64_t v = value.ps < 0 ? 0 : static_cast<uint64_t>(value.ps);
    ++buckets_[bucket_of(v)];
    ++count_;
    sum_ += v;
    if (v > max_) max_ = v;
    if (v < min_) min_ = v;
  }
  /// Adds all that `other` holds.
  void merge(const Histogram& other) noexcept {
    for (size_t b = 0; b < buckets_.size(); ++b) buckets_[b] += other.buckets_[b];
    count_ += other.count_;
    sum_ += other.sum_;
    if (other.max_ > max_) max_ = other.max_;
    if (other.min_ < min_) min_ = other.min_;
  }

  uint64_t count() const { return count_; }
  /// Exact, as is `max`; 0 when empty.
  Duration min() const { return Duration(count_ == 0 ? 0 : static_cast<int64_t>(min_)); }
  Duration max() const { return Duration(static_cast<int64_t>(max_)); }
  /// Rounded to the nearest picosecond; 0 when empty.
  Duration mean() const { return Duration(count_ == 0 ? 0 : static_cast<int64_t>((sum_ + count_ / 2) / count_)); }

  /// The upper bound of the bucket that holds the value of rank ceil(q * count), 0 < q <= 1; 0 when empty.
  Duration quantile(double q) const {
    if (count_ == 0) return Duration();
    uint64_t rank = static_cast<uint64_t>(q * static_cast<double>(count_) + 0.999999);
    if (rank < 1) rank = 1;
    uint64_t seen = 0;
    for (size_t b = 0; b < buckets_.size(); ++b) {
      seen += buckets_[b];
      if (seen >= rank) {
        const uint64_t upper = upper_bound(b);
        return Duration(static_cast<int64_t>(upper < max_ ? upper : max_));
      }
    }
    return max();
  }

  /// Calls `visit(Bucket)` for each bucket that is not empty, smallest values first.
  template <class Visit>
  void for_each_bucket(Visit visit) const {
    for (size_t b = 0; b < buckets_.size(); ++b) {
      if (buckets_[b] == 0) continue;
      const uint64_t low = b == 0 ? 0 : upper_bound(b - 1) + 1;
      visit(Bucket{Duration(static_cast<int64_t>(low)), Duration(static_cast<int64_t>(upper_bound(b))), buckets_[b]});
    }
  }

 private:
  static constexpr int kSubBits = 5;
  static size_t bucket_of(uint64_t v) {
    if (v < (1u << kSubBits)) return v;
    const int exponent = 63 - std::countl_zero(v);
    return (static_cast<size_t>(exponent - kSubBits + 1) << kSubBits) +
           ((v >> (exponent - kSubBits)) - (1u << kSubBits));
  }
  static uint64_t upper_bound(size_t b) {
    if (b < (1u << kSubBits)) return b;
    const int exponent = static_cast<int>(b >> kSubBits) + kSubBits - 1;
    const uint64_t sub = (b & ((1u << kSubBits) - 1)) + (1u << kSubBits) + 1;
    return (sub << (exponent - kSubBits)) - 1;
  }

  std::array<uint64_t, (64 - kSubBits + 1) << kSubBits> buckets_{};
  uint64_t count_ = 0;
  unsigned __int128 sum_ = 0;
  uint64_t min_ = UINT64_MAX, max_ = 0;
};

}  // namespace rankwire
