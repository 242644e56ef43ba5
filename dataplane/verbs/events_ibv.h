// What RDMA devices say by themselves, by libibverbs.
#pragma once

#include <optional>
#include <string>

#include "dataplane/verbs/api.h"

struct ibv_context;

namespace rankwire {

/// Lets `next_device_event` return at once. `device` is its name; throws Error(kRun) with it.
void make_events_nonblocking(const ibv_context& context, const std::string& device);

/// Acknowledged. A system call.
std::optional<DeviceEvent> next_device_event(ibv_context& context) noexcept;

}  // namespace rankwire
