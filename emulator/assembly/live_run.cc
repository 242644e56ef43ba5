#include "emulator/assembly/live_run.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "emulator/input/config.h"
#include "emulator/workload/jobs.h"

namespace rankwire {
namespace {

/// What ranks and their nodes are called, and what ranks have to do. Copies, since pages outlive the workload.
struct RanksOfFeed {
  std::vector<LiveFeed::Rank> ranks;
  std::vector<std::string> node_names;
};

RanksOfFeed ranks_of(const Setup& setup) {
  RanksOfFeed feed;
  const Workload& workload = setup.workload;
  if (workload.ranks.size() > LiveFeed::kMostRanks) return feed;
  std::unordered_map<std::string_view, uint32_t> known;
  for (uint32_t r = 0; r < workload.ranks.size(); ++r) {
    const RankTrace& trace = workload.ranks[r];
    LiveFeed::Rank& rank = feed.ranks.emplace_back();
    rank.name = rank_text(workload, RankId(r)), rank.job = trace.job;
    rank.operations = planned_operations(setup.config, workload, RankId(r));
    if (trace.streamed) continue;
    for (const Node& node : trace.nodes)
      rank.nodes.push_back(known.try_emplace(node.name, static_cast<uint32_t>(known.size())).first->second);
  }
  feed.node_names.resize(known.size());
  for (const auto& [name, number] : known) feed.node_names[number] = name;
  return feed;
}

std::vector<LiveFeed::Background> background_of(const Setup& setup) {
  std::vector<LiveFeed::Background> entries;
  if (setup.background.flows.size() > LiveFeed::kMostFlows) return entries;
  for (const BackgroundEntry& entry : setup.background.entries) entries.push_back({entry.name, true});
  const TransportPlan& plan = setup.plan.transport;
  const auto counts = [&](NicId nic) {
    const PortConfig& port = setup.config.ports[plan.nics[nic.value].port.value];
    return !port.is_rdma_device() && !port.modelled;
  };
  for (const BackgroundFlow& flow : setup.background.flows) {
    const Connection& c = plan.connections[flow.connection.value];
    if (!counts(c.source_nic) || !counts(c.destination_nic)) entries[flow.entry].counts_packets = false;
  }
  return entries;
}

}  // namespace

std::shared_ptr<LiveFeed> live_feed(const Setup& setup, std::string label, uint32_t workers) {
  std::vector<std::string> ports;
  for (const PortConfig& port : setup.config.ports) ports.push_back(port.name);
  std::vector<LiveFeed::Job> jobs;
  for (const Job& job : setup.workload.jobs) jobs.push_back({job.name, job.iterations});
  if (jobs.empty())
    jobs.push_back(
        {setup.config.name, setup.workload.iterations_of(JobId(0), engine_options(setup.config).iterations)});
  RanksOfFeed feed = ranks_of(setup);
  return std::make_shared<LiveFeed>(std::move(label), std::move(ports), std::move(jobs),
                                    planned_operations(setup.config, setup.workload), workers, std::move(feed.ranks),
                                    std::move(feed.node_names), background_of(setup));
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
