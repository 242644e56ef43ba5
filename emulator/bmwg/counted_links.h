// Bytes of the device's parallel links, as the lab's hook `counters` tells them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "emulator/bmwg/bench.h"

namespace rankwire {

/// `links` of what the hook prints: {"links": {"leaf0 Ethernet1": bytes sent, ...}}, two at least, since one is
/// balanced whatever the device does. `hook`: as errors name it. Throws Error(kRun) for anything else.
LinkBytes counted_links(const nlohmann::ordered_json& counters, const std::string& hook);

/// What each has sent in between. Throws Error(kRun) where the links are not the same ones, a count has shrunk, or none
/// has grown.
LinkBytes counted_since(const LinkBytes& before, const LinkBytes& after, const std::string& hook);

}  // namespace rankwire
