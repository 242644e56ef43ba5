#include "emulator/serve/run_queue.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "emulator/serve/run_configuration.h"
#include "emulator/serve/run_figures.h"
#include "emulator/serve/serve_error.h"

namespace rankwire {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20}, kLookIsFresh{200}, kBetweenMeasures{2'000}, kToCheck{30'000},
    kUntilKilled{20'000};
constexpr const char* kNotBegun = "stopped before it began";
constexpr const char* kNoWord = "it ended without a word";  // as last_words has it

/// Without the server's own folders, which are nobody's business.
std::string without(std::string text, const std::string& folder) {
  for (size_t at = 0; (at = text.find(folder + "/")) != std::string::npos;) text.erase(at, folder.size() + 1);
  return text;
}

/// Work that is done at the end of its scope.
template <typename Work>
class Finally {
 public:
  explicit Finally(Work work) : work_(std::move(work)) {}
  ~Finally() { work_(); }
  Finally(const Finally&) = delete;
  Finally& operator=(const Finally&) = delete;

 private:
  const Work work_;
};

}  // namespace

const char* name_of(RunState state) {
  switch (state) {
    case RunState::kQueued:
      return "queued";
    case RunState::kStarting:
      return "starting";
    case RunState::kRunning:
      return "running";
    case RunState::kStopping:
      return "stopping";
    case RunState::kEnded:
      break;
  }
  return "ended";
}

RunQueue::RunQueue(std::filesystem::path program, KeptRuns& store, size_t most_waiting, size_t most_running)
    : program_(std::move(program)),
      store_(store),
      most_waiting_(most_waiting),
      most_running_(most_running),
      thread_([this] { work(); }) {}

RunQueue::~RunQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    for (const std::string& id : std::exchange(waiting_, {})) {
      drop(id, items_[id]);
    }
  }
  changed_.notify_all();
  thread_.join();
}

std::string RunQueue::submit(const std::string& configuration, const std::vector<OtgFile>& files, bool at_once,
                             uint64_t room) {
  std::set<std::string> devices = devices_of(configuration);
  const std::lock_guard lock(mutex_);
  if (const std::string other = in_the_way_of(devices); !other.empty()) {
    const std::vector<std::string> going = outlook().going;
    const bool goes_on = std::find(going.begin(), going.end(), other) != going.end();
    if (at_once)
      throw ServeError(409, fmt::format("run {} {}", other,
                                        goes_on ? "goes on: stop it first"
                                                : "waits and comes first: stop it, or wait until it has ended"));
    // Of those that are in the queue some may be about to leave it.
    if (const size_t waiting = running_.size() + waiting_.size() - going.size(); waiting >= most_waiting_)
      throw ServeError(429, fmt::format("{} runs wait already (--queue)", waiting));
  }
  const std::string id = store_.new_run(configuration, files, room);
  items_[id].devices = std::move(devices);
  waiting_.push_back(id);
  changed_.notify_all();
  return id;
}

std::string RunQueue::objection(const std::string& configuration, const std::vector<OtgFile>& files,
                                std::span<const std::string> devices, RequestErrors& errors) {
  const std::lock_guard one_at_a_time(trial_mutex_);
  const std::filesystem::path folder = store_.new_trial(configuration, files), file = folder / "configuration.yaml";
  const Finally removed([this] { store_.end_trial(); });
  try {
    check_confined(file, devices, errors);
  } catch (const Error& error) {
    return without(error.what(), folder.string());
  }
  if (!errors.empty()) return {};
  ChildProcess check({program_.string(), "check", file.string(), "--no-measure", "--json"}, folder / "log.txt");
  const auto deadline = Clock::now() + kToCheck;
  while (!check.status()) {
    if (Clock::now() > deadline) return fmt::format("it could not be checked within {} s", kToCheck.count() / 1000);
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return *check.status() == 0 ? "" : without(last_words(folder / "log.txt"), folder.string());
}

void RunQueue::stop(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = items_.find(id);
  if (found == items_.end()) {
    store_.folder(id);
    return;
  }
  Item& item = found->second;
  if (item.state == RunState::kQueued) {
    std::erase(waiting_, id);
    drop(id, item);
  } else if (item.process != nullptr && item.state != RunState::kEnded && item.state != RunState::kStopping) {
    end(item, "");
  }
  changed_.notify_all();
}

void RunQueue::drop(const std::string& id, Item& item) {
  item.is_cut_short = true;
  item.end.reason = kNotBegun;
  leave(id, item);
}

void RunQueue::end(Item& item, const std::string& reason) {
  item.is_cut_short = !item.has_begun;
  item.process->signal(SIGINT);
  item.state = RunState::kStopping;
  item.end.reason = reason;
  item.killed_at = Clock::now() + kUntilKilled;
}

void RunQueue::hold(const std::string& id, bool held) {
  const std::lock_guard lock(mutex_);
  const auto found = items_.find(id);
  if (found == items_.end() || found->second.state != RunState::kRunning)
    throw ServeError(409, fmt::format("run {} does not run", id));
  found->second.process->signal(held ? SIGRTMIN : SIGRTMIN + 1);
  found->second.is_held = held;
}

RunStatus RunQueue::await(const std::string& id, RunState state, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] {
    const auto item = items_.find(id);
    return item == items_.end() || item->second.state > state;
  });
  return status_of(id);
}

