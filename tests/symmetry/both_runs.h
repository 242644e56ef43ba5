// One planned run on a star, whole and folded.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "emulator/symmetry/folded_run.h"
#include "tests/engine/workload_builder.h"

namespace rankwire {

inline const std::atomic<bool> kGoOn{false};

/// What a run leaves of operations, ranks and connections, in an order of its own.
struct Told {
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t, int64_t, int64_t>> operations;
  std::vector<Duration> rank_times;
  std::vector<std::pair<uint64_t, uint64_t>> flows;  ///< messages and bytes by connection
  std::vector<uint64_t> messages;
  Duration total, busy;
  std::vector<std::pair<Time, Time>> jobs;  ///< beginning and end, by JobId
  std::vector<std::tuple<LinkId, JobId, JobId, Duration, Duration, Bytes, Bytes>> shared;  ///< link by link

  bool operator==(const Told&) const = default;
};

inline Told told(const OperationRows& rows, std::vector<Duration> rank_times, const std::vector<FlowCounters>& flows,
                 const CommunicationCounters& messages, const RunResult& result,
                 const std::vector<SharedLink>& shared = {}) {
  Told told{.rank_times = std::move(rank_times), .total = result.total, .busy = result.workers.front().busy};
  for (const OperationRecord& row : rows.rows())
    told.operations.emplace_back(row.rank.value, row.iteration, row.node, row.start.ps, row.end.ps);
  std::ranges::sort(told.operations);
  for (const JobSpan& job : result.jobs)
    told.jobs.emplace_back(job.begin.value_or(Time::never()), job.end.value_or(Time::never()));
  for (const SharedLink& s : shared)
    told.shared.emplace_back(s.link, s.job, s.other, s.time, s.shared, s.bytes, s.shared_bytes);
  for (const FlowCounters& flow : flows) told.flows.emplace_back(flow.messages, flow.bytes);
  told.messages = {messages.posted,     messages.sent,           messages.delivered,
                   messages.duplicated, messages.payload_errors, static_cast<uint64_t>(messages.bytes_delivered.count)};
  return told;
}

struct BothRuns {
  Workload workload;
  Plan plan;
  Network network;
  EngineOptions options;

  Told whole() const {
    OperationRows rows;
    NetworkModel model(network);
    model.connect(model.prepare(plan.transport));
    if (workload.jobs.size() > 1) model.watch_sharing(jobs());
    Engine engine(workload, plan, options, rows);
    VirtualClock clock;
    RunResult result = run(engine, model, {}, clock, {}, kGoOn);
    EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
    result.jobs = engine.job_spans();
    return told(rows, engine.rank_times(), model.flows(), engine.communication().counters(), result,
                model.sharing() == nullptr ? std::vector<SharedLink>() : model.sharing()->shared());
  }

  /// Empty where the run cannot be folded or equal times needed an order.
  std::optional<Told> folded() const {
    const std::optional<Quotient> reduced = quotient(workload, plan, network);
    if (!reduced) return std::nullopt;
    FoldedRun folded(*reduced, options, nullptr, workload.jobs.size() > 1 ? jobs() : std::vector<JobId>());
    if (!folded.run({}, kGoOn)) return std::nullopt;
    OperationRows rows;
    folded.tell(rows);
    return told(rows, folded.rank_times(), folded.flows_of({}), folded.messages(), folded.result(), folded.shared());
  }

