// Writes a run folder's record, `run.sqlite`, beside the running loop.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/record.h"
#include "emulator/record/connection_cables.h"
#include "emulator/record/ensemble_row.h"
#include "emulator/record/live_measurements.h"
#include "emulator/record/message_join.h"
#include "emulator/record/record_part.h"
#include "emulator/record/run_record.h"

namespace rankwire {

class RecordWriter;

struct RecorderOptions {
  bool operations = true;  ///< executions of nodes; else no run has any
  MessageDetail messages = MessageDetail::kSampled;
  bool causes = false;  ///< time by cause of operations
  /// Halves of messages that wait for the other one, which is in this record, too. 0: each is recorded by itself, so
  /// that what has happened is in the file, and a whole record can be made of several (Run::take_parts).
  size_t waiting_halves = size_t{1} << 18;
  size_t slowest = 1000;          ///< messages kept by kSampled, and as many that failed
  size_t ring = size_t{1} << 18;  ///< the most rows from a shard to the writer, of each kind; 24 MiB, with causes 44
  /// A transaction is committed when it is this old: what was recorded earlier survives the death of the process.
  std::chrono::milliseconds commit_interval{200};
};

/// Places that a sink of a run has for rows of each kind, > 0: all that it may come to need while the writer is busy,
/// of which there are fewer where the run waits for the writer, or is short. They are touched before the run, which
/// takes longer than all else of a short one.
size_t rows_of_sink(const RecorderOptions& options, const RunStart& start);

/// Owns the record and the thread that writes it. Its functions, but those of runs, belong to one thread. All but the
/// sinks' may block on the file system and throw Error(kRun) when the record cannot be written.
///
/// Of a run: `begin`, rows into the sinks, `end`. Several may be open at a time. A run without an `end` reads as
/// interrupted.
class RunRecorder {
 public:
  /// One run of the record; a copy is the same one. Its functions may be called by any thread, by one at a time, also
  /// while others call those of other runs. Destroying it neither ends nor fails the run. The recorder outlives the
  /// calls.
  class Run {
   public:
    /// Opens the run, once, and returns the sink of shard 0. Sinks live until `end`; each belongs to one thread, and
    /// its calls neither allocate nor throw.
    RecordSink& begin(const RunStart& start);
    /// The sink of a shard of the open run, 0 <= shard < RunStart::shards.
    RecordSink& sink(uint32_t shard = 0) const;
    /// Also before `begin` and after `end`. Warnings stand in the record in the order of their runs.
    void warning(const std::string& text);
    /// Flows of the open run, beside those of its RunEnd: a part at a time where all of them are many. Each flow once.
    void flows(std::span<const FlowRow> flows);
    /// The messages of the open run, of whose sinks none has been given any. Once.
    void messages(const MessageSummary& summary);
    /// Closes the open run when no shard pushes any more.
    void end(const RunEnd& end);
    /// After `end`: adds what other records have of this run, their first one each, as if it had been recorded here.
    /// What its RunEnd counts is added up, and what a port, a rank or a connection has is of the part that has it.
    void take_parts(std::span<const RecordPart> parts);
    /// Closes the run as failed, without what it measured but the rows of its sinks, into which nobody pushes any more.
    /// One that has ended stays as it is. One that has not begun begins with `start`, if there is one.
    void fail(const std::optional<RunStart>& start, const std::string& reason);

   private:
    friend class RunRecorder;
    Run(RecordWriter& writer, uint32_t number) : writer_(&writer), number_(number) {}

    RecordWriter* writer_;
    uint32_t number_;
  };

  /// Makes the folder, and replaces the record in it. Throws Error(kInput) when `run.sqlite` is something else.
  explicit RunRecorder(const std::filesystem::path& folder, const RecorderOptions& options = {});
  /// Commits everything that was pushed; failures at this point are lost.
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  /// `config` is the resolved configuration, a JSON object; `dut` the free text about the device under test.
  void configuration(const std::string& config, const std::string& version,
                     const std::map<std::string, std::string>& dut = {});
  /// Once, where the configuration names jobs.
  void jobs(std::span<const JobInfo> jobs);
  /// Each job once.
  void jobs_alone(std::span<const JobAlone> jobs);
  /// Once: completion times of the ensemble of the reference.
  void ensemble(std::span<const Duration> completions);
  /// Once: the same over the network that the configuration describes, where a device that cannot be stretched is on
  /// the wires.
  void ensemble_stretched(std::span<const Duration> completions);
  /// Once: completion times of ranks, by RankId, member by member.
  void ensemble_ranks(std::span<const std::vector<Duration>> members);
  /// Once: what its members say of operations, member by member.
  void ensemble_operations(std::span<const EnsembleOperation> rows);
  /// Once.
  void what_if(std::span<const WhatIfRow> rows);
  /// Once, where the generator was certified before the run.
  void certificate(const Certificate& certificate);
  /// Once, where the configuration has any.
  void limits(std::span<const LimitInfo> limits);
  /// Once, where there is traffic without a trace. `ends` are what people call its ends, from RankId `first_end` on.
  void background(std::span<const BackgroundInfo> entries, RankId first_end, std::span<const std::string> ends);
  /// Once, where they are known.
  void connection_cables(std::span<const ConnectionCables> rows);
  /// May be called several times, for different nodes.
  void nodes(std::span<const NodeInfo> nodes);
  /// Once, where nodes say what becomes of requests.
  void request_marks(std::span<const RequestMarkInfo> marks);
  /// Once, where the configuration has any.
  void objectives(const ServiceObjectives& objectives);
  /// Of no run in particular; such warnings stand before those of runs.
  void warning(const std::string& text);

  /// A run that stands in the record behind all that were made before, whichever of them begin and end first, and not
  /// at all unless it begins.
  Run next_run();
  /// The same, and begins it.
  Run begin(const RunStart& start);
  /// Whether a run has ever begun.
  bool has_begun() const;
  /// Says why not all was run: the record has failed, also where each of its runs has ended well. Of several reasons
  /// the first one stays. Closes all open runs as `Run::fail` does.
  void fail(const std::string& reason);
  /// Says why what was to follow from the runs is not whole: the record is interrupted where each of its runs has ended
  /// well.
  void interrupted(const std::string& reason);

  /// Until it is destroyed, or the run ends, the recorder's thread asks `live` every `commit_interval`, and commits
  /// what it hears.
  class Following {
   public:
    /// Of the open run. Those that are null are not there. They and the recorder outlive this; one at a time of each
    /// run.
    Following(const Run& run, std::vector<LiveMeasurements*> live);
    ~Following();
    Following(const Following&) = delete;
    Following& operator=(const Following&) = delete;

   private:
    const Run run_;
  };

  /// Returns when everything that was pushed before is committed.
  void flush();

 private:
  std::unique_ptr<RecordWriter> writer_;
};

}  // namespace rankwire
