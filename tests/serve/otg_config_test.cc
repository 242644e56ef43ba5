#include "emulator/serve/otg_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/serve/client_names.h"
#include "emulator/serve/run_configuration.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// Port a has 10.0.0.3 and sends two flows to port b, 10.0.0.2.
Json two_ports() {
  return Json::parse(R"({
    "ports": [{"name": "a"}, {"name": "b", "location": "memory"}],
    "layer1": [{"name": "fast", "port_names": ["a"], "speed": "speed_100_gbps"}],
    "devices": [
      {"name": "da", "ethernets": [{"name": "ea", "mac": "02:00:00:00:01:00",
        "connection": {"choice": "port_name", "port_name": "a"},
        "ipv4_addresses": [{"name": "ia", "address": "10.0.0.3", "gateway": "10.0.0.2", "prefix": 24}]}],
       "rocev2": {"ipv4_interfaces": [{"ipv4_name": "ia", "ib_mtu": 4096, "peers": [
         {"name": "p", "destination_ip_address": "10.0.0.2", "qps": [{"qp_name": "q1"}, {"qp_name": "q2",
          "connection_type": {"reliable_connection": {"dscp": 8}}}]}]}]}},
      {"name": "db", "ethernets": [{"name": "eb", "mac": "02:00:00:00:00:ff", "connection": {"port_name": "b"},
        "ipv4_addresses": [{"name": "ib", "address": "10.0.0.2"}]}]}],
    "stateful_flows": {"rocev2": [{"tx_ports": [{"port_name": "a", "transmit_type": {"target_line_rate": {"value": 50,
      "flows": [{"name": "f1", "tx_endpoint": "q1"},
                {"name": "f2", "tx_endpoint": "q2", "message_size": 2, "message_size_unit": "kb"}]}}}]}]}})");
}

RequestErrors errors_of(const Json& request) {
  RequestErrors errors;
  read_otg_config(request, errors);
  return errors;
}

TEST(OtgConfig, PortsStandInTheOrderOfTheirAddresses) {
  RequestErrors errors;
  const OtgConfig config = read_otg_config(two_ports(), errors);
  ASSERT_THAT(errors, IsEmpty());
  EXPECT_EQ(config.ports[0].name, "b");
  EXPECT_EQ(config.ports[1].name, "a");
  EXPECT_EQ(config.subnet, "10.0.0.2/24");
  EXPECT_EQ(config.mac, "02:00:00:00:00:ff");
  EXPECT_EQ(mac_of(config, 1), "02:00:00:00:01:00");
  ASSERT_EQ(config.flows.size(), 2u);
  EXPECT_EQ(config.flows[0].from, 1u);
  EXPECT_EQ(config.flows[0].to, 0u);
  EXPECT_EQ(config.peers[0].port, 1u);
}

TEST(OtgConfig, CapturesAreOfPorts) {
  Json request = two_ports();
  request["captures"] = Json::parse(R"([{"name": "c", "port_names": ["b"], "format": "pcapng", "packet_size": 100}])");
  RequestErrors errors;
  const auto record_of = [&] {
    return Json::parse(run_configuration(read_otg_config(request, errors), std::chrono::seconds(1)))["record"];
  };
  EXPECT_EQ(record_of(), Json::parse(R"({"capture": "268435456B", "capture_length": "100B"})"));
  const OtgConfig config = read_otg_config(request, errors);
  EXPECT_THAT(errors, IsEmpty());
  ASSERT_TRUE(config.ports[0].capture);  // b
  EXPECT_TRUE(config.ports[0].capture->is_pcapng);
  EXPECT_TRUE(config.ports[0].capture->overwrites);
  EXPECT_FALSE(config.ports[1].capture);
  // Of both what the longer one needs: whole frames.
  request["captures"].push_back(Json::parse(R"({"name": "d", "port_names": ["a"]})"));
  EXPECT_EQ(record_of()["capture_length"], "16384B");
  request["captures"][1]["port_names"] = {"b", "x"};
  request["captures"][1]["packet_size"] = 0;
  request["ports"][1]["location"] = "mlx5_0";
  EXPECT_THAT(errors_of(request),
              ElementsAre(HasSubstr("captures[0].port_names: port 'b' is no port of the embedded switch"),
                          HasSubstr("captures[1].packet_size: is no number from 1"),
                          HasSubstr("captures[1].port_names: port 'b' has an entry already"),
                          HasSubstr("captures[1].port_names: port 'b' is no port of the embedded switch"),
                          HasSubstr("captures[1].port_names: no port is called 'x'")));
}

