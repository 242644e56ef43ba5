#include "emulator/serve/otg_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "emulator/serve/port_link.h"
#include "emulator/serve/recent_looks.h"
#include "emulator/serve/request_rate.h"
#include "emulator/serve/run_configuration.h"
#include "emulator/serve/run_results.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

OtgConfig one_flow() {
  OtgConfig config;
  config.ports = {{.name = "a", .location = "ring", .address = "10.0.0.2", .ethernet = "ea"},
                  {.name = "b", .location = "ring", .address = "10.0.0.3", .ethernet = "eb"}};
  config.peers = {{"p", 0, {"used", "idle"}}};
  config.flows = {{.name = "f", .queue_pair = "used", .from = 0, .to = 1}};
  return config;
}

Json rows(const Json& request, const RunFigures& now, const RunFigures* before = nullptr) {
  RequestErrors errors;
  const Json answer = otg_metrics(request, one_flow(), now, before, errors);
  EXPECT_THAT(errors, IsEmpty());
  return answer[answer["choice"].get<std::string>()];
}

TEST(OtgMetrics, RatesAreBetweenTwoLooksAtARunningRun) {
  const auto at = [](double seconds, uint64_t frames) {
    return live_figures({{"run", {{"time_s", seconds}, {"ports", {{{"name", "a"}, {"tx_packets", frames}}}}}}});
  };
  const RunFigures before = at(1, 100), now = at(3, 500);
  const Json request = {{"port", {{"port_names", {"a"}}, {"column_names", {"frames_tx", "frames_tx_rate"}}}}};
  EXPECT_EQ(rows(request, now, &before), Json::parse(R"([{"name": "a", "frames_tx": 500, "frames_tx_rate": 200.0}])"));
  EXPECT_EQ(rows(request, now), Json::parse(R"([{"name": "a", "frames_tx": 500}])"));
  RunFigures ended = now;
  ended.is_transmitting = false;
  EXPECT_EQ(rows(request, ended, &before)[0]["frames_tx_rate"], 0);
}

// Whoever asks, and for whatever: half a second before, or as much more as nobody asked.
TEST(OtgMetrics, RatesAreSinceTheYoungestLookThatIsHalfASecondOld) {
  RecentLooks looks;
  const auto base_at = [&](double seconds) {
    const RunFigures now{.has_begun = true, .is_transmitting = true, .seconds = seconds};
    const RunFigures* before = looks.before(now);
    const double base = before == nullptr ? -1 : before->seconds;
    looks.add(now);
    return base;
  };
  EXPECT_EQ(base_at(1), -1);
  EXPECT_EQ(base_at(1.25), -1);
  EXPECT_EQ(base_at(1.5), 1);
  EXPECT_EQ(base_at(1.75), 1) << "1.5 is too young, and 1.25 was not kept";
  EXPECT_EQ(base_at(2), 1.5);
  EXPECT_EQ(base_at(9), 2);
  EXPECT_EQ(base_at(9.25), 2);
  looks.clear();
  EXPECT_EQ(base_at(9.5), -1);
}

TEST(OtgMetrics, FlowsOfARunThatGoesOn) {
  const auto at = [](double seconds, uint64_t messages) {
    const Json flow = {{"name", "f"},
                       {"messages_posted", messages},
                       {"messages_delivered", messages - 1},
                       {"messages_failed", 0},
                       {"bytes_posted", messages * 1'000'000},
                       {"bytes_delivered", (messages - 1) * 1'000'000},
                       {"packets_sent", messages * 10},
                       {"packets_arrived", (messages - 1) * 10}};
    return live_figures({{"run", {{"time_s", seconds}, {"background", {flow}}}}});
  };
  const RunFigures before = at(1, 3), now = at(3, 103);
  // 100 messages in two seconds, of 10 packets and 8 Mbit each.
  EXPECT_EQ(rows({{"choice", "flow"}}, now, &before),
            Json::parse(R"([{"name": "f", "port_tx": "a", "port_rx": "b", "transmit": "started", "frames_tx": 1030,
                             "frames_rx": 1020, "frames_tx_rate": 500.0, "frames_rx_rate": 500.0}])"));
  EXPECT_EQ(rows({{"choice", "rocev2_flow"}}, now, &before),
            Json::parse(R"([{"flow_name": "f", "port_tx": "a", "port_rx": "b", "src_ipv4": "10.0.0.2",
                             "dest_ipv4": "10.0.0.3", "data_frames_tx": 1030, "data_frames_rx": 1020,
                             "tx_bytes": 103000000, "rx_bytes": 102000000, "data_tx_rate": 0.4, "data_rx_rate": 0.4,
                             "message_tx": 103, "message_complete_rx": 102, "message_fail": 0}])"));
  const Json first_look = rows({{"choice", "flow"}}, now)[0];
  EXPECT_EQ(first_look["frames_tx"], 1030);
  EXPECT_FALSE(first_look.contains("frames_tx_rate"));
}

