// When something was at work, as a row of a picture of bounded size.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Time from 0 to the end of the picture, cut into columns.
class TimelineColumns {
 public:
  static constexpr size_t kColumns = 400;
  static constexpr int kColumnWidth = 2;  ///< in units of the picture's view box
  static constexpr int kWidth = static_cast<int>(kColumns) * kColumnWidth;

  /// Adds `times` to the columns that it overlaps, what was added before not twice; they come in order of start. `end`
  /// (> 0) is that of the picture, and not before that of `times`.
  void mark(OperationTimes times, Time end);
  /// A rectangle of class `css` for each run of columns of one height: the share of the column's time, standing on
  /// `top` + `height`, and at least kLeastHeight where there was anything at all.
  std::string svg(int left, int top, int height, const char* css) const;

  static constexpr double kLeastHeight = 0.5;

 private:
  std::array<double, kColumns> covered_{};  // picoseconds
  Time until_, end_;
};

}  // namespace rankwire