TEST(OtgConfig, BecomesAConfigurationWithAnEntryAFlow) {
  RequestErrors errors;
  const Json run = Json::parse(run_configuration(read_otg_config(two_ports(), errors), std::chrono::seconds(10)));
  EXPECT_EQ(run["ports"], Json::parse(R"([{"name": "b", "device": "memory"},
                                          {"name": "a", "device": "ring", "rate": "100000000000bps"}])"));
  EXPECT_EQ(run["transport"], Json::parse(R"({"mtu": "4096B", "verb": "write_then_imm"})"));
  EXPECT_EQ(run["addresses"], Json::parse(R"({"ip": "10.0.0.2/24", "mac": "02:00:00:00:00:ff"})"));
  // Half of 100 Gbit/s for two flows: 25 Gbit/s each on the line. 1000000 bytes are 245 packets with 82 bytes beside
  // their payload, one RETH of 16, and an empty packet of 82 + 16 + 4 behind them: 1000000 of 1020208 are payload. 2000
  // bytes are one packet, and the other: 2000 of 2000 + 82 + 16 + 102 = 2200.
  EXPECT_EQ(run["background"], Json::parse(R"([
    {"name": "f1", "pattern": "pairs", "from": ["a"], "to": ["b"], "size": "1000000B", "rate": "24504806862bps",
     "transport": {"dscp": 24}},
    {"name": "f2", "pattern": "pairs", "from": ["a"], "to": ["b"], "size": "2000B", "rate": "22727272727bps",
     "transport": {"dscp": 8}}])"));
  EXPECT_EQ(run["workload"]["nodes"][0]["duration"], "10s");
  EXPECT_EQ(run["workload"]["nodes"][0]["ranks"], "0-1");
}

/// The same by IPv6: port a has 2001:db8::3 and sends a flow to port b, 2001:db8::2.
Json two_ports_of_ipv6() {
  Json request = two_ports();
  for (const size_t device : {0, 1}) {
    Json& ethernet = request["devices"][device]["ethernets"][0];
    ethernet["ipv6_addresses"] = ethernet["ipv4_addresses"];
    ethernet.erase("ipv4_addresses");
    ethernet["ipv6_addresses"][0]["address"] = device == 0 ? "2001:DB8:0::3" : "2001:db8::2";
  }
  request["devices"][0]["ethernets"][0]["ipv6_addresses"][0].update({{"gateway", "fe80::1"}, {"prefix", 64}});
  Json& rocev2 = request["devices"][0]["rocev2"];
  rocev2 = {{"ipv6_interfaces", rocev2["ipv4_interfaces"]}};
  Json& interface = rocev2["ipv6_interfaces"][0];
  interface["ipv6_name"] = interface["ipv4_name"];
  interface.erase("ipv4_name");
  interface["peers"][0]["destination_ip_address"] = "2001:0db8::0002";
  return request;
}