bool RunQueue::goes_on(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = items_.find(id);
  return found != items_.end() && found->second.state != RunState::kEnded;
}

RunStatus RunQueue::status(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return status_of(id);
}

std::vector<RunStatus> RunQueue::all() const {
  std::vector<RunStatus> all;
  const std::lock_guard lock(mutex_);
  for (const std::string& id : store_.runs()) all.push_back(status_of(id));
  return all;
}

nlohmann::json RunQueue::live(const std::string& id) {
  std::optional<LiveAddress> address;
  {
    const std::lock_guard lock(mutex_);
    const auto item = items_.find(id);
    if (item == items_.end() || !item->second.address) return {};
    if (Clock::now() - item->second.seen_at < kLookIsFresh) return item->second.seen;
    address = item->second.address;
  }
  std::optional<nlohmann::json> seen = live_state(*address);
  const std::lock_guard lock(mutex_);
  const auto item = items_.find(id);
  if (item == items_.end()) return {};
  if (seen) item->second.seen = std::move(*seen), item->second.seen_at = Clock::now();
  return item->second.seen;
}

void RunQueue::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (const RunState state = status_of(id).state; state != RunState::kEnded)
    throw ServeError(409,
                     fmt::format("run {} {}: stop it first", id, state == RunState::kQueued ? "waits" : "goes on"));
  items_.erase(id);
  store_.remove_run(id);
}

RunQueue::Outlook RunQueue::outlook() const {
  Outlook outlook{.going = running_, .holder = {}};
  const auto hold = [&](const std::string& id) {
    for (const std::string& device : items_.at(id).devices) outlook.holder.emplace(device, id);
  };
  for (const std::string& id : running_) hold(id);
  for (const std::string& id : waiting_) {
    const std::set<std::string>& devices = items_.at(id).devices;
    const bool begins = outlook.going.size() < most_running_ &&
                        std::none_of(devices.begin(), devices.end(),
                                     [&](const std::string& device) { return outlook.holder.contains(device); });
    hold(id);
    if (begins) outlook.going.push_back(id);
  }
  return outlook;
}

std::string RunQueue::in_the_way_of(const std::set<std::string>& devices) const {
  const Outlook others = outlook();
  for (const std::string& device : devices)
    if (const auto holder = others.holder.find(device); holder != others.holder.end()) return holder->second;
  return others.going.size() < most_running_ ? std::string() : others.going.front();
}

void RunQueue::begin_some() {
  const std::vector<std::string> going = outlook().going;
  for (size_t i = running_.size(); i < going.size(); ++i) std::erase(waiting_, going[i]);
  const std::vector<std::string> starting(going.begin() + static_cast<ptrdiff_t>(running_.size()), going.end());
  running_ = going;
  for (const std::string& id : starting) begin(id, items_[id]);
}

