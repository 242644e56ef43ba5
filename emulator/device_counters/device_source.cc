#include "emulator/device_counters/device_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "emulator/device_counters/sample_line.h"
#include "emulator/hooks/hook.h"
#include "emulator/hooks/hook_process.h"

namespace rankwire {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kBeforeRestart{1000}, kSlice{10};
/// Of a stream at the end, and so many intervals: less may be chance.
constexpr milliseconds kSilence{2000};
constexpr int kSilentIntervals = 10;

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now().time_since_epoch()).count();
}

int64_t ns_of(milliseconds time) {
  return std::chrono::nanoseconds(time).count();
}

/// What it has written to standard error, if anything.
std::string complaint_of(const HookProcess& child) {
  return child.complained.empty() ? "" : "; " + words_of_hook(child.complained);
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == line.npos;
}

}  // namespace

DeviceSource::DeviceSource(DeviceSourceOptions options)
    : options_(std::move(options)), series_(options_.names, options_.rows) {
  thread_ = std::thread([this] {
    if (options_.command.empty()) {
      read_streams();
    } else {
      read_calls();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
  });
}

DeviceSource::~DeviceSource() {
  stop();
  if (thread_.joinable()) thread_.join();
}

bool DeviceSource::has_begun() {
  const std::lock_guard lock(mutex_);
  return samples_ + failures_ > 0 || ended_;
}

std::string DeviceSource::trouble() {
  const std::lock_guard lock(mutex_);
  if (failures_ == 0) return {};
  return fmt::format("device_counters '{}': {}", options_.name, first_failure_);
}

void DeviceSource::end() {
  {
    const std::lock_guard lock(mutex_);
    if (!ending_) ending_ = steady_ns();
  }
  wake_.notify_all();
}

void DeviceSource::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
}

bool DeviceSource::has_ended() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

DeviceReadings DeviceSource::take() {
  thread_.join();
  return {.name = options_.name,
          .kind = options_.kind,
          .series = std::move(series_),
          .samples = samples_,
          .failures = failures_,
          .first_failure = std::move(first_failure_),
          .skipped = std::move(skipped_),
          .round_trip_ns = round_trip_};
}

DeviceReadings DeviceSource::so_far() {
  const std::lock_guard lock(mutex_);
  return {.name = options_.name,
          .kind = options_.kind,
          .series = series_,
          .samples = samples_,
          .failures = failures_,
          .first_failure = first_failure_,
          .skipped = skipped_,
          .round_trip_ns = round_trip_};
}

/// Also returns when the end comes.
void DeviceSource::pause_until(SteadyClock::time_point next) {
  std::unique_lock lock(mutex_);
  wake_.wait_until(lock, next, [this] { return stopped_ || ending_; });
}

void DeviceSource::failed(const std::string& reason) {
  if (stopped_) return;  // it was ended
  const std::lock_guard lock(mutex_);
  if (failures_++ == 0) first_failure_ = reason;
}

void DeviceSource::take_sample(std::string_view text, const SampleTimes& times) {
  DeviceSample sample;
  try {
    sample = parse_device_sample(text);
  } catch (const Error& error) {
    return failed(fmt::format("{}; {}", error.what(), words_of_hook(text)));
  }
  const std::lock_guard lock(mutex_);
  if (sample.round_trip_ns) round_trip_ = std::min(round_trip_.value_or(*sample.round_trip_ns), *sample.round_trip_ns);
  if (sample.values.empty() && sample.round_trip_ns) return;
  SampleTimes of_sample = times;
  of_sample.stamp = sample.stamp_ns;
  if (sample.arrived_ns && !times.asked) of_sample.arrived = std::min(*sample.arrived_ns, times.arrived);
  if (sample.within_ns && !of_sample.asked) of_sample.asked = of_sample.arrived - *sample.within_ns;
  series_.add(of_sample, sample.values);
  last_arrival_ = of_sample.arrived;
  ++samples_;
  if (skipped_.empty()) skipped_ = sample.skipped;
}

void DeviceSource::call() {
  SampleTimes times{.asked = steady_ns(), .stamp = {}};
  std::string text;
  try {
    text = run_hook("command", options_.command, options_.patience, stopped_);
  } catch (const Error& error) {
    return failed(error.what());
  }
  times.arrived = steady_ns();
  take_sample(text, times);
}

void DeviceSource::read_calls() {
  auto next = SteadyClock::now();
  bool is_last = false;
  while (!stopped_) {
    call();
    if (is_last) return;
    // Those that a call took too long for are left out.
    const auto now = SteadyClock::now();
    do next += options_.interval;
    while (next < now);
    pause_until(next);
    const std::lock_guard lock(mutex_);
    is_last = ending_.has_value();
  }
}

/// Of a stream, once the end has come: it has said what it had to, or had its time.
bool DeviceSource::is_done() {
  if (stopped_) return true;
  const std::lock_guard lock(mutex_);
  if (!ending_) return false;
  const int64_t grace = ns_of(std::min(2 * options_.interval + milliseconds(100), options_.patience));
  return last_arrival_ >= *ending_ || steady_ns() - *ending_ > grace;
}

void DeviceSource::take_lines(std::string& text) {
  const int64_t now = steady_ns();
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != text.npos; begin = end + 1, end = text.find('\n', begin)) {
    const std::string_view line(text.data() + begin, end - begin);
    if (!is_blank(line)) take_sample(line, {.asked = {}, .arrived = now, .stamp = {}});
  }
  text.erase(0, begin);
}

/// Since the last sample; 0 where there was none, or need not be.
int64_t DeviceSource::silent_ns() const {
  return last_arrival_ == INT64_MIN || options_.may_be_silent ? 0 : steady_ns() - last_arrival_;
}

void DeviceSource::read_stream() {
  HookProcess child("command", options_.stream);
  const auto begin = SteadyClock::now();
  const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  bool has_said = false;
  while (!is_done()) {
    const std::optional<int> status = child.listen(kSlice);
    has_said = has_said || child.said.find('\n') != std::string::npos;
    take_lines(child.said);
    if (child.complained.size() > HookProcess::kMostOutput / 2) child.complained.erase(0, HookProcess::kMostOutput / 4);
    if (child.prints_too_much()) fail_run("it printed a line of more than 1 MiB");
    if (status) fail_run("'{}' ended with status {}; {}", options_.stream[0], *status, words_of_hook(child.complained));
    const auto so_far = SteadyClock::now() - begin;
    if (so_far <= options_.patience) continue;
    if (!has_said || silent_ns() > ns_of(options_.patience))
      fail_run("'{}' printed nothing {} {:.3g} s{}", options_.stream[0], has_said ? "more for" : "within",
               seconds(options_.patience), complaint_of(child));
  }
  const std::chrono::nanoseconds silent(silent_ns());
  if (silent > std::max(kSilence, kSilentIntervals * options_.interval))
    fail_run("'{}' printed nothing more for {:.3g} s before the end{}", options_.stream[0], seconds(silent),
             complaint_of(child));
}

/// One that has ended is started again.
void DeviceSource::read_streams() {
  while (!is_done()) {
    try {
      read_stream();
    } catch (const Error& error) {
      failed(error.what());
    }
    pause_until(SteadyClock::now() + std::max(kBeforeRestart, options_.interval));
    const std::lock_guard lock(mutex_);
    if (ending_) return;
  }
}

}  // namespace rankwire
