#include "emulator/machines/clock_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/ptp_clock.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr int kReadings = 25;
/// A clock that is set while it is read is read again.
constexpr int kAttempts = 5;

class LinuxClocks final : public ClockSystem {
 public:
  int open(const std::string& file) override {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
  }
  void close(int descriptor) override { ::close(descriptor); }
  int control(int descriptor, unsigned long request, void* argument) override {
    return ::ioctl(descriptor, request, argument) == 0 ? 0 : errno;
  }
  int time(clockid_t clock, timespec& now) override { return ::clock_gettime(clock, &now) == 0 ? 0 : errno; }
  int ask_interface(const std::string& interface, void* command) override {
    ifreq request{};
    if (interface.size() >= sizeof request.ifr_name) return ENODEV;
    std::memcpy(request.ifr_name, interface.c_str(), interface.size());
    request.ifr_data = static_cast<char*>(command);
    const int descriptor = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return errno;
    const int status = ::ioctl(descriptor, SIOCETHTOOL, &request) == 0 ? 0 : errno;
    ::close(descriptor);
    return status;
  }
};

int64_t nanoseconds(const ptp_clock_time& time) {
  return time.sec * 1'000'000'000 + time.nsec;
}

/// clock_gettime(2), "Dynamic clocks".
clockid_t dynamic_clock(int descriptor) {
  return static_cast<clockid_t>((~static_cast<unsigned>(descriptor) << 3) | 3u);
}

std::string file_of_interface(const std::string& interface, ClockSystem& system) {
  ethtool_ts_info info{};
  info.cmd = ETHTOOL_GET_TS_INFO;
  if (const int status = system.ask_interface(interface, &info); status != 0)
    fail_input("'{}' is neither 'ping' nor 'realtime' nor a file of /dev, and as a network interface: {}", interface,
               std::strerror(status));
  if (info.phc_index < 0) fail_input("network interface '{}' has no PTP hardware clock", interface);
  return fmt::format("/dev/ptp{}", info.phc_index);
}

}  // namespace

ClockSystem& clock_system() {
  static LinuxClocks clocks;
  return clocks;
}

ClockSource::ClockSource(const std::string& source, ClockSystem& system) : system_(system) {
  if (source == "realtime") return;
  name_ = source.starts_with("/") ? source : file_of_interface(source, system);
  descriptor_ = system.open(name_);
  if (descriptor_ < 0) fail_input("{} cannot be opened: {}", name_, std::strerror(-descriptor_));
  SourceReading ignored;
  way_ = Way::kPrecise;
  while (way_ != Way::kPlain && !read_by_realtime(ignored)) way_ = way_ == Way::kPrecise ? Way::kExtended : Way::kPlain;
  timespec time{};
  const int status = way_ == Way::kPlain ? system.time(dynamic_clock(descriptor_), time) : 0;
  if (status == 0) return;
  system.close(descriptor_);
  fail_input("{} is no clock: {} (/dev/ptp0 and the like are, or the network interface of one, or 'realtime')", name_,
             std::strerror(status));
}

ClockSource::~ClockSource() {
  if (descriptor_ >= 0) system_.close(descriptor_);
}

int64_t ClockSource::now(clockid_t clock) const {
  timespec time{};
  if (const int status = system_.time(clock, time); status != 0)
    fail_run("{} cannot be read any more: {}", name_, std::strerror(status));
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

SourceReading ClockSource::read_beside(clockid_t clock) const {
  SourceReading best;
  for (int i = 0; i < kReadings; ++i) {
    const int64_t before = now(CLOCK_MONOTONIC), source = now(clock), after = now(CLOCK_MONOTONIC);
    const int64_t half = (after - before + 1) / 2;
    if (i == 0 || half < best.half) best = {.own = before + half, .source = source, .half = half};
  }
  return best;
}

/// By CLOCK_REALTIME instead of the own clock. Both are latched at once.
bool ClockSource::read_precise(SourceReading& by_realtime) const {
  ptp_sys_offset_precise reading{};
  if (system_.control(descriptor_, PTP_SYS_OFFSET_PRECISE, &reading) != 0) return false;
  by_realtime = {.own = nanoseconds(reading.sys_realtime), .source = nanoseconds(reading.device), .half = 1};
  return true;
}

bool ClockSource::read_extended(SourceReading& by_realtime) const {
  ptp_sys_offset_extended readings{};
  readings.n_samples = std::min(kReadings, PTP_MAX_SAMPLES);
  if (system_.control(descriptor_, PTP_SYS_OFFSET_EXTENDED, &readings) != 0) return false;
  for (unsigned i = 0; i < readings.n_samples; ++i) {
    const int64_t before = nanoseconds(readings.ts[i][0]), after = nanoseconds(readings.ts[i][2]);
    const int64_t half = (after - before + 1) / 2;
    if (i == 0 || half < by_realtime.half)
      by_realtime = {.own = before + half, .source = nanoseconds(readings.ts[i][1]), .half = half};
  }
  return true;
}

bool ClockSource::read_by_realtime(SourceReading& by_realtime) {
  return way_ == Way::kPrecise ? read_precise(by_realtime) : read_extended(by_realtime);
}

// CLOCK_REALTIME and CLOCK_MONOTONIC run at one rate, and are as far apart as ever unless the former is set.
SourceReading ClockSource::read() {
  if (descriptor_ < 0) return read_beside(CLOCK_REALTIME);
  if (way_ == Way::kPlain) return read_beside(dynamic_clock(descriptor_));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const SourceReading before = read_beside(CLOCK_REALTIME);
    SourceReading reading;
    if (!read_by_realtime(reading)) fail_run("{} cannot be read any more", name_);
    const SourceReading after = read_beside(CLOCK_REALTIME);
    const int64_t apart = (after.source - after.own) - (before.source - before.own);
    if (reading.half < 0 || std::abs(apart) > before.half + after.half) continue;
    reading.own -= after.source - after.own;
    reading.half += after.half;
    return reading;
  }
  fail_run("{} cannot be read beside CLOCK_REALTIME, which is set again and again", name_);
}

}  // namespace rankwire