TEST(OtgConfig, AddressesOfIpv6FollowEachOtherToo) {
  RequestErrors errors;
  Json request = two_ports_of_ipv6();
  const OtgConfig config = read_otg_config(request, errors);
  ASSERT_THAT(errors, IsEmpty());
  EXPECT_EQ(config.subnet, "2001:db8::2/64");
  EXPECT_EQ(config.ports[1].address, "2001:db8::3");
  EXPECT_TRUE(config.peers[0].is_ipv6);
  ASSERT_EQ(config.flows.size(), 2u);
  EXPECT_EQ(config.flows[0].to, 0u);
  // As by IPv4, with 20 bytes more in each packet: 245 of the message and the empty one behind them.
  const Json run = Json::parse(run_configuration(config, std::chrono::seconds(10)));
  EXPECT_EQ(run["background"][0]["rate"],
            "24387198476bps");  // 25 Gbit/s x 1000000 / (1020208 + 246 x 20), rounded down
  EXPECT_EQ(run["addresses"]["ip"], "2001:db8::2/64");

  request["devices"][1]["ethernets"][0]["ipv6_addresses"][0]["address"] = "2001:db8::5";
  EXPECT_THAT(errors_of(request), Contains(HasSubstr("no port has the address 2001:db8::2 of its peer")));
  request["devices"][0]["rocev2"]["ipv6_interfaces"][0]["peers"][0]["destination_ip_address"] = "2001:db8::5";
  EXPECT_THAT(errors_of(request), Contains(HasSubstr("of port 'b' would be 2001:db8::4")));
  request["devices"][1] = two_ports()["devices"][1];
  EXPECT_THAT(errors_of(request), Contains(HasSubstr("others are of the other IP version")));
  request["devices"][1]["ethernets"][0]["ipv4_addresses"][0]["address"] = "2001:db8::2";
  EXPECT_THAT(errors_of(request), Contains(HasSubstr("'2001:db8::2' is no IPv4 address")));
}

TEST(OtgConfig, TheShareOfTheLineIsThatOfBytesOnTheWire) {
  const auto rate_of = [](const char* verb, uint64_t bytes) {
    Json request = two_ports();
    request["layer1"][0]["speed"] = "speed_1_gbps";
    Json& rate = request["stateful_flows"]["rocev2"][0]["tx_ports"][0]["transmit_type"]["target_line_rate"];
    rate["value"] = 10;
    rate["flows"] = {{{"name", "f"},
                      {"tx_endpoint", "q1"},
                      {"message_size", bytes},
                      {"message_size_unit", "bytes"},
                      {"rocev2_verb", {{"choice", verb}}}}};
    RequestErrors errors;
    const OtgConfig config = read_otg_config(request, errors);
    EXPECT_THAT(errors, IsEmpty());
    return Json::parse(run_configuration(config, std::chrono::seconds(10)))["background"][0]["rate"];
  };
  // 100 Mbit/s on the line. A packet has 82 bytes beside its payload: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS
  // 4, preamble and gap 20. 64 of 64 + 82 + RETH 16 + immediate 4 = 166 bytes:
  EXPECT_EQ(rate_of("write_with_immediate", 64), "38554216bps");
  // Of 64 + 82 + 16 and an empty packet of 82 + 16 + 4: 264.
  EXPECT_EQ(rate_of("write", 64), "24242424bps");
  // Of 64 + 82 + 4: 150.
  EXPECT_EQ(rate_of("send_with_immediate", 64), "42666666bps");
  // Of a response with AETH 4, 150, and the SEND of 24 + 82 that offers it: 256.
  EXPECT_EQ(rate_of("read", 64), "25000000bps");
  // Two packets, of 4096 and 904 bytes: 5000 of 5000 + 2 x 82 + 20 = 5184.
  EXPECT_EQ(rate_of("write_with_immediate", 5000), "96450617bps");
  // Two responses with an AETH each: 5000 of 5000 + 2 x 86 + 106 = 5278.
  EXPECT_EQ(rate_of("read", 5000), "94732853bps");
}

TEST(OtgConfig, ProtobufsJsonOf64BitsIsUnderstood) {
  Json request = two_ports();
  Json& pair = request["devices"][0]["rocev2"]["ipv4_interfaces"][0]["peers"][0]["qps"][1]["connection_type"];
  pair["reliable_connection"]["initial_psn"] = "0";
  request["stateful_flows"]["rocev2"][0]["tx_ports"][0]["transmit_type"]["target_line_rate"]["value"] = "50";
  EXPECT_THAT(errors_of(request), IsEmpty());
  pair["reliable_connection"]["initial_psn"] = "1";
  EXPECT_THAT(errors_of(request), ElementsAre(HasSubstr("initial_psn: is not served")));
}

