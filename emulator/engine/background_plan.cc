#include "emulator/engine/background_plan.h"

#include "base/error.h"

namespace rankwire {

Bytes BackgroundPlan::bytes_of(uint32_t flow, uint32_t index) const noexcept {
  Random random(mix64(seed) ^ mix64(uint64_t{flow} << 32 | index));
  return entries[flows[flow].entry].sizes.sample(random);
}

MessageId BackgroundPlan::id_of(const Connection& connection, uint32_t index) const noexcept {
  MessageId id;
  id.group = MessageId::kPointToPoint;
  id.sequence = index % MessageId::kMaxSequence;
  id.iteration = index / MessageId::kMaxSequence;
  id.job = connection.job.value;
  id.channel = connection.channel;
  id.source = connection.source.value;
  id.destination = connection.destination.value;
  return id;
}

uint64_t BackgroundPlan::outstanding() const {
  uint64_t sum = 0;
  for (const BackgroundFlow& flow : flows) sum += entries[flow.entry].limit;
  return sum;
}

BackgroundPlan add_background(Plan& plan, const Placement& placement, std::vector<BackgroundTold> told,
                              std::vector<std::string> ends, uint32_t jobs, uint64_t seed) {
  BackgroundPlan result;
  result.first_end = RankId(plan.transport.ranks);
  result.ends = std::move(ends);
  result.seed = seed;
  if (jobs + told.size() > MessageId::kMaxJobs)
    fail_input("background: {} entries beside {} jobs are more than {}", told.size(), jobs, MessageId::kMaxJobs);
  plan.transport.ranks += static_cast<uint32_t>(result.ends.size());
  if (plan.transport.ranks > MessageId::kMaxRanks)
    fail_input("background: {} ranks and {} ends are more than {}", result.first_end.value, result.ends.size(),
               MessageId::kMaxRanks);
  for (BackgroundTold& one : told) {
    const auto entry = static_cast<uint32_t>(result.entries.size());
    one.entry.job = JobId(jobs + entry);
    for (const auto& [from, to] : one.pairs) {
      const RankId source(result.first_end.value + from), destination(result.first_end.value + to);
      const ConnectionId id(static_cast<uint32_t>(plan.transport.connections.size()));
      plan.transport.connections.push_back({.id = id,
                                            .job = one.entry.job,
                                            .group = {},
                                            .source = source,
                                            .destination = destination,
                                            .source_nic = placement.nic[source.value],
                                            .destination_nic = placement.nic[destination.value],
                                            .path = placement.path(source, destination),
                                            .reverse_of = {},
                                            .largest_message = one.entry.sizes.largest()});
      // No node sends or receives on it.
      plan.first_message.push_back(plan.messages_per_iteration);
      plan.senders.begin.push_back(plan.senders.begin.back());
      plan.receivers.begin.push_back(plan.receivers.begin.back());
      result.flows.push_back({entry, id});
    }
    result.entries.push_back(std::move(one.entry));
  }
  const uint64_t in_flight = plan.transport.messages_in_flight + result.outstanding();
  if (in_flight > UINT32_MAX) fail_input("background: {} messages may be outstanding at once, too many", in_flight);
  plan.transport.messages_in_flight = static_cast<uint32_t>(in_flight);
  return result;
}

}  // namespace rankwire
