// What nic-check and an agent must both know.
#pragma once

#include <string>

namespace rankwire {

/// A variable of the environment, which other users of the host do not see.
inline constexpr const char* kAgentTokenVariable = "RANKWIRE_AGENT_TOKEN";

/// `given`, or the first line of `file`, or what the environment has; "" where there is none of them. At most one of
/// the two arguments is not empty. Throws Error(kInput) for a file that cannot be read or begins with an empty line.
std::string agent_token(const std::string& given, const std::string& file);

}  // namespace rankwire
