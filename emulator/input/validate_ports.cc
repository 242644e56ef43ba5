#include "emulator/input/validate_ports.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulator/input/validation_source.h"

namespace rankwire {
namespace {

/// Which of `device` and `verbs` a port has, and what goes with it.
void check_kind(const Source& source, const PortConfig& port, const std::string& key) {
  if (port.device.empty() && port.verbs.empty() && !port.modelled) source.fail(key, "needs 'device' or 'verbs'");
  if (!port.device.empty() && !port.verbs.empty()) {
    source.fail(key + ".verbs", "contradicts device '{}'; a port has one of them", port.device);
  }
  const PortConfig defaults;
  if (!port.is_rdma_device()) {
    if (port.verbs_port != defaults.verbs_port) source.fail(key + ".port", "needs 'verbs'");
    if (port.gid) source.fail(key + ".gid", "needs 'verbs'");
    return;
  }
  constexpr const char* kOwn = "is for DPDK devices; an RDMA device has the addresses and the VLAN of its GID table";
  if (port.ip) source.fail(key + ".ip", "{}", kOwn);
  if (port.vlan) source.fail(key + ".vlan", "{}", kOwn);
  if (port.gateway) source.fail(key + ".gateway", "{}", kOwn);
  if (port.queues != defaults.queues) source.fail(key + ".queues", "is for DPDK devices; an RDMA device has its own");
}

/// A slow receiver's buffer, on ports that carry frames.
void check_flow_control(const Source& source, const PortConfig& port, const std::string& key) {
  const PortConfig defaults;
  if (port.pfc != defaults.pfc && port.is_rdma_device())
    source.fail(key + ".pfc", "is for DPDK ports; an RDMA device obeys PFC as its driver is set to");
  if (port.pfc == PfcChoice::kHardware && port.embedded())
    source.fail(key + ".pfc", "'hardware' needs a device; a port of the embedded switch has none");
  if (!port.drain_rate) {
    constexpr const char* kNeeds = "needs 'drain_rate'";
    if (port.receive_buffer != defaults.receive_buffer) source.fail(key + ".receive_buffer", "{}", kNeeds);
    if (port.xoff) source.fail(key + ".xoff", "{}", kNeeds);
    if (port.xon) source.fail(key + ".xon", "{}", kNeeds);
    return;
  }
  if (port.is_rdma_device())
    source.fail(key + ".drain_rate", "is for DPDK ports; an RDMA device has a receive buffer of its own");
  if (*port.drain_rate >= port.rate) {
    source.fail(key + ".drain_rate", "{} bit/s is not below {}.rate {} bit/s, so the buffer would never fill",
                port.drain_rate->bits_per_second, key, port.rate.bits_per_second);
  }
  const int64_t xoff = port.xoff.value_or(Bytes(port.receive_buffer.count / 2)).count;
  const int64_t xon = port.xon.value_or(Bytes(port.receive_buffer.count / 4)).count;
  if (xoff > port.receive_buffer.count)
    source.fail(key + ".xoff", "{} bytes are above receive_buffer {} bytes", xoff, port.receive_buffer.count);
  if (xon >= xoff) source.fail(key + ".xon", "{} bytes are not below xoff {} bytes", xon, xoff);
}

/// Ports of the embedded switch share one kind; a run is either embedded or on foreign devices.
void check_ports(const Source& source) {
  const std::vector<PortConfig>& ports = source.config.ports;
  if (ports.size() < 2) source.fail("ports", "has {}; traffic needs at least 2 ports", ports.size());
  std::set<std::string> names;
  std::set<std::pair<std::string, std::string>> devices;  // by machine
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string key = fmt::format("ports[{}]", i);
    if (!names.insert(ports[i].name).second)
      source.fail(key + ".name", "'{}' is the name of another port", ports[i].name);
    check_kind(source, ports[i], key);
    check_flow_control(source, ports[i], key);
    const auto device_of = [](const PortConfig& port) { return port.is_rdma_device() ? port.verbs : port.device; };
    const bool embedded = ports[i].embedded() || ports[0].embedded();
    if (embedded && ports[i].device != ports[0].device) {
      source.fail(key + (ports[i].is_rdma_device() ? ".verbs" : ".device"),
                  "'{}' cannot be mixed with '{}' of ports[0]: all ports are 'ring', all 'memory', or none",
                  device_of(ports[i]), device_of(ports[0]));
    }
    if (ports[i].embedded() && ports[i].queues > 1)
      source.fail(key + ".queues", "is for DPDK devices; a port of the embedded switch has one");
    const bool on_dpdk = !ports[i].embedded() && !ports[i].is_rdma_device() && !ports[i].modelled;
    if (on_dpdk && !devices.emplace(ports[i].on, ports[i].device).second) {
      source.fail(key + ".device", "'{}' is the device of another port", ports[i].device);
    }
  }
}

/// One family everywhere, gateways on their own subnets, and for other subnets a gateway, which a bridge is not.
void check_addresses(const Source& source) {
  const RunConfig& config = source.config;
  const AddressesConfig& common = config.addresses;
  const auto check_gateway = [&](const std::string& key, const SubnetConfig& ip,
                                 const std::optional<IpAddress>& gateway) {
    if (gateway && !in_same_subnet(ip.first, *gateway, ip.prefix_length))
      source.fail(key, "{} is not in {}/{}", to_string(*gateway), to_string(ip.first), ip.prefix_length);
  };
  check_gateway("addresses.gateway", common.ip, common.gateway);
  for (size_t i = 0; i < config.ports.size(); ++i) {
    const PortConfig& port = config.ports[i];
    const std::string key = fmt::format("ports[{}]", i);
    if (!port.ip) {
      if (port.vlan) source.fail(key + ".vlan", "needs 'ip'");
      if (port.gateway) source.fail(key + ".gateway", "needs 'ip'");
      continue;
    }
    if (port.ip->first.is_ipv4() != common.ip.first.is_ipv4())
      source.fail(key + ".ip", "is of another family than addresses.ip {}", to_string(common.ip.first));
    check_gateway(key + ".gateway", *port.ip, port.gateway);
    if (config.ports[0].embedded())
      source.fail(key + ".ip", "needs a device that routes; the embedded switch is a bridge and takes addresses.ip");
  }
}

/// A shared receive queue holds back no single queue pair.
void check_shared_receives(const Source& source) {
  const TransportConfig& transport = source.config.transport;
  if (!transport.verbs.shared_receive_queue) return;
  const std::string key = "transport.verbs.shared_receive_queue";
  if (transport.queue_pairs > 1 && transport.spread == SpreadName::kSplit) {
    source.fail(key,
                "does not bound the messages of which only some parts have arrived; with transport.queue_pairs {} use "
                "'spread: deal', or no shared receive queue",
                transport.queue_pairs);
  }
  const bool writes = transport.verb == VerbName::kWriteImm || transport.verb == VerbName::kWriteThenImm;
  if (writes && transport.checking) {
    source.fail(key,
                "does not hold back a queue pair that WRITEs to memory that is not compared yet; with 'checking' use "
                "verb send_imm or read, or no shared receive queue");
  }
}

}  // namespace

