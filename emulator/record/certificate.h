// What the generator was found to add of its own, before a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace rankwire {

/// How far a port was from sending at its rate.
struct PortCertificate {
  std::string port;
  uint64_t frames = 0;              ///< that it was given, and took
  uint64_t returned = 0;            ///< of them, that came back to it
  std::vector<double> errors = {};  ///< of each measurement: how much longer it took than the frames are on the line
  Duration slipped = {};            ///< line time lost for good
  Duration worst_stall = {};        ///< furthest that it fell behind its schedule
  std::string link_trouble = {};    ///< why it has no link, of which then nothing else is known; empty: it has
};

/// How far the generator's own runs against the embedded switch were from what they are in virtual time, and its ports
/// from their rates.
struct Certificate {
  uint32_t cut = 1;                 ///< bytes and computing of the workload were divided by it, so that something ends
  Duration time = {};               ///< of the twin, for what was compared
  uint64_t operations = 0;          ///< executions that were
  std::vector<double> errors = {};  ///< of each run in real time: how much longer it took for them, over `time`
  Duration slipped = {};            ///< line time, or time of a paced queue pair, lost for good: the most of all runs
  Duration worst_stall = {};        ///< furthest that a port fell behind its schedule
  Duration worst_turn = {};         ///< longest turn of the loop
  std::optional<Duration> jitter = {};        ///< one-way delay, P99 - P50, beyond the twin's; absent: none was timed
  std::optional<Duration> clock_time = {};    ///< for which the clocks were compared
  std::optional<double> clock_slew_ppm = {};  ///< see ClockError
  std::optional<Duration> clock_residual = {};
  std::string failure = {};                 ///< why there is nothing of all this; empty where there is
  std::vector<PortCertificate> ports = {};  ///< of devices, in their order; none where none were asked
};

}  // namespace rankwire
