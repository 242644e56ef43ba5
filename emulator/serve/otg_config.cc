#include "emulator/serve/otg_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/address.h"
#include "emulator/serve/mac_number.h"
#include "emulator/serve/otg_values.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostFlows = 127;  // entries of `background`, which are 128 at most with the job beside them

/// A peer's queue pair, before it is known where it leads.
struct QueuePair {
  std::optional<size_t> port;  // absent: of an interface that is refused
  std::string destination;     // address
  uint64_t dscp = 0;
  bool is_used = false;
};

/// An address has several spellings.
std::string canonical(const std::string& address) {
  const std::optional<IpAddress> ip = parse_ip(address);
  return ip ? to_string(*ip) : address;
}

unsigned __int128 number_of(const IpAddress& ip) {
  unsigned __int128 number = 0;
  for (const uint8_t byte : ip.bytes) number = number << 8 | byte;
  return number;
}

IpAddress address_of(unsigned __int128 number) {
  IpAddress ip;
  for (size_t i = ip.bytes.size(); i > 0; --i, number >>= 8) ip.bytes[i - 1] = static_cast<uint8_t>(number);
  return ip;
}

/// Reads a configuration from its outermost object inwards.
class ConfigReader {
 public:
  explicit ConfigReader(RequestErrors& errors) : errors_(errors) {}

  OtgConfig read(const Json& request) {
    JsonReader root(request, "", errors_);
    if (std::optional<JsonReader> workload = root.object("ai_workload")) {
      config_.ai_workload = read_ai_workload(*workload);
    } else {
      read_ports(root);
      read_captures(root);
      for (JsonReader& device : root.objects("devices")) read_device(device);
      if (std::optional<JsonReader> stateful = root.object("stateful_flows")) read_stateful(*stateful);
      if (config_.flows.empty()) root.fail("stateful_flows.rocev2", "no flow is there, nor 'ai_workload'");
      if (config_.flows.size() > kMostFlows)
        root.fail("stateful_flows.rocev2",
                  fmt::format("{} flows; at most {} are served", config_.flows.size(), kMostFlows));
      read_options(root);
    }
    root.end();
    if (errors_.empty() && !config_.ai_workload) settle_addresses(root);
    return std::move(config_);
  }

