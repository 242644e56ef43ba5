// Runs, each a process of its own, beside each other where they may and one after another where not.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "emulator/serve/end_of_run.h"
#include "emulator/serve/kept_runs.h"
#include "emulator/serve/live_client.h"

namespace rankwire {

/// `kStarting`: its process reads the configuration and opens ports; `kRunning`: its clock goes; `kStopping`: it was
/// told to end, and writes what it has measured.
enum class RunState : uint8_t { kQueued, kStarting, kRunning, kStopping, kEnded };
const char* name_of(RunState state);

struct RunStatus {
  std::string id;
  RunState state = RunState::kEnded;
  std::optional<int> exit_status;  ///< of its process, once it has ended; absent: it had none, or ended with its server
  bool is_held = false;            ///< it runs and posts nothing, as `hold` wants it
  bool is_cut_short = false;       ///< this server had it end before its clock was seen to go
  std::string live;                ///< address of its page, while it has one
  std::string last_words;          ///< of a process that failed: the last line that it wrote, unless it is known why
  std::string reason;              ///< why this server had it end or not begin; empty: its summary knows
};

/// At most so many runs go on at a time as there is room for, since they share the machine, and none of them with a
/// device of another (devices_of); others wait in order, and nobody overtakes a run that needs a device of its own. A
/// run that crashes ends, and that is all; one that writes more than the store's quota is ended. Thread-safe.
class RunQueue {
 public:
  /// `program` is rankwire; `store` outlives it. At most `most_running`, >= 1, go on at a time.
  RunQueue(std::filesystem::path program, KeptRuns& store, size_t most_waiting, size_t most_running);
  /// Ends the runs that go on, with what they have measured.
  ~RunQueue();
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  /// Puts it behind others; `at_once`: fails with 409 when it would not begin now, past those that wait. Returns its
  /// id. Throws ServeError: 429 when too many wait, and what KeptRuns::new_run throws, which `room` is of.
  std::string submit(const std::string& configuration, const std::vector<OtgFile>& files, bool at_once,
                     uint64_t room = 0);
  /// Why rankwire would not run this; empty: it would. Nothing is queued, no device is touched.
  std::string objection(const std::string& configuration, const std::vector<OtgFile>& files,
                        std::span<const std::string> devices, RequestErrors& errors);
  /// As Ctrl-C does: with what it has measured. One that waits ends at once, one that does not end in 20 s is killed.
  void stop(const std::string& id);
  /// Whether it is to post nothing, or to go on. Throws ServeError 409 unless its clock goes.
  void hold(const std::string& id, bool held);
  /// Waits until it has passed `state`, `patience` at most, and says how it is then.
  RunStatus await(const std::string& id, RunState state, std::chrono::milliseconds patience);

  /// Whether it is a run of this server that has not ended.
  bool goes_on(const std::string& id) const;
  /// Throws ServeError 404.
  RunStatus status(const std::string& id) const;
  /// Oldest first.
  std::vector<RunStatus> all() const;
  /// What its page is told now, from a look that is 200 ms old at most; null when it has none.
  nlohmann::json live(const std::string& id);
  /// Throws ServeError 409 while it has not ended.
  void remove(const std::string& id);

 private:
  using Clock = std::chrono::steady_clock;
  /// A run of this server.
  struct Item {
    RunState state = RunState::kQueued;
    std::set<std::string> devices = {};
    bool is_held = false;
    std::unique_ptr<ChildProcess> process;
    std::optional<LiveAddress> address;
    bool has_begun = false;     // its clock was seen to go
    bool is_cut_short = false;  // it was told to end before that
    EndOfRun end;
    nlohmann::json seen;  // of the page
    Clock::time_point seen_at{}, measured_at{};
    Clock::time_point killed_at{};  // kStopping: unless it has ended by then
  };

  void work();
  /// What becomes of those that wait as things are.
  struct Outlook {
    std::vector<std::string> going;             ///< `running_`, and behind them those that may begin at once
    std::map<std::string, std::string> holder;  ///< by device: who has it or is the first to wait for it
  };
  /// The lock is held.
  Outlook outlook() const;
  /// The run for whose end one with these devices, behind all others, would have to wait; empty: none. The lock is
  /// held.
  std::string in_the_way_of(const std::set<std::string>& devices) const;
  /// Begins those that wait for nobody. The lock is held.
  void begin_some();
  /// The lock is held.
  void begin(const std::string& id, Item& item);
  /// One that waits, and is in no list any more, has ended. The lock is held.
  void drop(const std::string& id, Item& item);
  /// Tells it to end, for this reason, which is empty where somebody asked for it. The lock is held.
  static void end(Item& item, const std::string& reason);
  /// It has ended, and makes room for others. The lock is held.
  void leave(const std::string& id, Item& item);
  /// What has become of it. The lock is held.
  void look(const std::string& id, Item& item);
  RunStatus status_of(const std::string& id) const;

  const std::filesystem::path program_;
  KeptRuns& store_;
  const size_t most_waiting_, most_running_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Item> items_;
  std::deque<std::string> waiting_;
  std::vector<std::string> running_;
  std::mutex trial_mutex_;  // one configuration is checked at a time
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace rankwire
