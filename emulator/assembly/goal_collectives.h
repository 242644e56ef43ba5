// The messages of a trace's collectives, for GOAL, which has none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "converters/goal.h"

namespace rankwire {

/// Told of what is doubtful in the traces.
using TellWarning = std::function<void(std::string_view)>;

/// Expands collectives to the messages that rankwire sends for them by default, one message a step up to 2 GiB. The
/// traces are loaded and checked as for a run when the first one is met. A communicator carries out its collectives one
/// after another, so each requires the one before it of its group. Tags are above those of the traces' own messages.
/// `groups` is a file of process groups, or "".
ExpandCollective make_goal_collectives(std::vector<std::string> traces, std::string groups, TellWarning warn);

}  // namespace rankwire
