#include "emulator/serve/config_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rankwire {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Port a has one flow, port b two.
Json given() {
  return Json::parse(R"({"ports": [{"name": "a"}, {"name": "b"}], "stateful_flows": {"rocev2": [{"tx_ports": [
    {"port_name": "a", "transmit_type": {"target_line_rate": {"value": "50", "flows": [{"name": "f"}]}}},
    {"port_name": "b", "transmit_type": {"target_line_rate": {"flows": [{"name": "g"}, {"name": "h"}]}}}]}]}})");
}

OtgConfig config() {
  OtgConfig config;
  config.ports = {{.name = "a"}, {.name = "b"}};
  config.flows = {{.name = "f", .from = 0, .to = 1}, {.name = "g", .from = 1}, {.name = "h", .from = 1}};
  return config;
}

Json& rate_of(Json& of, size_t flows, size_t port) {
  return of["stateful_flows"]["rocev2"][flows]["tx_ports"][port]["transmit_type"]["target_line_rate"];
}

TEST(ConfigChanges, AppendedFlowsShareTheLineOfTheirPort) {
  RequestErrors errors;
  Json changed = appended_config(given(), Json::parse(R"({"config_append_list": [{"stateful_flows": {"rocev2": [
      {"tx_ports": [{"port_name": "a", "transmit_type": {"target_line_rate": {"value": 50, "flows": [{"name": "n"}]}}},
                    {"port_name": "c", "other": 1}]}]}}]})"),
                                 errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_EQ(rate_of(changed, 0, 0), Json::parse(R"({"value": "50", "flows": [{"name": "f"}, {"name": "n"}]})"));
  // What is no port with flows yet is looked at with the rest of the configuration.
  EXPECT_EQ(changed["stateful_flows"]["rocev2"][1], Json::parse(R"({"tx_ports": [{"port_name": "c", "other": 1}]})"));
}

TEST(ConfigChanges, WhatIsNotAppendedIsRefused) {
  RequestErrors errors;
  appended_config(given(), Json::parse(R"({"config_append_list": [{"choice": "flows", "flows": [{"name": "n"}]}, {},
      {"stateful_flows": {"x": 1, "rocev2": [{"tx_ports": [
        {"port_name": "a", "transmit_type": {"target_line_rate": {"value": 51}}}]}]}}, 5], "y": 1})"),
                  errors);
  EXPECT_THAT(errors, ElementsAre("config_append_list[3]: is no object",
                                  "config_append_list[0].choice: 'flows' is not served; stateful_flows is",
                                  "config_append_list[0].flows: is not served",
                                  "config_append_list[1].stateful_flows: is required",
                                  "config_append_list[2].stateful_flows.x: is not served",
                                  HasSubstr("the flows of port 'a' have the 'value' of those that are there"),
                                  "config_append_list[3].stateful_flows: is required", "y: is not served"));
}

TEST(ConfigChanges, FlowsGoByName) {
  RequestErrors errors;
  Json changed = reduced_config(given(), Json::parse(R"({"config_delete_list": [{"choice": "flows", "flows": ["h"]},
                                                                                {"choice": "flows", "flows": ["f"]}]})"),
                                errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_EQ(rate_of(changed, 0, 0)["flows"], Json::array());
  EXPECT_EQ(rate_of(changed, 0, 1)["flows"], Json::parse(R"([{"name": "g"}])"));
  reduced_config(given(), Json::parse(R"({"config_delete_list": [{"choice": "flows", "flows": ["n"]}, {}]})"), errors);
  EXPECT_THAT(errors, ElementsAre("config_delete_list[0].flows[0]: no flow is called 'n'",
                                  "config_delete_list[1].choice: is required"));
}

TEST(ConfigChanges, ARateIsThatOfAPortWithOneFlow) {
  const auto update = [](const char* flow, RequestErrors& errors) {
    const std::string request =
        std::string(R"({"choice": "flows", "flows": {"property_names": ["rate"], "flows": [)") + flow + "]}}";
    return updated_config(given(), config(), Json::parse(request), errors);
  };
  RequestErrors errors;
  Json changed = update(R"({"name": "f", "rate": {"choice": "percentage", "percentage": 30.0}})", errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_EQ(rate_of(changed, 0, 0)["value"], 30);
  update(R"({"name": "g", "rate": {"choice": "percentage", "percentage": 30}})", errors);
  update(R"({"name": "n"})", errors);
  update(
      R"({"name": "f", "size": {}, "rate": {"choice": "pps", "pps": 3}, "tx_rx": {"port": {"tx_name": "b", "rx_names": ["a"]}}})",
      errors);
  updated_config(given(), config(), Json::parse(R"({"choice": "protocols", "protocols": {}})"), errors);
  updated_config(given(), config(), Json::parse(R"({"choice": "flows", "flows": {"property_names": ["size"]}})"),
                 errors);
  EXPECT_THAT(
      errors,
      ElementsAre(HasSubstr("port 'b' has other flows, too"), HasSubstr("no flow is called 'n'"),
                  HasSubstr("tx_name: the flow is from port 'a'"), HasSubstr("rx_names: the flow is to port 'b'"),
                  HasSubstr("rate.choice: 'pps' is not served"), HasSubstr("rate.percentage: is required"),
                  HasSubstr("rate.pps: is not served"), HasSubstr("flows.flows[0].size: is not served"),
                  HasSubstr("choice: 'protocols' is not served"), "protocols: is not served",
                  "flows: is required, with 'choice'", "flows.property_names[0]: 'size' is not served; rate is"));
}

}  // namespace
}  // namespace rankwire
