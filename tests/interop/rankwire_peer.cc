// rankwire's end of an interoperation test: RoceTransport on a DPDK port, against queue pairs that are not rankwire's.
// Driven by lines on standard input; answers on standard output. Numbers are decimal, or hexadecimal with 0x.
//
//   (start)                       -> end QPN PSN RKEY ADDRESS, one for each --size in order
//   end QPN PSN RKEY ADDRESS      the other ends in the same order; after the last: connected
//   post FIRST COUNT              as initiator: messages FIRST .. FIRST + COUNT - 1 on every connection, with the same
//                                 payload, which overwrites the earlier one; -> sent CONNECTION INDEX KEY |
//                                 failed CONNECTION INDEX REASON for each
//   (a message arrives)           -> received CONNECTION INDEX BYTES KEY; the complement of KEY when the payload is
//   wrong counters                      -> counters NAME=VALUE ... (end of input)                the end
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/event.h"
#include "dataplane/dpdk_port.h"
#include "dataplane/roce_transport.h"
#include "tests/interop/lossy_port.h"

namespace rankwire::testing {
namespace {

enum class Role { kTarget, kInitiator };

struct PeerOptions {
  Role role = Role::kTarget;
  std::string device, local_mac, local_ip, remote_mac, remote_ip;
  std::vector<int64_t> sizes;  // of a message, by connection
  uint32_t depth = 1;          // messages of a connection in flight
  uint32_t loss_ppm = 0;
  uint64_t seed = 1;
  RoceOptions roce;
};

MacAddress parse_mac(const std::string& text) {
  MacAddress mac;
  unsigned bytes[6];
  if (std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4],
                  &bytes[5]) != 6)
    fail_input("'{}' is no MAC address", text);
  for (size_t i = 0; i < 6; ++i) mac.bytes[i] = static_cast<uint8_t>(bytes[i]);
  return mac;
}

IpAddress address_of(const std::string& text) {
  const std::optional<IpAddress> address = parse_ip(text);
  if (!address) fail_input("'{}' is no IP address", text);
  return *address;
}

// The NICs are 0, here, and 1, which no port of ours leads to. One connection a message size.
TransportPlan plan_of(const PeerOptions& options) {
  TransportPlan plan;
  plan.nics = {{.id = NicId(0),
                .port = PortId(0),
                .mac = parse_mac(options.local_mac),
                .ip = address_of(options.local_ip),
                .prefix_length = 24},
               {.id = NicId(1),
                .port = PortId(1),
                .mac = parse_mac(options.remote_mac),
                .ip = address_of(options.remote_ip),
                .prefix_length = 24}};
  const uint32_t source = options.role == Role::kInitiator ? 0 : 1;
  for (const int64_t size : options.sizes) {
    Connection connection;
    connection.id = ConnectionId(static_cast<uint32_t>(plan.connections.size()));
    connection.source_nic = NicId(source);
    connection.destination_nic = NicId(1 - source);
    connection.largest_message = Bytes(size);
    plan.connections.push_back(connection);
  }
  plan.messages_in_flight = options.depth * static_cast<uint32_t>(options.sizes.size());
  return plan;
}

/// Lines of standard input without blocking the loop that drives the transport.
class InputLines {
 public:
  /// Waits up to `patience` for input and takes what there is. False at the end of the input.
  bool fill(Duration patience) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const timespec timeout{.tv_sec = 0, .tv_nsec = patience.ps / 1000};
    if (::ppoll(&input, 1, &timeout, nullptr) <= 0) return true;
    char bytes[4096];
    const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0) return false;
    text_.append(bytes, static_cast<size_t>(n));
    return true;
  }
  /// The next whole line, or an empty text.
  std::string next() {
    const size_t end = text_.find('\n');
    if (end == std::string::npos) return {};
    std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return line;
  }

 private:
  std::string text_;
};

