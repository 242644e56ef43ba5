// What a record says about why a run took as long as it did, or did not end well: figures, without words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "emulator/diagnosis/blame.h"
#include "emulator/diagnosis/causes_removed.h"
#include "emulator/diagnosis/common_trait.h"
#include "emulator/diagnosis/critical_path.h"
#include "emulator/diagnosis/operation_gap.h"
#include "emulator/diagnosis/port_shares.h"
#include "emulator/diagnosis/slack.h"
#include "emulator/diagnosis/waterfall.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Data packets from the ranks behind one port to those behind another.
struct PortLosses {
  PortId source, destination;
  uint64_t packets = 0, lost = 0;
};

/// Frames that a port of the embedded switch or fabric dropped.
struct SwitchDrops {
  std::string port;  ///< as in ports.csv
  uint64_t frames = 0;
};

/// Data packets that the emulated side sent over the wire, and those that did not arrive intact. What was not
/// acknowledged when the run ended counts as under way.
struct Losses {
  uint64_t packets = 0, lost = 0;  ///< of queue pairs whose arrivals were counted
  uint64_t uncounted = 0;          ///< packets of others
  uint64_t missed = 0;             ///< frames that the generator's own ports dropped: not the network's
  uint64_t buffer_drops = 0;       ///< of emulated NICs that drain slowly: not the network's
  uint64_t impaired = 0;           ///< packets that were dropped or corrupted on purpose
  uint64_t corrupt = 0;            ///< packets that arrived with a wrong ICRC; they are among `lost`
  std::vector<PortLosses> ports;   ///< by source and destination, those with packets
  std::vector<SwitchDrops> drops;  ///< most first
  /// Where a single port lost its link that port, if half of them and more were on their way from there or to it.
  std::optional<CommonTrait> where;
};

/// Whether a rule of `impairments` with this action, as the record says it, keeps packets from their receiver: each bit
/// that "corrupt_payload", "corrupt_header" and "corrupt_icrc" invert is under the ICRC, or is it.
constexpr bool makes_lost(std::string_view action) noexcept {
  return action == "drop" || action.starts_with("corrupt_");
}

/// Connections that failed.
struct FailedConnections {
  uint64_t recorded = 0;  ///< at most as many as the record keeps
  /// As Losses::where.
  std::optional<CommonTrait> where;
};

/// A port over which nothing went any more when the run ended.
struct LostLink {
  PortId port;
  std::string text;  ///< what is wrong, naming its device
};

/// Messages that took longer than in the reference, in what their sums of times are, in seconds. Of a flow's messages
/// each counts as long as half of them took at most.
struct SlowMessages {
  double expected = 0;  ///< in the reference
  double extra = 0;     ///< of flows that took longer
  std::optional<CommonTrait> where;
};

/// By how much the emulated side took longer than the reference, and what of it the generator's lateness may explain.
/// They add up to `gap`, which is positive.
struct GapShares {
  Duration gap;
  Duration generator;
  Duration rest;              ///< the network's, unless lateness of several ports followed one another
  bool is_to_median = false;  ///< `gap` is that to the median of the reference's band, behind which the run ended
};

/// Of a job what Diagnosis has of the whole run.
struct JobDiagnosis {
  JobId job;
  CriticalPath path;    ///< to the end of the job's last execution
  Waterfall waterfall;  ///< of the gap to when the job ends in the reference
  std::vector<Blame> blame;
};

struct Diagnosis {
  std::vector<LostLink> lost_links;  ///< of a run that did not end well, by port
  Losses losses;
  FailedConnections failed;
  std::optional<SlowMessages> slow;            ///< absent unless both sides timed messages
  std::optional<GapShares> gap;                ///< absent unless both sides ended well, and the emulated one later
  std::optional<CriticalPath> path;            ///< absent unless the side ended well, and its executions are recorded
  std::optional<CriticalPath> reference_path;  ///< the same of the reference, also where nothing was emulated
  std::optional<Waterfall> waterfall;          ///< absent unless both paths are there
  std::optional<CausesRemoved> removed;        ///< the same, and unless there are too many executions to replay
  std::vector<OperationGap> operations;        ///< of those that were asked about; empty unless both paths are there
  std::optional<SlackTable> slack;             ///< of the side that `path` is of, else of the reference's
  std::vector<PortShare> shares;               ///< of ports, by the record's jobs
  std::vector<Blame> blame;                    ///< what the time was lost to, most first
  /// Of several jobs those but the one that ended last, whose is what stands above: the first `kMostJobs`.
  std::vector<JobDiagnosis> jobs;
  static constexpr size_t kMostJobs = 16;
  /// Executions of the side with most of them, where they are too many to be searched for a path; else 0.
  uint64_t unsearched = 0;
};

/// Of the emulated side. Nothing but the path of the reference where there is none, or its run has no end. Reads all
/// queue pairs twice, of several jobs all messages, and of each side at most Executions::kMost executions into memory;
/// nodes, executions and queue pairs again for each job of `jobs`. `asked` are operations that communicate.
Diagnosis diagnose(const RunReader& record, std::span<const OperationRow> asked = {});

/// Whether nothing of a run went over ports, nor was to: its times are those of whoever drove it.
bool is_off_the_wires(const RecordedRun& run);

/// How much of the completion time of an emulated run the generator's lateness explains: the line time that its worst
/// port lost for good and the schedule that its worst paced queue pair did, or the time in turns of the loop that took
/// longer than half of the messages do in the reference, or, where its usual turns explain what messages took longer,
/// as large a part of the whole as the turns that a message waits for are of a message, whichever is longest. Of a run
/// that had nothing on wires all that it took longer than the reference. 0 in virtual time.
Duration generator_delay(const RecordedRun& emulated, const RecordedRun* reference);

}  // namespace rankwire
