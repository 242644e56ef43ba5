// The reference's run of a quotient, told of all ranks and connections.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "emulator/engine/engine.h"
#include "emulator/engine/run.h"
#include "emulator/simulator/network_model.h"
#include "emulator/symmetry/message_sample.h"
#include "emulator/symmetry/quotient.h"

namespace rankwire {

/// Keeps the rows of operations until they are told.
class OperationRows final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord> rows) noexcept override {
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }
  void messages(std::span<const MessageRecord>) noexcept override {}
  bool wants_messages() const noexcept override { return false; }
  const std::vector<OperationRecord>& rows() const { return rows_; }

 private:
  std::vector<OperationRecord> rows_;
};

class FoldedRun {
 public:
  /// The quotient outlives it. `options` are those of the whole run, without variation. `sample` hears of the messages
  /// and outlives it, too; null: nobody does. `jobs` as NetworkModel::watch_sharing has them of the whole run; empty:
  /// nobody asks what jobs share.
  FoldedRun(const Quotient& quotient, const EngineOptions& options, MessageSample* sample = nullptr,
            std::span<const JobId> jobs = {});

  /// In virtual time. False when the outcome is not, or may not be, that of the whole run, which then must be run
  /// itself: it did not end well, or equal times needed an order.
  bool run(const RunOptions& options, const std::atomic<bool>& interrupted);

  const Engine& engine() const { return engine_; }
  const RunResult& result() const { return result_; }
  /// Of all ranks.
  std::vector<Duration> rank_times() const;
  /// Of any rank.
  const ComputeTimes& compute_times(RankId rank) const {
    return engine_.compute_times(RankId(quotient_.classes.ranks.class_of[rank.value]));
  }
  CommunicationCounters messages() const;
  /// Of all connections.
  std::vector<FlowCounters> flows_of(ConnectionRange range) const;
  /// As LinkSharing::shared of the whole run.
  std::vector<SharedLink> shared() const;
  /// The rows of all ranks' operations: each operation's rank by rank, in the order in which they ended.
  void tell(RecordSink& sink) const;

 private:
  const Quotient& quotient_;
  MessageSample* const sample_;
  OperationRows rows_;
  NetworkModel model_;
  Engine engine_;
  RunResult result_;
};

}  // namespace rankwire
