#include "emulator/assembly/ensemble.h"

#include <fmt/format.h>

#include <optional>

#include "base/message.h"
#include "base/on_threads.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/unrecorded_run.h"
#include "emulator/simulator/jitter.h"

namespace rankwire {
namespace {

/// Other draws than those of the configuration's own variation, which comes first.
class MemberVariation final : public NodeVariation {
 public:
  MemberVariation(const NodeVariation* own, uint64_t seed, uint32_t member)
      : own_(own), seed_(mix64(mix64(seed ^ kStream) + member)) {}

  VariedTime vary(RankId rank, uint32_t place, uint32_t iteration, Duration takes, Time start) const noexcept override {
    VariedTime varied{.end = start + takes, .jitter = {}, .noise = {}, .slowed = {}};
    if (own_ != nullptr) varied = own_->vary(rank, place, iteration, takes, start);
    const uint64_t key = mix64(mix64(seed_ + rank.value) ^ (uint64_t{iteration} << 32 | place));
    const Duration jittered = jitter_.vary(varied.end - start, key).jittered;
    if (jittered >= Time::never() - start) return varied;
    varied.end = start + jittered;
    return varied;
  }

 private:
  static constexpr uint64_t kStream = 0x656e73656d626c65;  // "ensemble"

  const NodeVariation* const own_;
  const uint64_t seed_;
  const Jitter jitter_{JitterDistribution::kNormal, kEnsembleDeviation, std::nullopt};
};

}  // namespace

Ensemble run_ensemble(const Setup& setup, uint32_t members, uint32_t threads, const RunControl& control) {
  const Network network = reference_network(setup);
  const uint64_t operations = planned_operations(setup.config, setup.workload);
  std::vector<std::optional<Duration>> completions(members);
  Ensemble ensemble;
  ensemble.error = on_threads(threads, members, [&](size_t member) {
    if (control.interrupted.load()) return;
    const MemberVariation variation(setup.variation.get(), setup.config.seed, static_cast<uint32_t>(member));
    const auto result = run_unrecorded(setup,
                                       {.label = fmt::format("ensemble {} of {}", member + 1, members),
                                        .operations = operations,
                                        .variation = &variation},
                                       network, control);
    if (result) completions[member] = result->completion;
  });
  for (const std::optional<Duration>& completion : completions)
    if (completion) ensemble.completions.push_back(*completion);
  return ensemble;
}

}  // namespace rankwire
