#include "emulator/assembly/reference.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "dataplane/protocol/queue_pair_numbers.h"
#include "dataplane/protocol/rendezvous.h"
#include "dataplane/roce/options.h"
#include "dataplane/wire/headers.h"
#include "dataplane/wire/source_port.h"
#include "emulator/assembly/fabric_options.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/input/fabric_topology.h"
#include "fabric/ecmp_hash.h"

namespace rankwire {
namespace {

std::array<uint64_t, 2> address_words(const IpAddress& ip) {
  if (ip.is_ipv4()) return {0, ip.ipv4().value};
  std::array<uint64_t, 2> words;
  std::memcpy(words.data(), ip.bytes.data(), sizeof words);
  return {byte_swapped(words[0]), byte_swapped(words[1])};
}

uint32_t hash_of(const Nic& source, const Nic& destination, const QueuePairNumbers& ends, const RoceOptions& options,
                 bool hash_queue_pair) {
  FlowKey key;
  key.source = address_words(source.ip);
  key.destination = address_words(destination.ip);
  key.source_port = options.source_port == SourcePortPolicy::kFixed ? options.fixed_source_port
                                                                    : linux_source_port(ends.source, ends.destination);
  key.destination_port = kRoceUdpPort;
  key.protocol = kIpProtocolUdp;
  if (hash_queue_pair) key.destination_qp = ends.destination;
  return flow_hash(key);
}

}  // namespace

std::vector<FlowHashes> flow_hashes(const Setup& setup, Direction direction) {
  const TransportPlan& plan = setup.plan.transport;
  const FabricBalancingConfig& balancing = setup.config.fabric->balancing;
  const RoceOptions options = roce_options(setup);
  std::vector<FlowHashes> hashes(plan.connections.size());
  const bool by_flow =
      options.source_port == SourcePortPolicy::kLinux || options.source_port == SourcePortPolicy::kFixed;
  if (balancing.spreading != SpreadingName::kFlow || !by_flow) return hashes;
  const std::vector<QueuePairNumbers> ends = number_queue_pairs(plan, options.queue_pairs, [](NicId) { return true; });
  for (const Connection& connection : plan.connections) {
    if (connection.path == Path::kLocal) continue;
    const uint32_t c = connection.id.value;
    const Nic &source = plan.nics[connection.source_nic.value],
              &destination = plan.nics[connection.destination_nic.value];
    for (uint32_t member = 0; member < options.queue_pairs; ++member) {
      const QueuePairNumbers there{ends[c].source + member, ends[c].destination + member};
      const QueuePairNumbers back{there.destination, there.source};
      hashes[c].push_back(direction == Direction::kData
                              ? hash_of(source, destination, there, options, balancing.hash_queue_pair)
                              : hash_of(destination, source, back, options, balancing.hash_queue_pair));
    }
  }
  return hashes;
}

Network interconnect(const Setup& setup, const std::function<bool(ConnectionId)>& wanted) {
  const HostsConfig& hosts = setup.config.hosts;
  return local_network(setup.plan.transport, hosts.local_bandwidth, hosts.local_latency, wanted);
}

namespace {

/// The plan with each connection the other way.
TransportPlan turned(TransportPlan plan) {
  for (Connection& connection : plan.connections) {
    std::swap(connection.source, connection.destination);
    std::swap(connection.source_nic, connection.destination_nic);
  }
  return plan;
}

Network ways_of(const Setup& setup, bool with_failures, bool by_hash, Direction direction) {
  const RunConfig& config = setup.config;
  const Framing framing = framing_of(config.transport);
  if (config.fabric) {
    const Topology topology = fabric_topology(config);
    FabricNetworkOptions options{.hosts = {},
                                 .switch_latency = config.embedded_switch.latency,
                                 .cut_through = config.fabric->forwarding == ForwardingName::kCutThrough,
                                 .hash_seeds = {},
                                 .framing = framing,
                                 .local_bandwidth = config.hosts.local_bandwidth,
                                 .local_latency = config.hosts.local_latency,
                                 .schedule = {},
                                 .convergence = config.fabric->convergence};
    if (with_failures) options.schedule = cable_schedule(config, topology);
    for (const PortConfig& port : config.ports) options.hosts.push_back(port.name);
    for (uint32_t s = 0; s < topology.switches.size(); ++s)
      options.hash_seeds.push_back(switch_hash_seed(config.seed, s, config.fabric->balancing.seed_per_switch));
    const std::vector<FlowHashes> dealt_out(setup.plan.transport.connections.size());
    const std::vector<FlowHashes> hashes = by_hash ? flow_hashes(setup, direction) : dealt_out;
    return direction == Direction::kData ? fabric_network(topology, options, setup.plan.transport, hashes)
                                         : fabric_network(topology, options, turned(setup.plan.transport), hashes);
  }
  StarOptions options{.port_bandwidth = {},
                      .port_latency = config.embedded_switch.link_latency,
                      .switch_latency = config.embedded_switch.latency,
                      .framing = framing,
                      .local_bandwidth = config.hosts.local_bandwidth,
                      .local_latency = config.hosts.local_latency};
  for (const PortConfig& port : config.ports) options.port_bandwidth.push_back(port.rate);
  return star_network(options, setup.plan.transport);
}

Network network_of(const Setup& setup, bool with_failures, bool by_hash = true,
                   Direction direction = Direction::kData) {
  Network network = ways_of(setup, with_failures, by_hash, direction);
  if (setup.config.transport.verb == VerbName::kRead)
    network.fetching = {
        .offer = Bytes(sizeof(ReadyToSend)), .request = Bytes(sizeof(Reth)), .finish = Bytes(sizeof(GetFinished))};
  return network;
}

}  // namespace

Network reference_network(const Setup& setup) {
  return network_of(setup, true);
}

Network unharmed_network(const Setup& setup) {
  return network_of(setup, false);
}

Network modelled_network(const Setup& setup) {
  Network whole = reference_network(setup);
  const std::vector<Connection>& connections = setup.plan.transport.connections;
  std::vector<bool> taken(whole.links.size());
  const auto note = [&](const std::vector<LinkUse>& links) {
    for (const LinkUse& use : links) taken[use.link.value] = true;
  };
  const auto meets = [&](const std::vector<LinkUse>& links) {
    return std::ranges::any_of(links, [&](const LinkUse& use) { return taken[use.link.value]; });
  };
  const auto on_wire = [&](size_t c) { return connections[c].path == Path::kWire; };
  for (size_t c = 0; c < connections.size(); ++c)
    if (!on_wire(c)) note(whole.routes[c].links);
  for (const Reroute& reroute : whole.reroutes)
    if (!on_wire(reroute.connection)) note(reroute.links);
  std::vector<bool> wanted(connections.size());
  for (size_t c = 0; c < connections.size(); ++c) wanted[c] = !on_wire(c) || meets(whole.routes[c].links);
  for (const Reroute& reroute : whole.reroutes)
    if (meets(reroute.links)) wanted[reroute.connection] = true;

  Network network;
  network.fetching = whole.fetching;
  network.links = std::move(whole.links);
  network.connections.emplace();
  std::vector<uint32_t> place(connections.size());
  for (size_t c = 0; c < connections.size(); ++c) {
    if (!wanted[c]) continue;
    place[c] = static_cast<uint32_t>(network.routes.size());
    network.routes.push_back(std::move(whole.routes[c]));
    network.connections->push_back(connections[c].id);
  }
  for (Reroute& reroute : whole.reroutes) {
    if (!wanted[reroute.connection]) continue;
    reroute.connection = place[reroute.connection];
    network.reroutes.push_back(std::move(reroute));
  }
  return network;
}

Network even_network(const Setup& setup) {
  return network_of(setup, true, false);
}

Network acknowledgement_network(const Setup& setup) {
  return network_of(setup, false, true, Direction::kAcknowledgements);
}

}  // namespace rankwire
