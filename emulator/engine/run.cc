#include "emulator/engine/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/modelled_part.h"
#include "base/run_ahead.h"
#include "emulator/engine/watchdog.h"

namespace rankwire {
namespace {

constexpr size_t kReportedWaits = 64;
/// Instants of a model between two looks at the wire.
constexpr uint32_t kStepsAtOnce = 16;
/// After which signals and deadlines are looked at again.
constexpr Duration kLongestFollow = milliseconds(100);
/// How far device and transport may run ahead of the loop in virtual time: signals and deadlines are looked at so
/// often.
constexpr Duration kAhead = milliseconds(1);

/// The engine goes on at `now`, and what it posts is under way. So does the background, if there is one. `held`: what
/// they have to post stays with them.
void react(Engine& engine, BackgroundTraffic* background, Transport& transport, Time now, bool held) noexcept {
  engine.advance(now);
  if (held) return;
  engine.posted(transport.post(now, engine.outgoing()));
  if (background == nullptr) return;
  background->advance(now);
  background->posted(transport.post(now, background->outgoing()));
}

/// One turn: devices and transport move what they have, the engine reacts. Returns whether anything happened. With
/// `instant` all that the transport has to report at this time happens at once. Otherwise the engine reacts to a batch
/// at a time, since more may come for as long as one listens, and what it posts leaves in the same turn. So does the
/// background, if there is one. Who looks on is told of all events.
bool turn(Engine& engine, BackgroundTraffic* background, LiveObserver* live, Transport& transport,
          std::span<Device* const> devices, std::span<Event> events, Time now, bool instant, bool held) noexcept {
  const auto done = [&] { return engine.progress() + transport.activity(); };
  const uint64_t before = done();
  react(engine, background, transport, now, held);
  bool moved = false;
  for (Device* device : devices) moved |= device->step(now);
  bool more = true;
  while (more) {
    size_t handled = 0;
    do {
      const size_t n = instant ? transport.poll(now, events) : transport.receive(now, events);
      if (live != nullptr) live->note(events.first(n));
      engine.handle(now, events.first(background == nullptr ? n : background->take(now, events.first(n))));
      handled += n;
      more = n == events.size();
    } while (more && instant);
    if (handled > 0) react(engine, background, transport, now, held);
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

/// The loop of one worker.
class Loop {
 public:
  Loop(const Worker& worker, uint32_t number, RunTeam& team, WorkerTime& time) noexcept
      : engine_(*worker.engine),
        transport_(*worker.transport),
        background_(worker.background),
        live_(worker.live),
        devices_(worker.devices),
        number_(number),
        team_(team),
        time_(time),
        model_(transport_.modelled_part()) {}

  /// Until all workers have finished, or one of them has ended the run.
  void run(Clock& clock, const RunOptions& options, const std::atomic<bool>& interrupted) {
    Time now = clock.now();
    const Time deadline = Time() + (options.deadline - options.spent);
    Watchdog watchdog(engine_, transport_, options.stall_timeout, now,
                      background_ == nullptr ? Watchdog::Arrivals::kOfEngine : Watchdog::Arrivals::kOfOthersToo);
    // What is modelled begins when the run does, and not when the loop first looks.
    if (model_ != nullptr && clock.runs_by_itself()) react(engine_, background_, transport_, Time(), false);
    bool moved = false;  // at the time `now`, which several turns may share
    uint32_t answered = options.inquiry != nullptr ? options.inquiry->asked.load() : 0;
    while (!all_finished() && !team_.ended()) {
      // First, since connections of which the set-up was interrupted would fail.
      if (interrupted.load(std::memory_order_relaxed)) {
        team_.end(Verdict::kInterrupted, "stopped by a signal");
        break;
      }
      if (options.inquiry != nullptr) answer(*options.inquiry, answered, now);
      if (live_ != nullptr) live_->look(now);
      if (options.held != nullptr && clock.runs_by_itself())
        heed(options.held->load(std::memory_order_relaxed), now, watchdog);
      const Time begin = now;
      if (model_ != nullptr && clock.runs_by_itself()) moved |= follow_model(now, clock);
      moved |= turn(engine_, background_, live_, transport_, devices_, events_, now, !clock.runs_by_itself(), is_held_);
      if (engine_.must_stop()) {
        team_.end(Verdict::kFailed, engine_.failure_text());
        break;
      }
      if (all_finished()) break;

      const uint64_t before_ahead = transport_.activity();
      const Time next = next_event(devices_, transport_, next_own(), now, clock);
      moved |= transport_.activity() != before_ahead;
      if (!goes_on(watchdog, now, next, options.deadline, deadline, clock)) break;
      clock.idle_until(std::min(next, deadline));
      now = clock.now();
      if (now == begin) continue;
      if (clock.runs_by_itself()) add_turn(begin, now, watchdog);
      if (std::exchange(moved, false)) time_.busy += now - begin;
    }
    // The thread may have stood still since, and found the run ended when it went on.
    if (clock.runs_by_itself()) add_turn(now, clock.now(), watchdog);
    if (live_ != nullptr) live_->publish(now);
    if (is_held_) time_.held += now - held_since_;
    time_.total = now - Time();
  }

 private:
  /// Somebody may hold what is to be posted. What was due meanwhile is due as much later.
  void heed(bool held, Time now, Watchdog& watchdog) noexcept {
    if (held) watchdog.excuse(now);
    if (held == is_held_) return;
    is_held_ = held;
    if (held) {
      held_since_ = now;
      return;
    }
    time_.held += now - held_since_;
    if (background_ != nullptr) background_->postpone(now - held_since_);
  }

  /// In real time: lets happen what by its own time has happened in the model before `now`, and what follows from that.
  /// Where there is much of it, what is on the wire goes on, and so does `now`. A model that takes longer than what it
  /// models is given up after `kLongestFollow`: what is left happens late. Returns whether anything happened.
  bool follow_model(Time& now, Clock& clock) noexcept {
    const auto next = [&] { return std::min(model_->next_event(), next_own()); };
    const Time begin = now;
    uint32_t steps = 0;
    for (Time at = next(); at < now && now - begin < kLongestFollow; at = next()) {
      react(engine_, background_, transport_, at, is_held_);
      for (size_t n = model_->poll(at, events_); n > 0; n = model_->poll(at, events_)) {
        const std::span<Event> happened = std::span(events_).first(n);
        if (live_ != nullptr) live_->note(happened);
        engine_.handle(at, happened.first(background_ == nullptr ? n : background_->take(at, happened)));
        react(engine_, background_, transport_, at, is_held_);
      }
      if (++steps % kStepsAtOnce != 0) continue;
      now = clock.now();
      for (Device* device : devices_) device->step(now);
      model_->tend(now);
    }
    return steps > 0;
  }

  /// `answered`: questions so far that have been.
  void answer(const WaitInquiry& inquiry, uint32_t& answered, Time now) const {
    const uint32_t asked = inquiry.asked.load(std::memory_order_relaxed);
    if (asked == answered) [[likely]]
      return;
    answered = asked;
    inquiry.tell(number_, now, engine_.stall_report(kReportedWaits, [&](ConnectionId connection) {
      return transport_.describe(connection);
    }));
  }

  /// What the worker does when it goes on is progress, and yet others may have given up because it stood still: so its
  /// longest turn is kept for a while.
  void add_turn(Time before, Time now, const Watchdog& watchdog) noexcept {
    time_.turns.add(now - before);
    if (time_.standstill_end <= std::min(watchdog.last_progress(), now - watchdog.timeout()))
      time_.standstill = Duration();
    if (now - before > time_.standstill) time_.standstill = now - before, time_.standstill_end = now;
  }

  bool all_finished() noexcept {
    if (!engine_.finished()) return false;
    if (!std::exchange(told_, true)) team_.finish(number_);
    return team_.finished();
  }

  Time next_own() const noexcept {
    return background_ == nullptr ? engine_.next_event() : std::min(engine_.next_event(), background_->next_event());
  }

  /// Ends the run when nothing moves any more or time is up, and returns whether it goes on.
  bool goes_on(Watchdog& watchdog, Time now, Time next, Duration allowed, Time deadline, const Clock& clock) {
    // Also of the last turn, however the run ends.
    const bool stands_still = watchdog.stands_still(now, clock.runs_by_itself() ? now : next);
    team_.note_progress(number_, watchdog.last_progress());
    // The background goes on for ever, and none of the ranks waits for it.
    const bool is_over = next == Time::never() || (background_ != nullptr && engine_.awaits_nothing());
    if (is_over && !clock.runs_by_itself()) {
      team_.end(Verdict::kStalled, "nothing is left to happen, yet not every rank has finished");
      return false;
    }
    if (stands_still && now - team_.last_progress() > watchdog.timeout()) {
      team_.end(Verdict::kStalled, fmt::format("no progress for {:g} s", (now - team_.last_progress()).ps / 1e12));
      return false;
    }
    if (now >= deadline) {
      team_.end(Verdict::kFailed, fmt::format("deadline of {:g} s passed", allowed.ps / 1e12));
      return false;
    }
    return true;
  }

  Engine& engine_;
  Transport& transport_;
  BackgroundTraffic* const background_;
  LiveObserver* const live_;
  const std::span<Device* const> devices_;
  const uint32_t number_;
  RunTeam& team_;
  WorkerTime& time_;
  ModelledPart* const model_;  // of the transport; null: there is none
  std::array<Event, 64> events_;
  bool is_held_ = false;
  Time held_since_;    // while it is
  bool told_ = false;  // the team, that all ranks have finished
};

}  // namespace

std::vector<ConnectFailure> establish(Transport& transport, std::span<Device* const> devices, Clock& clock,
                                      Duration deadline, const std::atomic<bool>& interrupted,
                                      const std::function<bool()>& others_ready) {
  std::array<Event, 64> events;
  // The last turn may end late: as much time again is left before the run begins.
  const Time begin = clock.now(), origin = Time() - deadline * 2;
  const auto run_time = [&] { return origin + (clock.now() - begin); };
  const auto ready = [&] {
    const bool others = !others_ready || others_ready();
    return transport.ready() && others;
  };
  for (Time now = origin; !ready() && now < origin + deadline && !interrupted.load(); now = run_time()) {
    for (Device* device : devices) device->step(now);
    transport.poll(now, events);
    const Time next = next_event(devices, transport, origin + deadline, now, clock);
    clock.idle_until(begin + (next - origin));
  }
  return transport.not_ready();
}

void drain(Transport& transport, std::span<Device* const> devices, Clock& clock, const DrainLimits& limits) {
  std::array<Event, 64> events;
  Time now = clock.now();
  const Time end = now + limits.most;
  Time quiet_at = now + limits.quiet;
  uint64_t arrived = 0;
  while (now < std::min(end, quiet_at)) {
    const TransportCounters counters = transport.counters();
    if (counters.data_packets_rx >= counters.data_packets_tx) return;
    if (std::exchange(arrived, counters.packets_rx) != counters.packets_rx) quiet_at = now + limits.quiet;
    for (Device* device : devices) device->step(now);
    transport.poll(now, events);
    clock.idle_until(next_event(devices, transport, std::min(end, quiet_at), now, clock));
    now = clock.now();
  }
}

Crew::Crew(std::vector<Worker> workers, uint32_t others)
    : workers_(std::move(workers)),
      team_(static_cast<uint32_t>(workers_.size()) + others),
      times_(workers_.size()),
      errors_(workers_.size()) {
  try {
    for (uint32_t i = 1; i < workers_.size(); ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& error) {
    const size_t missing = threads_.size() + 1;
    leave();
    fail_run("no thread for worker {} of {}: {}", missing, workers_.size(), error.what());
  }
  while (entered_.load(std::memory_order_acquire) < threads_.size()) std::this_thread::yield();
  for (const std::exception_ptr& error : errors_) {
    if (!error) continue;
    leave();
    std::rethrow_exception(error);
  }
}

Crew::~Crew() {
  leave();
}

void Crew::leave() noexcept {
  order_.store(Order::kLeave, std::memory_order_release);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Crew::work(uint32_t number) noexcept {
  std::shared_ptr<void> entered;
  try {
    if (workers_[number].enter) entered = workers_[number].enter();
  } catch (...) {
    errors_[number] = std::current_exception();
  }
  entered_.fetch_add(1, std::memory_order_release);
  Order order = Order::kWait;
  while ((order = order_.load(std::memory_order_acquire)) == Order::kWait) std::this_thread::yield();
  if (order == Order::kRun)
    Loop(workers_[number], number, team_, times_[number]).run(*told_.clock, told_.options, *told_.interrupted);
}

RunResult Crew::run(const std::function<std::string(ConnectionId)>& describe, Clock& clock, const RunOptions& options,
                    const std::atomic<bool>& interrupted) {
  const Worker& first = workers_.front();
  std::shared_ptr<void> entered;
  if (first.enter) entered = first.enter();
  told_ = {&clock, options, &interrupted};
  order_.store(Order::kRun, std::memory_order_release);
  Loop(first, 0, team_, times_.front()).run(clock, options, interrupted);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  entered.reset();
  RunResult result;
  result.verdict = team_.verdict(), result.reason = team_.reason();
  result.last_progress = team_.last_progress();
  for (uint32_t i = 0; i < times_.size(); ++i)
    times_[i].last_progress = std::max(team_.progress_of(i), Time::long_ago());
  for (const WorkerTime& time : times_) {
    result.total = std::max(result.total, time.total);
    result.held = std::max(result.held, time.held);
  }
  result.workers = std::move(times_);
  for (const Worker& worker : workers_) {
    if (result.verdict == Verdict::kOk || result.waiting.size() >= kReportedWaits) break;
    for (std::string& line : worker.engine->stall_report(kReportedWaits - result.waiting.size(), describe)) {
      // Which jobs have not begun all say alike.
      if (std::ranges::find(result.waiting, line) == result.waiting.end()) result.waiting.push_back(std::move(line));
    }
  }
  return result;
}

RunResult run(Engine& engine, Transport& transport, std::span<Device* const> devices, Clock& clock,
              const RunOptions& options, const std::atomic<bool>& interrupted) {
  Crew crew({{.engine = &engine, .transport = &transport, .devices = devices}});
  return crew.run([&](ConnectionId connection) { return transport.describe(connection); }, clock, options, interrupted);
}

}  // namespace rankwire