void RunQueue::work() {
  std::unique_lock lock(mutex_);
  while (!ends_ || !running_.empty()) {
    begin_some();
    const std::vector<std::string> running = running_;
    for (const std::string& id : running) {
      Item& item = items_[id];
      if (ends_ && item.state < RunState::kStopping) end(item, "");
      look(id, item);
    }
    if (running_.empty()) {
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    } else {
      changed_.wait_for(lock, kBetweenLooks, [] { return false; });
    }
  }
}

void RunQueue::begin(const std::string& id, Item& item) {
  try {
    const std::filesystem::path folder = store_.folder(id);
    item.process = std::make_unique<ChildProcess>(
        std::vector<std::string>{program_.string(), "run", (folder / "configuration.yaml").string(), "--quiet", "--out",
                                 (folder / "out").string(), "--live", "127.0.0.1:0"},
        folder / "log.txt");
    item.state = RunState::kStarting;
  } catch (const std::exception& error) {  // no process more, or somebody removed the folder
    log_warning(fmt::format("run {} cannot be started: {}", id, error.what()));
    item.end = {.exit_status = 1, .last_words = error.what(), .reason = {}};
    leave(id, item);
  }
  changed_.notify_all();
}

void RunQueue::leave(const std::string& id, Item& item) {
  item.state = RunState::kEnded;
  item.process.reset();
  item.address.reset();
  std::erase(running_, id);
  store_.has_ended(id);
  if (std::error_code gone; std::filesystem::is_directory(store_.folder_of(id), gone))
    write_end_of_run(store_.folder_of(id), item.end);
  changed_.notify_all();
}

void RunQueue::look(const std::string& id, Item& item) {
  item.end.exit_status = item.process->status();
  if (item.end.exit_status) {
    const std::filesystem::path folder = store_.folder_of(id);
    if (*item.end.exit_status != 0) item.end.last_words = without(last_words(folder / "log.txt"), folder.string());
    // Of one that was killed it may be where its page was.
    if (item.end.last_words.starts_with("live page: ")) item.end.last_words = kNoWord;
    const bool has_summary = std::filesystem::exists(folder / "out" / "summary.json");
    // It may have been told to end before it listened to that.
    if (item.state == RunState::kStopping && !item.has_begun && item.end.reason.empty() && !has_summary)
      item.end.reason = kNotBegun;
    // That there are none is worth saying where nothing else is known.
    if (item.end.last_words == kNoWord && (has_summary || !item.end.reason.empty())) item.end.last_words.clear();
    leave(id, item);
    return;
  }
  const auto now = Clock::now();
  if (item.state == RunState::kStopping && now > item.killed_at) {
    item.process->signal(SIGKILL);
    item.end.reason =
        fmt::format("it had not ended {} s after it was told to, and was killed", kUntilKilled.count() / 1000);
  }
  if (now > item.measured_at + kBetweenMeasures) {
    item.measured_at = now;
    if (const uint64_t quota = store_.limits().quota; item.state < RunState::kStopping && store_.size(id) > quota)
      end(item, fmt::format("what it wrote filled what may be kept: {} bytes (--quota)", quota));
  }
  if (item.state != RunState::kStarting) return;
  if (!item.address) item.address = live_address(store_.log(id));
  if (!item.address) return;
  // Nobody has it yet, so that nobody waits for the lock for long.
  const std::optional<nlohmann::json> seen = live_state(*item.address);
  // The page may be there before the clock goes, and then nothing has been posted.
  if (!seen || live_figures(*seen).seconds <= 0) return;
  item.seen = *seen;
  item.seen_at = Clock::now();
  item.state = RunState::kRunning;
  item.has_begun = true;
  changed_.notify_all();
}

RunStatus RunQueue::status_of(const std::string& id) const {
  RunStatus status{.id = id};
  const auto found = items_.find(id);
  const std::filesystem::path folder = store_.folder(id);
  const EndOfRun end = found == items_.end() ? read_end_of_run(folder) : found->second.end;
  status.exit_status = end.exit_status;
  status.last_words = end.last_words;
  status.reason = end.reason;
  if (found == items_.end()) return status;
  const Item& item = found->second;
  status.state = item.state;
  status.is_cut_short = item.is_cut_short;
  status.is_held = item.is_held && item.state == RunState::kRunning;
  if (item.address) status.live = item.address->url;
  return status;
}

}  // namespace rankwire