// Files as the kernel's sysfs-class-net has them.
TEST(OtgMetrics, LinksAreThoseOfTheSystem) {
  const testing::TemporaryFolder folder;
  const auto interface = [&](const char* name, const char* carrier, const char* state) {
    const std::filesystem::path attributes = folder.path() / "class" / "net" / name;
    std::filesystem::create_directories(attributes);
    std::ofstream(attributes / "carrier") << carrier;
    std::ofstream(attributes / "operstate") << state;
  };
  interface("plugged", "1\n", "unknown\n");
  interface("unplugged", "0\n", "down\n");
  interface("off", "", "down\n");
  interface("odd", "", "unknown\n");
  const auto link = [&](const char* device) { return is_link_up(device, folder.path()); };
  EXPECT_EQ(link("ring"), true);
  EXPECT_EQ(link("memory"), true);
  EXPECT_EQ(link("net_af_packet0,iface=plugged,qpairs=2"), true);
  EXPECT_EQ(link("net_af_packet0,iface=unplugged"), false);
  EXPECT_EQ(link("netdev off"), false);
  for (const char* unknown :
       {"net_af_packet0,iface=odd", "net_af_packet0,iface=absent", "net_null0", "0000:c1:00.0", "../net/plugged"})
    EXPECT_EQ(link(unknown), std::nullopt) << unknown;

  OtgConfig config = one_flow();
  config.ports[1].location = "net_af_packet0,iface=rw77";  // which this machine does not have
  RequestErrors errors;
  const Json request = {{"port", {{"column_names", {"link"}}}}};
  EXPECT_EQ(otg_metrics(request, config, {}, nullptr, errors)["port_metrics"],
            Json::parse(R"([{"name": "a", "link": "up"}, {"name": "b"}])"));
}

// Ports that no device is named of are those of the embedded switch.
TEST(OtgMetrics, LinksOfAWorkload) {
  RunFigures now;
  now.ports["p0"] = {};
  const auto row = [&](const char* configuration) {
    OtgConfig config;
    config.ai_workload = AiWorkload{configuration, {}};
    RequestErrors errors;
    return otg_metrics({{"choice", "port"}}, config, now, nullptr, errors)["port_metrics"][0];
  };
  EXPECT_EQ(row("ports: {count: 2}")["link"], "up");
  EXPECT_FALSE(row("ports: [{verbs: rw77}, {device: ring}]").contains("link"));
}

TEST(OtgMetrics, QueuePairsWithoutAFlowStayDown) {
  RunFigures now;
  const Json request = {{"choice", "rocev2_ipv4"}};
  EXPECT_EQ(rows(request, now), Json::parse(R"([{"name": "p", "qp_configured": 2, "qp_up": 0, "qp_down": 2}])"));
  now.is_transmitting = true;
  EXPECT_EQ(rows(request, now), Json::parse(R"([{"name": "p", "qp_configured": 2, "qp_up": 1, "qp_down": 1}])"));
}

TEST(OtgMetrics, WhatIsNotKnownYetIsAbsent) {
  EXPECT_EQ(rows({{"choice", "rocev2_flow"}}, {}),
            Json::parse(R"([{"flow_name": "f", "port_tx": "a", "port_rx": "b", "src_ipv4": "10.0.0.2",
                             "dest_ipv4": "10.0.0.3"}])"));
}

TEST(OtgMetrics, CountersOfARunThatWasKilledAreAbsent) {
  const testing::TemporaryFolder folder;  // no summary: nobody was left to write it
  const Json request = {
      {"port", {{"port_names", {"a"}}, {"column_names", {"frames_tx", "bytes_rx", "bytes_tx_rate"}}}}};
  EXPECT_EQ(rows(request, final_figures(folder.path())), Json::parse(R"([{"name": "a", "bytes_tx_rate": 0}])"));
  // Nor is anything known of one that begins; where none was started nothing was sent.
  EXPECT_FALSE(rows(request, live_figures(Json()))[0].contains("frames_tx"));
  EXPECT_EQ(rows(request, {})[0]["frames_tx"], 0);
}

