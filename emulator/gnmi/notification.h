// What a device sends by gNMI, as the samples that hooks print.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "gnmi.pb.h"

namespace rankwire {

/// The object `counters` of a sample line (docs/device-counters.md) with all whole numbers of a notification, those
/// inside JSON values among them; empty where there are none. `ports`: as counter_of_path takes them.
nlohmann::json counters_of(const gnmi::Notification& notification, std::span<const std::string> ports);

}  // namespace rankwire
