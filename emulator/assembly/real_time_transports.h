// What carries the messages of a run: the transports of its workers' ports, and the modelled interconnect beside them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/transport.h"
#include "dataplane/impairments/impairments.h"
#include "dataplane/roce/rate_series.h"
#include "dataplane/verbs/api.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/workers.h"
#include "emulator/engine/live_feed.h"
#include "emulator/engine/transport_group.h"
#include "emulator/engine/worker_exchange.h"

namespace rankwire {

/// `wire`, with the interconnect for local connections, or for those of them that are `wanted`. Where part of the
/// network is modelled, the model has that and all local connections.
std::unique_ptr<Transport> with_interconnect(const Setup& setup, std::unique_ptr<Transport> wire,
                                             const std::function<bool(ConnectionId)>& wanted = nullptr);

/// RoCEv2 in real time on the ports of a testbed, or RDMA NICs. Whoever sets up and reads what was counted has all as
/// one transport; while the run goes on each worker has its own.
class RealTimeTransports {
 public:
  /// All are borrowed. `impairments` are null with RDMA devices or several workers; `interrupted` ends the connecting
  /// of RDMA devices. `live`: where ports that carry frames are tallied; null: nobody looks on. `rates`: of each
  /// worker, or of none.
  RealTimeTransports(const Setup& setup, Testbed& testbed, const WorkerShares& shares, Impairments* impairments,
                     const std::atomic<bool>& interrupted, LiveFeed* live = nullptr, std::span<RateSeries> rates = {});

  Transport& all() { return *all_; }
  /// By worker; none where there is one, which has all.
  std::span<Transport* const> each() const { return each_; }

 private:
  TransportGroup::Part wire_of(uint32_t worker);
  std::vector<PortBinding> queues_of(uint32_t worker);
  std::unique_ptr<Transport> devices(std::vector<VerbsPort> ports);

  const Setup& setup_;
  Testbed& testbed_;
  const WorkerShares& shares_;
  Impairments* const impairments_;
  const std::atomic<bool>& interrupted_;
  LiveFeed* const live_;
  const std::span<RateSeries> rates_;
  std::vector<std::unique_ptr<VerbsApi>> verbs_;  ///< one for each transport of RDMA devices
  std::optional<WorkerExchange> exchange_;        ///< of several workers
  std::vector<Transport*> each_;
  std::unique_ptr<Transport> all_;
};

}  // namespace rankwire
