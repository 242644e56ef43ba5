// What `nic-check` is told: which wire, which NIC.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/transport.h"
#include "base/units.h"
#include "emulator/nic_check/bench.h"

namespace rankwire {

/// What stands in PerftestDriver::hook for a program and its options.
inline constexpr const char* kPerftestCommand = "{command}";

/// Programs of perftest that are started on the NIC's host.
struct PerftestDriver {
  std::string hook;          ///< command in which `{command}` stands for theirs; empty: a person is asked to type it
  std::string device;        ///< the RDMA device there
  std::string listen;        ///< ADDRESS:PORT of this host, as that one reaches it over TCP
  std::string listen_place;  ///< where that is written, for messages: "nic.yaml:9: nic.listen"; may be empty
  Duration patience = seconds(60);  ///< until a program has come, and until it has ended
};

struct NicCheckConfig {
  std::string device;  ///< DPDK's name of the port at rankwire's end
  Bandwidth rate;      ///< of the line
  uint32_t mtu = 0;    ///< the largest path MTU that the line carries
  Nic peer;            ///< rankwire's end: MAC, address, prefix, VLAN

  std::string verbs;                       ///< RDMA device of this host; empty: the agent's
  std::string verbs_place;                 ///< where that is written, for messages; may be empty
  std::string agent;                       ///< HOST:PORT
  std::optional<PerftestDriver> perftest;  ///< instead of either
  std::string token;                       ///< of the agent, wherever it was told; empty without one
  std::optional<uint32_t> gid_index;
  MacAddress nic_mac;
  IpAddress nic_ip;

  BenchLimits limits;
};

/// The YAML of docs/nic-check.md. Throws Error(kInput) naming file, line and key.
NicCheckConfig read_nic_check_config(const std::filesystem::path& file);

}  // namespace rankwire