TEST(OtgConfig, EveryFieldThatIsNotReadIsNamedByItsPath) {
  Json request = two_ports();
  request["events"] = Json::object();
  request["lags"] = Json::array();  // says nothing
  request["ports"][1]["speed"] = 1;
  request["devices"][0]["ethernets"][0]["vlans"] = Json::array({Json::object()});
  EXPECT_THAT(errors_of(request), UnorderedElementsAre("events: is not served", "ports[1].speed: is not served",
                                                       "devices[0].ethernets[0].vlans: is not served"));
}

// In protobuf's JSON it is a field that is not set.
TEST(OtgConfig, NullIsOfFieldsThatAreServedAlone) {
  Json request = two_ports();
  request["options"] = nullptr;
  request["ports"][0]["location"] = nullptr;
  request["layer1"][0]["mtu"] = nullptr;
  EXPECT_THAT(errors_of(request), IsEmpty());
  request["lags"] = nullptr;
  request["ports"][0]["bogus"] = nullptr;
  EXPECT_THAT(errors_of(request), ElementsAre("ports[0].bogus: is not served", "lags: is not served"));
}

TEST(OtgConfig, NullIsNothingThatAListHas) {
  Json request = two_ports();
  Json& flows = request["stateful_flows"]["rocev2"];
  flows.insert(flows.begin(), nullptr);
  request["ports"].push_back(nullptr);
  request["layer1"][0]["port_names"].push_back(nullptr);
  EXPECT_THAT(errors_of(request),
              ElementsAre("ports[2]: is null, and no object", "layer1[0].port_names: is no list of texts",
                          "stateful_flows.rocev2[0]: is null, and no object"));
}

TEST(OtgConfig, ItHasSoManyFlowsAtMost) {
  Json request = two_ports();
  Json& pairs = request["devices"][0]["rocev2"]["ipv4_interfaces"][0]["peers"][0]["qps"];
  Json& flows = request["stateful_flows"]["rocev2"][0]["tx_ports"][0]["transmit_type"]["target_line_rate"]["flows"];
  const auto add = [&] {
    const std::string number = std::to_string(flows.size());
    pairs.push_back({{"qp_name", "further pair " + number}});
    flows.push_back({{"name", "further " + number}, {"tx_endpoint", "further pair " + number}});
  };
  while (flows.size() < 127) add();  // and a job are the 128 that `background` and jobs have together
  EXPECT_THAT(errors_of(request), IsEmpty());
  add();
  EXPECT_THAT(errors_of(request), ElementsAre("stateful_flows.rocev2: 128 flows; at most 127 are served"));
}

TEST(OtgConfig, ContradictionsAreRefused) {
  const auto after = [](const char* pointer, const Json& value) {
    Json request = two_ports();
    request[Json::json_pointer(pointer)] = value;
    return errors_of(request);
  };
  EXPECT_THAT(
      after("/devices/1/ethernets/0/ipv4_addresses/0/address", "10.0.0.1"),
      ElementsAre(HasSubstr("no port has the address 10.0.0.2"), HasSubstr("no port has the address 10.0.0.2")));
  EXPECT_THAT(after("/devices/0/ethernets/0/mac", "02:00:00:00:01:01"), ElementsAre(HasSubstr("does not follow")));
  EXPECT_THAT(after("/devices/0/ethernets/0/ipv4_addresses/0/gateway", "10.0.1.1"), ElementsAre(HasSubstr("subnet")));
  EXPECT_THAT(after("/stateful_flows/rocev2/0/tx_ports/0/port_name", "b"),
              ElementsAre(HasSubstr("another port"), HasSubstr("its own port"), HasSubstr("another port"),
                          HasSubstr("its own port")));
  const char* flows = "/stateful_flows/rocev2/0/tx_ports/0/transmit_type/target_line_rate/flows";
  EXPECT_THAT(after((std::string(flows) + "/1/tx_endpoint").c_str(), "q1"),
              ElementsAre(HasSubstr("has a flow already")));
  EXPECT_THAT(after((std::string(flows) + "/0/rx_endpoint").c_str(), "a"), ElementsAre(HasSubstr("which is port 'b'")));
  EXPECT_THAT(after((std::string(flows) + "/0/message_size_unit").c_str(), "gb"), IsEmpty());
  EXPECT_THAT(after((std::string(flows) + "/0/rocev2_verb").c_str(), Json{{"choice", "read"}}),
              ElementsAre(HasSubstr("one is served")));
  EXPECT_THAT(after("/devices/0/rocev2/ipv4_interfaces/0/ib_mtu", 1500), ElementsAre(HasSubstr("4096 are served")));
}

