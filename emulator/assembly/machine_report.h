// What a machine says of its part of a run, and what all say together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/assembly/machine_stall.h"
#include "emulator/assembly/setup.h"
#include "emulator/engine/communication.h"
#include "emulator/engine/run.h"
#include "emulator/machines/clock_fit.h"
#include "emulator/machines/machines.h"
#include "emulator/record/run_record.h"

namespace rankwire {

struct MachineReport {
  Verdict verdict = Verdict::kOk;
  std::string reason;
  std::vector<std::string> waiting;             ///< who waits for whom
  Duration total, completion;                   ///< run time; until the last operation of its ranks ended
  CommunicationCounters messages;               ///< but for what was posted, and the bytes
  std::optional<SourceReading> source = {};     ///< of `clock.source`, after the run; absent: there is none
  std::optional<MachineStall> stall = {};       ///< of a part that did not end well
  std::vector<PortSettingRow> lost_links = {};  ///< the same, of its ports
};

std::string bytes_of(const SourceReading& reading);
SourceReading source_reading(const std::string& bytes);

std::string bytes_of(const MachineReport& report);
MachineReport machine_report(const std::string& bytes);

/// How the run as a whole has ended, of reports by machine. One that has gone has none, and the run has failed.
RunResult joined_result(std::span<const std::string> machines, std::span<const std::optional<MachineReport>> reports);
/// What they have counted together.
CommunicationCounters joined_messages(std::span<const std::optional<MachineReport>> reports);
/// The latest.
Duration joined_completion(std::span<const std::optional<MachineReport>> reports);

/// Throws Error(kInput), everywhere, when machines differ in the program's version, their configuration or the traces
/// they have read: naming the machine, and what differs. The folders that traces are in may differ.
void agree_on_setup(Machines& machines, const Setup& setup, const std::string& version);

}  // namespace rankwire
