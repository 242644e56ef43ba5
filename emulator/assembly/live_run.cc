#include "emulator/assembly/live_run.h"

#include <utility>

#include "emulator/input/config.h"

namespace rankwire {

std::shared_ptr<LiveFeed> live_feed(const Setup& setup, std::string label, uint32_t workers) {
  std::vector<std::string> ports;
  for (const PortConfig& port : setup.config.ports) ports.push_back(port.name);
  std::vector<LiveFeed::Job> jobs;
  for (const Job& job : setup.workload.jobs) jobs.push_back({job.name, job.iterations});
  if (jobs.empty())
    jobs.push_back(
        {setup.config.name, setup.workload.iterations_of(JobId(0), engine_options(setup.config).iterations)});
  return std::make_shared<LiveFeed>(std::move(label), std::move(ports), std::move(jobs),
                                    planned_operations(setup.config, setup.workload), workers);
}

std::vector<LiveObserver::Route> live_routes_of(const Setup& setup, const LiveFeed* live) {
  std::vector<LiveObserver::Route> routes;
  if (live == nullptr) return routes;
  const TransportPlan& plan = setup.plan.transport;
  // A NIC's own device counts what it likes, when it likes.
  const auto untallied = [&](NicId nic) {
    const PortId port = plan.nics[nic.value].port;
    return setup.config.ports[port.value].is_rdma_device() ? port : PortId::invalid();
  };
  routes.reserve(plan.connections.size());
  for (const Connection& connection : plan.connections) {
    LiveObserver::Route& route = routes.emplace_back();
    if (!setup.background.has(connection.id)) route.job = connection.job;
    if (connection.path != Path::kWire) continue;
    route.source = untallied(connection.source_nic), route.destination = untallied(connection.destination_nic);
  }
  return routes;
}

}  // namespace rankwire
