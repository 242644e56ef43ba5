// A configuration of the Open Traffic Generator API, in the part that is served (docs/serve.md).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/serve/json_reader.h"
#include "emulator/serve/port_capture.h"

namespace rankwire {

/// A port with the one RoCEv2 device behind it.
struct OtgPort {
  std::string name;
  std::string location;           ///< as ports[].device
  std::optional<uint64_t> speed;  ///< bit/s; absent: rankwire's default
  std::string address;            ///< of its device's interface, as RFC 5952 has it; empty: it has none
  std::string ethernet;           ///< name of the interface beneath that
  std::optional<CaptureSettings> capture = {};
};

/// A RoCEv2 peer: the queue pairs from one port to one address.
struct OtgPeer {
  std::string name;
  size_t port = 0;  ///< of OtgConfig::ports
  std::vector<std::string> queue_pairs;
  bool is_ipv6 = false;
};

/// A RoCEv2 flow, on a queue pair of its own.
struct OtgFlow {
  std::string name, queue_pair;
  size_t from = 0, to = 0;  ///< of OtgConfig::ports
  uint64_t message = 0;     ///< bytes of payload, > 0
  uint64_t dscp = 0;
  uint64_t share = 0;  ///< of the line rate of its port, in percent; of all flows of that port together
};

struct OtgFile {
  std::string name, sha256;
};
/// Our own part of a configuration: a whole run, as rankwire describes it.
struct AiWorkload {
  std::string configuration;  ///< YAML
  std::vector<OtgFile> files;
};

struct OtgConfig {
  std::vector<OtgPort> ports;  ///< in the order of their addresses
  bool is_ipv6 = false;        ///< all addresses are; otherwise none is
  std::string subnet;          ///< address of the first port, with its prefix; empty: of no device
  std::string mac;             ///< of the first port; empty: as rankwire has it
  uint64_t mtu = 0;            ///< path MTU in bytes; 0: no device says
  std::string verb;            ///< as transport.verb; empty: no flow says
  std::vector<OtgPeer> peers;
  std::vector<OtgFlow> flows;
  std::optional<AiWorkload> ai_workload;
};

/// What `request` describes. Every field that is not served, and everything that is wrong, is in `errors`, by its path;
/// without errors the configuration can be run.
OtgConfig read_otg_config(const nlohmann::json& request, RequestErrors& errors);

/// The MAC address of a port, by its place.
std::string mac_of(const OtgConfig& config, size_t port);

}  // namespace rankwire
