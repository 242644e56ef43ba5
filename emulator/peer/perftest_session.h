// One client of perftest, from before it connects until it has gone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/transport.h"
#include "dataplane/roce/transport.h"
#include "emulator/peer/measurement.h"
#include "emulator/peer/perftest_protocol.h"
#include "emulator/peer/ping_pong.h"
#include "emulator/peer/tcp_socket.h"

namespace rankwire {

/// Which tests a client may run.
enum class PerftestTests : uint8_t {
  kAll,        ///< a client that could be written to and keeps still for a second waits for this end: ib_write_lat
  kBandwidth,  ///< ib_write_bw, ib_send_bw, ib_read_bw, in which the client begins
};

/// How a NIC of this profile answers perftest; MTU and markings else are the caller's.
RoceOptions perftest_roce(const NicProfile& profile);

/// The NIC that answers, and how.
struct PerftestOptions {
  Nic nic;  ///< id 0
  PortBinding port;
  RoceOptions roce;           ///< MTU: the largest that is offered; one queue pair a connection
  uint32_t queue_pairs = 64;  ///< of one client, at most; 1 .. 1024
  PerftestTests tests = PerftestTests::kAll;
  PingPongOptions latency;          ///< what the client was told by its options -s, -n and -a
  Duration patience = seconds(30);  ///< with a client that sends neither TCP nor packets
};

/// What is known when a client has gone.
struct PerftestResult {
  std::string client;  ///< "10.5.0.1:45812"
  IpAddress gid;       ///< of its RDMA device; none: it did not come so far
  uint32_t queue_pairs = 0;
  uint32_t mtu = 0;                      ///< path MTU that was agreed on, bytes
  std::vector<Throughput> throughputs;   ///< in the order in which they began
  std::vector<TurnAround> turns;         ///< of the latency test, by message size
  std::optional<PerftestReport> report;  ///< what the client says itself
  TransportCounters counters;
  std::string failure;  ///< why it ended early; empty: it ended as it should

  /// Whether it came so far as to name a queue pair: others are no perftest clients, or refused.
  bool named_itself() const { return !gid.is_none(); }
};

/// Owns the client's socket and a transport on the port. `step` never waits and never throws: what goes wrong ends the
/// session and is told in the result.
class PerftestSession {
 public:
  /// Until a client comes, the NIC answers ARP, neighbour solicitations and ping. `seed` of PSNs and keys. A port
  /// serves one session at a time. Options and listener must outlive the session. Throws Error when the NIC cannot be
  /// made.
  PerftestSession(const PerftestOptions& options, TcpListener& listener, uint64_t seed);

  /// False when the session is over.
  bool step(Time now);
  bool has_client() const { return client_.has_value(); }
  /// `ended_by`: what ended it while it was not over.
  PerftestResult result(std::string_view ended_by = {}) const;

 private:
  void look_at_socket(Time now);
  void read_socket(Time now);
  void answer(const PerftestMessage& message);
  void answer_keys(const PerftestKeys& keys);
  void open_idle();
  void open(PayloadMode payload);
  void connect();
  void send_owed_keys();
  PerftestKeys own_keys(size_t i) const;

  void drive(Time now);
  void take(const Event& event, Time now);
  std::string_view verb_of_test() const;
  bool begins_ping_pong(Time now) const;
  void begin_ping_pong();
  void post(const PingPong::Turn& turn, Time now);

  const PerftestOptions& options_;
  TcpListener& listener_;
  const uint64_t seed_;
  std::optional<TcpStream> client_;
  PerftestReader reader_;
  std::string received_;
  uint32_t mtu_;

  std::vector<PerftestKeys> theirs_;  // by queue pair
  std::vector<EndPoint> ours_;        // as many as there may be; none before the client's first
  std::unique_ptr<RoceTransport> transport_;
  bool connected_ = false;
  std::optional<size_t> owed_keys_;  // not sent before the transport is ready

  std::string_view verb_;  // empty before the first message
  ThroughputMeter throughputs_;
  TurnAroundMeter turns_;
  std::optional<PingPong> ping_pong_;
  uint32_t posted_ = 0;

  uint64_t activity_ = 0;
  Time last_activity_, next_look_ = Time::long_ago();
  bool ended_ = false;
  std::string failure_;
};

}  // namespace rankwire
