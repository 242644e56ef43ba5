// A clock that several machines have in common, because something keeps it in step: the NIC's, of PTP, or the system's.
#pragma once

#include <ctime>
#include <string>

#include "emulator/machines/clock_fit.h"

namespace rankwire {

/// What reading such clocks takes of the system. Tests have their own. All but `open` return 0, or errno.
class ClockSystem {
 public:
  virtual ~ClockSystem() = default;
  /// To read. Returns a file descriptor, or -errno.
  virtual int open(const std::string& file) = 0;
  virtual void close(int descriptor) = 0;
  virtual int control(int descriptor, unsigned long request, void* argument) = 0;
  virtual int time(clockid_t clock, timespec& now) = 0;
  /// A command of ethtool to a network interface.
  virtual int ask_interface(const std::string& interface, void* command) = 0;
};

/// Linux.
ClockSystem& clock_system();

/// Belongs to one thread. Reads the clock beside CLOCK_MONOTONIC, which run times are of:
///   - `realtime`: CLOCK_REALTIME, between two readings of the other;
///   - a file, as /dev/ptp0, or a network interface, whose PTP hardware clock that is then (ETHTOOL_GET_TS_INFO,
///     linux/ethtool.h). It is read as well as the device can (linux/ptp_clock.h): beside CLOCK_REALTIME by the
///     hardware (PTP_SYS_OFFSET_PRECISE), or by its driver around the one register that counts
///     (PTP_SYS_OFFSET_EXTENDED), and that clock beside CLOCK_MONOTONIC; else as a dynamic clock (clock_gettime(2))
///     between two readings of that.
/// Of several readings that counts which took least.
class ClockSource {
 public:
  /// `source`: as `clock.source` has it. `system` outlives it. Throws Error(kInput) when there is no such clock,
  /// without naming the key.
  explicit ClockSource(const std::string& source, ClockSystem& system = clock_system());
  ~ClockSource();
  ClockSource(const ClockSource&) = delete;
  ClockSource& operator=(const ClockSource&) = delete;

  /// Throws Error(kRun).
  SourceReading read();
  /// What it is: a file, or CLOCK_REALTIME.
  const std::string& name() const { return name_; }

 private:
  enum class Way { kPrecise, kExtended, kPlain };

  SourceReading read_beside(clockid_t clock) const;
  bool read_precise(SourceReading& by_realtime) const;
  bool read_extended(SourceReading& by_realtime) const;
  bool read_by_realtime(SourceReading& by_realtime);
  int64_t now(clockid_t clock) const;

  ClockSystem& system_;
  std::string name_ = "CLOCK_REALTIME";
  int descriptor_ = -1;
  Way way_ = Way::kPlain;
};

}  // namespace rankwire