  /// By connection.
  std::vector<JobId> jobs() const {
    std::vector<JobId> jobs;
    for (const Connection& connection : plan.transport.connections) jobs.push_back(connection.job);
    return jobs;
  }
};

inline constexpr Bandwidth kRate(100'000'000'000);

inline std::vector<uint32_t> members(uint32_t first, uint32_t count, uint32_t stride) {
  std::vector<uint32_t> result(count);
  for (uint32_t i = 0; i < count; ++i) result[i] = first + i * stride;
  return result;
}

/// A NIC behind each port; ports[0] may have another rate.
inline BothRuns on_star(Workload workload, const Placement& placement, uint32_t nics, const ScheduleOptions& schedule,
                        const EngineOptions& options, Bandwidth first_port) {
  BothRuns runs{.workload = std::move(workload), .plan = {}, .network = {}, .options = options};
  runs.plan = make_plan(runs.workload, placement, schedule, options.iterations);
  std::vector<Bandwidth> ports(nics, kRate);
  ports[0] = first_port;
  runs.network = star_network({.port_bandwidth = ports,
                               .port_latency = nanoseconds(100),
                               .switch_latency = nanoseconds(300),
                               .framing = rocev2_framing(Bytes(1024)),
                               .local_bandwidth = Bandwidth(800'000'000'000),
                               .local_latency = nanoseconds(200)},
                              runs.plan.transport);
  return runs;
}

inline Placement in_blocks(uint32_t ranks, uint32_t hosts, uint32_t nics) {
  return place_ranks(ranks, {.policy = PlacementPolicy::kBlock,
                             .hosts = hosts,
                             .npus = ranks / hosts,
                             .nics = nics / hosts,
                             .ports = nics,
                             .addresses = {.first = Ipv4Address{0xC6120001}}});
}

/// Ranks fill `hosts` with a NIC for every `a_nic` of them.
inline BothRuns on_star(Workload workload, const ScheduleOptions& schedule, const EngineOptions& options,
                        uint32_t hosts, uint32_t a_nic, Bandwidth first_port) {
  const auto ranks = static_cast<uint32_t>(workload.ranks.size());
  const Placement placement = in_blocks(ranks, hosts, ranks / a_nic);
  return on_star(std::move(workload), placement, ranks / a_nic, schedule, options, first_port);
}

/// A training step of stages x data x tensor ranks, tensor fastest, with sizes, durations and overlap by chance but
/// alike at all ranks of a stage.
inline Workload training_step(Random& random, uint32_t tensor, uint32_t data, uint32_t stages, int64_t odd) {
  testing::WorkloadBuilder builder(tensor * data * stages);
  std::vector<GroupId> tensor_groups, data_groups;
  for (uint32_t i = 0; i < data * stages; ++i)
    tensor_groups.push_back(builder.group("tp" + std::to_string(i), members(i * tensor, tensor, 1)));
  for (uint32_t s = 0; s < stages; ++s)
    for (uint32_t t = 0; t < tensor; ++t)
      data_groups.push_back(
          builder.group("dp" + std::to_string(s * tensor + t), members(s * tensor * data + t, data, tensor)));
  const auto nodes = static_cast<uint32_t>(2 + random.below(4));
  constexpr std::array kKinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                 CollectiveKind::kAllToAll, CollectiveKind::kBarrier};
  for (uint32_t s = 0; s < stages; ++s) {
    struct Item {
      Duration compute;
      CollectiveKind kind;
      int64_t bytes;
      bool of_data, serial;
    };
    std::vector<Item> items;
    for (uint32_t n = 0; n < nodes; ++n) {
      const bool of_data = random.below(2) == 0;
      items.push_back({microseconds(static_cast<int64_t>(random.below(4))), kKinds[random.below(kKinds.size())],
                       static_cast<int64_t>(tensor * data * (1 + random.below(30)) * 1'000) + odd, of_data,
                       random.below(2) == 0});
    }
    for (uint32_t i = 0; i < tensor * data; ++i) {
      const uint32_t r = s * tensor * data + i;
      std::vector<uint32_t> after;
      if (s > 0) after = {builder.receive(r, r - tensor * data, 0, 30'000)};
      for (const Item& item : items) {
        const uint32_t computed = builder.compute(r, item.compute, after);
        const GroupId group = item.of_data ? data_groups[s * tensor + i % tensor] : tensor_groups[r / tensor];
        const int64_t bytes = item.kind == CollectiveKind::kBarrier ? 0 : item.bytes;
        const uint32_t done = builder.collective(r, item.kind, group, bytes, {computed});
        after = {item.serial ? done : computed};
      }
      if (s + 1 < stages) builder.send(r, r + tensor * data, 0, 30'000, after);
    }
  }
  return builder.build();
}

/// One of these steps with a number of ranks, a schedule and a placement by chance; sometimes not symmetric.
inline BothRuns random_step(uint64_t seed) {
  Random random(seed);
  const auto some = [&](std::initializer_list<uint32_t> of) { return of.begin()[random.below(of.size())]; };
  const uint32_t tensor = some({1, 2, 4}), data = some({1, 2, 3, 4}), stages = some({1, 2, 3});
  const uint32_t ranks = tensor * data * stages;
  const bool uneven = random.below(8) == 0;
  Workload workload = training_step(random, tensor, data, stages, uneven ? 1 : 0);
  EngineOptions options{.iterations = some({1, 2, 3}), .communication = some({0, 0, 1, 2})};
  options.messages.reduce_latency = nanoseconds(some({0, 0, 700}));
  ScheduleOptions schedule{.channels = some({1, 2, 4}), .chunk = Bytes(some({4'000, 20'000, 1 << 20}))};
  if (random.below(4) == 0) schedule.nccl = NcclProfile{.channels = some({1, 2})};
  const uint32_t hosts = some({1, 2}) == 1 ? ranks : data * stages;
  const uint32_t a_nic = hosts == ranks ? 1 : some({1, tensor});
  const Bandwidth first = random.below(8) == 0 ? Bandwidth(99'000'000'000) : kRate;
  return on_star(std::move(workload), schedule, options, hosts, a_nic, first);
}

}  // namespace rankwire
