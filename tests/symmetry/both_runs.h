// One planned run, whole and folded.
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
    return told(rows, folded.rank_times(), folded.flows(), folded.messages(), folded.result());
  }
};

}  // namespace rankwire
