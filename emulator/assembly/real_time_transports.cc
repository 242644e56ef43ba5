#include "emulator/assembly/real_time_transports.h"

#include <algorithm>
#include <utility>

#include "base/link_loads.h"
#include "dataplane/roce/transport.h"
#include "dataplane/verbs/transport.h"
#include "emulator/assembly/impairments.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/assembly/verbs_options.h"
#include "emulator/engine/split_transport.h"
#include "emulator/engine/worker_transport.h"
#include "emulator/simulator/network_model.h"

namespace rankwire {
namespace {

/// What a turn of the loop takes in which messages are answered, about.
constexpr Duration kBusyTurn = microseconds(2);

RoceOptions real_time_options(const Setup& setup) {
  RoceOptions options = roce_options(setup);
  options.standstill = Duration(first_timeout(reliable_options(options.profile, options.mtu)).ps / 2);
  options.lead = kBusyTurn;
  return options;
}

}  // namespace

std::unique_ptr<Transport> with_interconnect(const Setup& setup, std::unique_ptr<Transport> wire,
                                             const std::function<bool(ConnectionId)>& wanted) {
  if (setup.is_hybrid()) {
    auto model = std::make_unique<NetworkModel>(modelled_network(setup));
    LinkLoads& loads = *model;
    return std::make_unique<SplitTransport>(std::move(wire), std::move(model), &loads);
  }
  return std::make_unique<SplitTransport>(std::move(wire), std::make_unique<NetworkModel>(interconnect(setup, wanted)));
}

RealTimeTransports::RealTimeTransports(const Setup& setup, Testbed& testbed, const WorkerShares& shares,
                                       Impairments* impairments, const std::atomic<bool>& interrupted, LiveFeed* live,
                                       std::span<RateSeries> rates)
    : setup_(setup),
      testbed_(testbed),
      shares_(shares),
      impairments_(impairments),
      interrupted_(interrupted),
      live_(live),
      rates_(rates) {
  if (shares.workers() == 1) {
    all_ = with_interconnect(setup, wire_of(0).transport);
    return;
  }
  exchange_.emplace(shares.workers());
  std::vector<TransportGroup::Part> group;
  for (uint32_t worker = 0; worker < shares.workers(); ++worker) {
    TransportGroup::Part wire = wire_of(worker);
    const auto is_own = [&](ConnectionId connection) { return shares.route(connection).sender == worker; };
    auto own = std::make_unique<WorkerTransport>(with_interconnect(setup, std::move(wire.transport), is_own), worker,
                                                 shares.routes(), *exchange_);
    each_.push_back(own.get());
    group.push_back({std::move(own), wire.connect});
  }
  all_ = std::make_unique<TransportGroup>(std::move(group), shares.routing());
}

TransportGroup::Part RealTimeTransports::wire_of(uint32_t worker) {
  RoceOptions options = real_time_options(setup_);
  if (live_ != nullptr) options.tally = live_->tally(worker);
  if (!rates_.empty()) options.rates = &rates_[worker];
  if (impairments_ != nullptr) return {make_roce_transport(options, testbed_, impairments_), ConnectTime::kShort};
  std::vector<VerbsPort> rdma(testbed_.verbs_ports().begin(), testbed_.verbs_ports().end());
  std::erase_if(rdma, [&](const VerbsPort& port) { return shares_.of_port(port.id) != worker; });
  std::vector<PortBinding> frames = queues_of(worker);
  if (frames.empty()) return {devices(std::move(rdma)), ConnectTime::kLong};
  std::vector<std::vector<PortId>> ports(2);
  for (const PortBinding& binding : frames) ports[0].push_back(binding.id);
  for (const VerbsPort& port : rdma) ports[1].push_back(port.id);
  if (std::ranges::any_of(ports[0], [&](PortId port) { return shares_.is_shared(port); }))
    options.nics = shares_.nics(worker);
  auto roce = std::make_unique<RoceTransport>(options, std::move(frames), testbed_.arrivals(worker));
  if (rdma.empty()) return {std::move(roce), ConnectTime::kShort};
  std::vector<TransportGroup::Part> both(2);
  both[0].transport = std::move(roce);
  both[1] = {devices(std::move(rdma)), ConnectTime::kLong};
  std::vector<PortId> elsewhere;
  for (uint32_t p = 0; p < setup_.config.ports.size(); ++p)
    if (!setup_.is_here(PortId(p))) elsewhere.push_back(PortId(p));
  return {std::make_unique<TransportGroup>(std::move(both), route_by_ports(std::move(ports), std::move(elsewhere))),
          ConnectTime::kShort};
}

std::vector<PortBinding> RealTimeTransports::queues_of(uint32_t worker) {
  std::vector<PortBinding> queues;
  PortId port;
  uint32_t queue = 0;
  for (const PortBinding& binding : testbed_.ports()) {
    queue = std::exchange(port, binding.id) == binding.id ? queue + 1 : 0;
    if (shares_.of_queue(binding.id, queue) == worker) queues.push_back(binding);
  }
  return queues;
}

std::unique_ptr<Transport> RealTimeTransports::devices(std::vector<VerbsPort> ports) {
  VerbsOptions options = verbs_options(setup_);
  options.interrupted = &interrupted_;
  return std::make_unique<VerbsTransport>(options, *verbs_.emplace_back(make_verbs_api()), std::move(ports));
}

}  // namespace rankwire
