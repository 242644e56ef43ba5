// What hooks print, what counters are called, and the paths of gNMI.
#include "emulator/device_counters/sample_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "emulator/device_counters/counter_names.h"
#include "emulator/device_counters/gnmi_path.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

TEST(SampleLine, HasPortsCountersAndQueues) {
  const DeviceSample sample = parse_device_sample(
      R"({"time_ns": 1700000000123456789, "arrived_ns": 8, "within_ns": 9, "round_trip_ns": 5, "counters":
          {"Ethernet0": {"drops": 3, "pfc_rx": {"3": "17", "4": 18446744073709551615}, "gone": null, "mtu": 9100.0},
           "Ethernet4": {"oper_status": "up", "half": 0.5, "below": -1}}})");
  EXPECT_EQ(sample.stamp_ns, 1'700'000'000'123'456'789);
  EXPECT_EQ(sample.arrived_ns, 8);
  EXPECT_EQ(sample.within_ns, 9);
  EXPECT_EQ(sample.round_trip_ns, 5);
  EXPECT_THAT(sample.values, UnorderedElementsAre(DeviceValue{"Ethernet0", "", "drops", 3},
                                                  DeviceValue{"Ethernet0", "3", "pfc_rx", 17},
                                                  DeviceValue{"Ethernet0", "4", "pfc_rx", UINT64_MAX},
                                                  DeviceValue{"Ethernet0", "", "mtu", 9100}));
  EXPECT_THAT(sample.skipped, HasSubstr("Ethernet4: "));
}

TEST(SampleLine, TellsWhatIsWrong) {
  const auto parse = [](std::string text) { return [text] { parse_device_sample(text); }; };
  EXPECT_THAT(parse("Interface  Drops"), ThrowsMessage<Error>(HasSubstr("no JSON object")));
  EXPECT_THAT(parse("[1]"), ThrowsMessage<Error>(HasSubstr("no JSON object")));
  EXPECT_THAT(parse("{}"), ThrowsMessage<Error>(HasSubstr("has no 'counters'")));
  EXPECT_THAT(parse(R"({"counters": [1]})"), ThrowsMessage<Error>(HasSubstr("no object of ports")));
  EXPECT_THAT(parse(R"({"counters": {"e0": 1}})"), ThrowsMessage<Error>(HasSubstr("no object for port 'e0'")));
  EXPECT_THAT(parse(R"({"time_ns": "now", "counters": {}})"), ThrowsMessage<Error>(HasSubstr("'time_ns' is no whole")));
  EXPECT_THAT(parse(R"({"counters": {"e0": {")" + std::string(300, 'x') + R"(": 1}}})"),
              ThrowsMessage<Error>(HasSubstr("a name of 300 bytes")));
}

TEST(CounterNames, KnowOpenConfigAndSaiAndTheConfigurationsOwn) {
  const CounterNames names({{"tail-drops", DeviceMetric::kDrops}, {"in-discards", DeviceMetric::kIgnored}});
  const auto metric = [&](const char* name) { return names.meaning(name).metric; };
  EXPECT_EQ(metric("output/queues/queue/state/dropped-pkts"), DeviceMetric::kDrops);
  EXPECT_EQ(metric("output/queues/queue/state/max-queue-len"), DeviceMetric::kQueueDepth);
  EXPECT_EQ(metric("state/counters/out-discards"), DeviceMetric::kDrops);
  EXPECT_EQ(metric("state/counters/in-discards"), DeviceMetric::kIgnored);  // its own goes before what is known
  EXPECT_EQ(metric("x/tail-drops"), DeviceMetric::kDrops);
  EXPECT_EQ(metric("no-tail-drops"), DeviceMetric::kOther);  // another word
  EXPECT_EQ(metric("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"), DeviceMetric::kMarked);
  const CounterMeaning sent = names.meaning("SAI_PORT_STAT_PFC_3_TX_PKTS");
  EXPECT_EQ(sent.metric, DeviceMetric::kPfcTx);
  EXPECT_EQ(sent.queue, "3");
  EXPECT_EQ(metric("SAI_PORT_STAT_PFC_8_TX_PKTS"), DeviceMetric::kOther);  // there are 8 priorities, from 0
}

TEST(GnmiPath, IsReadWithKeysOriginsAndEscapes) {
  const GnmiPath path = parse_gnmi_path(R"(openconfig:/interfaces/interface[name=Eth1\]/2]/state)");
  EXPECT_EQ(path.origin, "openconfig");
  EXPECT_EQ(path.elements,
            (std::vector<GnmiElement>{{"interfaces", {}}, {"interface", {{"name", "Eth1]/2"}}}, {"state", {}}}));
  for (const char* wrong : {"", "/", "/a//b", "/a[b]", "/a[b=c", "/a[b=c]d"})
    EXPECT_THROW(parse_gnmi_path(wrong), Error) << wrong;
}

TEST(GnmiPath, NamesPortQueueAndCounter) {
  const auto counter = [](const char* path) {
    const std::vector<std::string> ports = {"Ethernet0"};
    const auto found = counter_of_path(parse_gnmi_path(path).elements, ports);
    return found ? found->port + " " + found->queue + " " + found->name : "none";
  };
  EXPECT_EQ(counter("/interfaces/interface[name=e1]/state/counters/in-discards"), "e1  state/counters/in-discards");
  EXPECT_EQ(counter("/oc:qos/interfaces/interface[interface-id=e1]/output/queues/queue[name=3]/oc:state/dropped-pkts"),
            "e1 3 output/queues/queue/state/dropped-pkts");
  EXPECT_EQ(counter("/COUNTERS/Ethernet0/SAI_PORT_STAT_PFC_3_RX_PKTS"), "Ethernet0  SAI_PORT_STAT_PFC_3_RX_PKTS");
  EXPECT_EQ(counter("/COUNTERS/Ethernet0/Queues/Ethernet0:3/SAI_QUEUE_STAT_DROPPED_PACKETS"),
            "Ethernet0 3 SAI_QUEUE_STAT_DROPPED_PACKETS");
  EXPECT_EQ(counter("/COUNTERS/Ethernet8/SAI_PORT_STAT_IF_IN_DISCARDS"), "Ethernet8  SAI_PORT_STAT_IF_IN_DISCARDS");
  EXPECT_EQ(counter("/system"), "none");
  EXPECT_EQ(counter("/interfaces/interface[name=e1]"), "none");
}

}  // namespace
}  // namespace rankwire
