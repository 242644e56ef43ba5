#include "emulator/assembly/ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "base/message.h"
#include "base/on_threads.h"
#include "emulator/assembly/nic_network.h"
#include "emulator/assembly/operation_means.h"
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

struct MemberTimes {
  UnrecordedResult result;
  OperationMeans operations;
};

/// Of one ensemble: what they share, and those that have ended well.
class Members {
 public:
  /// Of `most` at the most. The set-up and `control` outlive it.
  Members(const Setup& setup, uint32_t most, const RunControl& control)
      : setup_(setup),
        control_(control),
        network_(network_with(Nics::kTurns, setup, reference_network(setup))),
        communication_(mean_communication(setup, network_)),
        operations_(planned_operations(setup.config, setup.workload)),
        patterns_(setup),
        ended_(most) {}

  /// Those from `first` on that are before `end`, up to `threads` at a time. Returns what the first that threw did.
  std::exception_ptr run(uint32_t first, uint32_t end, uint32_t threads) {
    return on_threads(threads, end - first, [&](size_t member) { run(first + static_cast<uint32_t>(member)); });
  }
  /// The first, and what NICs do in it and all that follow.
  std::exception_ptr run_first(uint64_t most_work = UINT64_MAX) {
    return on_threads(1, 1, [&](size_t) {
      run(0, most_work);
      if (!ended_[0] || !has_shared_ports(setup_)) return;
      std::optional<MemberTimes> in_turn = std::move(ended_[0]);
      ended_[0].reset();
      Network with_turns = std::exchange(network_, network_with(Nics::kShare, setup_, reference_network(setup_)));
      run(0, most_work);
      nics_ = Nics::kShare;
      if (ended_[0] && ended_[0]->result.completion < in_turn->result.completion) return;
      ended_[0].reset();
      ended_[0].emplace(*std::move(in_turn));
      network_ = std::move(with_turns);
      nics_ = Nics::kTurns;
    });
  }

  std::optional<uint64_t> work_of_first() const {
    return ended_[0] ? std::optional(ended_[0]->result.work) : std::nullopt;
  }

  /// Of all that ended well, once.
  Ensemble ensemble(std::exception_ptr error) {
    Ensemble ensemble;
    ensemble.error = std::move(error);
    ensemble.nics = nics_;
    for (uint32_t member = 0; member < ended_.size(); ++member)
      if (ended_[member]) add(ensemble, member, *std::move(ended_[member]));
    return ensemble;
  }

 private:
  void run(uint32_t member, uint64_t most_work = UINT64_MAX) {
    if (control_.interrupted.load()) return;
    const MemberVariation variation(setup_.variation.get(), communication_, setup_.config.seed, member);
    OperationMeans means(patterns_);
    auto result = run_unrecorded(setup_,
                                 {.label = fmt::format("ensemble {} of {}", member + 1, ended_.size()),
                                  .operations = operations_,
                                  .variation = &variation,
                                  .most_work = most_work,
                                  .sink = &means},
                                 network_, control_);
    if (result) ended_[member].emplace(MemberTimes{*std::move(result), std::move(means)});
  }

  void add(Ensemble& ensemble, uint32_t number, MemberTimes times) const {
    const auto member = static_cast<uint32_t>(ensemble.completions.size());
    ensemble.members.push_back(number);
    ensemble.completions.push_back(times.result.completion);
    ensemble.per_rank.push_back(std::move(times.result.per_rank));
    for (size_t p = 0; p < patterns_.all().size(); ++p) {
      const OperationPatterns::Pattern& pattern = patterns_.all()[p];
      if (const std::optional<Duration> mean = times.operations.mean(p))
        ensemble.operations.push_back({.member = member,
                                       .name = pattern.name,
                                       .kind = pattern.kind,
                                       .group = pattern.group,
                                       .job = pattern.job,
                                       .mean = *mean});
    }
  }

  const Setup& setup_;
  const RunControl& control_;
  Network network_;
  Nics nics_ = Nics::kTurns;
  const std::vector<Duration> communication_;
  const uint64_t operations_;
  const OperationPatterns patterns_;
  std::vector<std::optional<MemberTimes>> ended_;  ///< by number
};

}  // namespace

