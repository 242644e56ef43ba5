// How the agent's protocol writes what it carries.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "dataplane/verbs/api.h"

namespace rankwire {

using AgentJson = nlohmann::json;

inline constexpr int kAgentProtocol = 1;

std::string hex_of(std::span<const uint8_t> bytes);
/// Throws Error(kInput) for what is not hexadecimal.
std::vector<uint8_t> bytes_of(const std::string& hex);

AgentJson json_of(const QueuePairPath& path);
/// Throws Error(kInput) for values that no queue pair can have, nlohmann's exceptions for what is missing.
QueuePairPath path_of(const AgentJson& json);

}  // namespace rankwire
