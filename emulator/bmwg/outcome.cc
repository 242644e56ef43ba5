#include "emulator/bmwg/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "emulator/bmwg/formulas.h"

namespace rankwire {

void BmwgOutcome::note(const BmwgMeasurement& run, std::string_view what) {
  if (run.generator_limited()) limited_.emplace_back(what);
  if (const uint64_t errors = run.counter("payload_errors"); errors > 0)
    anomalies_.push_back(fmt::format("{}: {} payloads were wrong", what, errors));
  if (const uint64_t errors = run.counter("icrc_errors"); errors > 0)
    anomalies_.push_back(fmt::format("{}: {} frames with a wrong ICRC", what, errors));
}

void BmwgOutcome::compared(const std::string& name, double value, double reference, const std::string& unit,
                           const std::string& subject, bool better_high, const BmwgParameters& parameters) {
  std::optional<double> low, high;
  if (parameters.has("tolerance")) {
    const double tolerance = parameters.share("tolerance");
    if (better_high) {
      low = reference * (1 - tolerance);
    } else {
      high = reference * (1 + tolerance);
    }
  }
  add(measured(name, value, unit, low, high, subject));
  add(measured(name + " (reference)", reference, unit, {}, {}, subject));
}

void BmwgOutcome::repeated(std::string name, const std::vector<double>& values, std::string unit, std::string subject) {
  if (values.empty()) return;
  Measured mean = measured(std::move(name), mean_of(values), std::move(unit), {}, {}, std::move(subject));
  mean.repetitions = values.size();
  if (const double variation = coefficient_of_variation(values); std::isfinite(variation)) mean.variation = variation;
  add(std::move(mean));
}

void BmwgOutcome::of_fabric(const BmwgMeasurement& run, const std::string& subject) {
  const auto of_packets = [&](const char* kpi, const char* counter) {
    add(measured(kpi, run.share_of_packets(counter), "of data packets", {}, {}, subject));
  };
  of_packets("ECN marking ratio", "ecn_ce_rx");
  add(measured("PFC pause count", static_cast<double>(run.counter("pause_rx")), "frames", {}, {}, subject));
  add(measured("PFC pause duration", run.longest_pause() * 1e6, "us", {}, {}, subject));
  of_packets("retransmission rate", "retransmitted");
  of_packets("out-of-order rate", "out_of_sequence");
  if (const double lost = run.lost_ppm(); !std::isnan(lost))
    add(measured("packet drop rate", lost, "ppm", {}, {}, subject));
  const std::vector<double> depths = run.queue_depths();
  if (depths.empty()) return;
  add(measured("queue depth P95", depths[(depths.size() * 95 + 99) / 100 - 1] / 1e3, "kB", {}, {}, subject));
  add(measured("queue depth max", depths.back() / 1e3, "kB", {}, {}, subject));
}

CaseOutcome BmwgOutcome::finish() && {
  if (measurements_.empty() && undecided_.empty() && limited_.empty())
    return CaseOutcome::skipped(anomalies_.empty() ? "there was nothing to measure" : anomalies_.front());
  CaseOutcome outcome = CaseOutcome::of(std::move(measurements_));
  outcome.curves = std::move(curves_);
  outcome.anomalies = std::move(anomalies_);
  if (outcome.verdict == CaseVerdict::kFail && !reason_.empty()) outcome.reason = std::move(reason_);
  const auto lacks_value = [](const Measured& m) { return std::isnan(m.value); };
  const auto empty = std::ranges::find_if(outcome.measurements, lacks_value);
  if (!undecided_.empty()) {
    outcome.verdict = CaseVerdict::kInconclusive;
    outcome.reason = std::move(undecided_);
  } else if (!limited_.empty()) {
    outcome.verdict = CaseVerdict::kInconclusive;
    outcome.reason = fmt::format("the generator may have set the pace of {} of the runs, {} first: its report says why",
                                 limited_.size(), limited_.front());
  } else if (outcome.verdict == CaseVerdict::kPass && empty != outcome.measurements.end()) {
    outcome.verdict = CaseVerdict::kInconclusive;
    outcome.reason = fmt::format("{}{}{} has no value: there was nothing to take it from", empty->name,
                                 empty->subject.empty() ? "" : " of ", empty->subject);
  }
  return outcome;
}

}  // namespace rankwire
