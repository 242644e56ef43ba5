// A small workload's run over any transport, and the rows that it leaves.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "emulator/engine/engine.h"
#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "fabric/network.h"
#include "tests/engine/workload_builder.h"

namespace rankwire::testing {

inline constexpr Bandwidth kRate(8'000'000'000);  // one byte a nanosecond
inline const std::atomic<bool> kGoOn{false};

inline Time at_us(int64_t us) {
  return Time() + microseconds(us);
}

class NoRows final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord>) noexcept override {}
};

class RowsOfARun final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord> rows) noexcept override {
    operations_.insert(operations_.end(), rows.begin(), rows.end());
  }
  void messages(std::span<const MessageRecord> rows) noexcept override {
    messages_.insert(messages_.end(), rows.begin(), rows.end());
  }
  void causes(std::span<const CauseRecord> rows) noexcept override {
    causes_.insert(causes_.end(), rows.begin(), rows.end());
  }
  bool wants_causes() const noexcept override { return true; }
  OperationRecord of(uint32_t rank, uint32_t node, uint32_t iteration = 0) const {
    for (const OperationRecord& row : operations_) {
      if (row.rank == RankId(rank) && row.node == node && row.iteration == iteration) return row;
    }
    ADD_FAILURE() << "rank " << rank << " node " << node << " iteration " << iteration << " was not recorded";
    return {};
  }
  std::vector<OperationRecord> operations_;
  std::vector<MessageRecord> messages_;
  std::vector<CauseRecord> causes_;
};

/// A workload with one rank a port, run over the model in virtual time.
struct Bench {
  explicit Bench(Workload w, EngineOptions options = {}, ScheduleOptions schedule = {})
      : workload(std::move(w)),
        placement(place_ranks(ranks(),
                              {.hosts = ranks(), .ports = ranks(), .addresses = {.first = Ipv4Address{0xC6120001}}})),
        plan(make_plan(workload, placement, schedule, options.iterations)),
        engine(workload, plan, options, rows) {}

  uint32_t ranks() const { return static_cast<uint32_t>(workload.ranks.size()); }

  /// A star without framing, latency or store-and-forward: a message of n bytes alone on its way takes n nanoseconds,
  /// and again n when the switch stores and forwards; framing of payload 0 forwards at once.
  Network network() const {
    return star_network({.port_bandwidth = std::vector<Bandwidth>(ranks(), kRate), .local_bandwidth = kRate},
                        plan.transport);
  }

  RunResult run(const RunOptions& options = {}) {
    NetworkModel model(network());
    return run_over(model, options);
  }

  RunResult run_over(Transport& transport, RunOptions options = {}, const std::atomic<bool>& interrupted = kGoOn) {
    transport.connect(transport.prepare(plan.transport));
    VirtualClock clock;
    return rankwire::run(engine, transport, {}, clock, options, interrupted);
  }

  RowsOfARun rows;
  Workload workload;
  Placement placement;
  Plan plan;
  Engine engine;
};

inline Workload one_send(int64_t bytes) {
  WorkloadBuilder builder(2);
  builder.send(0, 1, 0, bytes);
  builder.receive(1, 0, 0, bytes);
  return builder.build();
}

inline Workload all_reduce_of_three(int64_t bytes) {
  WorkloadBuilder builder(3);
  const GroupId world = builder.group("world", {0, 1, 2});
  for (uint32_t r = 0; r < 3; ++r) builder.collective(r, CollectiveKind::kAllReduce, world, bytes);
  return builder.build();
}

}  // namespace rankwire::testing
