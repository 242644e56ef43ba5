// What is told of a run in real time while it goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/assembly/setup.h"
#include "emulator/engine/live_feed.h"
#include "emulator/engine/live_observer.h"

namespace rankwire {

/// For a run that is called `label`, with so many workers.
std::shared_ptr<LiveFeed> live_feed(const Setup& setup, std::string label, uint32_t workers);

/// By connection of the plan; none where nobody looks on.
std::vector<LiveObserver::Route> live_routes_of(const Setup& setup, const LiveFeed* live);

}  // namespace rankwire
