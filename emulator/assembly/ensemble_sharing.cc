#include "emulator/assembly/ensemble_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

/// Who is to simulate what.
struct MemberOrder {
  uint32_t most = 0, first = 0, end = 0;
  Nics nics = Nics::kTurns;
  std::vector<uint32_t> machines;  // that have parts

  /// Of the machine, none if it is not among them.
  std::vector<uint32_t> part_of(uint32_t machine) const {
    std::vector<uint32_t> part;
    const auto place = std::ranges::find(machines, machine) - machines.begin();
    if (static_cast<size_t>(place) == machines.size()) return part;
    for (uint64_t member = first + static_cast<uint64_t>(place); member < end; member += machines.size())
      part.push_back(static_cast<uint32_t>(member));
    return part;
  }
};

std::string bytes_of(const MemberOrder& order) {
  return Json{{"most", order.most},
              {"first", order.first},
              {"end", order.end},
              {"nics", static_cast<int>(order.nics)},
              {"machines", order.machines}}
      .dump();
}

MemberOrder member_order(const std::string& bytes) {
  const Json json = Json::parse(bytes);
  return {.most = json.at("most"),
          .first = json.at("first"),
          .end = json.at("end"),
          .nics = static_cast<Nics>(json.at("nics").get<int>()),
          .machines = json.at("machines")};
}

/// Until the machine has told of all, or will not.
void take_outcomes(EnsembleMembers& members, uint32_t machine, Machines& machines, const RunControl& control) {
  bool told_to_stop = false;
  for (;;) {
    if (!told_to_stop && control.interrupted.load()) machines.send(machine, MachineTag::kHalt, ""), told_to_stop = true;
    const bool is_present = machines.is_present(machine);
    const std::optional<std::string> bytes = machines.take_if_arrived(machine, MachineTag::kMember);
    if (!bytes && !is_present) return;
    if (bytes && bytes->empty()) return;
    if (bytes) {
      const size_t end = bytes->find(' ');
      members.put(static_cast<uint32_t>(std::stoul(bytes->substr(0, end))), member_outcome(bytes->substr(end + 1)));
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

/// Of this machine, which the leader can stop, as its end does.
void run_part(const MemberOrder& order, const Setup& setup, Machines& machines, uint32_t threads,
              const RunControl& control) {
  std::atomic<bool> stop{false};
  machines.each_turn([&](MachinePost& post) {
    if (control.interrupted.load() || post.take(0, MachineTag::kHalt) || post.is_gone(0) || post.failure_of(0))
      stop = true;
  });
  try {
    const std::vector<uint32_t> part = order.part_of(machines.own());
    const RunControl stoppable{stop, control.watch};
    EnsembleMembers members(setup, order.most, stoppable);
    members.use(order.nics);
    // Each at once, so that what a machine has simulated is not lost when it dies.
    members.run(part, threads, [&](uint32_t member) {
      machines.send(0, MachineTag::kMember, fmt::format("{} {}", member, bytes_of(members.outcome(member))));
    });
  } catch (const std::exception&) {  // the leader will find out for itself
  }
  machines.each_turn(nullptr);
  machines.send(0, MachineTag::kMember, "");
}

}  // namespace

std::string bytes_of(const MemberOutcome& outcome) {
  Json json = Json::object();
  if (outcome.times) {
    const MemberTimes& times = *outcome.times;
    Json ranks = Json::array(), operations = Json::array();
    for (const Duration time : times.per_rank) ranks.push_back(time.ps);
    for (const std::optional<Duration>& mean : times.operations) operations.push_back(mean ? Json(mean->ps) : Json());
    json["times"] = {{"completion", times.completion.ps},
                     {"work", times.work},
                     {"ranks", std::move(ranks)},
                     {"operations", std::move(operations)}};
  }
  if (outcome.thrown) {
    try {
      std::rethrow_exception(outcome.thrown);
    } catch (const Error& error) {
      json["thrown"] = {{"kind", static_cast<int>(error.kind())}, {"what", error.what()}};
    } catch (const std::exception& error) {
      json["thrown"] = {{"kind", static_cast<int>(ErrorKind::kRun)}, {"what", error.what()}};
    }
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

MemberOutcome member_outcome(const std::string& bytes) {
  const Json json = Json::parse(bytes);
  MemberOutcome outcome{.is_known = true, .times = {}, .thrown = {}};
  if (const auto thrown = json.find("thrown"); thrown != json.end())
    outcome.thrown = std::make_exception_ptr(
        Error(static_cast<ErrorKind>(thrown->at("kind").get<int>()), thrown->at("what").get<std::string>()));
  const auto told = json.find("times");
  if (told == json.end()) return outcome;
  MemberTimes& times = outcome.times.emplace();
  times.completion = Duration(told->at("completion").get<int64_t>());
  times.work = told->at("work");
  for (const Json& time : told->at("ranks")) times.per_rank.emplace_back(time.get<int64_t>());
  for (const Json& mean : told->at("operations"))
    times.operations.push_back(mean.is_null() ? std::nullopt : std::optional(Duration(mean.get<int64_t>())));
  return outcome;
}

void run_members(EnsembleMembers& members, uint32_t first, uint32_t end, uint32_t threads, const RunControl& control,
                 Machines* machines) {
  MemberOrder order{.most = members.most(), .first = first, .end = end, .nics = members.nics(), .machines = {0}};
  for (uint32_t machine = 1; machines != nullptr && machine < machines->count(); ++machine)
    if (machines->is_present(machine)) order.machines.push_back(machine);
  const bool is_shared = order.machines.size() > 1 && first < end && !control.interrupted.load();
  if (!is_shared) order.machines.resize(1);
  if (is_shared) machines->from_leader(bytes_of(order));
  members.run(order.part_of(0), threads);
  for (size_t i = 1; i < order.machines.size(); ++i) take_outcomes(members, order.machines[i], *machines, control);
  std::vector<uint32_t> missing;
  for (uint32_t member = first; member < end; ++member)
    if (!members.outcome(member).is_known) missing.push_back(member);
  members.run(missing, threads);
}

void help_with_ensemble(const Setup& setup, Machines& machines, uint32_t threads, const RunControl& control) noexcept {
  try {
    for (;;) {
      const std::string order = machines.from_leader("");
      if (order.empty()) return;
      run_part(member_order(order), setup, machines, threads, control);
    }
  } catch (const std::exception&) {  // the leader's end is told elsewhere
  }
}

void end_ensemble(Machines& machines) {
  machines.from_leader("");
}

}  // namespace rankwire
