#include "emulator/assembly/ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "base/message.h"
#include "base/on_threads.h"
#include "emulator/assembly/operation_means.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/unrecorded_run.h"
#include "emulator/simulator/jitter.h"

namespace rankwire {
namespace {

/// What a message costs in operations: the links of its way on a star, and between two leaves of a fabric; what stays
/// in one leaf costs less.
constexpr uint64_t kCostOnStar = 2, kCostInFabric = 4;

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

void add_member(Ensemble& ensemble, uint32_t number, const OperationPatterns& patterns, MemberTimes times) {
  const auto member = static_cast<uint32_t>(ensemble.completions.size());
  ensemble.members.push_back(number);
  ensemble.completions.push_back(times.result.completion);
  ensemble.per_rank.push_back(std::move(times.result.per_rank));
  for (size_t p = 0; p < patterns.all().size(); ++p) {
    const OperationPatterns::Pattern& pattern = patterns.all()[p];
    if (const std::optional<Duration> mean = times.operations.mean(p))
      ensemble.operations.push_back({.member = member,
                                     .name = pattern.name,
                                     .kind = pattern.kind,
                                     .group = pattern.group,
                                     .job = pattern.job,
                                     .mean = *mean});
  }
}

}  // namespace

uint64_t member_cost(const Setup& setup) {
  if (std::ranges::any_of(setup.workload.ranks, [](const RankTrace& rank) { return rank.streamed.has_value(); }))
    return UINT64_MAX;
  const PlannedTraffic traffic = planned_traffic(setup.workload, setup.plan, setup.config.workload.iterations);
  return planned_operations(setup.config, setup.workload) +
         traffic.messages * (setup.config.fabric ? kCostInFabric : kCostOnStar);
}

uint32_t ensemble_members(const Setup& setup) {
  const SimulationConfig& simulation = setup.config.simulation;
  if (simulation.ensemble) return *simulation.ensemble;
  // The twin is no reference: it stands for the emulated run.
  const auto reference = std::ranges::find_if(
      simulation.fidelity, [](SimulationFidelity model) { return model != SimulationFidelity::kTwin; });
  const bool is_flow = reference != simulation.fidelity.end() && *reference == SimulationFidelity::kFlow;
  // Background traffic goes on as long as the jobs do, so the plan does not say how much there is.
  // What is modelled of a run of which a part is on wires keeps the symmetry of the single run.
  if (!is_flow || !setup.background.empty() || setup.config.hybrid) return 0;
  const uint64_t members = std::min<uint64_t>(kAutoMembers, kAutoCost / std::max<uint64_t>(member_cost(setup), 1));
  return members < kFewestAutoMembers ? 0 : static_cast<uint32_t>(members);
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
  const Network network = reference_network(setup);
  const std::vector<Duration> communication = mean_communication(setup, network);
  const uint64_t operations = planned_operations(setup.config, setup.workload);
  const OperationPatterns patterns(setup);
  std::vector<std::optional<MemberTimes>> ended(members);
  Ensemble ensemble;
  ensemble.error = on_threads(threads, members, [&](size_t member) {
    if (control.interrupted.load()) return;
    const MemberVariation variation(setup.variation.get(), communication, setup.config.seed,
                                    static_cast<uint32_t>(member));
    OperationMeans means(patterns);
    auto result = run_unrecorded(setup,
                                 {.label = fmt::format("ensemble {} of {}", member + 1, members),
                                  .operations = operations,
                                  .variation = &variation,
                                  .sink = &means},
                                 network, control);
    if (result) ended[member].emplace(MemberTimes{*std::move(result), std::move(means)});
  });
  for (uint32_t member = 0; member < members; ++member)
    if (ended[member]) add_member(ensemble, member, patterns, *std::move(ended[member]));
  return ensemble;
}

}  // namespace rankwire
