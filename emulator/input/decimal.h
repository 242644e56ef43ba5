// Numbers without a unit, as other programs' files have them.
#pragma once

#include <cstdlib>

#include "emulator/input/syntax.h"

namespace rankwire {

/// A number with decimals, minimum .. maximum.
struct Decimal {
  double minimum, maximum;

  double parse(const Tree& scalar) const {
    const char* const begin = scalar.text.c_str();
    char* end = nullptr;
    const double value = std::strtod(begin, &end);
    if (end == begin || *end != '\0' || !(value >= minimum && value <= maximum)) {
      throw ValueError(fmt::format("'{}' is not a number of {} .. {}", scalar.text, minimum, maximum));
    }
    return value;
  }
  ConfigJson print(double value) const { return value; }
};

}  // namespace rankwire
