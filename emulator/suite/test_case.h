// A test of a device: what is done to it, what is expected by whom, and what was found. A catalogue of tests is a
// vector of these; what a test needs of ports, peers and devices is in its function.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

enum class CaseVerdict : uint8_t {
  kPass,
  kFail,          ///< the device did not do what its source asks for
  kInconclusive,  ///< measured, but what it shows lies within what the generator can resolve, or beside the question
  kSkipped,       ///< not tried: something that the test needs is not there, or is not implemented by the device
  kError,         ///< could not be carried out: a device vanished, a hook failed, a peer did not answer
};

/// All, in this order.
inline constexpr std::array kCaseVerdicts = {CaseVerdict::kPass, CaseVerdict::kFail, CaseVerdict::kInconclusive,
                                             CaseVerdict::kSkipped, CaseVerdict::kError};

/// "pass", "fail", "inconclusive", "skipped", "error"; contract of JSON and CSV.
std::string_view name_of(CaseVerdict verdict);
/// Throws Error(kInput) for other words.
CaseVerdict verdict_of(std::string_view name);

/// One quantity that was measured, beside what it was to be. Values are in `unit`.
struct Measured {
  std::string name;  ///< as the test's source names it, such as "busbw" or "JFI"
  double value = 0;
  std::string unit;                           ///< "us", "Gbit/s", "frames"; empty: a bare number
  std::string subject;                        ///< what it is of, such as "64 KiB, 4 queue pairs"; empty: the test
  std::optional<double> low = {}, high = {};  ///< of what passes, tolerance included; absent: no bound on that side
  CaseVerdict verdict = CaseVerdict::kPass;
  uint64_t repetitions = 1;              ///< that the value is the mean of
  std::optional<double> variation = {};  ///< coefficient of variation over these, a fraction >= 0; absent: unknown
  bool is_open = false;                  ///< the bounds themselves do not pass
};

/// A value that passes within its bounds and fails outside. NaN fails wherever there is a bound.
Measured measured(std::string name, double value, std::string unit, std::optional<double> low = {},
                  std::optional<double> high = {}, std::string subject = {});

/// A line of a graph: y over x.
struct MeasuredCurve {
  struct Point {
    double x, y;
  };
  std::string name, x_name, x_unit, y_name, y_unit;
  std::vector<Point> points;
};

/// A file that shows what happened, such as a capture. Relative to the folder of the case.
struct Artefact {
  std::string file, what;
  std::vector<uint64_t> frames = {};  ///< of a capture: numbers of the decisive frames, from 1 as Wireshark counts
};

struct CaseOutcome {
  CaseVerdict verdict = CaseVerdict::kPass;
  std::string reason;  ///< why it is not a pass, in one sentence; of a pass what was seen, or empty
  std::vector<Measured> measurements = {};
  std::vector<MeasuredCurve> curves = {};
  std::vector<Artefact> artefacts = {};
  std::vector<std::string> anomalies = {};  ///< seen by the way, without a bearing on the verdict

  /// The worst of the measurements' verdicts: kFail before kInconclusive before kPass. Its reason names the first such.
  static CaseOutcome of(std::vector<Measured> measurements);
  static CaseOutcome skipped(std::string reason) { return {CaseVerdict::kSkipped, std::move(reason)}; }
  static CaseOutcome error(std::string reason) { return {CaseVerdict::kError, std::move(reason)}; }
};

/// What a running case is given.
struct CaseContext {
  std::filesystem::path folder;          ///< its own, exists
  const std::atomic<bool>& interrupted;  ///< the case ends soon once it is true
};

struct TestCase {
  std::string id;           ///< unique in its catalogue, in parts from the general to the special: "T2.pfc.incast_8"
  std::string title;        ///< in a few words
  std::string stimulus;     ///< what is done to the device
  std::string expectation;  ///< what it is to do, with the tolerance
  std::string source;       ///< who says so: document and section
  std::chrono::milliseconds duration{0};  ///< that it is estimated to take
  std::string lacks;                      ///< why it will be skipped; empty where that is not known beforehand
  /// Throws Error or any std::exception where it cannot be carried out, which is `kError`, not a failed test.
  std::function<CaseOutcome(const CaseContext& context)> run;
};

}  // namespace rankwire
