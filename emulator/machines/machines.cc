#include "emulator/machines/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/call_deadline.h"
#include "base/log.h"
#include "base/machine_name.h"

namespace rankwire {
namespace {

constexpr std::chrono::milliseconds kTurn{1};
/// Of all pings of a machine.
constexpr std::chrono::milliseconds kPingTime{200};
/// What the leader says when it leaves: first the question whether others do, too.
constexpr std::string_view kQuestion = "and you?", kOrderly = "orderly", kAtOnce = "at once";

}  // namespace

Machines::Machines(std::unique_ptr<MachineLinks> links, const std::string& name, MachinePatience patience)
    : links_(std::move(links)), patience_(patience), post_(*links_, patience) {
  const std::string system = links_->system_name();
  thread_ = std::thread([this] { work(); });
  try {
    introduce((name.empty() ? system.substr(0, system.find('.')) : name) + "\n" + system);
  } catch (const Error& error) {
    fail(error);
    leave({.status = error.kind() == ErrorKind::kInput ? 2 : 1, .error = error.what()});
    throw;
  }
}

Machines::~Machines() {
  if (!thread_.joinable()) return;
  stop();
  links_->leave(false);
}

void Machines::introduce(const std::string& name) {
  names_.assign(count(), "");
  for (uint32_t machine = 0; machine < count(); ++machine) names_[machine] = fmt::format("process {}", machine);
  system_names_ = names_;
  std::string all;
  for (const std::string& text : gather(name)) all += text + "\n";
  all = from_leader(all);
  for (uint32_t machine = 0; machine < count(); ++machine) {
    for (std::string* const part : {&names_[machine], &system_names_[machine]}) {
      const size_t end = all.find('\n');
      *part = all.substr(0, end);
      all.erase(0, end + 1);
    }
  }
  for (uint32_t machine = 0; machine < count(); ++machine) {
    const auto own = names_.begin() + machine;
    if (leads() && !is_machine_name(*own)) fail_input("'{}' is no name of a machine: {}", *own, kMachineNameRule);
    if (leads() && std::find(names_.begin(), own, *own) != own)
      fail_input("two processes are on machine '{}': start one on each, or name them by --machine", *own);
  }
  meet();
}

void Machines::work() noexcept {
  for (;;) {
    bool quick = false;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      post_.turn(MachinePost::Clock::now());
      if (turn_) turn_(post_);
      quick = post_.is_quick();
    }
    if (quick) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kTurn);
    }
  }
}

void Machines::each_turn(Turn turn) {
  const std::lock_guard lock(mutex_);
  turn_ = std::move(turn);
}

void Machines::turn_now(const Turn& turn) {
  const std::lock_guard lock(mutex_);
  turn(post_);
}

void Machines::send(uint32_t to, MachineTag tag, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  post_.send(to, tag, bytes);
}

bool Machines::is_gone(uint32_t machine) {
  const std::lock_guard lock(mutex_);
  return post_.is_gone(machine);
}

bool Machines::is_present(uint32_t machine) {
  const std::lock_guard lock(mutex_);
  return !post_.is_gone(machine) && !post_.failure_of(machine);
}

bool Machines::others_are_present() {
  for (uint32_t machine = 0; machine < count(); ++machine)
    if (machine != own() && !is_present(machine)) return false;
  return true;
}

std::optional<std::string> Machines::take_if_arrived(uint32_t from, MachineTag tag) {
  const std::lock_guard lock(mutex_);
  return post_.take(from, tag);
}

void Machines::require_present(uint32_t from) {
  for (uint32_t machine = 0; machine < count(); ++machine) {
    if (outlives_ && machine != from) continue;
    const std::optional<Error>& failure = post_.failure_of(machine);
    // What the leader says names the machine already, or is its own.
    if (failure && machine == 0) throw *failure;
    if (failure) throw Error(failure->kind(), fmt::format("machine '{}': {}", names_[machine], failure->what()));
    if (post_.is_gone(machine)) fail_run("machine '{}' has gone: nothing was heard of it any more", names_[machine]);
  }
}

std::optional<std::string> Machines::take_arrived(uint32_t from, MachineTag tag) {
  const std::lock_guard lock(mutex_);
  if (auto bytes = post_.take(from, tag)) return bytes;
  require_present(from);
  return std::nullopt;
}

std::string Machines::take(uint32_t from, MachineTag tag) {
  for (;;) {
    if (auto bytes = take_arrived(from, tag)) return std::move(*bytes);
    std::this_thread::sleep_for(kTurn);
  }
}

std::vector<std::string> Machines::gather(const std::string& own) {
  if (!leads()) {
    send(0, MachineTag::kReport, own);
    return {};
  }
  std::vector<std::string> all{own};
  for (uint32_t machine = 1; machine < count(); ++machine) all.push_back(take(machine, MachineTag::kReport));
  return all;
}

