// The one loop that emulated, twin and reference runs share, and the threads that run it.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/device.h"
#include "base/histogram.h"
#include "base/record.h"
#include "base/transport.h"
#include "emulator/engine/background_traffic.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/live_observer.h"
#include "emulator/engine/team.h"

namespace rankwire {

/// Somebody who may want to know who waits for whom while a run goes on.
struct WaitInquiry {
  /// Grows with each question, from any thread or a signal handler.
  const std::atomic<uint32_t>& asked;
  /// Told by each worker, in its thread, once a question: when, and who of its ranks waits for whom, 64 lines at most.
  /// The loop stands still meanwhile.
  std::function<void(uint32_t worker, Time now, std::span<const std::string> waiting)> tell;
};

struct RunOptions {
  Duration deadline = seconds(600);      ///< of run time
  Duration spent = {};                   ///< of the deadline, by runs before this one that share it
  Duration stall_timeout = seconds(5);   ///< without any progress while nothing computes
  const WaitInquiry* inquiry = nullptr;  ///< outlives the run; null: nobody asks
  /// While it is true nothing is posted, in real time; what is under way arrives, and what computes goes on. Nobody is
  /// found to stand still for that, and the deadline comes when it would. Set by any thread or a signal handler, and
  /// outlives the run; null: nobody holds it.
  const std::atomic<bool>* held = nullptr;
};

/// How one worker spent a run. Its thread's alone while that goes on.
struct alignas(64) WorkerTime {
  Duration held;         ///< run time in which nothing was to be posted (RunOptions::held)
  Duration busy, total;  ///< run time in which a turn of the loop did something, and all of it
  Histogram turns;       ///< how long turns of the loop took, in real time; in virtual time empty
  /// The longest of them since the worker last made progress, or in the last `stall_timeout` where that began before,
  /// and when it ended.
  Duration standstill;
  Time standstill_end;
  Time last_progress = Time::long_ago();  ///< its own; RunResult has that of any
};

struct RunResult {
  Verdict verdict = Verdict::kOk;
  std::string reason;                ///< empty when ok
  std::vector<std::string> waiting;  ///< who waits for whom, when the run did not end by itself
  std::vector<JobSpan> jobs;         ///< by JobId; left to whoever has the engines
  Duration completion;               ///< of the slowest rank; likewise
  Duration total;                    ///< run time
  Duration held;                     ///< of that, in which nothing was to be posted
  Time last_progress;                ///< of any worker: the last completion, computation or arrival that counted
  std::vector<WorkerTime> workers;
};

/// Polls the connected transport until every connection is ready or has failed, `deadline` has passed, or `interrupted`
/// becomes true, and returns the connections that cannot carry messages. What happens here happens at negative run
/// times; the caller starts the clock afterwards.
/// `others_ready`: asked in each turn in which all connections are; false: others still need this transport's answers.
std::vector<ConnectFailure> establish(Transport& transport, std::span<Device* const> devices, Clock& clock,
                                      Duration deadline, const std::atomic<bool>& interrupted,
                                      const std::function<bool()>& others_ready = nullptr);

/// How long frames may take after a run that nobody waits for any more.
struct DrainLimits {
  Duration quiet = milliseconds(1);  ///< so long after the last arrival no other is expected
  Duration most = milliseconds(10);
};

/// Lets frames arrive that are under way when a run has ended, such as those that were sent again needlessly, so that
/// they are not taken for lost. No more than that: nothing is reported to anybody. Returns at once where as many data
/// packets have arrived as were sent.
void drain(Transport& transport, std::span<Device* const> devices, Clock& clock, const DrainLimits& limits = {});

/// What one thread drives: a shard of the ranks, and the transport that takes their messages. Borrowed.
struct Worker {
  Engine* engine = nullptr;
  Transport* transport = nullptr;
  /// Called in the worker's thread before the run; what it returns is destroyed there after the run. May throw Error.
  std::function<std::shared_ptr<void>()> enter = nullptr;
  BackgroundTraffic* background = nullptr;  ///< of the same transport, as long as jobs run; null: there is none
  LiveObserver* live = nullptr;             ///< of the same engine and transport; null: nobody looks on
  std::span<Device* const> devices;         ///< which share its core
};

/// The threads of a run's workers: that of the first is the caller's, which enters with `run`; the others are made, and
/// wait for that. With several workers time is real.
class Crew {
 public:
  /// Returns when those have entered. Throws what an `enter` has thrown, and Error(kRun) when there are no threads.
  /// `others`: further members of the team, of whom somebody else tells it, who may begin with `team` at once.
  explicit Crew(std::vector<Worker> workers, uint32_t others = 0);
  /// Ends threads that have never run.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// The workers in their order, and behind them the others.
  RunTeam& team() { return team_; }

  /// Each worker drives its engine over its transport until all ranks of all workers have finished, something failed,
  /// nothing moves any more, the deadline has passed, or `interrupted` becomes true (set by a signal handler). Once.
  /// `describe` is asked, when no worker runs any more, for the state of a connection. Throws what the first worker's
  /// `enter` throws.
  RunResult run(const std::function<std::string(ConnectionId)>& describe, Clock& clock, const RunOptions& options,
                const std::atomic<bool>& interrupted);

 private:
  enum class Order : uint8_t { kWait, kRun, kLeave };
  /// What `run` was told.
  struct Told {
    Clock* clock = nullptr;
    RunOptions options;
    const std::atomic<bool>* interrupted = nullptr;
  };

  void work(uint32_t number) noexcept;
  void leave() noexcept;

  const std::vector<Worker> workers_;
  RunTeam team_;
  std::vector<WorkerTime> times_;
  std::vector<std::exception_ptr> errors_;  // of `enter`, by worker
  std::atomic<uint32_t> entered_{0};
  std::atomic<Order> order_{Order::kWait};
  Told told_;
  std::vector<std::thread> threads_;
};

/// A run with one worker, whose core `devices` share.
RunResult run(Engine& engine, Transport& transport, std::span<Device* const> devices, Clock& clock,
              const RunOptions& options, const std::atomic<bool>& interrupted);

}  // namespace rankwire
