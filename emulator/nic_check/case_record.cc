#include "emulator/nic_check/case_record.h"

namespace rankwire {

void CaseRecord::clear() {
  outcome_ = {};
  log_.clear();
  longest_absence_ = {};
}

void CaseRecord::fail(std::optional<size_t> frame, const std::string& reason) {
  // Without a frame of its own it is what came last that shows it.
  if (!frame && log_.size() > 0) frame = log_.size() - 1;
  if (frame) log_.mark(*frame, reason);
  throw CaseFailed{reason};
}

void CaseRecord::require(bool good, std::optional<size_t> frame, const std::string& reason) {
  if (!good) fail(frame, reason);
}

void CaseRecord::measure(Measured measured) {
  const double in_units = measured.unit == "us" ? 1e-6 : measured.unit == "ms" ? 1e-9 : 0;
  const double late = static_cast<double>(longest_absence_.ps) * in_units;
  if (measured.verdict == CaseVerdict::kFail && (!measured.low || measured.value + late >= *measured.low) &&
      (!measured.high || measured.value - late <= *measured.high))
    measured.verdict = CaseVerdict::kInconclusive;
  outcome_.measurements.push_back(std::move(measured));
}

void CaseRecord::measure_within(Duration window, Measured measured) {
  if (measured.verdict == CaseVerdict::kFail && longest_absence_ * 4 > window)
    measured.verdict = CaseVerdict::kInconclusive;
  outcome_.measurements.push_back(std::move(measured));
}

}  // namespace rankwire