TEST(OtgMetrics, FiguresOfARunThatHasEnded) {
  const testing::TemporaryFolder folder;
  const auto write = [&](const char* name, const char* text) { std::ofstream(folder.path() / name) << text; };
  write("summary.json", R"({"config": {"name": "otg"}, "reason_code": "completed", "jobs": [],
    "emulated": {"completion_time_ps": 5},
    "background": [{"name": "f", "job": 1, "start_ps": 1000000, "emulated": {"first_arrival_ps": 2001000, "last_delivery_ps": 5999000000, "messages_posted": 3, "messages_delivered": 2, "bytes_posted": 30,
                    "bytes_delivered": 20, "delivered_bps": 1500000000, "messages_failed": 0}}]})");
  write("flows.csv",
        "fidelity,job,group,source_qp,destination_qp,packets,retransmitted,out_of_sequence,marks,naks,rnr_naks,"
        "np_cnp_sent,rp_cnp_handled,rp_cnp_ignored,arrived,acks_tx,naks_tx,acks_rx,unacknowledged\n"
        "emulated,0,\"x, \"\"y\"\"\",1,2,9,9,9,9,9,9,9,9,9,9,9,9,9,9\n"
        "reference,1,,1,2,9,9,9,9,9,9,9,9,9,9,9,9,9,9\n"
        "emulated,1,,16,17,7,6,5,4,3,2,8,1,1,5,4,6,3,1\n");
  write("latency.csv",
        "fidelity,port,kind,min_ps,mean_ps,max_ps\nemulated,,one_way,1,1,1\nemulated,1,round_trip,1,1,1\n"
        "emulated,1,one_way,1000,2500,7000\nreference,1,one_way,9,9,9\n");
  // A port of two queues has two rows; the switch's side of it is not the generator's.
  write("ports.csv",
        "fidelity,name,tx_frames,tx_bytes,rx_frames,rx_bytes\nemulated,a,1,2,3,4\nemulated,a,10,20,30,40\n"
        "emulated,switch.a,7,7,7,7\n");
  const RunFigures figures = final_figures(folder.path());
  EXPECT_EQ(rows({{"choice", "rocev2_flow"}}, figures),
            Json::parse(R"([{"flow_name": "f", "port_tx": "a", "port_rx": "b", "src_ipv4": "10.0.0.2",
              "dest_ipv4": "10.0.0.3", "src_qp": 16, "dest_qp": 17, "data_frames_tx": 7, "data_frames_retransmitted": 6,
              "frame_sequence_error": 5, "ecn_ce_rx": 4, "nak_rx": 5, "cnp_tx": 8, "cnp_rx": 2, "message_tx": 3,
              "message_complete_rx": 2, "message_fail": 0, "tx_bytes": 30, "rx_bytes": 20, "data_rx_rate": 1.5,
              "data_tx_rate": 2.25, "data_frames_rx": 5, "frame_delta": 1, "flow_completion_time": 5, "min_latency": 1,
              "avg_latency": 2, "max_latency": 7, "ack_tx": 4, "nak_tx": 6, "ack_rx": 3, "first_timestamp": "2001",
              "last_timestamp": "5999000"}])"));
  EXPECT_EQ(rows({{"choice", "flow"}}, figures),
            Json::parse(R"([{"name": "f", "port_tx": "a", "port_rx": "b", "transmit": "stopped", "frames_tx": 7,
              "frames_rx": 5, "frames_tx_rate": 0, "frames_rx_rate": 0, "loss": 14.285714285714286,
              "timestamps": {"first_timestamp_ns": 2001.0, "last_timestamp_ns": 5999000.0},
              "latency": {"minimum_ns": 1, "average_ns": 2, "maximum_ns": 7}}])"));
  // 30 of 20 bytes at 1.5 Gbit/s were sent, of 7 packets 5 arrived and one was under way, and 5999 - 1 us are 5 ms.
  EXPECT_EQ(figures.ports.size(), 1u);
  EXPECT_EQ(figures.ports.at("a").bytes_rx, 44u);
  EXPECT_EQ(figures.jobs, Json::parse(R"([{"name": "otg", "completion_time_ps": 5}])"));
  EXPECT_EQ(read_csv(folder.path() / "flows.csv")[0].at("group"), "x, \"y\"");
  EXPECT_FALSE(final_figures(folder.path() / "none").is_transmitting);
}

