#include "emulator/serve/run_queue.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "emulator/serve/run_configuration.h"
#include "emulator/serve/serve_error.h"

namespace rankwire {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20}, kLookIsFresh{200}, kBetweenMeasures{2'000}, kToCheck{30'000},
    kUntilKilled{20'000};

/// Without the server's own folders, which are nobody's business.
std::string without(std::string text, const std::string& folder) {
  for (size_t at = 0; (at = text.find(folder + "/")) != std::string::npos;) text.erase(at, folder.size() + 1);
  return text;
}

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
    waiting_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

std::string RunQueue::submit(const std::string& configuration, const std::vector<OtgFile>& files, bool at_once) {
  std::set<std::string> devices = devices_of(configuration);
  const std::lock_guard lock(mutex_);
  if (const std::string other = in_the_way_of(devices); at_once && !other.empty())
    throw ServeError(409, fmt::format("run {} goes on: stop it first", other));
  if (waiting_.size() >= most_waiting_)
    throw ServeError(429, fmt::format("{} runs wait already (--queue)", waiting_.size()));
  const std::string id = store_.new_run(configuration, files, active());
  items_[id].devices = std::move(devices);
  waiting_.push_back(id);
  changed_.notify_all();
  return id;
}

std::string RunQueue::objection(const std::string& configuration, const std::vector<OtgFile>& files,
                                std::span<const std::string> devices, RequestErrors& errors) {
  const std::lock_guard one_at_a_time(trial_mutex_);
  const std::filesystem::path folder = store_.new_trial(configuration, files), file = folder / "configuration.yaml";
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
    item.state = RunState::kEnded;
  } else if (item.process != nullptr && item.state != RunState::kEnded && item.state != RunState::kStopping) {
    end(item);
  }
  changed_.notify_all();
}

void RunQueue::end(Item& item) {
  item.process->signal(SIGINT);
  item.state = RunState::kStopping;
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
  if (status_of(id).state != RunState::kEnded) throw ServeError(409, fmt::format("run {} goes on: stop it first", id));
  items_.erase(id);
  store_.remove_run(id);
}

std::string RunQueue::in_the_way_of(const std::set<std::string>& devices) const {
  const std::vector<std::string> others = active();
  for (const std::string& other : others) {
    const std::set<std::string>& taken = items_.at(other).devices;
    if (std::any_of(devices.begin(), devices.end(), [&](const auto& device) { return taken.contains(device); }))
      return other;
  }
  return others.size() < most_running_ ? std::string() : others.front();
}

void RunQueue::begin_some() {
  std::set<std::string> taken;
  for (const std::string& id : running_) taken.insert(items_[id].devices.begin(), items_[id].devices.end());
  const std::deque<std::string> waiting = waiting_;
  for (const std::string& id : waiting) {
    if (running_.size() >= most_running_) return;
    Item& item = items_[id];
    const bool is_free = std::none_of(item.devices.begin(), item.devices.end(),
                                      [&](const std::string& device) { return taken.contains(device); });
    taken.insert(item.devices.begin(), item.devices.end());
    if (!is_free) continue;
    std::erase(waiting_, id);
    running_.push_back(id);
    begin(id, item);
  }
}

void RunQueue::work() {
  std::unique_lock lock(mutex_);
  while (!ends_ || !running_.empty()) {
    begin_some();
    const std::vector<std::string> running = running_;
    for (const std::string& id : running) {
      Item& item = items_[id];
      if (ends_ && item.state < RunState::kStopping) end(item);
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
    item.exit_status = 1;
    item.state = RunState::kEnded;
    std::erase(running_, id);
  }
  changed_.notify_all();
}

void RunQueue::look(const std::string& id, Item& item) {
  item.exit_status = item.process->status();
  if (item.exit_status) {
    item.state = RunState::kEnded;
    item.process.reset();
    item.address.reset();
    std::erase(running_, id);
    changed_.notify_all();
    return;
  }
  const auto now = Clock::now();
  if (item.state == RunState::kStopping && now > item.killed_at) item.process->signal(SIGKILL);
  if (now > item.measured_at + kBetweenMeasures) {
    item.measured_at = now;
    if (item.state < RunState::kStopping && store_.size(id) > store_.limits().quota) end(item);
  }
  if (item.state != RunState::kStarting) return;
  if (!item.address) item.address = live_address(store_.log(id));
  if (!item.address) return;
  // Nobody has it yet, so that nobody waits for the lock for long.
  const std::optional<nlohmann::json> seen = live_state(*item.address);
  if (!seen || seen->value("run", nlohmann::json()).is_null()) return;
  item.seen = *seen;
  item.seen_at = Clock::now();
  item.state = RunState::kRunning;
  changed_.notify_all();
}

RunStatus RunQueue::status_of(const std::string& id) const {
  RunStatus status{.id = id};
  const auto found = items_.find(id);
  const std::filesystem::path folder = store_.folder(id);
  if (found == items_.end()) return status;
  const Item& item = found->second;
  status.state = item.state;
  status.exit_status = item.exit_status;
  status.is_held = item.is_held && item.state == RunState::kRunning;
  if (item.address) status.live = item.address->url;
  if (item.exit_status.value_or(0) != 0) status.last_words = without(last_words(folder / "log.txt"), folder.string());
  return status;
}

std::vector<std::string> RunQueue::active() const {
  std::vector<std::string> all = running_;
  all.insert(all.end(), waiting_.begin(), waiting_.end());
  return all;
}

}  // namespace rankwire
