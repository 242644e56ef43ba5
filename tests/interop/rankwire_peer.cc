// rankwire's end of an interoperation test: RoceTransport on a DPDK port, against queue pairs that are not rankwire's.
// Driven by lines on standard input; every command is answered by lines of results and then `ok`, or by `error TEXT`.
// Numbers are decimal, or hexadecimal with 0x. Packets are served whatever the conversation is at.
//
//   open KEY=VALUE...   a transport with the ends of one connection a message size; keys: peer_options.cc
//                       -> end QPN PSN RKEY ADDRESS for each queue pair
//   connect {QPN PSN RKEY ADDRESS}...   the other ends in the same order; until next hops are resolved
//   post FIRST COUNT    as initiator: messages FIRST .. FIRST + COUNT - 1 on every connection, with the same payload
//                       -> key CONNECTION KEY for each
//   events COUNT        the next COUNT events -> sent CONNECTION INDEX | failed CONNECTION INDEX REASON |
//                       received CONNECTION INDEX BYTES KEY for each, with the complement of KEY when the payload is
//                       wrong
//   hold                events are not taken from the transport before they are asked for: the receives that their
//                       messages consumed are not posted again
//   counters            -> NAME VALUE for each
//   close
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "dataplane/dpdk/port.h"
#include "dataplane/ports/lossy_port.h"
#include "dataplane/roce/transport.h"
#include "tests/interop/peer_options.h"

namespace rankwire::testing {
namespace {

constexpr Duration kDeadline = seconds(30);
constexpr uint32_t kIpBytes = 4096 + 84;  // the largest packet: IPv6 40, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4
constexpr Bandwidth kRate(1'000'000'000);
constexpr NicId kOurs(0), kTheirs(1);  // no port of ours leads to theirs

TransportPlan plan_of(const PeerOptions& options) {
  TransportPlan plan;
  plan.nics = {options.ours, options.theirs};
  plan.nics[0].id = kOurs;
  plan.nics[0].port = PortId(0);
  plan.nics[1].id = kTheirs;
  plan.nics[1].port = PortId(1);
  plan.nics[1].vlan = options.ours.vlan;
  plan.nics[1].prefix_length = options.ours.prefix_length;
  const bool initiator = options.role == Role::kInitiator;
  for (const int64_t size : options.sizes) {
    Connection connection;
    connection.id = ConnectionId(static_cast<uint32_t>(plan.connections.size()));
    connection.source_nic = initiator ? kOurs : kTheirs;
    connection.destination_nic = initiator ? kTheirs : kOurs;
    connection.largest_message = Bytes(size);
    plan.connections.push_back(connection);
  }
  plan.messages_in_flight = options.depth * static_cast<uint32_t>(options.sizes.size());
  return plan;
}

/// A transport on a port that loses frames, with the ends of the plan's connections.
struct Testee {
  Testee(const PeerOptions& o, FramePort& inner)
      : options(o),
        plan(plan_of(options)),
        port(inner, options.loss_ppm, options.seed),
        transport(options.roce, {{PortId(0), &port, kRate}}),
        ends(transport.prepare(plan)) {}

  const PeerOptions options;
  const TransportPlan plan;
  LossyPort port;
  RoceTransport transport;
  const std::vector<EndPoint> ends;
};

std::string text_of(const Event& event) {
  const uint32_t connection = event.connection.value;
  switch (event.kind) {
    case EventKind::kSent:
      return fmt::format("sent {} {}", connection, event.index);
    case EventKind::kReceived:
      return fmt::format("received {} {} {} {:#x}", connection, event.index, event.bytes.count,
                         event.received.payload_key);
    case EventKind::kFailed:
      return fmt::format("failed {} {} {}", connection, event.index, to_string(event.failure));
  }
  return {};
}

class Peer {
 public:
  explicit Peer(FramePort& port) : port_(port) {}

  /// Until the end of standard input.
  void run() {
    fmt::print("ok\n");
    std::fflush(stdout);
    uint64_t activity = 0;
    bool busy = true;
    while (fill(busy ? Duration() : microseconds(100))) {
      for (std::string line; !waits() && !(line = next_line()).empty();) answer([&] { return obey(line); });
      if (!testee_) continue;
      answer([&] { return progress(); });
      busy = testee_ && testee_->transport.activity() != activity;
      activity = testee_ ? testee_->transport.activity() : 0;
    }
  }

 private:
  enum class Answer { kLater, kOk };

  bool waits() const { return connecting_ || wanted_events_ > 0; }

  // What the command, or what is left of it, came to.
  template <class Act>
  void answer(Act act) {
    try {
      if (act() == Answer::kLater) return;
      fmt::print("ok\n");
    } catch (const Error& error) {
      connecting_ = false;
      wanted_events_ = 0;
      fmt::print("error {}\n", error.what());
    }
    std::fflush(stdout);
  }

  // Takes what there is of input. False at its end.
  bool fill(Duration patience) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const timespec timeout{.tv_sec = 0, .tv_nsec = patience.ps / 1000};
    if (::ppoll(&input, 1, &timeout, nullptr) <= 0) return true;
    char bytes[4096];
    const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0) return false;
    input_.append(bytes, static_cast<size_t>(n));
    return true;
  }