TEST(OtgMetrics, CollectivesAreTakenTogetherByWhatTheyAre) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "operations.csv")
      << "job,kind,group,bytes,emulated_start_ps,emulated_end_ps,busbw_gbps\n"
         "0,all_reduce,\"a\nb\",100,10,30,2\n0,all_reduce,\"a\nb\",100,0,50,3\n0,all_reduce,\"a\nb\",100,,,\n"
         "1,barrier,w,,5,6,\n0,compute,,,1,2,\n0,send,,5,1,2,1\n";
  RunFigures now;
  now.collectives = collective_figures(folder.path()).value();
  EXPECT_EQ(rows({{"choice", "collective"}}, now), Json::parse(R"([
      {"job": 0, "kind": "all_reduce", "group": "a\nb", "bytes": 100, "executions": 2, "avg_time_ps": 35,
       "min_time_ps": 20, "max_time_ps": 50, "busbw_gbps": 2.5},
      {"job": 1, "kind": "barrier", "group": "w", "executions": 1, "avg_time_ps": 1, "min_time_ps": 1, "max_time_ps": 1}])"));
  EXPECT_EQ(collective_figures(folder.path() / "none"), Json::array());
}

TEST(OtgMetrics, LatenciesOfAPortAreAFlowsWhereItIsTheOnlyOne) {
  OtgConfig config = one_flow();
  RunFigures now;
  now.latencies[1] = {1, 2, 3};
  RequestErrors errors;
  const auto row = [&] {
    return otg_metrics({{"choice", "rocev2_flow"}}, config, now, nullptr, errors)["rocev2_flow_per_qp_metrics"][0];
  };
  EXPECT_EQ(row()["avg_latency"], 2);
  config.verb = "read";
  EXPECT_FALSE(row().contains("avg_latency"));
  config.verb = "write_imm";
  config.flows.push_back({.name = "g", .queue_pair = "idle", .from = 0, .to = 1});
  EXPECT_FALSE(row().contains("max_latency"));
}

TEST(OtgMetrics, AJobThatDidNotComeToItsEndHasNoCompletionTime) {
  const testing::TemporaryFolder folder;
  const auto jobs_of = [&](const char* summary) {
    std::ofstream(folder.path() / "summary.json") << summary;
    return final_figures(folder.path()).jobs;
  };
  // One rank of the run was done after 5 ps.
  EXPECT_EQ(jobs_of(R"({"config": {"name": "otg"}, "reason_code": "signal", "emulated": {"completion_time_ps": 5}})"),
            Json::parse(R"([{"name": "otg"}])"));
  EXPECT_EQ(jobs_of(R"({"config": {"name": "x"}, "reason_code": "signal", "jobs": [
              {"name": "ended", "emulated": {"completion_time_ps": 7}},
              {"name": "began", "emulated": {"completion_time_ps": 0}},
              {"name": "none", "emulated": {"completion_time_ps": null}}]})"),
            Json::parse(R"([{"name": "ended", "completion_time_ps": 7}, {"name": "began"}, {"name": "none"}])"));
}

TEST(OtgMetrics, AFlowThatDeliveredNothingHasNoRate) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "summary.json") << R"({"config": {"name": "otg"}, "jobs": [],
    "emulated": {"completion_time_ps": 5}, "background": [{"name": "f", "job": 1, "emulated": {"messages_posted": 1,
    "messages_delivered": 0, "bytes_posted": 10, "bytes_delivered": 0, "delivered_bps": null}}]})";
  std::ofstream(folder.path() / "flows.csv") << "fidelity,job,packets\nemulated,1,4\n";
  const Json flow = final_figures(folder.path()).flows.at("f");
  EXPECT_FALSE(flow.contains("data_rx_rate"));
  EXPECT_FALSE(flow.contains("message_fail"));  // not counted
  EXPECT_EQ(flow["message_complete_rx"], 0);
  EXPECT_EQ(flow["data_frames_tx"], 4);
}

TEST(OtgMetrics, UnknownNamesAndColumnsAreRefused) {
  RequestErrors errors;
  otg_metrics({{"choice", "rocev2_flow"}, {"rocev2_flow", {{"per_qp", {{"column_names", {"src_qp", "ack_time"}}}}}}},
              one_flow(), {}, nullptr, errors);
  otg_metrics({{"choice", "port"}, {"port", {{"port_names", {"c"}}}}}, one_flow(), {}, nullptr, errors);
  otg_metrics({{"choice", "port"}, {"flow", Json::object()}}, one_flow(), {}, nullptr, errors);
  EXPECT_THAT(errors, ElementsAre("rocev2_flow.per_qp.column_names[1]: 'ack_time' is not served",
                                  "port.port_names[0]: nothing is called 'c'", "flow: is not served"));
}

