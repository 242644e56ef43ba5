// What steps that communicate took longer for than in the reference.
#pragma once

#include <span>
#include <vector>

#include "base/units.h"
#include "emulator/diagnosis/critical_path.h"
#include "emulator/diagnosis/executions.h"
#include "emulator/diagnosis/gap_cause.h"
#include "emulator/record/reader.h"

namespace rankwire {

struct SlowerStep {
  const CriticalStep* step = nullptr;  ///< communicates
  Duration extra;                      ///< positive: by how much it took longer than in the reference
};

/// Of each step parts that add up to its `extra`; `emulated` has the executions of `run`.
///
/// What communication took longer is the time of its connection that was held up longest, of the chain of all of them
/// in a BROADCAST or REDUCE, cause by cause in the order of GapCause, as far as the record's `causes` have it and the
/// step took longer. What is missing then of another collective is that of its next connection, and so on: the first
/// one had nothing to send while others were held up. The rest is kUnexplained. What NetworkWaits finds of
/// kAcknowledgement and kWindow, which both wait for acknowledgements, is the network's. So a cause that also acts in
/// the reference, such as a window, gets at most what is missing. Of a cause counts what cannot have passed before the
/// step began, while the source waited for others.
/// A SEND, and the RECV that waits for it, has the causes of all messages that its connection ended from the step's
/// beginning to the message itself, with what passed of them before: without it the message would have ended earlier,
/// too. What is missing then, as far as these messages were on the line, is kOtherChain: the reference had put them
/// there before the step began.
std::vector<GapParts> parts_of_slower(const RunReader& record, const RecordedRun& run, const Executions& emulated,
                                      std::span<const SlowerStep> steps);

/// Fills in CriticalStep::connection of a path through the executions of `run`.
void find_connections(const RunReader& record, const RecordedRun& run, const Executions& emulated, CriticalPath& path);

}  // namespace rankwire