std::vector<std::optional<std::string>> Machines::gather_from_present(const std::string& own) {
  if (!leads()) {
    send(0, MachineTag::kReport, own);
    return {};
  }
  outlives_ = true;
  std::vector<std::optional<std::string>> all(count());
  all.front() = own;
  for (uint32_t machine = 1; machine < count(); ++machine) {
    for (bool waits = true; waits;) {
      const bool present = is_present(machine);  // before, for what is said last
      all[machine] = take_if_arrived(machine, MachineTag::kReport);
      waits = !all[machine] && present;
      if (waits) std::this_thread::sleep_for(kTurn);
    }
  }
  return all;
}

std::string Machines::from_leader(const std::string& text) {
  if (!leads()) return take(0, MachineTag::kOrder);
  const std::lock_guard lock(mutex_);
  post_.send_all(MachineTag::kOrder, text);
  return text;
}

void Machines::meet() {
  gather("");
  from_leader("");
}

void Machines::fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (leads()) {
    post_.send_all(MachineTag::kFailure, failure_bytes(error));
  } else {
    post_.send(0, MachineTag::kFailure, failure_bytes(error));
  }
}

std::vector<uint32_t> Machines::leave(const Leaving& leaving) {
  if (!thread_.joinable()) return {};
  std::vector<uint32_t> missed;
  if (leads()) missed = see_off(leaving);
  const bool orderly = leads() ? missed.empty() : say_goodbye();
  // What has been sent last is on its way when another turn of the thread is over.
  std::this_thread::sleep_for(3 * kTurn);
  stop();
  const CallDeadline deadline(patience_.parting, [&] {
    if (!leaving.error.empty()) log_error(leaving.error);
    if (leads())
      log_warning("MPI does not end on all machines: one may have died when it had done its part. It is left as it is");
    std::fflush(stdout);
    std::_Exit(leaving.status);
  });
  links_->leave(orderly);
  return missed;
}

std::vector<uint32_t> Machines::see_off(const Leaving& leaving) {
  const auto hurries = [&] { return leaving.hurry != nullptr && leaving.hurry->load(); };
  const bool hurried_before = hurries();
  std::vector<uint32_t> awaited;
  {
    const std::lock_guard lock(mutex_);
    for (uint32_t machine = 1; machine < count(); ++machine)
      if (!post_.is_gone(machine)) awaited.push_back(machine);
    post_.send_all(MachineTag::kLeave, kQuestion);
  }
  const auto end = MachinePost::Clock::now() + patience_.goodbye;
  for (bool waits = true; waits;) {
    std::this_thread::sleep_for(kTurn);
    const std::lock_guard lock(mutex_);
    const auto is_gone = [&](uint32_t machine) { return post_.is_gone(machine); };
    std::erase_if(awaited,
                  [&](uint32_t machine) { return !is_gone(machine) && post_.take(machine, MachineTag::kLeave); });
    waits = !std::ranges::all_of(awaited, is_gone) && MachinePost::Clock::now() < end && (hurried_before || !hurries());
  }
  const std::lock_guard lock(mutex_);
  std::vector<uint32_t> missed;
  for (uint32_t machine = 1; machine < count(); ++machine)
    if (post_.is_gone(machine) || std::ranges::find(awaited, machine) != awaited.end()) missed.push_back(machine);
  post_.send_all(MachineTag::kLeave, missed.empty() ? kOrderly : kAtOnce);
  return missed;
}

bool Machines::say_goodbye() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const std::optional<std::string> told = post_.take(0, MachineTag::kLeave);
      if (told && *told != kQuestion) return *told == kOrderly;
      if (post_.is_gone(0)) return false;
      if (told) post_.send(0, MachineTag::kLeave, {});
    }
    std::this_thread::sleep_for(kTurn);
  }
}

void Machines::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Machines::be_quick(bool quick) {
  const std::lock_guard lock(mutex_);
  post_.send_all(quick ? MachineTag::kQuick : MachineTag::kCalm, {});
}

// By this thread rather than the other, which sleeps between its turns.
std::vector<ClockSample> Machines::ping(uint32_t machine, uint32_t most) {
  using Clock = MachinePost::Clock;
  const auto nanoseconds = [](Clock::time_point time) { return int64_t{time.time_since_epoch().count()}; };
  const std::lock_guard lock(mutex_);
  std::vector<ClockSample> samples;
  const Clock::time_point end = Clock::now() + kPingTime;
  while (samples.size() < most && Clock::now() < end) {
    const Clock::time_point sent = Clock::now();
    const std::string question = fmt::to_string(nanoseconds(sent));
    post_.send(machine, MachineTag::kPing, question);
    std::optional<std::string> answer;
    Clock::time_point received = sent;
    while (!answer && received < end) {
      post_.turn(received);
      answer = post_.take(machine, MachineTag::kPong);
      received = Clock::now();
      if (answer && !answer->starts_with(question + " ")) answer.reset();
      if (!answer) std::this_thread::yield();
    }
    if (!answer) break;
    const int64_t answered = std::strtoll(answer->c_str() + question.size(), nullptr, 10);
    samples.push_back({nanoseconds(sent), answered, nanoseconds(received)});
  }
  return samples;
}

}  // namespace rankwire
