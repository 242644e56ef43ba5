// Reads a run folder's record, also while it is written and after its writer was killed.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/record/connection_cables.h"
#include "emulator/record/database.h"
#include "emulator/record/ensemble_row.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Throws Error(kInput) unless the file is a run record of a version that this program reads, with all its columns. The
/// error says who wrote it, and whether a run is about to.
void require_run_record(const std::filesystem::path& file);

/// One row of `runs`. A run that never ended has the verdict "interrupted" with a reason, no completion time, and zero
/// counters.
struct RecordedRun {
  uint32_t run = 0;
  RunStart start;
  bool ended = false;
  bool at_work = false;  ///< not ended, and another process holds the run folder
  RunEnd end;            ///< without what a function of RunReader reads: flows, ports, latencies, NICs
  RecordLoss loss;
  std::optional<MessageLatency> latency;  ///< of all messages but control messages
};

struct OperationTimes {
  Time start, end;
  Duration duration() const { return end - start; }
};

/// One execution of a node on both sides of the comparison, joined by (iteration, rank, node).
struct OperationRow {
  NodeInfo node;
  uint32_t iteration = 0;
  std::optional<OperationTimes> emulated;  ///< the twin's when there is no emulated run
  std::optional<OperationTimes> reference;
  /// Emulated: where the time of what the rank sent for it went. Absent where nothing was sent or causes were not
  /// recorded.
  std::optional<TimeByCause> causes;
};

/// What one connection contributed to an operation.
struct OperationFlow {
  Connection connection;  ///< without NICs and sizes
  TimeByCause causes;     ///< where the time of its messages went
};

struct RecordedFlow {
  FlowRow flow;
  std::optional<MessageLatency> latency;  ///< of the whole connection
};

/// Where the time of the queue pairs of one group went.
struct GroupCauses {
  JobId job;
  std::string group;  ///< its name; empty: point-to-point
  uint64_t queue_pairs = 0;
  TimeByCause causes;  ///< their sum
};