uint64_t least_member_work(const Setup& setup) {
  if (std::ranges::any_of(setup.workload.ranks, [](const RankTrace& rank) { return rank.streamed.has_value(); }))
    return UINT64_MAX;
  const PlannedTraffic traffic = planned_traffic(setup.workload, setup.plan, setup.config.workload.iterations);
  return (planned_operations(setup.config, setup.workload) + traffic.messages) * NetworkModel::kWorkOfMessage;
}

namespace {

/// Such a hybrid run keeps the symmetry of the single run. Few messages on wires are enough to end that.
bool has_nothing_on_wires(const Setup& setup) {
  return setup.config.hybrid && std::ranges::none_of(setup.plan.transport.connections,
                                                     [](const Connection& c) { return c.path == Path::kWire; });
}

}  // namespace

uint32_t ensemble_members(const Setup& setup) {
  const SimulationConfig& simulation = setup.config.simulation;
  if (simulation.ensemble) return *simulation.ensemble;
  // The twin is no reference: it stands for the emulated run.
  const auto reference = std::ranges::find_if(
      simulation.fidelity, [](SimulationFidelity model) { return model != SimulationFidelity::kTwin; });
  const bool is_flow = reference != simulation.fidelity.end() && *reference == SimulationFidelity::kFlow;
  // Background traffic goes on as long as the jobs do, so the plan does not say how much there is.
  if (!is_flow || !setup.background.empty() || has_nothing_on_wires(setup)) return 0;
  return least_member_work(setup) > kAutoWork / kFewestAutoMembers ? 0 : kAutoMembers;
}

std::vector<Duration> mean_communication(const Setup& setup, const Network& network) {
  const size_t ranks = setup.workload.ranks.size();
  std::vector<__int128> out(ranks), in(ranks);  // picoseconds: of slow ports and large traces more than a Duration has
  for (const Connection& connection : setup.plan.transport.connections) {
    const Route& route = network.routes[connection.id.value];
    const int64_t messages = connection.messages_per_iteration;
    if (messages == 0 || route.links.empty() || setup.background.has(connection.id)) continue;
    const Bytes mean(connection.bytes_per_iteration.count / messages);
    const __int128 takes = static_cast<__int128>(undisturbed_time(network, route, mean).ps) * messages;
    out[connection.source.value] += takes;
    in[connection.destination.value] += takes;
  }
  std::vector<Duration> means;
  for (size_t rank = 0; rank < ranks; ++rank) {
    int64_t operations = 0;
    for (const NodePlan& node : setup.plan.nodes[rank]) operations += node.slot != NodePlan::kNone;
    const __int128 mean = std::max(out[rank], in[rank]) / std::max<int64_t>(operations, 1);
    means.emplace_back(static_cast<int64_t>(std::min<__int128>(mean, Duration::max().ps)));
  }
  return means;
}

std::unique_ptr<NodeVariation> member_variation(const Setup& setup, uint32_t member) {
  return std::make_unique<MemberVariation>(setup.variation.get(), mean_communication(setup, reference_network(setup)),
                                           setup.config.seed, member);
}

Ensemble run_ensemble(const Setup& setup, uint32_t members, uint32_t threads, const RunControl& control) {
  Members all(setup, members, control);
  std::exception_ptr error = all.run_first();
  if (const std::exception_ptr of_others = all.run(1, members, threads); !error) error = of_others;
  return all.ensemble(std::move(error));
}

Ensemble run_affordable_ensemble(const Setup& setup, uint64_t most_work, uint32_t threads, const RunControl& control) {
  Members all(setup, kAutoMembers, control);
  std::exception_ptr error = all.run_first(most_work / kFewestAutoMembers);
  const std::optional<uint64_t> work = all.work_of_first();
  const uint64_t affordable = work ? most_work / std::max<uint64_t>(*work, 1) : 0;
  if (affordable < kFewestAutoMembers) {
    Ensemble none;
    none.error = std::move(error);
    return none;
  }
  error = all.run(1, static_cast<uint32_t>(std::min<uint64_t>(affordable, kAutoMembers)), threads);
  return all.ensemble(std::move(error));
}

}  // namespace rankwire
