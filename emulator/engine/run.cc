#include "emulator/engine/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/run_ahead.h"
#include "emulator/engine/watchdog.h"

namespace rankwire {
namespace {

constexpr size_t kReportedWaits = 64;
/// How far device and transport may run ahead of the loop in virtual time: signals and deadlines are looked at so
/// often.
constexpr Duration kAhead = milliseconds(1);

/// One turn: devices and transport move what they have, the engine reacts. Returns whether anything happened. With
/// `instant` all that the transport has to report at this time happens at once. Otherwise the engine reacts to a batch
/// at a time, since more may come for as long as one listens, and what it posts leaves in the same turn.
bool turn(Engine& engine, Transport& transport, std::span<Device* const> devices, std::span<Event> events, Time now,
          bool instant) noexcept {
  const auto done = [&] { return engine.progress() + transport.activity(); };
  const auto react = [&] {
    engine.advance(now);
    engine.posted(transport.post(now, engine.outgoing()));
  };
  const uint64_t before = done();
  react();
  bool moved = false;
  for (Device* device : devices) moved |= device->step(now);
  bool more = true;
  while (more) {
    size_t handled = 0;
    do {
      const size_t n = instant ? transport.poll(now, events) : transport.receive(now, events);
      engine.handle(now, events.first(n));
      handled += n;
      more = n == events.size();
    } while (more && instant);
    if (handled > 0) react();
  }
  if (!instant) transport.send_due(now);
  return moved || done() != before;
}

/// When something happens next, at `limit` or before: of interest to a clock that stands still until then, and never
/// asked for in real time. What only device and transport notice has happened already.
Time next_event(std::span<Device* const> devices, Transport& transport, Time limit, Time now,
                const Clock& clock) noexcept {
  if (clock.runs_by_itself()) return limit;  // which is polled without a break
  // Of several devices one that is ahead might miss what another makes the hosts send.
  if (devices.size() == 1) return run_ahead(*devices.front(), transport, std::min(limit, now + kAhead));
  Time next = std::min(limit, transport.next_event());
  for (const Device* device : devices) next = std::min(next, device->next_event());
  return next;
}

}  // namespace

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kStalled:
      return "stalled";
    case Verdict::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

std::vector<ConnectFailure> establish(Transport& transport, std::span<Device* const> devices, Clock& clock,
                                      Duration deadline, const std::atomic<bool>& interrupted) {
  std::array<Event, 64> events;
  // The last turn may end late: as much time again is left before the run begins.
  const Time begin = clock.now(), origin = Time() - deadline * 2;
  const auto run_time = [&] { return origin + (clock.now() - begin); };
  for (Time now = origin; !transport.ready() && now < origin + deadline && !interrupted.load(); now = run_time()) {
    for (Device* device : devices) device->step(now);
    transport.poll(now, events);
    const Time next = next_event(devices, transport, origin + deadline, now, clock);
    clock.idle_until(begin + (next - origin));
  }
  return transport.not_ready();
}

RunResult run(Engine& engine, Transport& transport, std::span<Device* const> devices, Clock& clock,
              const RunOptions& options, const std::atomic<bool>& interrupted) {
  RunResult result;
  std::array<Event, 64> events;
  Time now = clock.now();
  const Time deadline = Time() + options.deadline;
  Watchdog watchdog(engine, transport, options.stall_timeout, now);
  bool moved = false;  // at the time `now`, which several turns may share
  const auto end = [&](Verdict verdict, std::string reason) {
    result.verdict = verdict, result.reason = std::move(reason), result.total = now - Time();
    result.waiting = engine.stall_report(kReportedWaits, [&](ConnectionId c) { return transport.describe(c); });
    return result;
  };
  while (!engine.finished()) {
    // First, since connections of which the set-up was interrupted would fail.
    if (interrupted.load(std::memory_order_relaxed)) return end(Verdict::kInterrupted, "stopped by a signal");
    moved |= turn(engine, transport, devices, events, now, !clock.runs_by_itself());
    if (engine.must_stop()) return end(Verdict::kFailed, engine.failure_text());
    if (engine.finished()) break;

    const uint64_t before_ahead = transport.activity();
    const Time next = next_event(devices, transport, engine.next_event(), now, clock);
    moved |= transport.activity() != before_ahead;
    if (next == Time::never() && !clock.runs_by_itself()) {
      return end(Verdict::kStalled, "nothing is left to happen, yet not every rank has finished");
    }
    if (watchdog.stands_still(now)) {
      return end(Verdict::kStalled, fmt::format("no progress for {:g} s", watchdog.since_progress(now).ps / 1e12));
    }
    if (now >= deadline) {
      return end(Verdict::kFailed, fmt::format("deadline of {:g} s passed", options.deadline.ps / 1e12));
    }
    clock.idle_until(std::min(next, deadline));
    const Time before = std::exchange(now, clock.now());
    if (now == before) continue;
    if (clock.runs_by_itself()) result.turns.add(now - before);
    if (std::exchange(moved, false)) result.busy += now - before;
  }
  result.total = now - Time();
  return result;
}

}  // namespace rankwire
