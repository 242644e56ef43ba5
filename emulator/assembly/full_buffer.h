// Whether the embedded switch will lose what a run sends at once.
#pragma once

#include <optional>
#include <string>

namespace rankwire {

struct Setup;

/// Says which port more may wait in front of than the one embedded switch has room for, and what to do; nothing where
/// all has room, where a fabric or congestion control sees to that, or with other devices.
std::optional<std::string> full_buffer_finding(const Setup& setup);

}  // namespace rankwire
