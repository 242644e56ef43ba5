// One device under test whose counters are read, in a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "emulator/device_counters/counter_names.h"
#include "emulator/device_counters/device_series.h"

namespace rankwire {

/// How a device's counters are had.
struct DeviceSourceOptions {
  std::string name;
  std::string kind;                 ///< "command", "stream" or "gnmi", for the record
  std::string command;              ///< that prints one sample, as run_hook takes it; empty: `stream`
  std::vector<std::string> stream;  ///< program and arguments that print a line a sample, as long as they run
  std::chrono::milliseconds interval{100};
  std::chrono::milliseconds patience{10'000};  ///< with a call, or with a stream until its next sample
  bool may_be_silent = false;           ///< the stream: it tells of changes, and after its first sample waits for one
  std::chrono::milliseconds settle{0};  ///< from the end of the run to the last sample
  CounterNames names;
  size_t rows = 65'536;
};

/// What was had of it.
struct DeviceReadings {
  std::string name, kind;
  DeviceSeries series;
  uint64_t samples = 0, failures = 0;
  std::string first_failure;  ///< empty: none
  std::string skipped;        ///< as DeviceSample::skipped, the first
  std::optional<int64_t> round_trip_ns;
};

/// Its functions belong to one thread.
class DeviceSource {
 public:
  /// Begins to read.
  explicit DeviceSource(DeviceSourceOptions options);
  /// Kills what it has started.
  ~DeviceSource();
  DeviceSource(const DeviceSource&) = delete;
  DeviceSource& operator=(const DeviceSource&) = delete;

  const DeviceSourceOptions& options() const { return options_; }
  /// Whether there is a first sample, or a reason for there being none.
  bool has_begun();
  /// What has failed so far, "device_counters 'leaf1': ..."; empty: nothing.
  std::string trouble();
  /// Asks for one last sample. A stream is given two intervals for it.
  void end();
  /// Asks for nothing more, and ends what is under way.
  void stop();
  /// What was had until now. Any thread; not during or after `take`.
  DeviceReadings so_far();
  /// After `end` or `stop`: whether nothing is under way any more.
  bool has_ended();
  /// Once, after that, and waits for it.
  DeviceReadings take();

 private:
  void read_calls();
  void read_streams();
  void read_stream();
  int64_t silent_ns() const;
  void call();
  void take_lines(std::string& text);
  void take_sample(std::string_view text, const SampleTimes& times);
  void failed(const std::string& reason);
  void pause_until(std::chrono::steady_clock::time_point next);
  bool is_done();

  const DeviceSourceOptions options_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by the mutex:
  std::optional<int64_t> ending_;  ///< the last sample is one that comes after that, nanoseconds of the steady clock
  bool ended_ = false;
  uint64_t samples_ = 0, failures_ = 0;
  std::string first_failure_, skipped_;
  DeviceSeries series_;
  std::optional<int64_t> round_trip_;
  // The thread's:
  int64_t last_arrival_ = INT64_MIN;
  std::thread thread_;
};

}  // namespace rankwire
