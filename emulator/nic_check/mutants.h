// Faults that can be planted in the emulated NIC: what shows that the tests find them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rankwire {

enum class NicMutant : uint8_t {
  kNone,
  kDeafToNaks,
  kHastyAfterNotReady,
  kWrongNakSyndrome,
  kAcknowledgesBeforeData,
  kNoIcrcCheck,
  kSequenceOf23Bits,
  kNoBounds,
  kNotificationsUnpaced,
  kDeafToPauses,
  kRewindsTooFar,
  kNoRaggedEnd,
  kDuplicateDelivered,
  kWrongMessageNumber,
  kIgnoresPathMtu,
  kClearsEcn,
  kWrongAckDscp,
  kNoTimeout,
  kRepeatsNaks,
  kNeverGivesUp,
  kNoKeyCheck,
  kNoNotifications,
  kDeafToNotifications,
  kSwapsImmediate,
  kBelievesFutureAcks,
  kReadsOffByOnePacket,
  kStallsOnLoss,
  kStallsOnReadLoss,
  kNotReadyForAll,
  kTimeoutForAll,
  kBreaksAll,
  kSlowsAllDown,
  kRefusesOthers,
  kStallsOnKey,
  kStallsOnNotReady,
  kStallsOnIcrc,
  kNotifiesAll,
  kCountsNotReadyOfAll,
  kTiredOfNotReady,
  kCountsNoAnswers,
  kCountsPausesTwice,
  kCountsPayloadAlone,
  kPausesNobody,
  kPausesAllPriorities,
  kPausesWithoutEnd,
};

struct MutantFacts {
  NicMutant mutant;
  std::string_view name;       ///< of `--mutant`
  std::string_view fault;      ///< what it does
  std::string_view caught_by;  ///< id of the case that is there to find it
};

/// All but kNone.
std::span<const MutantFacts> nic_mutants();
/// Throws Error(kInput) that names all.
NicMutant find_nic_mutant(const std::string& name);

}  // namespace rankwire