TEST(OtgMetrics, PeersAndNeighboursAreOfOneIpVersion) {
  OtgConfig config = one_flow();
  config.is_ipv6 = config.peers[0].is_ipv6 = true;
  config.ports[0].address = "2001:db8::2";
  RequestErrors errors;
  const auto metrics = [&](const Json& request) { return otg_metrics(request, config, {}, nullptr, errors); };
  EXPECT_EQ(metrics({{"choice", "rocev2_ipv4"}}),
            Json::parse(R"({"choice": "rocev2_ipv4_per_peer_metrics", "rocev2_ipv4_per_peer_metrics": []})"));
  EXPECT_EQ(metrics({{"choice", "rocev2_ipv6"},
                     {"rocev2_ipv6", {{"per_peer", {{"peer_names", {"p"}}, {"column_names", {"qp_down"}}}}}}}),
            Json::parse(R"({"choice": "rocev2_ipv6_per_peer_metrics",
                            "rocev2_ipv6_per_peer_metrics": [{"name": "p", "qp_down": 2}]})"));
  EXPECT_EQ(metrics({{"choice", "rocev2_flow"}})["rocev2_flow_per_qp_metrics"],
            Json::parse(R"([{"flow_name": "f", "port_tx": "a", "port_rx": "b"}])"));
  EXPECT_EQ(otg_states({{"choice", "ipv4_neighbors"}}, config, errors)["ipv4_neighbors"], Json::array());
  EXPECT_EQ(
      otg_states({{"choice", "ipv6_neighbors"}, {"ipv6_neighbors", {{"ethernet_names", {"eb"}}}}}, config, errors),
      Json::parse(R"({"choice": "ipv6_neighbors", "ipv6_neighbors": [{"ethernet_name": "eb",
              "ipv6_address": "2001:db8::2", "link_layer_address": "02:52:57:00:00:01"}]})"));
  EXPECT_THAT(errors, IsEmpty());
}

TEST(OtgStates, NeighboursAreTheOtherEndsOfFlows) {
  RequestErrors errors;
  const Json answer = otg_states({{"ipv4_neighbors", {{"ethernet_names", {"eb"}}}}}, one_flow(), errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_EQ(answer["ipv4_neighbors"], Json::parse(R"([{"ethernet_name": "eb", "ipv4_address": "10.0.0.2",
                                                       "link_layer_address": "02:52:57:00:00:01"}])"));
}

TEST(Confinement, PathsDevicesAndSectionsBeyondARunAreRefused) {
  const testing::TemporaryFolder folder;
  const auto errors_of = [&](const char* text) {
    const std::filesystem::path file = folder.path() / "configuration.yaml";
    std::ofstream(file) << text;
    RequestErrors errors;
    check_confined(file, std::vector<std::string>{"mlx5_0"}, errors);
    return errors;
  };
  EXPECT_THAT(errors_of("workload: {traces: [a.et, b.et], scale: {bytes: 1/64}}\n"
                        "addresses: {ip: 10.0.0.1/8}\n"
                        "ports: [{device: ring}, {verbs: mlx5_0, device: none}, {ip: '2001:db8::1/64'}]\n"),
              IsEmpty());
  EXPECT_THAT(errors_of("version: 1\ndut: {name: Switch A/B, firmware: /1.2/x}\n"), IsEmpty());
  for (const char* path : {"/etc/passwd", "../a", "a/b", "..", "~/x", "//1", "1/2/3", "10.0.0.1/"})
    EXPECT_THAT(errors_of((std::string("workload: {traces: ['") + path + "']}\n").c_str()),
                ElementsAre(HasSubstr("workload.traces[0]")))
        << path;
  EXPECT_THAT(errors_of("ports: {count: 2, device: '0000:3b:00.0'}\n"), ElementsAre(HasSubstr("ports.device")));
  EXPECT_THAT(errors_of("ports: [{verbs: mlx5_1}]\nhook: x\n"),
              ElementsAre(HasSubstr("ports[0].verbs"), HasSubstr("hook: a section")));
}

TEST(RequestRate, SoManyASecondAndSoManyAtOnce) {
  using std::chrono::milliseconds;
  RequestRate rate(2);
  const auto start = RequestRate::Clock::now();
  EXPECT_TRUE(rate.take(start));
  EXPECT_TRUE(rate.take(start));
  EXPECT_FALSE(rate.take(start));
  EXPECT_TRUE(rate.take(start + milliseconds(510)));
  EXPECT_FALSE(rate.take(start + milliseconds(520)));
}

}  // namespace
}  // namespace rankwire
