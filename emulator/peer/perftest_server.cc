#include "emulator/peer/perftest_server.h"

namespace rankwire {

PerftestEnd serve_perftest(const PerftestServerOptions& options, TcpListener& listener, Clock& clock,
                           const std::atomic<bool>& stop, const std::function<void(const PerftestResult&)>& done) {
  const Time begin = clock.now();
  uint32_t sessions = 0, served = 0;
  while (options.clients == 0 || served < options.clients) {
    PerftestSession session(options.client, listener, options.client.roce.seed + sessions++);
    Time now = clock.now();
    while (session.step(now)) {
      const bool interrupted = stop.load(std::memory_order_relaxed);
      if (interrupted || now - begin > options.deadline) {
        if (session.has_client()) done(session.result(interrupted ? "interrupted" : "the deadline has passed"));
        return interrupted ? PerftestEnd::kInterrupted : PerftestEnd::kDeadline;
      }
      now = clock.now();
    }
    const PerftestResult result = session.result();
    done(result);
    if (result.named_itself()) ++served;
  }
  return PerftestEnd::kServed;
}

}  // namespace rankwire