 private:
  /// Names are unique among all objects, by the model.
  std::string name_of(JsonReader& object, const char* field = "name") {
    std::string name = object.required_text(field);
    const bool is_control = std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < ' '; });
    if (is_control || name.size() > 128) object.fail(field, "a name has at most 128 characters in one line");
    if (!name.empty() && !names_.insert(name).second) object.fail(field, fmt::format("'{}' is named twice", name));
    return name;
  }

  void read_ports(JsonReader& root) {
    for (JsonReader& port : root.objects("ports")) {
      OtgPort one{name_of(port), port.text("location").value_or("ring"), std::nullopt, {}};
      port.end();
      config_.ports.push_back(std::move(one));
    }
    for (JsonReader& layer1 : root.objects("layer1")) {
      name_of(layer1);
      const std::optional<uint64_t> speed = speed_of(layer1);
      for (const std::string& name : layer1.texts("port_names"))
        if (const std::optional<size_t> port = port_of_one(layer1, "port_names", name, timed_))
          config_.ports[*port].speed = speed;
      layer1.only("promiscuous", true);
      layer1.only("mtu", 1500);
      layer1.only("ieee_media_defaults", true);
      layer1.only("auto_negotiate", true);
      layer1.end();
    }
  }

  void read_captures(JsonReader& root) {
    std::set<size_t> named;
    for (JsonReader& capture : root.objects("captures")) {
      name_of(capture);
      const CaptureSettings settings = capture_settings(capture);
      const std::vector<std::string> names = capture.texts("port_names");
      if (names.empty()) capture.fail("port_names", "is required");
      for (const std::string& name : names) {
        const std::optional<size_t> port = port_of_one(capture, "port_names", name, named);
        if (!port) continue;
        OtgPort& one = config_.ports[*port];
        if (one.location != "ring" && one.location != "memory")
          capture.fail("port_names", fmt::format("port '{}' is no port of the embedded switch, which captures", name));
        one.capture = settings;
      }
      capture.end();
    }
  }

  std::optional<size_t> port_named(JsonReader& object, const char* field, const std::string& name) {
    const auto found = std::find_if(config_.ports.begin(), config_.ports.end(),
                                    [&](const OtgPort& port) { return port.name == name; });
    if (found != config_.ports.end()) return static_cast<size_t>(found - config_.ports.begin());
    object.fail(field, fmt::format("no port is called '{}'", name));
    return std::nullopt;
  }

  /// The same, and an error where it is among `named` already, which it is then.
  std::optional<size_t> port_of_one(JsonReader& object, const char* field, const std::string& name,
                                    std::set<size_t>& named) {
    const std::optional<size_t> port = port_named(object, field, name);
    if (port && !named.insert(*port).second) object.fail(field, fmt::format("port '{}' has an entry already", name));
    return port;
  }

  void read_device(JsonReader& device) {
    name_of(device);
    std::map<std::string, size_t> ports;  // by the name of the IPv4 or IPv6 interface
    for (JsonReader& ethernet : device.objects("ethernets")) read_ethernet(ethernet, ports);
    if (std::optional<JsonReader> rocev2 = device.object("rocev2")) {
      for (JsonReader& interface : rocev2->objects("ipv4_interfaces")) read_interface(interface, "ipv4_name", ports);
      for (JsonReader& interface : rocev2->objects("ipv6_interfaces")) read_interface(interface, "ipv6_name", ports);
      rocev2->end();
    }
    device.end();
  }

  void read_ethernet(JsonReader& ethernet, std::map<std::string, size_t>& ports) {
    const std::string own_name = name_of(ethernet);
    std::optional<size_t> port;
    if (std::optional<JsonReader> connection = ethernet.object("connection")) {
      connection->only("choice", "port_name");
      const std::string name = connection->required_text("port_name");
      connection->end();
      port = port_named(*connection, "port_name", name);
    } else {
      ethernet.fail("connection", "is required");
    }
    ethernet.only("mtu", 1500);
    const std::string mac = ethernet.text("mac").value_or("");
    for (const bool is_ipv6 : {false, true})
      for (JsonReader& interface : ethernet.objects(is_ipv6 ? "ipv6_addresses" : "ipv4_addresses")) {
        const std::string name = name_of(interface);
        read_address(interface, is_ipv6, port);
        if (!port) continue;
        ports.emplace(name, *port);
        config_.ports[*port].ethernet = own_name;
        macs_[*port] = mac;
      }
    ethernet.end();
  }

  /// `port` of the interface; absent: there is none of that name, which is an error already.
  void read_address(JsonReader& interface, bool is_ipv6, std::optional<size_t> port) {
    const std::string address = interface.required_text("address");
    const uint64_t prefix = interface.number("prefix", 1, is_ipv6 ? 126 : 31).value_or(is_ipv6 ? 64 : 24);
    const std::string gateway = interface.text("gateway").value_or("");
    interface.end();
    const std::optional<IpAddress> ip = parse_ip(address);
    if (!ip || ip->is_ipv4() == is_ipv6) {
      interface.fail("address", fmt::format("'{}' is no {} address", address, is_ipv6 ? "IPv6" : "IPv4"));
    } else if (const std::optional<IpAddress> hop = parse_ip(gateway);
               !gateway.empty() && !(hop && is_ipv6 && is_link_local(*hop)) &&
               (!hop || !in_same_subnet(*hop, *ip, static_cast<uint32_t>(prefix)))) {
      interface.fail("gateway", "is not in the subnet of 'address'");
    }
    if (!port) return;
    OtgPort& one = config_.ports[*port];
    if (!one.address.empty())
      interface.fail("address", fmt::format("port '{}' has an interface already; one is served", one.name));
    one.address = ip ? to_string(*ip) : address;
    if (prefix_ == 0) prefix_ = prefix, config_.is_ipv6 = is_ipv6;
    if (config_.is_ipv6 != is_ipv6) {
      interface.fail("address", "others are of the other IP version; one is served");
    } else if (prefix_ != prefix) {
      interface.fail("prefix", fmt::format("{} differs from the {} of others", prefix, prefix_));
    }
  }

  /// `name_field`: where it names the interface of the device.
  void read_interface(JsonReader& interface, const char* name_field, const std::map<std::string, size_t>& ports) {
    const std::string name = interface.required_text(name_field);
    const auto port = ports.find(name);
    if (port == ports.end()) interface.fail(name_field, fmt::format("the device has no interface '{}'", name));
    const uint64_t mtu = interface.number("ib_mtu", 256, 4096).value_or(1024);
    if (config_.mtu == 0) config_.mtu = mtu;
    if ((mtu & (mtu - 1)) != 0) interface.fail("ib_mtu", "256, 512, 1024, 2048 and 4096 are served");
    if (mtu != config_.mtu) interface.fail("ib_mtu", fmt::format("differs from the {} of others", config_.mtu));
    for (JsonReader& peer : interface.objects("peers")) {
      OtgPeer one{name_of(peer), port == ports.end() ? 0 : port->second, {}};
      one.is_ipv6 = std::string_view(name_field) == "ipv6_name";
      const std::string destination = canonical(peer.required_text("destination_ip_address"));
      for (JsonReader& pair : peer.objects("qps")) {
        one.queue_pairs.push_back(name_of(pair, "qp_name"));
        QueuePair& known = pairs_[one.queue_pairs.back()];
        known = {port == ports.end() ? std::nullopt : std::optional(one.port), destination, dscp_of(pair)};
        pair.end();
      }
      peer.end();
      config_.peers.push_back(std::move(one));
    }
    interface.end();
  }

  void read_stateful(JsonReader& stateful) {
    stateful.only("choice", "rocev2");
    for (JsonReader& flows : stateful.objects("rocev2")) {
      for (JsonReader& tx_port : flows.objects("tx_ports")) read_tx_port(tx_port);
      flows.end();
    }
    stateful.end();
  }

  void read_tx_port(JsonReader& tx_port) {
    const std::string name = tx_port.required_text("port_name");
    const std::optional<size_t> port = port_of_one(tx_port, "port_name", name, sending_);
    if (std::optional<JsonReader> type = tx_port.object("transmit_type")) {
      type->only("choice", "target_line_rate");
      if (std::optional<JsonReader> rate = type->object("target_line_rate")) {
        const uint64_t share = rate->number("value", 1, 100).value_or(98);
        for (JsonReader& flow : rate->objects("flows")) read_flow(flow, port, share);
        rate->end();
      }
      type->end();
    }
    tx_port.end();
  }

  /// `port` absent: there is none of that name, which is an error already, as is whatever follows from it.
  void read_flow(JsonReader& flow, std::optional<size_t> port, uint64_t share) {
    OtgFlow one{.name = name_of(flow),
                .queue_pair = flow.required_text("tx_endpoint"),
                .from = port.value_or(0),
                .to = config_.ports.size(),
                .share = share};
    const auto pair = pairs_.find(one.queue_pair);
    if (pair == pairs_.end()) {
      if (!one.queue_pair.empty())
        flow.fail("tx_endpoint", fmt::format("no queue pair is called '{}'", one.queue_pair));
    } else {
      if (port && pair->second.port && pair->second.port != port)
        flow.fail("tx_endpoint", "is a queue pair of another port");
      if (std::exchange(pair->second.is_used, true)) flow.fail("tx_endpoint", "has a flow already");
      one.dscp = pair->second.dscp;
      one.to = destination_of(flow, pair->second);
      if (port && one.to == *port) flow.fail("tx_endpoint", "leads to its own port");
    }
    read_receiver(flow, one.to);
    one.message = message_of(flow);
    const std::string verb = verb_of(flow);
    if (config_.verb.empty()) config_.verb = verb;
    if (config_.verb != verb) flow.fail("rocev2_verb", "differs from that of another flow; one is served");
    flow.end();
    config_.flows.push_back(std::move(one));
  }

  size_t destination_of(JsonReader& flow, const QueuePair& pair) {
    for (size_t port = 0; port < config_.ports.size(); ++port)
      if (config_.ports[port].address == pair.destination) return port;
    if (!pair.destination.empty())
      flow.fail("tx_endpoint", fmt::format("no port has the address {} of its peer", pair.destination));
    return config_.ports.size();
  }

  /// A port, or a queue pair of the other end: both say what the address of the peer says already.
  void read_receiver(JsonReader& flow, size_t to) {
    const std::optional<std::string> name = flow.text("rx_endpoint");
    if (!name || to >= config_.ports.size()) return;
    const auto pair = pairs_.find(*name);
    if (config_.ports[to].name != *name && (pair == pairs_.end() || pair->second.port.value_or(to) != to))
      flow.fail("rx_endpoint", fmt::format("'{}' is not where the peer of 'tx_endpoint' is, which is port '{}'", *name,
                                           config_.ports[to].name));
  }

  /// Addresses of emulated NICs follow each other: puts ports in that order, and refuses other addresses.
  void settle_addresses(JsonReader& root) {
    std::vector<std::pair<unsigned __int128, size_t>> order;
    for (size_t port = 0; port < config_.ports.size(); ++port) {
      const std::optional<IpAddress> ip = parse_ip(config_.ports[port].address);
      if (!ip)
        return root.fail(fmt::format("ports[{}]", port), "no device with an IPv4 or IPv6 interface is connected to it");
      order.emplace_back(number_of(*ip), port);
    }
    if (order.size() < 2) return root.fail("ports", "at least two are needed");
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) {
      const std::string& name = config_.ports[order[i].second].name;
      if (order[i].first != order.front().first + i)
        root.fail("devices",
                  fmt::format("the address of port '{}' would be {}: those of emulated NICs follow each other", name,
                              to_string(address_of(order.front().first + i))));
    }
    settle_macs(root, order);
    std::vector<size_t> place(order.size());
    std::vector<OtgPort> ports;
    for (size_t i = 0; i < order.size(); ++i) {
      place[order[i].second] = i;
      ports.push_back(config_.ports[order[i].second]);
    }
    config_.ports = std::move(ports);
    for (OtgPeer& peer : config_.peers) peer.port = place[peer.port];
    for (OtgFlow& flow : config_.flows) flow.from = place[flow.from], flow.to = place[flow.to];
    config_.subnet = fmt::format("{}/{}", config_.ports.front().address, prefix_);
  }

  void settle_macs(JsonReader& root, const std::vector<std::pair<unsigned __int128, size_t>>& order) {
    config_.mac = macs_[order.front().second];
    const std::optional<uint64_t> first = mac_number(config_.mac);
    for (size_t i = 0; i < order.size(); ++i) {
      const std::string& mac = macs_[order[i].second];
      if (mac.empty() && config_.mac.empty()) continue;
      const std::optional<uint64_t> given = mac_number(mac);
      if (!first || !given || *given != *first + i)
        root.fail("devices", fmt::format("the MAC '{}' of port '{}' does not follow that of the address before: they "
                                         "follow each other, or are all left out",
                                         mac, config_.ports[order[i].second].name));
    }
  }

  RequestErrors& errors_;
  OtgConfig config_;
  std::set<std::string> names_;
  std::map<std::string, QueuePair> pairs_;
  std::set<size_t> timed_, sending_;    // ports of which an entry of layer1, of tx_ports was read
  std::map<size_t, std::string> macs_;  // by port, before they are put in order
  uint64_t prefix_ = 0;                 // 0: no interface yet
};

}  // namespace

OtgConfig read_otg_config(const Json& request, RequestErrors& errors) {
  return ConfigReader(errors).read(request);
}

std::string mac_of(const OtgConfig& config, size_t port) {
  constexpr uint64_t kOfRankwire = 0x02'52'57'00'00'01;  // as addresses.mac
  const uint64_t number = mac_number(config.mac).value_or(kOfRankwire) + port;
  std::string text;
  for (int shift = 40; shift >= 0; shift -= 8)
    text += fmt::format("{:02x}{}", number >> shift & 0xFF, shift > 0 ? ":" : "");
  return text;
}

}  // namespace rankwire