void validate_ports(const RunConfig& config, const Tree& root) {
  const Source source{config, root};
  check_ports(source);
  check_addresses(source);
}

void validate_rdma_devices(const RunConfig& config, const Tree& root) {
  const Source source{config, root};
  const TransportConfig& transport = config.transport;
  const auto rdma = std::ranges::find_if(config.ports, &PortConfig::is_rdma_device);
  if (transport.verbs.signal_every > transport.verbs.send_queue) {
    source.fail("transport.verbs.signal_every", "{} is above transport.verbs.send_queue {}",
                transport.verbs.signal_every, transport.verbs.send_queue);
  }
  if (transport.verbs.max_message && transport.verbs.max_message->count % 8 != 0) {
    source.fail("transport.verbs.max_message", "{} bytes are not a multiple of 8, and payload words are not divided",
                transport.verbs.max_message->count);
  }
  if (rdma == config.ports.end()) return;
  constexpr uint32_t kMostReceives = 32'768;
  if (transport.receive_queue && *transport.receive_queue > kMostReceives) {
    source.fail("transport.receive_queue", "{} is more than the {} that an RDMA device takes; port '{}' is one",
                *transport.receive_queue, kMostReceives, rdma->name);
  }
  const SourcePortConfig::Rule rule = transport.source_port.rule;
  if (rule == SourcePortConfig::Rule::kPerMessage || rule == SourcePortConfig::Rule::kPerPacket) {
    source.fail("transport.source_port", "port '{}' is an RDMA device, which has one source port a queue pair",
                rdma->name);
  }
  check_shared_receives(source);
  if (!std::ranges::all_of(config.ports, &PortConfig::is_rdma_device)) return;
  const auto refuse = [&](const std::string& key, const char* instead) {
    source.fail(key, "is for DPDK ports, and all ports are RDMA devices{}", instead);
  };
  if (config.addresses.vlan) refuse("addresses.vlan", ", which have the VLAN of their network interface");
  if (config.addresses.gateway) refuse("addresses.gateway", ", whose routes are the kernel's");
  if (transport.data.priority != 0) refuse("transport.markings.data.priority", "; see transport.verbs.sl");
  const std::pair<const char*, const MarkingConfig*> answers[] = {
      {"ack", &transport.ack}, {"nak", &transport.nak}, {"cnp", &transport.cnp}};
  for (const auto& [name, marking] : answers) {
    const std::string key = fmt::format("transport.markings.{}", name);
    constexpr const char* kOwn = ", which mark their answers as they like";
    if (marking->dscp) refuse(key + ".dscp", kOwn);
    if (marking->ecn) refuse(key + ".ecn", kOwn);
    if (marking->priority != 0) refuse(key + ".priority", kOwn);
  }
}

}  // namespace rankwire
