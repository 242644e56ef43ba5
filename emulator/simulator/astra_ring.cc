#include "emulator/simulator/astra_ring.h"

#include <algorithm>
#include <functional>

namespace rankwire {
namespace {

bool all_equal(const auto& values) {
  return std::ranges::adjacent_find(values, std::not_equal_to()) == values.end();
}

}  // namespace

std::vector<Time> astra_ring_ends(const AstraPhase& phase, const AstraEndpoint& endpoint, std::span<const Time> begins,
                                  std::span<const AstraHop> hops) {
  const AstraSteps steps = steps_of(phase);
  const Duration reduced = endpoint.delay + (steps.reduces ? endpoint.reduction(message_size(phase)) : Duration());
  // Packets 1 .. members - 1 are the ones that are added up, as far as there are so many.
  const uint32_t reductions = steps.reduces ? std::min(steps.sends, phase.members - 1) : 0;
  if (all_equal(begins) && all_equal(hops)) {
    const Duration hop = hops[0].handshake.value_or(Duration()) + hops[0].delay;
    return std::vector<Time>(begins.size(), begins[0] + endpoint.delay * (1 + int64_t{steps.sends} - reductions) +
                                                reduced * reductions + hop * steps.sends);
  }
  std::vector<Time> sent(begins.begin(), begins.end());
  for (Time& time : sent) time += endpoint.delay;
  for (uint32_t n = 0; n < steps.sends; ++n) {
    const Duration work = n < reductions ? reduced : endpoint.delay;
    Time before = sent.back();
    for (size_t i = 0; i < sent.size(); ++i) {
      const Time own = sent[i];
      const Time leaves = hops[i].handshake ? std::max(before, own + *hops[i].handshake) : before;
      before = own;
      sent[i] = std::max(own, leaves + hops[i].delay) + work;
    }
  }
  return sent;
}

}  // namespace rankwire
