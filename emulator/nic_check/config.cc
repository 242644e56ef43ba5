#include "emulator/nic_check/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/error.h"
#include "emulator/hooks/hook.h"
#include "emulator/input/reader.h"
#include "emulator/input/syntax.h"
#include "emulator/input/tree.h"
#include "emulator/nic_check/agent_token.h"
#include "emulator/nic_check/line_socket.h"

namespace rankwire {
namespace {

void need(const Tree& tree, const char* key, bool given, const char* what) {
  if (!given) fail_key(tree, key, "is needed: {}", what);
}

void describe_wire(Reader& keys, NicCheckConfig& config) {
  SubnetConfig subnet;
  keys.field("port", config.device, Text());
  keys.field("mac", config.peer.mac, Mac());
  keys.field("ip", subnet, Subnet());
  keys.field("vlan", config.peer.vlan, Or{"none", Integer<uint16_t>{1, 4094}});
  keys.field("rate", config.rate, Rate());
  keys.field("mtu", config.mtu, PathMtu());
  config.peer.ip = subnet.first;
  config.peer.prefix_length = static_cast<uint8_t>(subnet.prefix_length);
}

void describe_nic(Reader& keys, NicCheckConfig& config, std::string& token_file, PerftestDriver& perftest) {
  keys.field("verbs", config.verbs, Text());
  keys.field("agent", config.agent, Text());
  keys.field("perftest", perftest.hook, Text());
  keys.field("device", perftest.device, Text());
  keys.field("listen", perftest.listen, Text());
  keys.field("token", config.token, Text());
  keys.field("token_file", token_file, FilePath());
  keys.field("gid_index", config.gid_index, Or{"auto", Integer<uint32_t>{0, 255}});
  keys.field("mac", config.nic_mac, Mac());
  keys.field("ip", config.nic_ip, Ip());
}

void describe_limits(Reader& keys, BenchLimits& limits, PerftestDriver& perftest) {
  keys.field("timeout_exponent", limits.timeout_exponent, Integer<uint32_t>{1, 20});
  keys.field("answer", limits.answer, Interval{microseconds(1), seconds(10)});
  keys.field("quiet", limits.quiet, Interval{microseconds(1), seconds(10)});
  keys.field("program", perftest.patience, Interval{seconds(1), seconds(3600)});
}

void check_driver(const Tree& tree, const NicCheckConfig& config, const PerftestDriver& perftest) {
  std::vector<std::string_view> given;
  if (!config.verbs.empty()) given.emplace_back("verbs");
  if (!config.agent.empty()) given.emplace_back("agent");
  if (!perftest.hook.empty()) given.emplace_back("perftest");
  if (given.empty()) fail_key(tree, "nic", "one of 'verbs', 'agent' and 'perftest' is needed");
  if (given.size() > 1)
    fail_key(tree, "nic", "only one of 'verbs', 'agent' and 'perftest' is expected; {} are there",
             fmt::join(given, " and "));
}

void check_perftest(const Tree& tree, NicCheckConfig& config, PerftestDriver driver) {
  constexpr std::string_view kByHand = "print";
  if (driver.hook.empty()) {
    need(tree, "nic.perftest", driver.device.empty() && driver.listen.empty(),
         "'device' and 'listen' are of a NIC that is driven by it");
    return;
  }
  if (driver.hook == kByHand) {
    driver.hook.clear();
  } else if (driver.hook.find(kPerftestCommand) == std::string::npos) {
    fail_key(tree, "nic.perftest", "'{}' has no {} in it, where the program and its options stand, and is not '{}'",
             driver.hook, kPerftestCommand, kByHand);
  } else {
    try {
      split_command(driver.hook);
    } catch (const Error& error) {
      fail_key(tree, "nic.perftest", "{}", error.what());
    }
  }
  need(tree, "nic.device", !driver.device.empty(), "the RDMA device of the NIC's host, perftest's option -d");
  // It becomes part of a command line.
  if (!std::ranges::all_of(driver.device, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; }))
    fail_key(tree, "nic.device", "'{}' is not the name of an RDMA device", driver.device);
  need(tree, "nic.gid_index", config.gid_index.has_value(), "that of nic.ip, perftest's option -x");
  need(tree, "nic.listen", !driver.listen.empty(),
       "ADDRESS:PORT of this host, where the NIC's host reaches it over TCP");
  if (const std::string wrong = wrong_address(driver.listen); !wrong.empty()) fail_key(tree, "nic.listen", "{}", wrong);
  driver.listen_place = nearest(tree, "nic.listen").origin.place + ": nic.listen";
  config.perftest = std::move(driver);
}

}  // namespace

