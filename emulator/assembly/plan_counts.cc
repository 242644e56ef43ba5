#include "emulator/assembly/plan_counts.h"

#include <algorithm>
#include <vector>

#include "base/transport.h"
#include "dataplane/protocol/queue_pair_numbers.h"
#include "emulator/assembly/folded_memory.h"
#include "emulator/assembly/machine_shares.h"

namespace rankwire {
/// Of the job with most.
uint32_t most_iterations(const Setup& setup) {
  uint32_t most = setup.config.workload.iterations;
  for (const Job& job : setup.workload.jobs) most = std::max(most, job.iterations);
  return most;
}

PlanCounts::PlanCounts(const Setup& setup) {
  const TransportPlan& plan = setup.plan.transport;
  const uint64_t mtu = setup.config.transport.mtu.value_or(kLargestPathMtu);
  connections = plan.connections.size();
  const auto is_here = [&](NicId nic) { return setup.machine.empty() || setup.is_here(plan.nics[nic.value].port); };
  const auto has_rank = [&](size_t rank) { return setup.machine.empty() || is_here(setup.placement.nic[rank]); };
  for (const Connection& c : plan.connections) {
    if (!has_rank(c.source.value) && !has_rank(c.destination.value)) continue;
    ++recorded;
    if (c.path != Path::kWire) {
      ++local, local_messages += c.messages_per_iteration;
      continue;
    }
    ++wire, wire_messages += c.messages_per_iteration;
    const auto largest = static_cast<uint64_t>(c.largest_message.count);
    packets += c.messages_per_iteration;
    if (largest > mtu) packets += static_cast<uint64_t>(c.bytes_per_iteration.count) / mtu;
    largest_message = std::max(largest_message, largest);
  }
  const uint64_t acks = wire_messages + packets / std::max(1u, setup.config.transport.ack_every.value_or(1));
  packets = (packets + std::min(packets, acks)) * most_iterations(setup);
  // It sends as long as the jobs take: more than all places for frames.
  constexpr uint64_t kCountless = uint64_t{1} << 40;
  if (!setup.background.empty()) packets += kCountless;
  if (setup.is_hybrid()) {
    const auto has_ends = [](const Connection& c) { return c.path == Path::kWire && !c.reverse_of.valid(); };
    const auto pairs = static_cast<uint64_t>(std::ranges::count_if(plan.connections, has_ends));
    queue_pair_ends = 2 * pairs * setup.config.transport.queue_pairs;
  } else if (!setup.config.ports.empty()) {
    queue_pair_ends = count_queue_pairs(plan, setup.config.transport.queue_pairs, is_here);
  }
  for (size_t rank = 0; rank < setup.workload.ranks.size(); ++rank)
    if (has_rank(rank)) nodes += setup.workload.ranks[rank].nodes.size();
  for (const uint32_t of_slot : setup.plan.slot_steps) steps += of_slot;
  slots = setup.plan.slot_steps.size();
  const LeftOut others = left_out(setup);
  nodes += others.nodes;
  edges = setup.plan.edges.size() + others.edges;
  in_flight = plan.messages_in_flight;
  if (!setup.machine.empty()) {
    std::vector<bool> ranks;
    for (size_t rank = 0; rank < setup.workload.ranks.size(); ++rank) ranks.push_back(has_rank(rank));
    // A folded plan has the nodes of a few ranks: then it is their share, of what is sent and of what is received.
    const auto own = static_cast<uint64_t>(std::ranges::count(ranks, true));
    in_flight = setup.workload.folded ? std::min(in_flight, 2 * in_flight * own / std::max<uint64_t>(ranks.size(), 1))
                                      : messages_in_flight(setup.plan, ranks);
  }
}

}  // namespace rankwire
