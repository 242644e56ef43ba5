// Answers the clients of perftest that connect, one after another.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "emulator/peer/perftest_session.h"

namespace rankwire {

struct PerftestServerOptions {
  PerftestOptions client;
  uint32_t clients = 0;  ///< after so many that named a queue pair it ends; 0: no limit
  Duration deadline = Duration::max();
};

enum class PerftestEnd : uint8_t {
  kServed,       ///< as many clients as were asked for
  kInterrupted,  ///< by `stop`
  kDeadline,
};

/// Until then the NIC of `options.client` answers ARP, neighbour solicitations and ping. `done` is given each client
/// that has gone. Uses the calling thread wholly. Throws Error when the NIC cannot be made.
PerftestEnd serve_perftest(const PerftestServerOptions& options, TcpListener& listener, Clock& clock,
                           const std::atomic<bool>& stop, const std::function<void(const PerftestResult&)>& done);

}  // namespace rankwire
