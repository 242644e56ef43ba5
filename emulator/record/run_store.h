// The record's tables as prepared statements. One thread at a time.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/record.h"
#include "emulator/record/connection_cables.h"
#include "emulator/record/database.h"
#include "emulator/record/ensemble_row.h"
#include "emulator/record/live_measurements.h"
#include "emulator/record/message_join.h"
#include "emulator/record/record_part.h"
#include "emulator/record/recorder.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Rows are written into a transaction that the first one opens and `commit` ends. Errors throw Error(kRun).
class RunStore {
 public:
  /// Creates the tables in a new file.
  explicit RunStore(const std::filesystem::path& file);

  void configuration(const std::string& json, const std::string& version,
                     const std::map<std::string, std::string>& dut);
  /// Of the record as a whole. The first one stays.
  void failure(const std::string& reason);
  void interruption(const std::string& reason);
  void jobs(std::span<const JobInfo> jobs);
  void jobs_alone(std::span<const JobAlone> jobs);
  void certificate(const Certificate& certificate);
  /// `end` writes what became of them, in their order.
  void limits(std::span<const LimitInfo> limits);
  void ensemble(std::span<const Duration> completions);
  void ensemble_stretched(std::span<const Duration> completions);
  void ensemble_ranks(std::span<const std::vector<Duration>> members);
  void ensemble_operations(std::span<const EnsembleOperation> rows);
  void what_if(std::span<const WhatIfRow> rows);
  void background(std::span<const BackgroundInfo> entries, RankId first_end, std::span<const std::string> ends);
  void connection_cables(std::span<const ConnectionCables> rows);
  void nodes(std::span<const NodeInfo> nodes);
  void request_marks(std::span<const RequestMarkInfo> marks);
  void objectives(const ServiceObjectives& objectives);
  /// Of a run, or of none: kNoRun. Read in the order of the runs' numbers.
  void warning(uint32_t run, const std::string& text);
  static constexpr uint32_t kNoRun = 0;
  /// `run`: its number, by which runs are read in order.
  void begin(uint32_t run, const RunStart& start);
  void operations(uint32_t run, std::span<const OperationRecord> rows);
  void operation_causes(uint32_t run, std::span<const CauseRecord> rows);
  void message(uint32_t run, const JoinedMessage& message);
  /// Latencies, and what is kept besides messages that were recorded one by one.
  void messages(uint32_t run, const MessageSummary& summary);
  /// Samples of a run that goes on; `end` replaces them.
  void queue_update(uint32_t run, const QueueUpdate& update);
  /// In place of what was told of the run before.
  void device_counters(uint32_t run, const DeviceCounters& all);
  void rate_update(uint32_t run, const RateUpdate& update);
  void storm_update(uint32_t run, std::span<const StormUpdate> updates);
  /// Of a run that has not ended, beside those of its end.
  void flows(uint32_t run, std::span<const FlowRow> flows);
  void end(uint32_t run, const RunEnd& end, const RecordLoss& loss);
  /// After `end`: of other records the first run each, joined with this one.
  void take_parts(uint32_t run, std::span<const RecordPart> parts, const RecorderOptions& options);

  bool uncommitted() const { return open_; }
  void commit();
  /// Folds the log into the file, so that the record is one file that opens from read-only media too.
  void finish();

 private:
  void open();
  void counters(uint32_t run, const RunEnd& end);
  void packet_latencies(uint32_t run, std::span<const LatencyRow> latencies);
  void flow_causes(uint32_t run, std::span<const FlowRow> flows);
  void flow_rdma(uint32_t run, std::span<const FlowRow> flows);
  void flow_arrivals(uint32_t run, std::span<const FlowRow> flows);
  void flow_answers(uint32_t run, std::span<const FlowRow> flows);
  void rank_nics(uint32_t run, std::span<const RankNic> nics);
  void ports(uint32_t run, std::span<const PortCounters> ports);
  void port_pauses(uint32_t run, std::span<const PortCounters> ports);
  void port_drivers(uint32_t run, std::span<const PortCounters> ports);
  void port_rdma(uint32_t run, std::span<const PortCounters> ports);
  void failures(uint32_t run, std::span<const FailureRow> failures);
  void wrong_messages(uint32_t run, std::span<const WrongMessagesRow> rows);
  void stall(uint32_t run, const StallRow& stall);
  void stall_waits(uint32_t run, bool in_chain, std::span<const StallWait> waits);
  void background_traffic(uint32_t run, std::span<const BackgroundRow> rows);
  void compute(uint32_t run, const RunEnd& end);
  void hardware(uint32_t run, const RunEnd& end);
  void impairments(uint32_t run, const RunEnd& end);
  void queue_samples(uint32_t run, const QueueSampling& sampling);
  void forget_queue_samples(uint32_t run);
  void queue_rows(uint32_t run, std::span<const std::string> ports, std::span<const QueueSampleRow> rows);
  void queue_sampling(uint32_t run, Duration interval, uint64_t rows, uint64_t lost);
  void rates(uint32_t run, const RateSampling& rates);
  void forget_rates(uint32_t run);
  void insert_rates(uint32_t run, const RateSampling& rates);
  void storms(uint32_t run, std::span<const StormRow> storms);
  void shared_links(uint32_t run, std::span<const SharedLinkRow> links);
  void take_rows(uint32_t run, const RecordPart& part, bool leads, uint64_t first_worker);
  void join_messages(uint32_t run, const RecorderOptions& options);
  void join_latencies(uint32_t run);
  void insert_storm(uint32_t run, const StormRow& storm);

  const std::filesystem::path file_;
  Database database_;
  Statement insert_operation_, insert_cause_, insert_message_;
  bool open_ = false;
  std::vector<JobId> background_;  ///< numbers of its entries
  /// What was written of a run before its end.
  struct Live {
    uint64_t samples = 0;
    bool rates = false;           ///< any
    std::vector<int64_t> storms;  ///< numbers of their rows
  };
  std::map<uint32_t, Live> live_;          ///< by run that has not ended
  std::map<uint32_t, uint32_t> warnings_;  ///< their number by run
};

}  // namespace rankwire
