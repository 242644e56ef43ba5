// A record that is part of another.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/units.h"

namespace rankwire {

/// How run times of a machine become those of the machine that leads: what its clock was ahead of that by then.
struct ClockCorrection {
  Duration offset;   ///< at time 0, beyond what the common start has allowed for
  double drift = 0;  ///< seconds a second
  Duration error;    ///< of a time that is corrected

  Time corrected(Time time) const {
    return time - offset - Duration(std::llround(drift * static_cast<double>((time - Time()).ps)));
  }
};

/// What a machine says of its part of a run.
struct RecordPart {
  std::string machine;
  std::filesystem::path file;  ///< of its record; empty: nothing of it is here
  ClockCorrection clock;
  std::string verdict;  ///< "ok", "failed", ...; "gone": it did not say
  std::string reason;
};

}  // namespace rankwire
