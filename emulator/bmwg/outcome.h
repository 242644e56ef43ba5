// What the measurements of a benchmark amount to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/bmwg/bench.h"
#include "emulator/bmwg/parameters.h"
#include "emulator/suite/test_case.h"

namespace rankwire {

/// Collects measurements of several runs. The drafts define no acceptance criteria: what is measured passes, unless the
/// suite names a tolerance towards the reference, or the test has an expectation of its own. Where the generator set
/// the pace of a run nothing is said about the device, and the test is inconclusive; so it is where one of its
/// measurements has no value.
class BmwgOutcome {
 public:
  void add(Measured measured) { measurements_.push_back(std::move(measured)); }
  void add(MeasuredCurve curve) { curves_.push_back(std::move(curve)); }
  void anomaly(std::string text) { anomalies_.push_back(std::move(text)); }
  /// Why the test could not go on, though nothing is wrong with the device: it is inconclusive, with what was measured.
  void undecided(std::string reason) { undecided_ = std::move(reason); }
  /// Said of a test that fails instead of the first measurement that misses its bounds; the first counts.
  void because(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
  }
  /// Of each run: whether it says anything about the device.
  void note(const BmwgMeasurement& run, std::string_view what);
  /// A KPI beside what the reference predicts, which is a measurement of its own. `better_high`: more is better. With
  /// `tolerance` the KPI must not be worse by more than that share.
  void compared(const std::string& name, double value, double reference, const std::string& unit,
                const std::string& subject, bool better_high, const BmwgParameters& parameters);
  /// The mean of what was measured several times, with its coefficient of variation.
  void repeated(std::string name, const std::vector<double>& values, std::string unit, std::string subject);

  /// What the drafts ask of the fabric beside each of their tests: marks, pauses, losses, order and queues.
  void of_fabric(const BmwgMeasurement& run, const std::string& subject);

  CaseOutcome finish() &&;

 private:
  std::vector<Measured> measurements_;
  std::vector<MeasuredCurve> curves_;
  std::vector<std::string> anomalies_, limited_;
  std::string undecided_, reason_;
};

}  // namespace rankwire
