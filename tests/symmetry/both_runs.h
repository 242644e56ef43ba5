// One planned run on a star, whole and folded.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <tuple>
#include <vector>

#include "base/clock.h"
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

  bool operator==(const Told&) const = default;
};

inline Told told(const OperationRows& rows, std::vector<Duration> rank_times, const std::vector<FlowCounters>& flows,
                 const CommunicationCounters& messages, const RunResult& result) {
  Told told{.rank_times = std::move(rank_times), .total = result.total, .busy = result.busy};
  for (const OperationRecord& row : rows.rows())
    told.operations.emplace_back(row.rank.value, row.iteration, row.node, row.start.ps, row.end.ps);
  std::ranges::sort(told.operations);
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
    Engine engine(workload, plan, options, rows);
    VirtualClock clock;
    const RunResult result = run(engine, model, {}, clock, {}, kGoOn);
    EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
    return told(rows, engine.rank_times(), model.flows(), engine.communication().counters(), result);
  }

  /// Empty where the run cannot be folded or equal times needed an order.
  std::optional<Told> folded() const {
    const std::optional<Quotient> reduced = quotient(workload, plan, network);
    if (!reduced) return std::nullopt;
    FoldedRun folded(*reduced, options);
    if (!folded.run({}, kGoOn)) return std::nullopt;
    OperationRows rows;
    folded.tell(rows);
    return told(rows, folded.rank_times(), folded.flows_of({}), folded.messages(), folded.result());
  }
};

inline constexpr Bandwidth kRate(100'000'000'000);

inline std::vector<uint32_t> members(uint32_t first, uint32_t count, uint32_t stride) {
  std::vector<uint32_t> result(count);
  for (uint32_t i = 0; i < count; ++i) result[i] = first + i * stride;
  return result;
}

/// Ranks fill `hosts` with a NIC for every `a_nic` of them; ports[0] may have another rate.
inline BothRuns on_star(Workload workload, const ScheduleOptions& schedule, const EngineOptions& options,
                        uint32_t hosts, uint32_t a_nic, Bandwidth first_port) {
  const auto ranks = static_cast<uint32_t>(workload.ranks.size());
  const uint32_t nics = ranks / a_nic;
  const Placement placement = place_ranks(ranks, {.policy = PlacementPolicy::kBlock,
                                                  .hosts = hosts,
                                                  .npus = ranks / hosts,
                                                  .nics = nics / hosts,
                                                  .ports = nics,
                                                  .addresses = {.first = Ipv4Address{0xC6120001}}});
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

}  // namespace rankwire
