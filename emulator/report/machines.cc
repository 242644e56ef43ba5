#include "emulator/report/machines.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/record/machine_rows.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

std::vector<RecordPart> machines_of_record(const RunReader& record) {
  const RecordedRun* const run = record.emulated();
  return run == nullptr ? std::vector<RecordPart>() : read_machines(record.folder(), run->run);
}

}  // namespace

Duration clock_error(const std::vector<RecordPart>& machines) {
  Duration first, second;
  for (const RecordPart& machine : machines) {
    const Duration error = machine.clock.error;
    if (error > first) {
      second = first, first = error;
    } else {
      second = std::max(second, error);
    }
  }
  return first + second;
}

nlohmann::ordered_json machines_json(const RunReader& record) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RecordPart& machine : machines_of_record(record))
    list.push_back({{"machine", machine.machine},
                    {"verdict", machine.verdict},
                    {"reason", machine.reason},
                    {"clock_offset_ps", machine.clock.offset.ps},
                    {"clock_drift_ppm", machine.clock.drift * 1e6},
                    {"clock_error_ps", machine.clock.error.ps}});
  return list;
}

std::vector<std::string> machine_lines(const RunReader& record) {
  const std::vector<RecordPart> machines = machines_of_record(record);
  if (machines.empty()) return {};
  std::vector<std::string> lines{fmt::format("{}; times from one to another are within {} by their clocks",
                                             machines.size(), readable(clock_error(machines)))};
  for (const RecordPart& machine : machines)
    if (machine.verdict != "ok")
      lines.push_back(fmt::format("'{}' {}{}{}", machine.machine, machine.verdict, machine.reason.empty() ? "" : ": ",
                                  machine.reason.substr(0, machine.reason.find('\n'))));
  return lines;
}

}  // namespace rankwire
