// `peer`: an emulated NIC that answers the tools by which other NICs are measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "emulator/cli/commands.h"

namespace rankwire {

/// As texts in the syntax of the configuration file. Empty: the default, or none.
struct PeerRequest {
  std::string device;  ///< of DPDK
  std::string rate = "100Gbps";
  std::string ip;   ///< with prefix
  std::string mac;  ///< default: 02:00 and the last four bytes of the address
  std::optional<uint16_t> vlan;
  std::string gateway;
  std::string profile = "rankwire";
  std::string mtu = "4096B";  ///< path MTU, the largest that is agreed to
  uint32_t queue_pairs = 64;  ///< of one client, at most

  std::string listen = ":18515";
  uint32_t clients = 0;  ///< 0: until interrupted
  std::string deadline;
  std::string patience = "30s";
  std::string loss = "0%";  ///< of the frames of either direction, taken as lost

  std::string message = "2B";          ///< of the latency test
  std::optional<uint32_t> iterations;  ///< of the latency test
  bool all_sizes = false;              ///< of the latency test
  bool bandwidth_only = false;         ///< no latency test
  OutputForm form = OutputForm::kTable;
  GateRequest gating;  ///< of what `--json` prints
};

/// Returns 1 when a client's test failed, not as many clients came as were asked for, or a gate is broken; 3 when one
/// cannot be told.
int answer_perftest(const PeerRequest& request);

}  // namespace rankwire