NicCheckConfig read_nic_check_config(const std::filesystem::path& file) {
  const Tree tree = read_yaml_file(file);
  NicCheckConfig config;
  config.rate = Bandwidth(100'000'000'000);
  config.mtu = 1024;
  config.peer.id = NicId(0);
  config.peer.port = PortId(0);
  std::string token_file;
  PerftestDriver perftest;
  Reader keys(tree, "");
  keys.section("wire", [&](Reader& wire) { describe_wire(wire, config); });
  keys.section("nic", [&](Reader& nic) { describe_nic(nic, config, token_file, perftest); });
  keys.section("limits", [&](Reader& limits) { describe_limits(limits, config.limits, perftest); });
  keys.finish();
  need(tree, "wire.port", !config.device.empty(), "the device of rankwire's end");
  need(tree, "wire.mac", config.peer.mac != MacAddress(), "the MAC address of rankwire's end");
  need(tree, "wire.ip", !config.peer.ip.is_none(), "the address of rankwire's end with its prefix");
  need(tree, "nic.mac", config.nic_mac != MacAddress(), "the MAC address of the NIC");
  need(tree, "nic.ip", !config.nic_ip.is_none(), "the address of the NIC");
  // There is no router on the bench.
  if (!in_same_subnet(config.nic_ip, config.peer.ip, config.peer.prefix_length))
    fail_key(tree, "nic.ip", "{} is not in the subnet of wire.ip, {}/{}, so that they cannot reach each other",
             to_string(config.nic_ip), to_string(config.peer.ip), config.peer.prefix_length);
  if (config.nic_ip == config.peer.ip) fail_key(tree, "nic.ip", "is that of wire.ip, rankwire's own end");
  if (config.nic_mac == config.peer.mac) fail_key(tree, "nic.mac", "is that of wire.mac, rankwire's own end");
  check_driver(tree, config, perftest);
  check_perftest(tree, config, std::move(perftest));
  if (const std::string wrong = wrong_address(config.agent); !config.agent.empty() && !wrong.empty())
    fail_key(tree, "nic.agent", "{}", wrong);
  if (!config.token.empty() && !token_file.empty()) fail_key(tree, "nic", "either 'token' or 'token_file' is expected");
  if (!config.agent.empty()) {
    try {
      config.token = agent_token(config.token, token_file);
    } catch (const Error& error) {
      fail_key(tree, "nic.token_file", "{}", error.what());
    }
  }
  if (!config.verbs.empty()) config.verbs_place = nearest(tree, "nic.verbs").origin.place + ": nic.verbs";
  need(tree, "nic.token_file", config.agent.empty() || !config.token.empty(),
       "a file with the token that the agent was started with; or 'token', or RANKWIRE_AGENT_TOKEN in the environment");
  if (config.limits.answer >= ack_timeout(config.limits.timeout_exponent))
    fail_key(tree, "limits.answer",
             "must be less than the time-out of queue pairs, 4.096 us x 2^{}: it tells what a NAK did from what a "
             "time-out did",
             config.limits.timeout_exponent);
  return config;
}

}  // namespace rankwire