/// A consistent view of one record. Throws Error(kInput), naming the file, for anything that it cannot read.
class RunReader {
 public:
  /// `folder` holds `run.sqlite`. Of repetitions the one that stands for all fills the emulated side, see `shown`.
  explicit RunReader(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  /// Empty texts when the recorder never got that far.
  const std::string& config() const { return config_; }
  const std::string& version() const { return version_; }
  const std::string& created() const { return created_; }  ///< UTC, ISO 8601
  const std::map<std::string, std::string>& dut() const { return dut_; }
  /// Those of repetitions that are not shown at first left out.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Why not all was run that the configuration asks for, whatever became of the runs that are there. Empty where
  /// nothing was in the way.
  const std::string& failure() const { return failure_; }
  /// Why what was to follow from the runs is not whole, which somebody wanted. Empty where it is, or never was to be.
  const std::string& interruption() const { return interruption_; }

  /// By JobId. Empty where the configuration names none, or in a record of a version of rankwire without them.
  const std::vector<JobInfo>& jobs() const { return jobs_; }
  /// Of a job when nobody else is at work; null where that was not calculated.
  const JobAlone* alone(JobId job) const;

  /// Traffic without a trace, and what its ends are called that stand behind the ranks. Empty where there is none, or
  /// in a record of a version of rankwire without it.
  const std::vector<BackgroundInfo>& background() const { return background_; }
  const std::map<RankId, std::string>& background_ends() const { return background_ends_; }

  /// Absent where the generator was not certified before the run.
  std::optional<Certificate> certificate() const;

  /// Empty where the configuration has none, or in a record of a version of rankwire without them.
  std::vector<LimitInfo> limits() const;

  /// None where the configuration has none, or in a record of a version of rankwire without them.
  ServiceObjectives objectives() const;
  /// Those that nodes say something about, by job and number. Empty likewise.
  std::vector<RequestInfo> requests() const;
  /// When in the run each such node was carried out, in no particular order.
  void for_each_request_event(const RecordedRun& run, const std::function<void(const RequestEvent&)>& visit) const;

  /// Completion times of the ensemble of the reference, shortest first. Empty where there is none, or in a record of a
  /// version of rankwire without it.
  std::vector<Duration> ensemble() const;
  /// The same over the job's own network, where a device that cannot be stretched is on the wires. Empty likewise.
  std::vector<Duration> ensemble_stretched() const;
  /// By RankId: completion times of the rank in each member. Empty likewise.
  std::vector<std::vector<Duration>> ensemble_ranks() const;
  /// What its members say of operations, member by member. Empty likewise.
  std::vector<EnsembleOperation> ensemble_operations() const;
  /// In the order in which they were written; empty without `simulation.what_if`.
  std::vector<WhatIfRow> what_if() const;

  /// Of repetitions only the one that is shown.
  const std::vector<RecordedRun>& runs() const { return runs_; }
  /// Whether another process is at work on one of them, or on a repetition.
  bool at_work() const;
  /// All emulated runs of a configuration that is repeated, in their order; empty where it is not, or in a record of a
  /// version of rankwire that did not repeat runs. Fewer than Repetition::planned where it did not come to all.
  const std::vector<RecordedRun>& repetitions() const { return repetitions_; }
  /// The number of the repetition that fills the emulated side: the first that failed or stalled and measured
  /// something; else, of those that are ok, the one with the median completion time, of two in the middle the shorter
  /// one; else the first. 0 without repetitions.
  uint32_t shown() const;
  /// From now on this repetition fills the emulated side. Throws Error(kInput) when there is none of the number.
  void show(uint32_t repetition);
  /// The run that fills the emulated side: the emulated one, else the twin, else null.
  const RecordedRun* emulated() const { return emulated_; }
  /// The run of the first model that does not fill the emulated side, or null. Of `flow` that at the median of its
  /// ensemble, where the record has it and it ended well.
  const RecordedRun* reference() const { return reference_; }
  /// The runs of all models of `simulation.fidelity`, in the order in which they ran.
  const std::vector<const RecordedRun*>& models() const { return models_; }

  /// Visits a run's queue pairs in order of (connection, member). Rows are streamed; the row is valid during the call
  /// only.
  void for_each_flow(const RecordedRun& run, const std::function<void(const RecordedFlow&)>& visit) const;
  /// Visits what ranks sent each other over the wire, by job, group, source and destination. The row is valid during
  /// the call only.
  void for_each_pair(const RecordedRun& run, const std::function<void(const PairTraffic&)>& visit) const;
  /// Visits pairs of ranks of which one sent something to the other, the background left out, in order of (source,
  /// destination). Rows are streamed.
  void for_each_rank_pair(const RecordedRun& run, const std::function<void(const RankPairBytes&)>& visit) const;
  /// By connection. Empty where they are not known, or in a record of a version of rankwire that did not write them.
  std::vector<ConnectionCables> connection_cables() const;
  /// Of all queue pairs together. `lost` of those whose arrivals were counted.
  struct WirePackets {
    uint64_t packets = 0, lost = 0;
  };
  WirePackets wire_packets(const RecordedRun& run) const;
  /// Visits flows whose messages were timed in both runs, control messages left out.
  void for_each_flow_time(const RecordedRun& first, const RecordedRun& second,
                          const std::function<void(const FlowTimes&)>& visit) const;
  /// By job and name. Empty where causes were not recorded.
  std::vector<GroupCauses> causes_of_groups(const RecordedRun& run) const;
  /// Those of the generator before those of the switch.
  std::vector<PortCounters> ports(const RecordedRun& run) const;
  /// By RankId; empty when the record does not say.
  std::vector<RankNic> rank_nics(const RecordedRun& run) const;
  std::vector<LatencyRow> latencies(const RecordedRun& run) const;
  /// Oldest first. Of each row's connection only its id, source and destination. Empty, as the next two, in a record
  /// of a version of rankwire that did not write them.
  std::vector<FailureRow> failures(const RecordedRun& run) const;
  /// By name of the operation that received them. Empty, too, in a record of a version of rankwire that did not write
  /// them.
  std::vector<WrongMessagesRow> wrong_messages(const RecordedRun& run) const;
  /// What the run had come to when it was stopped; absent where it ended by itself, and in older records.
  std::optional<StallRow> stall(const RecordedRun& run) const;
  std::vector<HardwareCounterRow> hardware_counters(const RecordedRun& run) const;
  std::vector<PortSettingRow> port_settings(const RecordedRun& run) const;
  /// Oldest first. Empty, as the next, in a record of a version of rankwire that did not write them.
  std::vector<ImpairmentRow> impairments(const RecordedRun& run) const;
  std::vector<ImpairmentRuleRow> impairment_rules(const RecordedRun& run) const;
  /// By rank. Empty, as the next two, in a record of a version of rankwire that did not write them.
  std::vector<ComputeTimeRow> compute_times(const RecordedRun& run) const;
  std::vector<ComputeVariationRow> compute_variation(const RecordedRun& run) const;
  std::vector<StragglerRow> stragglers(const RecordedRun& run) const;
  /// Absent where no queues were sampled, or in a record of a version of rankwire that did not write them.
  std::optional<QueueSampling> queue_samples(const RecordedRun& run) const;
  /// Absent where they were not sampled, or in a record of a version of rankwire that did not write them.
  std::optional<RateSampling> rates(const RecordedRun& run) const;
  /// Without devices where none were asked, or in a record of a version of rankwire that did not write them.
  DeviceCounters device_counters(const RecordedRun& run) const;
  /// In the order in which they began. Empty in a record of a version of rankwire that did not write them.
  std::vector<StormRow> storms(const RecordedRun& run) const;
  /// Link by link. Empty where the run was not of the model `flow` with several jobs at work, or in a record of a
  /// version of rankwire that did not write them.
  std::vector<SharedLinkRow> shared_links(const RecordedRun& run) const;
  /// The slowest complete messages that were kept, slowest first, with the names of their operations.
  std::vector<JoinedMessage> slowest_messages(const RecordedRun& run, uint32_t limit) const;
  /// Times of the data messages of a run: first of all of them, whose kind is empty, then by kind. `places` are the
  /// wanted ones of so many, 1 .. count and rising. Exact, and so empty unless the record has every message, as with
  /// `record.messages: all`, or where there were few.
  std::vector<MessageTimes> message_times(const RecordedRun& run,
                                          const std::function<std::vector<uint64_t>(uint64_t count)>& places) const;
  /// The same times of all kinds together, as log-linear buckets that are not empty, shortest first
  /// (base/histogram.h). Empty where messages were not recorded, or in a record of a version of rankwire that did not
  /// write them.
  std::vector<Histogram::Bucket> message_buckets(const RecordedRun& run) const;

  /// Whether those that `for_each_message` visits are all data messages that the run delivered.
  bool has_all_messages(const RecordedRun& run) const;
  /// Visits the data messages of the record that were delivered, in the order of their posts, without names. The row is
  /// valid during the call only.
  void for_each_message(const RecordedRun& run, const std::function<void(const JoinedMessage&)>& visit) const;

  /// Whether the run's data of a process group, or of one rank's SENDs, was on the wire, local, or both.
  std::vector<TrafficPath> traffic_paths(const RecordedRun& run) const;

  /// When the last of the run's recorded operations ended; 0 when there is none.
  Time last_end(const RecordedRun& run) const;
  /// Recorded executions of both sides together, whatever their kind.
  uint64_t operation_count() const;
  /// The duration of the n-th longest of them, n from 1; absent when there are fewer.
  std::optional<Duration> nth_longest(uint64_t n) const;
  /// How many of them took longer than `duration`.
  uint64_t longer_than(Duration duration) const;

  /// Visits every execution in order of (iteration, rank, node). Rows are streamed: memory does not grow with them. The
  /// row is valid during the call only.
  void for_each_operation(const std::function<void(const OperationRow&)>& visit) const;
  /// For each of `operations` the connections that carried messages of it from any rank, in order of id: all members'
  /// of a collective, those of a SEND alone otherwise. Empty where causes were not recorded, or the run has no end.
  std::vector<std::vector<OperationFlow>> flows_of(const RecordedRun& run,
                                                   std::span<const OperationRow> operations) const;
  /// Visits, in no order, what each connection contributed to each operation of its source. Nothing where causes were
  /// not recorded.
  void for_each_cause(const RecordedRun& run, const std::function<void(const CauseRecord&)>& visit) const;
  /// Visits the nodes of all traces in order of (rank, node). The row is valid during the call only.
  void for_each_node(const std::function<void(const NodeInfo& node)>& visit) const;
  /// One run's recorded executions, and how many there are, in no order.
  void for_each_execution(const RecordedRun& run, const std::function<void(const OperationRecord&)>& visit) const;
  uint64_t execution_count(const RecordedRun& run) const;
  /// Visits one run's executions of at least `shortest` in order of (rank, start, end, iteration, node).
  void for_each_by_start(
      const RecordedRun& run, Duration shortest,
      const std::function<void(const NodeInfo& node, uint32_t iteration, OperationTimes times)>& visit) const;
  /// Visits when one run's nodes of each kind were at work, in order of (rank, start).
  void for_each_interval(
      const RecordedRun& run,
      const std::function<void(RankId rank, std::string_view kind, OperationTimes times)>& visit) const;

 private:
  void read_record();
  void read_jobs();
  void read_background();
  void read_background_traffic(RecordedRun& run) const;
  void read_warnings();
  void read_runs();
  void take_repetitions();
  RecordedRun read_run(const Statement& row) const;
  std::string read_model(uint32_t run) const;
  void read_end(RecordedRun& run, const Statement& row) const;
  TransportCounters read_counters(uint32_t run) const;
  std::string interruption(const RecordedRun& run) const;
  bool has_table(const char* name) const;
  Statement prepare_causes() const;
  void read_rdma(const RecordedRun& run, std::vector<PortCounters>& ports) const;
  void read_pauses(const RecordedRun& run, std::vector<PortCounters>& ports) const;
  void read_drivers(const RecordedRun& run, std::vector<PortCounters>& ports) const;
  /// A query over `operations` whose first two parameters are the runs of both sides.
  Statement over_both_sides(std::string_view sql) const;

  std::filesystem::path folder_;
  Database database_;
  std::string config_, version_, created_, failure_, interruption_;
  std::map<std::string, std::string> dut_;
  std::vector<std::string> warnings_;
  std::vector<JobInfo> jobs_;
  std::vector<JobAlone> alone_;
  std::vector<BackgroundInfo> background_;
  std::map<RankId, std::string> background_ends_;
  std::vector<RecordedRun> runs_, repetitions_;
  const RecordedRun *emulated_ = nullptr, *reference_ = nullptr;
  std::vector<const RecordedRun*> models_;
};

}  // namespace rankwire