class Peer {
 public:
  Peer(const PeerOptions& options, FramePort& port)
      : options_(options),
        plan_(plan_of(options)),
        port_(port, options.loss_ppm, options.seed),
        transport_(options.roce, {{PortId(0), &port_, Bandwidth(1'000'000'000)}}) {}

  void run() {
    for (const EndPoint& end : transport_.prepare(plan_))
      fmt::print("end {:#x} {:#x} {:#x} {:#x}\n", end.queue_pair, end.psn, end.rkey, end.address);
    std::fflush(stdout);
    uint64_t activity = UINT64_MAX;
    while (input_.fill(activity == transport_.activity() ? microseconds(100) : Duration())) {
      for (std::string line; !(line = input_.next()).empty();) obey(line);
      activity = transport_.activity();
      if (connected_) progress();
    }
    transport_.close();
  }

 private:
  void obey(const std::string& line) {
    std::istringstream words(line);
    words.unsetf(std::ios::basefield);
    std::string verb;
    words >> verb;
    if (verb == "end") {
      EndPoint end;
      words >> end.queue_pair >> end.psn >> end.rkey >> end.address;
      add_remote(end);
    } else if (verb == "post") {
      uint32_t first = 0, count = 0;
      words >> first >> count;
      post(first, count);
    } else if (verb == "counters") {
      print_counters();
    } else {
      words.setstate(std::ios::failbit);
    }
    if (words.fail()) fail_input("'{}' is no command", line);
  }

  void add_remote(EndPoint end) {
    end.connection = ConnectionId(static_cast<uint32_t>(remote_.size()));
    end.at_source = options_.role == Role::kTarget;
    end.mac = plan_.nics[1].mac;
    end.ip = plan_.nics[1].ip;
    remote_.push_back(end);
    if (remote_.size() < plan_.connections.size()) return;
    for (const ConnectFailure& failure : transport_.connect(remote_))
      fail_run("connection {}: {}", failure.connection.value, failure.reason);
    connected_ = true;
    fmt::print("connected\n");
    std::fflush(stdout);
  }

  void post(uint32_t first, uint32_t count) {
    for (const Connection& connection : plan_.connections) {
      for (uint32_t i = 0; i < count; ++i) {
        Message message;
        message.id = id_of(connection.id, first);
        message.bytes = connection.largest_message;
        message.connection = connection.id;
        message.index = first + i;
        if (transport_.post(clock_.now(), {&message, 1}) != 1) fail_run("more messages than --depth");
      }
    }
    posted_first_ = first;
  }

  static MessageId id_of(ConnectionId connection, uint32_t first) {
    MessageId id;
    id.source = connection.value;
    id.sequence = first;
    return id;
  }

  void progress() {
    Event events[32];
    const size_t n = transport_.poll(clock_.now(), events);
    for (size_t i = 0; i < n; ++i) report(events[i]);
    if (n > 0) std::fflush(stdout);
  }

  void report(const Event& event) const {
    const uint32_t connection = event.connection.value;
    switch (event.kind) {
      case EventKind::kSent:
        fmt::print("sent {} {} {:#x}\n", connection, event.index, payload_key(id_of(event.connection, posted_first_)));
        return;
      case EventKind::kReceived:
        fmt::print("received {} {} {} {:#x}\n", connection, event.index, event.bytes.count, event.received.payload_key);
        return;
      case EventKind::kFailed:
        fmt::print("failed {} {} {}\n", connection, event.index, to_string(event.failure));
    }
  }

  void print_counters() const {
    const TransportCounters c = transport_.counters();
    const RoceCounters& roce = transport_.roce_counters();
    fmt::print(
        "counters data_packets_tx={} data_packets_rx={} retransmitted={} naks_tx={} naks={} timeouts={} icrc_errors={} "
        "malformed={} unknown_qp={} duplicate_packets={} out_of_sequence={} payload_errors={} refused={} "
        "misdirected={} ghost_acks={} lost_tx={} lost_rx={} rx_missed={}\n",
        c.data_packets_tx, c.data_packets_rx, c.retransmitted, c.naks_tx, c.naks, c.timeouts, c.icrc_errors,
        c.malformed, c.unknown_qp, c.duplicate_packets, c.out_of_sequence, c.payload_errors, roce.refused,
        roce.misdirected, roce.ghost_acks, port_.lost_tx(), port_.lost_rx(), port_.counters().rx_missed);
    std::fflush(stdout);
  }

  const PeerOptions& options_;
  const TransportPlan plan_;
  RealClock clock_;
  LossyPort port_;
  RoceTransport transport_;
  InputLines input_;
  std::vector<EndPoint> remote_;
  uint32_t posted_first_ = 0;
  bool connected_ = false;
};

void run(const PeerOptions& options) {
  DpdkOptions environment_options;
  environment_options.memory = Bytes(256 << 20);
  environment_options.devices = {options.device};
  environment_options.extra = {"--no-huge"};
  DpdkEnvironment environment(environment_options);
  const auto port = open_dpdk_port(environment, options.device, {});
  Peer(options, *port).run();
}

}  // namespace
}  // namespace rankwire::testing

int main(int argc, char** argv) {
  using namespace rankwire;
  testing::PeerOptions options;
  options.roce.payload = PayloadMode::kChecking;
  CLI::App app("rankwire's end of an interoperation test");
  const std::map<std::string, testing::Role> roles{{"target", testing::Role::kTarget},
                                                   {"initiator", testing::Role::kInitiator}};
  const std::map<std::string, Migration> migrations{{"migrated", Migration::kMigrated}, {"armed", Migration::kArmed}};
  app.add_option("role", options.role)->required()->transform(CLI::CheckedTransformer(roles));
  app.add_option("--device", options.device, "of DPDK")->required();
  app.add_option("--local-mac", options.local_mac)->required();
  app.add_option("--local-ip", options.local_ip)->required();
  app.add_option("--remote-mac", options.remote_mac)->required();
  app.add_option("--remote-ip", options.remote_ip)->required();
  app.add_option("--size", options.sizes, "bytes of a message, once a connection")->required();
  app.add_option("--depth", options.depth, "messages in flight a connection");
  app.add_option("--loss-ppm", options.loss_ppm, "frames lost in either direction, of a million");
  app.add_option("--seed", options.seed, "of the losses");
  app.add_option("--mtu", options.roce.mtu, "path MTU in bytes");
  app.add_option("--timeout", options.roce.timeout_exponent, "t of 4.096 us x 2^t");
  app.add_option("--migration", options.roce.migration)->transform(CLI::CheckedTransformer(migrations));
  CLI11_PARSE(app, argc, argv);
  try {
    testing::run(options);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.kind() == ErrorKind::kInput ? 2 : 1;
  }
  return 0;
}
