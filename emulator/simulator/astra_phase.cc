#include "emulator/simulator/astra_phase.h"

#include <algorithm>
#include <bit>

namespace rankwire {
namespace {

using Algorithm = AstraImplementation::Algorithm;

AstraSteps ring_steps(AstraCollective collective, uint32_t members) {
  AstraSteps steps{.sends = members - 1, .window = 1, .cycle = members};
  if (collective == AstraCollective::kAllReduce) steps.sends = 2 * (members - 1);
  if (collective == AstraCollective::kAllToAll) steps.sends = members * (members - 1) / 2;
  return steps;
}

AstraSteps direct_steps(AstraCollective collective, uint32_t members, std::optional<uint32_t> window) {
  AstraSteps steps{.sends = members - 1, .window = std::min(window.value_or(members - 1), members - 1)};
  steps.cycle = 2 * steps.window;
  if (collective == AstraCollective::kAllReduce) steps.sends = 2 * (members - 1), steps.barrier = members - 1;
  return steps;
}

AstraSteps halving_doubling_steps(AstraCollective collective, uint32_t members) {
  const auto levels = static_cast<uint32_t>(std::bit_width(members) - 1);
  return {.sends = collective == AstraCollective::kAllReduce ? 2 * levels : levels, .window = 1, .cycle = levels};
}

}  // namespace

Bytes data_after(const AstraPhase& phase) {
  if (phase.implementation.algorithm == Algorithm::kDoubleBinaryTree) return phase.data;
  switch (phase.collective) {
    case AstraCollective::kAllGather:
      return Bytes(phase.data.count * phase.members);
    case AstraCollective::kReduceScatter:
      return Bytes(phase.data.count / phase.members);
    case AstraCollective::kAllReduce:
    case AstraCollective::kAllToAll:
      break;
  }
  return phase.data;
}

AstraSteps steps_of(const AstraPhase& phase) {
  AstraSteps steps;
  switch (phase.implementation.algorithm) {
    case Algorithm::kHalvingDoubling:
      steps = halving_doubling_steps(phase.collective, phase.members);
      break;
    case Algorithm::kDirect:
      steps = direct_steps(phase.collective, phase.members, phase.implementation.window);
      break;
    case Algorithm::kRing:
    case Algorithm::kDoubleBinaryTree:
    case Algorithm::kCustom:
      steps = ring_steps(phase.collective, phase.members);
      break;
  }
  steps.every_cycle = phase.collective == AstraCollective::kReduceScatter;
  steps.reduces = steps.every_cycle || phase.collective == AstraCollective::kAllReduce;
  return steps;
}

Bytes message_size(const AstraPhase& phase) {
  return phase.collective == AstraCollective::kAllGather ? phase.data : Bytes(phase.data.count / phase.members);
}

}  // namespace rankwire
