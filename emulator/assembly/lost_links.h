// Ports that lost their devices or links during a run, before all that others saw of it.
#pragma once

#include <vector>

#include "emulator/assembly/setup.h"
#include "emulator/engine/run.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// Of a run that did not end well: begins its reasons with the ports of this process over which nothing goes any more,
/// as `end.port_settings` says, and makes the first of them the end of a stall that would be blamed on who does not
/// answer. `end` is complete but for that.
void tell_lost_links(const Setup& setup, RunResult& result, RunEnd& end);

/// The same of `lost`, which machines have told of their ports: of those that the reasons do not have yet.
void tell_lost_links(const Setup& setup, const std::vector<PortSettingRow>& lost, RunResult& result, RunEnd& end);

}  // namespace rankwire