  // The next whole line, or an empty text.
  std::string next_line() {
    const size_t end = input_.find('\n');
    if (end == std::string::npos) return {};
    std::string line = input_.substr(0, end);
    input_.erase(0, end + 1);
    return line;
  }

  Answer obey(const std::string& line) {
    std::istringstream words(line);
    words.unsetf(std::ios::basefield);
    std::string verb;
    words >> verb;
    if (verb == "open") return open(words);
    if (verb == "close") return close();
    if (!testee_) fail_input("'{}' before 'open'", line);
    if (verb == "connect") return connect(words);
    if (verb == "post") return post(words);
    if (verb == "events") return await_events(words);
    if (verb == "hold") return hold();
    if (verb == "counters") return print_counters();
    fail_input("'{}' is no command", line);
  }

  Answer open(std::istream& words) {
    close();
    testee_ = std::make_unique<Testee>(read_peer_options(words), port_);
    for (const EndPoint& end : testee_->ends)
      fmt::print("end {:#x} {:#x} {:#x} {:#x}\n", end.queue_pair, end.psn, end.rkey, end.address);
    return Answer::kOk;
  }

  Answer close() {
    if (testee_) testee_->transport.close();
    testee_.reset();
    events_.clear();
    holding_ = false;
    return Answer::kOk;
  }

  Answer connect(std::istream& words) {
    std::vector<EndPoint> remote;
    for (const EndPoint& own : testee_->ends) {
      EndPoint end;
      if (!(words >> end.queue_pair >> end.psn >> end.rkey >> end.address)) fail_input("an end is missing");
      end.connection = own.connection;
      end.member = own.member;
      end.at_source = !own.at_source;
      end.ip = testee_->options.theirs.ip;
      remote.push_back(end);
    }
    check_none(testee_->transport.connect(remote));
    connecting_ = true;
    deadline_ = clock_.now() + kDeadline;
    return Answer::kLater;
  }

  static void check_none(const std::vector<ConnectFailure>& failures) {
    for (const ConnectFailure& failure : failures)
      fail_run("connection {}: {}", failure.connection.value, failure.reason);
  }

  Answer post(std::istream& words) {
    uint32_t first = 0, count = 0;
    words >> first >> count;
    for (const Connection& connection : testee_->plan.connections) {
      Message message;
      message.id.source = connection.id.value;
      message.id.sequence = first;
      message.bytes = connection.largest_message;
      message.connection = connection.id;
      for (uint32_t i = 0; i < count; ++i) {
        message.index = first + i;
        if (testee_->transport.post(clock_.now(), {&message, 1}) != 1) fail_run("more messages than the depth");
      }
      fmt::print("key {} {:#x}\n", connection.id.value, payload_key(message.id));
    }
    return Answer::kOk;
  }