TEST(OtgConfig, APortHasOneEntryOfEachKind) {
  Json request = two_ports();
  request["layer1"].push_back(Json::parse(R"({"name": "slow", "port_names": ["b", "a"], "speed": "speed_10_gbps"})"));
  EXPECT_THAT(errors_of(request), ElementsAre("layer1[1].port_names: port 'a' has an entry already"));
  // Each would have its share of one line.
  request = two_ports();
  Json& of_flows = request["stateful_flows"]["rocev2"];
  of_flows.push_back(Json::parse(R"({"tx_ports": [{"port_name": "a"}]})"));
  EXPECT_THAT(errors_of(request),
              ElementsAre("stateful_flows.rocev2[1].tx_ports[0].port_name: port 'a' has an entry already"));
}

TEST(OtgConfig, AnEmptyTextIsNotThere) {
  Json request = two_ports();
  Json& interface = request["devices"][0]["rocev2"]["ipv4_interfaces"][0];
  interface["peers"][0]["destination_ip_address"] = "";
  EXPECT_THAT(errors_of(request), ElementsAre(HasSubstr("peers[0].destination_ip_address: is required")));
  request = two_ports();
  request["stateful_flows"]["rocev2"][0]["tx_ports"][0]["transmit_type"]["target_line_rate"]["flows"][0]
         ["tx_endpoint"] = "";
  EXPECT_THAT(errors_of(request), ElementsAre(HasSubstr("flows[0].tx_endpoint: is required")));
}

TEST(OtgConfig, WhatFollowsFromAnErrorIsNoOther) {
  Json request = two_ports();
  Json& tx_port = request["stateful_flows"]["rocev2"][0]["tx_ports"][0];
  Json& flow = tx_port["transmit_type"]["target_line_rate"]["flows"][0];
  flow["tx_endpoint"] = "q9";
  flow["rx_endpoint"] = "b";
  EXPECT_THAT(errors_of(request), ElementsAre(HasSubstr("no queue pair is called 'q9'")));
  flow["tx_endpoint"] = "q1";
  tx_port["port_name"] = "c";
  EXPECT_THAT(errors_of(request), ElementsAre(HasSubstr("no port is called 'c'")));
  tx_port["port_name"] = "a";
  request["devices"][0]["rocev2"]["ipv4_interfaces"][0]["ipv4_name"] = "ix";
  EXPECT_THAT(errors_of(request), ElementsAre(HasSubstr("the device has no interface 'ix'")));
}

TEST(ClientNames, NamesOfFilesAreNoPaths) {
  for (const char* good : {"a", "gpt.0.et", "A_b-9.zst"}) EXPECT_TRUE(is_file_name(good)) << good;
  for (const char* bad : {"", ".", "..", ".x", "a/b", "a b", "a\n", "\xc3\xa4"}) EXPECT_FALSE(is_file_name(bad)) << bad;
  EXPECT_FALSE(is_file_name(std::string(129, 'a')));
  EXPECT_TRUE(is_digest(std::string(64, 'f')));
  EXPECT_FALSE(is_digest(std::string(64, 'F')));
  EXPECT_FALSE(is_digest(std::string(63, 'f')));
}

}  // namespace
}  // namespace rankwire
