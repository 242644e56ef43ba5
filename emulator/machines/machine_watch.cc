#include "emulator/machines/machine_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace rankwire {
namespace {

/// Progress alone is told so often.
constexpr std::chrono::milliseconds kTellProgress{50};

}  // namespace

void MachineState::join(const MachineState& other) {
  finished = finished && other.finished;
  progress = std::max(progress, other.progress);
  for (size_t job = 0; job < std::min(jobs.size(), other.jobs.size()); ++job) {
    jobs[job].ended = std::min(jobs[job].ended, other.jobs[job].ended);
    jobs[job].last_end = std::max(jobs[job].last_end, other.jobs[job].last_end);
  }
  if (verdict != Verdict::kOk || other.verdict == Verdict::kOk) return;
  verdict = other.verdict, reason = other.reason;
}

std::string bytes_of(const MachineState& state) {
  nlohmann::json jobs = nlohmann::json::array();
  for (const MachineState::OfJob& job : state.jobs) jobs.push_back({job.ended, job.last_end});
  return nlohmann::json{{"finished", state.finished},
                        {"progress", state.progress},
                        {"jobs", std::move(jobs)},
                        {"verdict", static_cast<int>(state.verdict)},
                        {"reason", state.reason}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

MachineState machine_state(const std::string& bytes) {
  const nlohmann::json json = nlohmann::json::parse(bytes);
  MachineState state{.finished = json.at("finished"),
                     .progress = json.at("progress"),
                     .jobs = {},
                     .verdict = static_cast<Verdict>(json.at("verdict").get<int>()),
                     .reason = json.at("reason")};
  for (const nlohmann::json& job : json.at("jobs")) state.jobs.push_back({job.at(0), job.at(1)});
  return state;
}

MachineWatch::MachineWatch(Machines& machines, RunTeam& team, std::span<SharedIterations> iterations)
    : machines_(machines), team_(team), others_(team.count() - 1), iterations_(iterations), states_(machines.count()) {
  for (MachineState& state : states_) state.jobs.resize(iterations.size());
  machines_.each_turn([this](MachinePost& post) { turn(post); });
}

// Somebody may just have ended the run.
MachineWatch::~MachineWatch() {
  machines_.each_turn(nullptr);
  machines_.turn_now([this](MachinePost& post) { turn(post); });
}

void MachineWatch::turn(MachinePost& post) {
  look_for_failures(post);
  if (post.leads()) {
    turn_of_leader(post);
  } else {
    turn_of_other(post);
  }
}

void MachineWatch::look_for_failures(MachinePost& post) {
  for (uint32_t machine = 0; machine < post.count(); ++machine) {
    const std::string& name = machines_.name(machine);
    if (const auto& failure = post.failure_of(machine))
      team_.end(Verdict::kFailed, fmt::format("machine '{}': {}", name, failure->what()));
    if (post.is_gone(machine))
      team_.end(Verdict::kFailed, fmt::format("machine '{}' has gone: nothing was heard of it any more", name));
  }
}

void MachineWatch::turn_of_leader(MachinePost& post) {
  states_[0] = own_state();
  for (uint32_t machine = 1; machine < post.count(); ++machine) {
    const auto bytes = post.take_last(machine, MachineTag::kState);
    if (!bytes) continue;
    states_[machine] = machine_state(*bytes);
    if (states_[machine].verdict != Verdict::kOk)
      states_[machine].reason = fmt::format("on machine '{}': {}", machines_.name(machine), states_[machine].reason);
  }
  MachineState all = states_[0];
  for (const MachineState& state : states_) all.join(state);
  const auto now = MachinePost::Clock::now();
  if (is_worth_telling(all, now)) {
    post.send_all(MachineTag::kState, bytes_of(all));
    told_ = all, told_at_ = now;
  }
  take_over(all);
}

void MachineWatch::turn_of_other(MachinePost& post) {
  const MachineState own = own_state();
  const auto now = MachinePost::Clock::now();
  if (is_worth_telling(own, now)) {
    post.send(0, MachineTag::kState, bytes_of(own));
    told_ = own, told_at_ = now;
  }
  if (const auto bytes = post.take_last(0, MachineTag::kState)) take_over(machine_state(*bytes));
}

bool MachineWatch::is_worth_telling(const MachineState& state, MachinePost::Clock::time_point now) const {
  if (now - told_at_ >= kTellProgress) return state != told_;
  MachineState as_told = state;
  as_told.progress = told_.progress;
  for (size_t job = 0; job < std::min(as_told.jobs.size(), told_.jobs.size()); ++job)
    if (as_told.jobs[job].ended == told_.jobs[job].ended) as_told.jobs[job].last_end = told_.jobs[job].last_end;
  return as_told != told_;
}

MachineState MachineWatch::own_state() const {
  MachineState state{.finished = true, .jobs = {}};
  for (uint32_t own = 0; own < others_; ++own) {
    state.finished = state.finished && team_.has_finished(own);
    state.progress = std::max(state.progress, team_.progress_of(own).ps);
  }
  for (const SharedIterations& job : iterations_) {
    MachineState::OfJob& of_job = state.jobs.emplace_back(MachineState::OfJob{.ended = UINT32_MAX});
    for (uint32_t own = 0; own < others_; ++own) {
      of_job.ended = std::min(of_job.ended, job.ended_by(own));
      of_job.last_end = std::max(of_job.last_end, job.last_end_of(own).ps);
    }
  }
  if (team_.ended()) state.verdict = team_.verdict(), state.reason = team_.reason();
  return state;
}

// What all have ended the others have ended, too.
void MachineWatch::take_over(const MachineState& others) {
  for (size_t job = 0; job < std::min(iterations_.size(), others.jobs.size()); ++job) {
    iterations_[job].note_end(others_, Time(others.jobs[job].last_end));
    iterations_[job].publish(others_, others.jobs[job].ended);
  }
  team_.note_progress(others_, Time(others.progress));
  if (others.verdict != Verdict::kOk) team_.end(others.verdict, others.reason);
  if (others.finished) team_.finish(others_);
}

}  // namespace rankwire