  Answer hold() {
    holding_ = true;
    return Answer::kOk;
  }

  Answer await_events(std::istream& words) {
    words >> wanted_events_;
    holding_ = false;
    deadline_ = clock_.now() + kDeadline;
    return wanted_events_ == 0 ? Answer::kOk : Answer::kLater;
  }

  // Serves packets, and what the last command waits for.
  Answer progress() {
    std::array<Event, 32> room;
    const size_t n = testee_->transport.poll(clock_.now(), std::span(room).first(holding_ ? 0 : room.size()));
    events_.insert(events_.end(), room.begin(), room.begin() + static_cast<ptrdiff_t>(n));
    if (!waits()) return Answer::kLater;
    for (; wanted_events_ > 0 && !events_.empty(); --wanted_events_, events_.pop_front())
      fmt::print("{}\n", text_of(events_.front()));
    if (connecting_ && testee_->transport.ready()) {
      connecting_ = false;
      check_none(testee_->transport.not_ready());
    }
    if (!waits()) return Answer::kOk;
    if (clock_.now() > deadline_) fail_run("nothing for too long, {} events missing; {}", wanted_events_, describe());
    return Answer::kLater;
  }

  std::string describe() const {
    std::string text;
    for (const Connection& connection : testee_->plan.connections)
      text += fmt::format("{}: {}; ", connection.id.value, testee_->transport.describe(connection.id));
    return text;
  }

  Answer print_counters() const {
    const TransportCounters c = testee_->transport.counters();
    const std::vector<NamedCounter> details = testee_->transport.details();
    std::vector<NamedCounter> all = {{"data_packets_tx", c.data_packets_tx},
                                     {"data_packets_rx", c.data_packets_rx},
                                     {"retransmitted", c.retransmitted},
                                     {"naks_tx", c.naks_tx},
                                     {"naks", c.naks},
                                     {"timeouts", c.timeouts},
                                     {"rnr_naks_tx", c.rnr_naks_tx},
                                     {"rnr_naks", c.rnr_naks},
                                     {"icrc_errors", c.icrc_errors},
                                     {"malformed", c.malformed},
                                     {"unknown_qp", c.unknown_qp},
                                     {"payload_errors", c.payload_errors},
                                     {"lost_tx", testee_->port.lost_tx()},
                                     {"lost_rx", testee_->port.lost_rx()},
                                     {"rx_missed", testee_->port.counters().rx_missed}};
    all.insert(all.end(), details.begin(), details.end());
    for (const NamedCounter& counter : all) fmt::print("{} {}\n", counter.name, counter.value);
    return Answer::kOk;
  }

  FramePort& port_;
  RealClock clock_;
  std::unique_ptr<Testee> testee_;
  std::string input_;
  std::deque<Event> events_;
  bool holding_ = false;
  bool connecting_ = false;
  uint64_t wanted_events_ = 0;
  Time deadline_;
};

void run(const std::string& device) {
  DpdkOptions options;
  options.memory = Bytes(256 << 20);
  options.devices = {device};
  options.extra = {"--no-huge"};
  DpdkEnvironment environment(options);
  const auto port = open_dpdk_port(environment, device, {.mtu = kIpBytes});
  Peer(*port).run();
}

}  // namespace
}  // namespace rankwire::testing

int main(int argc, char** argv) {
  std::string device;
  CLI::App app("rankwire's end of an interoperation test");
  app.add_option("DEVICE", device, "of DPDK")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    rankwire::testing::run(device);
  } catch (const rankwire::Error& error) {
    fmt::print("error {}\n", error.what());
    return 1;
  }
  return 0;
}
