#include "emulator/cli/peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "dataplane/dpdk/environment.h"
#include "dataplane/dpdk/port.h"
#include "dataplane/ports/lossy_port.h"
#include "emulator/cli/gating.h"
#include "emulator/cli/interrupt.h"
#include "emulator/input/syntax.h"
#include "emulator/peer/perftest_server.h"
#include "emulator/report/assessment.h"

namespace rankwire {
namespace {

constexpr uint32_t kHeaderBytes = 84;  // most of IPv6 40, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4
constexpr uint64_t kLossSeed = 1;      // the same frames of the same traffic
constexpr Bytes kLargestOfAll = Bytes(int64_t{1} << 23);  // where perftest's option -a ends

template <class Syntax>
auto value_of(const char* option, const std::string& text, const Syntax& syntax) {
  Tree scalar;
  scalar.kind = Tree::Kind::kScalar;
  scalar.text = text;
  try {
    return syntax.parse(scalar);
  } catch (const ValueError& error) {
    fail_input("{}: {}", option, error.what());
  }
}

Interval positive_time() {
  return {milliseconds(1), seconds(1'000'000)};
}

Nic nic_of(const PeerRequest& request) {
  const SubnetConfig subnet = value_of("--ip", request.ip, Subnet{});
  Nic nic;
  nic.id = NicId(0);
  nic.port = PortId(0);
  nic.ip = subnet.first;
  nic.prefix_length = static_cast<uint8_t>(subnet.prefix_length);
  nic.vlan = request.vlan;
  nic.mac.bytes = {0x02, 0x00};
  std::copy_n(nic.ip.bytes.begin() + 12, 4, nic.mac.bytes.begin() + 2);
  if (!request.mac.empty()) nic.mac = value_of("--mac", request.mac, Mac{});
  if (!request.gateway.empty()) nic.gateway = value_of("--gateway", request.gateway, Ip{});
  return nic;
}

RoceOptions roce_of(const PeerRequest& request) {
  const std::optional<NicProfile> profile = find_nic_profile(request.profile);
  if (!profile) fail_input("--profile: '{}' is not one of {}", request.profile, nic_profile_names());
  RoceOptions roce = perftest_roce(*profile);
  roce.mtu = value_of("--mtu", request.mtu, PathMtu{});
  return roce;
}

PingPongOptions latency_of(const PeerRequest& request) {
  PingPongOptions latency;
  latency.message = value_of("--message", request.message, Size{Bytes(1), Bytes(INT32_MAX)});
  latency.largest_message = request.all_sizes ? kLargestOfAll : latency.message;
  latency.iterations = request.iterations;
  if (request.all_sizes && !request.iterations)
    fail_input("--all needs --iterations, because the client does not say when it goes on to the next size");
  return latency;
}

PerftestServerOptions server_of(const PeerRequest& request) {
  PerftestServerOptions server;
  server.client.nic = nic_of(request);
  server.client.roce = roce_of(request);
  server.client.queue_pairs = request.queue_pairs;
  server.client.tests = request.bandwidth_only ? PerftestTests::kBandwidth : PerftestTests::kAll;
  server.client.latency = latency_of(request);
  server.client.patience = value_of("--patience", request.patience, positive_time());
  server.clients = request.clients;
  if (!request.deadline.empty()) server.deadline = value_of("--deadline", request.deadline, positive_time());
  return server;
}

double microseconds_of(Duration d) {
  return static_cast<double>(d.ps) / 1e6;
}

// The client's report is of its last message size.
std::string client_figure(const PerftestResult& result, const Throughput& throughput) {
  if (!result.report || result.report->message_bytes != static_cast<uint64_t>(throughput.message.count)) return "-";
  return fmt::format("{:.4f}", result.report->bandwidth() * 8 / 1e9);
}

void print_table(const PerftestResult& result) {
  fmt::print("\nclient {}", result.client);
  if (result.named_itself())
    fmt::print(", address {}, {} queue pair{}, path MTU {}", to_string(result.gid), result.queue_pairs,
               result.queue_pairs == 1 ? "" : "s", result.mtu);
  fmt::print("\n");
  if (!result.throughputs.empty())
    fmt::print("  {:<5} {:>10} {:>12} {:>12} {:>14} {:>14}\n", "", "message B", "messages", "time ms", "Gbit/s",
               "client: Gbit/s");
  for (const Throughput& t : result.throughputs) {
    fmt::print("  {:<5} {:>10} {:>12} {:>12.3f} {:>14.4f} {:>14}\n", t.verb, t.message.count, t.messages,
               microseconds_of(t.last_packet - t.first_packet) / 1e3, t.bits_per_second() / 1e9,
               client_figure(result, t));
  }
  if (!result.turns.empty())
    fmt::print("  {:<5} {:>10} {:>12} {:>12} {:>14} {:>14} {:>10}\n", "", "message B", "turns", "min us", "typical us",
               "mean us", "99 % us");
  for (const TurnAround& t : result.turns) {
    const Histogram& h = t.half_round_trip;
    fmt::print("  {:<5} {:>10} {:>12} {:>12.2f} {:>14.2f} {:>14.2f} {:>10.2f}\n", "turn", t.message.count,
               h.count() + 1, microseconds_of(h.min()), microseconds_of(h.quantile(0.5)), microseconds_of(t.mean()),
               microseconds_of(h.quantile(0.99)));
  }
  const TransportCounters& c = result.counters;
  if (c.naks_tx + c.duplicate_packets + c.retransmitted + c.icrc_errors > 0)
    fmt::print("  sequence NAKs sent {}, duplicates {}, sent again {}, ICRC errors {}\n", c.naks_tx,
               c.duplicate_packets, c.retransmitted, c.icrc_errors);
  if (!result.failure.empty()) fmt::print("  failed: {}\n", result.failure);
  std::fflush(stdout);
}

using nlohmann::ordered_json;

ordered_json json_of(const PerftestResult& result) {
  ordered_json throughputs = ordered_json::array(), turns = ordered_json::array();
  for (const Throughput& t : result.throughputs) {
    throughputs.push_back({{"verb", t.verb},
                           {"message_bytes", t.message.count},
                           {"messages", t.messages},
                           {"time_ps", (t.last_packet - t.first_packet).ps},
                           {"bits_per_second", t.bits_per_second()},
                           {"rate_gbps", t.bits_per_second() / 1e9}});
  }
  for (const TurnAround& t : result.turns) {
    const Histogram& h = t.half_round_trip;
    turns.push_back({{"message_bytes", t.message.count},
                     {"samples", h.count()},
                     {"min_ps", h.min().ps},
                     {"median_ps", h.quantile(0.5).ps},
                     {"mean_ps", t.mean().ps},
                     {"p99_ps", h.quantile(0.99).ps}});
  }
  ordered_json report;
  if (result.report) {
    report = {{"message_bytes", result.report->message_bytes},
              {"iterations", result.report->iterations},
              {"bits_per_second", result.report->bandwidth() * 8},
              {"rate_gbps", result.report->bandwidth() * 8 / 1e9}};
  }
  const TransportCounters& c = result.counters;
  return {{"client", result.client},
          {"address", to_string(result.gid)},
          {"queue_pairs", result.queue_pairs},
          {"mtu", result.mtu},
          {"throughput", throughputs},
          {"half_round_trips", turns},
          {"client_report", report},
          {"transport",
           {{"packets_tx", c.packets_tx},
            {"packets_rx", c.packets_rx},
            {"retransmitted", c.retransmitted},
            {"naks_tx", c.naks_tx},
            {"naks", c.naks},
            {"timeouts", c.timeouts},
            {"duplicate_packets", c.duplicate_packets},
            {"icrc_errors", c.icrc_errors}}},
          {"verdict", result.failure.empty() ? "ok" : "failed"},
          {"reason", result.failure}};
}

const char* to_text(PerftestEnd end) {
  switch (end) {
    case PerftestEnd::kServed:
      return "served";
    case PerftestEnd::kInterrupted:
      return "interrupted";
    case PerftestEnd::kDeadline:
      return "deadline";
  }
  return "";
}

}  // namespace

int answer_perftest(const PeerRequest& request) {
  Gating gating(request.gating);
  PerftestServerOptions server = server_of(request);
  DpdkEnvironment environment({.devices = {request.device}});
  const std::unique_ptr<FramePort> port =
      open_dpdk_port(environment, request.device, {.mtu = server.client.roce.mtu + kHeaderBytes});
  const uint32_t loss = value_of("--loss", request.loss, Share{});
  LossyPort lossy(*port, loss, kLossSeed);
  FramePort* const wire = loss > 0 ? static_cast<FramePort*>(&lossy) : port.get();  // which takes many frames at a time
  server.client.port = {PortId(0), wire, value_of("--rate", request.rate, Rate{})};
  TcpListener listener(request.listen);
  const Nic& nic = server.client.nic;
  fmt::print(stderr, "{} ({}) waits for perftest clients, whose TCP connection goes to {}\n", to_string(nic.ip),
             to_string(nic.mac), request.listen);

  RealClock clock;
  ordered_json clients = ordered_json::array();
  bool failed = false;
  const PerftestEnd end = serve_perftest(server, listener, clock, interrupt_flag(), [&](const PerftestResult& result) {
    // Strangers are told of, but are nobody's test.
    failed = failed || (result.named_itself() && !result.failure.empty());
    clients.push_back(json_of(result));
    if (request.form == OutputForm::kTable) print_table(result);
  });
  const bool too_few = end == PerftestEnd::kDeadline && request.clients > 0;
  const char* const reason = too_few  ? "fewer clients came than were asked for"
                             : failed ? "a client's test failed"
                                      : "";
  ordered_json json{{"end", to_text(end)},
                    {"verdict", failed || too_few ? "failed" : "ok"},
                    {"reason", reason},
                    {"lost_on_purpose", {{"tx", lossy.lost_tx()}, {"rx", lossy.lost_rx()}}},
                    {"clients", clients}};
  if (gating.is_asked()) gating.judge("perftest", json);
  gating.add_to(json);
  if (request.form == OutputForm::kJson) {
    fmt::print("{}\n", json.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    if (*reason != 0) fmt::print("failed: {}\n", reason);
    fmt::print("{}", gating.table());
  }
  std::fflush(stdout);
  return worse_status(failed || too_few ? 1 : 0, gating.status());
}

}  // namespace rankwire
