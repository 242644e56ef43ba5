// A histogram of what seldom has many values.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/histogram.h"
#include "base/units.h"

namespace rankwire {

/// As long as values are few they are kept themselves, in a few bytes instead of the 15 KiB of all buckets. Off the hot
/// path: it allocates.
class SmallHistogram {
 public:
  static constexpr size_t kFew = 256;

  void add(Duration value) {
    if (many_) return many_->add(value);
    few_.push_back(value);
    if (few_.size() <= kFew) return;
    many_ = std::make_unique<Histogram>(whole());
    few_ = {};
  }
  /// With all values that were added.
  Histogram whole() const {
    if (many_) return *many_;
    Histogram histogram;
    for (const Duration value : few_) histogram.add(value);
    return histogram;
  }

 private:
  std::vector<Duration> few_;        // while `many_` is null
  std::unique_ptr<Histogram> many_;  // of all values
};

}  // namespace rankwire
