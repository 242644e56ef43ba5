// The parts into which a gap between a run and its reference is split.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/time_by_cause.h"
#include "base/units.h"

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
  kOtherChain,  ///< what the reference waited for elsewhere, or had done before: its own critical path is another one
  kGenerator,   ///< what lateness of the generator may have brought about, and would else stand under the others
  kAcknowledgementFrames,  ///< acknowledgements came first on the own port's line, where the model has none
};
constexpr size_t kGapCauses = 17;

/// "congestion_control", as in summary.json.
constexpr std::string_view to_string(GapCause cause) {
  constexpr std::array<std::string_view, kGapCauses> kNames = {
      "compute", "recovering",      "rnr",          "paused",           "congestion_control",    "window",
      "port",    "acknowledgement", "path_latency", "queueing_own_job", "queueing_others",       "unexplained",
      "faster",  "between",         "other_chain",  "generator",        "acknowledgement_frames"};
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

/// What lateness of the generator lengthens, first what it lengthens at first; so no device is blamed for what it may
/// explain.
inline constexpr GapCause kLengthenedByLateness[] = {GapCause::kUnexplained,
                                                     GapCause::kBetween,
                                                     GapCause::kCompute,
                                                     GapCause::kPathLatency,
                                                     GapCause::kAcknowledgement,
                                                     GapCause::kAcknowledgementFrames,
                                                     GapCause::kQueueingOwnJob,
                                                     GapCause::kQueueingOthers,
                                                     GapCause::kWindow,
                                                     GapCause::kPort,
                                                     GapCause::kOtherChain,
                                                     GapCause::kRecovering,
                                                     GapCause::kReceiverNotReady,
                                                     GapCause::kCongestionControl,
                                                     GapCause::kPaused};

/// By GapCause.
using GapParts = std::array<Duration, kGapCauses>;

}  // namespace rankwire
