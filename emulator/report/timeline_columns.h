// When something was at work, as a row of a picture of bounded size.
#pragma once

#include <bitset>
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

  /// Marks every column that `times` overlaps; `end` (> 0) is that of the picture, and not before that of `times`.
  void mark(OperationTimes times, Time end);
  /// A rectangle of class `css` for each run of marked columns.
  std::string svg(int left, int top, int height, const char* css) const;

 private:
  std::bitset<kColumns> columns_;
};

}  // namespace rankwire
