// The emulated run of several machines, as each of them carries it out and the leader puts it together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/transport.h"
#include "emulator/assembly/machine_report.h"
#include "emulator/assembly/machine_stall.h"
#include "emulator/assembly/run_folder.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/worker_engines.h"
#include "emulator/assembly/workers.h"
#include "emulator/engine/run.h"
#include "emulator/engine/shard.h"
#include "emulator/machines/clock_fit.h"
#include "emulator/machines/clock_source.h"
#include "emulator/machines/machine_clock.h"
#include "emulator/machines/machine_watch.h"
#include "emulator/machines/machines.h"
#include "emulator/record/record_part.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Belongs to one thread. What waits for other machines throws as Machines does.
class MachineRun {
 public:
  /// Both are borrowed. Throws as `machine_shares` and ClockSource.
  MachineRun(const Setup& setup, Machines& machines);

  uint32_t own() const { return machines_.own(); }
  Machines& machines() { return machines_; }
  MachineClock& clock() { return clock_; }
  /// By rank: whether this machine has it.
  const std::vector<bool>& ranks() const { return shares_.ranks(own()); }

  /// The set-up's as it is by now, with room for the messages of these ranks instead of all. Until the next call.
  const TransportPlan& plan();

  /// Throws Error(kRun), everywhere, when the clock of one is not known as well as `clock.max_error` asks, or is not by
  /// `clock.source` what it is by pings.
  void compare_clocks();
  /// Sends the own ends to the machines of their peers, and adds those that come from there.
  void exchange(std::vector<EndPoint>& ends);
  /// Whether the connections of all machines are ready, of which `own` are this one's.
  bool all_ready(bool own);
  /// Agrees on when the clock starts, and makes one team of all workers until `end`. `iterations` by JobId.
  void begin(RunTeam& team, std::span<SharedIterations> iterations);
  void end() { watch_.reset(); }

  /// When the part has ended, and `transport` is not closed: who of its ranks waits for whom, unless that is well.
  void stopped(const RunResult& result, WorkerEngines& engines, const Transport& transport);
  /// Then what it has counted, and then which ports have lost their links.
  void counted(const RunEnd& end);
  void lost(const RunEnd& end);
  /// After the part's record, which is in `part`, is closed: tells the leader, and gives it the record unless it can
  /// read that itself.
  void hand_in(const RunResult& result, const std::filesystem::path& part);
  /// By the leader instead: the reports of all but who has gone; then `parts` has what is there of their records.
  /// `folder`: of the run, which has parts in part_folder.
  std::vector<std::optional<MachineReport>> collect(const RunResult& result, const std::filesystem::path& folder);
  const std::vector<RecordPart>& parts() const { return parts_; }
  /// Then, with their reports: what the run as a whole had come to, or nothing.
  std::optional<StallRow> stall(std::span<const std::optional<MachineReport>> reports);
  /// What ports of all have lost, in a stall and in reasons.
  void tell_lost_links(std::span<const std::optional<MachineReport>> reports, RunResult& result, RunEnd& end) const;
  /// Then also what of their clocks, and of what they have told, is doubtful.
  const std::vector<std::string>& findings() const { return findings_; }

 private:
  MachineReport report_of(const RunResult& result);
  void ask_of_ends(std::span<const std::optional<MachineReport>> reports);
  void add_samples(uint32_t machine, uint32_t pings);
  void ping_all();
  void compare_by_source();
  void require_source(uint32_t machine) const;
  void fit_after_run(uint32_t machine, const std::optional<MachineReport>& report);
  void fetch(const std::filesystem::path& folder, std::span<const std::optional<MachineReport>> reports);
  void receive_part(uint32_t machine, const std::filesystem::path& file);

  const Setup& setup_;
  Machines& machines_;
  const WorkerShares shares_;
  TransportPlan plan_;
  std::optional<ClockSource> source_;  // none: pings alone
  MachineClock clock_;
  std::optional<MachineWatch> watch_;
  MachineReport counted_;
  ConnectionViews ends_;  // of connections to and from other machines, of a part that did not end well
  bool told_ready_ = false, all_ready_ = false;
  std::vector<bool> ready_;  // by machine; of the leader
  // Of the leader, by machine.
  std::vector<std::vector<ClockSample>> samples_;
  std::vector<std::vector<SourceReading>> readings_;
  std::vector<ClockFit> pinged_, fits_;   // by pings, and by `clock.source` where there is one
  int64_t start_ = 0;                     // ns of the leader's clock
  std::vector<ConnectionViews> answers_;  // to what was asked of such ends
  std::vector<RecordPart> parts_;
  std::vector<std::string> findings_;
};

/// Where a machine's part of the record is, in the folder of the run.
std::filesystem::path part_folder(const std::filesystem::path& folder, const std::string& machine);

}  // namespace rankwire
