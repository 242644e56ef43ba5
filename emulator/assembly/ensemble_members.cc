#include "emulator/assembly/ensemble_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "base/message.h"
#include "base/on_threads.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/unrecorded_run.h"
#include "emulator/simulator/jitter.h"
#include "emulator/simulator/network_model.h"

namespace rankwire {
namespace {

/// Other draws than those of the configuration's own variation, which comes first.
class MemberVariation final : public NodeVariation {
 public:
  /// `own` (null: none) outlives it. `communication`: by rank.
  MemberVariation(const NodeVariation* own, std::vector<Duration> communication, uint64_t seed, uint32_t member)
      : own_(own),
        communication_(std::move(communication)),
        seed_(mix64(mix64(seed ^ kNodes) + member)),
        late_seed_(mix64(mix64(seed ^ kStarts) + member)) {}

  VariedTime vary(RankId rank, uint32_t place, uint32_t iteration, Duration takes, Time start) const noexcept override {
    VariedTime varied{.end = start + takes, .jitter = {}, .noise = {}, .slowed = {}};
    if (own_ != nullptr) varied = own_->vary(rank, place, iteration, takes, start);
    const uint64_t key = mix64(mix64(seed_ + rank.value) ^ (uint64_t{iteration} << 32 | place));
    const Duration jittered = jitter_.vary(varied.end - start, key).jittered;
    if (jittered >= Time::never() - start) return varied;
    varied.end = start + jittered;
    return varied;
  }

  Duration late(RankId rank, uint32_t iteration) const noexcept override {
    const Duration typical = communication_[rank.value];
    const Duration jittered = jitter_.vary(typical, mix64(mix64(late_seed_ + rank.value) ^ iteration)).jittered;
    return Duration(std::abs((jittered - typical).ps));
  }

 private:
  static constexpr uint64_t kNodes = 0x656e73656d626c65;   // "ensemble"
  static constexpr uint64_t kStarts = 0x656e737374617274;  // "ensstart"

  const NodeVariation* const own_;
  const std::vector<Duration> communication_;
  const uint64_t seed_, late_seed_;
  const Jitter jitter_{JitterDistribution::kNormal, kEnsembleDeviation, std::nullopt};
};

}  // namespace

EnsembleMembers::EnsembleMembers(const Setup& setup, uint32_t most, const RunControl& control)
    : setup_(setup),
      control_(control),
      network_(network_with(Nics::kTurns, setup, reference_network(setup))),
      communication_(mean_communication(setup, network_)),
      operations_(planned_operations(setup.config, setup.workload)),
      patterns_(setup),
      outcomes_(most) {}

void EnsembleMembers::use(Nics nics) {
  if (nics == nics_) return;
  network_ = network_with(nics, setup_, reference_network(setup_));
  nics_ = nics;
}

void EnsembleMembers::run_first(uint64_t most_work) {
  run(0, most_work);
  if (!outcomes_[0].times || !has_shared_ports(setup_)) return;
  MemberOutcome in_turn = std::exchange(outcomes_[0], {});
  Network with_turns = std::exchange(network_, network_with(Nics::kShare, setup_, reference_network(setup_)));
  nics_ = Nics::kShare;
  run(0, most_work);
  if (outcomes_[0].thrown) return;
  if (outcomes_[0].times && outcomes_[0].times->completion < in_turn.times->completion) return;
  outcomes_[0] = std::move(in_turn);
  network_ = std::move(with_turns);
  nics_ = Nics::kTurns;
}

void EnsembleMembers::run(std::span<const uint32_t> members, uint32_t threads,
                          const std::function<void(uint32_t member)>& ended) {
  if (members.empty()) return;
  // Each keeps what it throws.
  const std::exception_ptr none = on_threads(threads, members.size(), [&](size_t i) {
    run(members[i], UINT64_MAX);
    if (ended && outcomes_[members[i]].is_known) ended(members[i]);
  });
  if (none) std::rethrow_exception(none);
}

void EnsembleMembers::run(uint32_t member, uint64_t most_work) {
  if (control_.interrupted.load()) return;
  MemberOutcome& outcome = outcomes_[member];
  try {
    const MemberVariation variation(setup_.variation.get(), communication_, setup_.config.seed, member);
    OperationMeans means(patterns_);
    auto result = run_unrecorded(setup_,
                                 {.label = fmt::format("ensemble {} of {}", member + 1, outcomes_.size()),
                                  .operations = operations_,
                                  .variation = &variation,
                                  .most_work = most_work,
                                  .sink = &means},
                                 network_, control_);
    outcome.is_known = result || !control_.interrupted.load();
    if (!result) return;
    MemberTimes& times = outcome.times.emplace();
    times.completion = result->completion, times.work = result->work, times.per_rank = std::move(result->per_rank);
    for (size_t p = 0; p < patterns_.all().size(); ++p) times.operations.push_back(means.mean(p));
  } catch (...) {
    outcome.is_known = true;
    outcome.thrown = std::current_exception();
  }
}

Ensemble EnsembleMembers::take() {
  Ensemble ensemble;
  ensemble.nics = nics_;
  for (uint32_t member = 0; member < outcomes_.size(); ++member) {
    MemberOutcome& outcome = outcomes_[member];
    if (outcome.thrown && !ensemble.error) ensemble.error = outcome.thrown;
    if (outcome.times) add(ensemble, member, *std::move(outcome.times));
  }
  return ensemble;
}

void EnsembleMembers::add(Ensemble& ensemble, uint32_t number, MemberTimes times) const {
  const auto member = static_cast<uint32_t>(ensemble.completions.size());
  ensemble.members.push_back(number);
  ensemble.completions.push_back(times.completion);
  ensemble.per_rank.push_back(std::move(times.per_rank));
  for (size_t p = 0; p < patterns_.all().size(); ++p) {
    const OperationPatterns::Pattern& pattern = patterns_.all()[p];
    if (times.operations[p])
      ensemble.operations.push_back({.member = member,
                                     .name = pattern.name,
                                     .kind = pattern.kind,
                                     .group = pattern.group,
                                     .job = pattern.job,
                                     .mean = *times.operations[p]});
  }
}

std::unique_ptr<NodeVariation> member_variation(const Setup& setup, uint32_t member) {
  return std::make_unique<MemberVariation>(setup.variation.get(), mean_communication(setup, reference_network(setup)),
                                           setup.config.seed, member);
}

}  // namespace rankwire
