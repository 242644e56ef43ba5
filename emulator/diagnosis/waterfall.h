// The gap between a run and its reference, split along the run's critical path into parts that add up to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time_by_cause.h"
#include "base/units.h"
#include "emulator/diagnosis/critical_path.h"
#include "emulator/diagnosis/executions.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Why the run took longer than the reference, where it did.
enum class GapCause : uint8_t {
  kCompute,            ///< nodes that compute, longer or shorter than in the reference
  kRecovering,         ///< packets that were lost were sent again
  kReceiverNotReady,   ///< receivers asked to wait (RNR NAK)
  kPaused,             ///< the next station paused the priority (PFC)
  kCongestionControl,  ///< rate or window of congestion control
  kWindow,             ///< waiting for acknowledgements because the window was full
  kPort,               ///< other queue pairs of the own port came first
  kAcknowledgement,    ///< acknowledgements under way
  kPathLatency,        ///< the way through the network is longer than the model's, without anything that waits there
  kQueueingOwnJob,     ///< waiting in the device behind other traffic of the job
  kQueueingOthers,     ///< waiting in the device behind other jobs or the background
  kUnexplained,        ///< communication that took longer, and the record does not say why
  kFaster,             ///< negative: communication that took shorter
  kBetween,     ///< from the end of one operation to the start of the next, beyond what the reference waits there
  kOtherChain,  ///< what the reference waited for elsewhere: its own critical path is another one
};
constexpr size_t kGapCauses = 15;

/// "congestion_control", as in summary.json.
constexpr std::string_view to_string(GapCause cause) {
  constexpr std::array<std::string_view, kGapCauses> kNames = {
      "compute", "recovering",      "rnr",          "paused",           "congestion_control", "window",
      "port",    "acknowledgement", "path_latency", "queueing_own_job", "queueing_others",    "unexplained",
      "faster",  "between",         "other_chain"};
  return kNames[static_cast<size_t>(cause)];
}

/// Those that communication may have spent more of, in the order in which it is set off against them: first what an
/// undisturbed run has none of.
inline constexpr std::pair<Cause, GapCause> kHeldUp[] = {
    {Cause::kRecovering, GapCause::kRecovering},
    {Cause::kReceiverNotReady, GapCause::kReceiverNotReady},
    {Cause::kPaused, GapCause::kPaused},
    {Cause::kCongestionControl, GapCause::kCongestionControl},
    {Cause::kWindow, GapCause::kWindow},
    {Cause::kPort, GapCause::kPort},
    {Cause::kAcknowledgement, GapCause::kAcknowledgement},
};

/// By GapCause.
using GapParts = std::array<Duration, kGapCauses>;

/// `gap` is positive when the run took longer; the parts add up to it exactly.
struct Waterfall {
  Duration gap;
  GapParts parts{};
  /// Of each step of the path, with the time before it, which of the parts it has caused; they add up to `parts`. The
  /// last has what the reference does after its counterpart.
  std::vector<GapParts> by_step;
  /// Of each step of the path, what the same execution took in the reference from when the last member it waited for
  /// had begun; 0 where it is not there.
  std::vector<Duration> reference;
  Duration operator[](GapCause cause) const { return parts[static_cast<size_t>(cause)]; }
};

/// `path` is that of `emulated`, the executions of `run`, and `reference` has those of the other; both runs ended well.
/// The gap is that between the end of the path and of `reference_last`, absent: of what ended last there. Each step of
/// the path, and the time before it, is set against the same executions in the reference.
///
/// What communication took longer is the time of its connection that was held up longest, of the chain of all of them
/// in a BROADCAST or REDUCE, cause by cause in the order of GapCause, as far as the record's `causes` have it and the
/// step took longer; the rest is kUnexplained. What NetworkWaits finds of kAcknowledgement and
/// kWindow, which both wait for acknowledgements, is the network's. So a cause that also acts in the reference, such as
/// a window, gets at most what is missing. A RECV has the causes of its SEND. Of a cause counts what cannot have passed
/// before the step began, while the source waited for others.
Waterfall waterfall(const RunReader& record, const RecordedRun& run, const CriticalPath& path,
                    const Executions& emulated, const Executions& reference,
                    std::optional<uint32_t> reference_last = std::nullopt);

}  // namespace rankwire
