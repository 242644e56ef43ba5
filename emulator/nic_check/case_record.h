// What a case has seen and found so far, whatever the NIC is driven by.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "emulator/nic_check/wire_log.h"
#include "emulator/suite/test_case.h"

namespace rankwire {

/// What a case finds that the NIC did wrong, and why it cannot be tried. Caught by whoever runs the case.
struct CaseFailed {
  std::string reason;
};
struct CaseSkipped {
  std::string reason;
};
/// Ends a case that has seen too little to judge.
struct CaseUndecided {
  std::string reason;
};

/// One thread.
class CaseRecord {
 public:
  WireLog& log() { return log_; }
  const WireFrame& frame(size_t number) const { return log_.frames()[number]; }
  const ParsedPacket& packet(size_t number) const { return frame(number).packet; }
  /// The longest time in this case in which rankwire did not look at the wire, because the machine did something else:
  /// so much later than it came may a frame be stamped, and be answered. 0 in virtual time.
  Duration longest_absence() const { return longest_absence_; }
  /// `vanished` tells why what every case takes, such as rankwire's own port, is not there any more; empty: it is.
  void watch(std::function<std::string()> vanished) { vanished_ = std::move(vanished); }
  std::string vanished() const { return vanished_ ? vanished_() : std::string(); }

  // Verdicts. Each marks `frame` as decisive.
  [[noreturn]] void fail(std::optional<size_t> frame, const std::string& reason);
  void require(bool good, std::optional<size_t> frame, const std::string& reason);
  [[noreturn]] void skip(const std::string& reason) { throw CaseSkipped{reason}; }
  [[noreturn]] void undecided(const std::string& reason) { throw CaseUndecided{reason}; }
  /// A time (us, ms) that misses its bounds by no more than the longest absence is inconclusive.
  void measure(Measured measured);
  /// The same of what was counted in windows of this length: it misses its bounds for certain only where no absence
  /// took a quarter of one.
  void measure_within(Duration window, Measured measured);
  void tell(const std::string& reason) { outcome_.reason = reason; }
  void add_curve(MeasuredCurve curve) { outcome_.curves.push_back(std::move(curve)); }
  CaseOutcome& outcome() { return outcome_; }

 protected:
  CaseRecord() = default;
  ~CaseRecord() = default;
  void clear();

  WireLog log_;
  Duration longest_absence_;

 private:
  CaseOutcome outcome_;
  std::function<std::string()> vanished_;
};

}  // namespace rankwire
