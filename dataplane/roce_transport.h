// Messages as RDMA WRITE with immediate over RoCEv2 Reliable Connections, on any frame ports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/spsc_ring.h"
#include "base/transport.h"
#include "dataplane/frame_port.h"
#include "dataplane/index_queue.h"
#include "dataplane/packet.h"
#include "dataplane/payload.h"
#include "dataplane/request_writer.h"
#include "dataplane/requester.h"
#include "dataplane/responder.h"
#include "dataplane/transmit_lane.h"

namespace rankwire {

enum class Announcement : uint8_t {
  kGratuitousArp,  ///< `connect` sends one a NIC, unpaced, so that switches learn where the addresses are
  kNone,
};

struct RoceOptions {
  uint32_t mtu = 4096;             ///< path MTU in bytes: 256, 512, 1024, 2048 or 4096
  uint32_t window = 64;            ///< unacknowledged packets a queue pair, 1 .. 2^22
  uint32_t ack_every = 32;         ///< packets up to and with an AckReq, at most; >= 1
  uint32_t timeout_exponent = 14;  ///< t of 4.096 us x 2^t, 1 .. 31
  uint32_t retry_count = 7;        ///< 0 .. 7
  uint8_t dscp = 26;               ///< 0 .. 63
  Ecn ecn = Ecn::kCapable0;        ///< of all packets sent
  uint8_t time_to_live = 64;       ///< >= 1
  Migration migration = Migration::kMigrated;
  PayloadMode payload = PayloadMode::kPattern;
  Announcement announcement = Announcement::kGratuitousArp;
  Duration catch_up = microseconds(100);  ///< how far behind its schedule a port may be and still catch up; >= 0
  /// A gap between two polls that is longer is the generator's own standstill, not the network's: time-outs that ran
  /// out in it start again, unless every turn of the loop is that slow. max() in virtual time, where gaps are idle
  /// time.
  Duration standstill = Duration::max();
  uint64_t seed = 1;  ///< of first PSNs and keys
};

/// A port of the plan; it must outlive the transport. `rate` is the line rate at which it is paced. Up to
/// 2 x TransmitLane::kBurst frames of the port's pool are in the transport's hands.
struct PortBinding {
  PortId id;
  FramePort* port = nullptr;
  Bandwidth rate;
};

/// What RoCEv2 knows beyond TransportCounters.
struct RoceCounters {
  uint64_t arp_rx = 0;       ///< ignored
  uint64_t foreign = 0;      ///< other frames that are not RoCEv2 over untagged IPv4; ignored
  uint64_t misdirected = 0;  ///< a queue pair's number but not its addresses or port: flooded frames, as a rule
  uint64_t stale_acks = 0;   ///< acknowledgements that said nothing new
  uint64_t ghost_acks = 0;   ///< acknowledgements of packets never sent, or without meaning
  uint64_t refused = 0;      ///< requests answered by a NAK that ends the queue pair
  std::array<uint64_t, static_cast<size_t>(Reject::kScattered) + 1> rejects{};  ///< by Reject
};

/// Has the ends of those Path::kWire connections whose NICs stand behind the given ports: at the source a requester, at
/// the destination a responder, each a queue pair with its own number. Ports are paced at line rate: a frame starts in
/// its slot, acknowledgements before data, data of the queue pairs in turns. Received packets always have their ICRC
/// verified. Errors: prepare throws kInput for options and ports that cannot work together.
///
/// A destination whose queue pair fails reports nothing itself, since it cannot name the message: the source, which
/// gets the NAK, does. Messages posted to a queue pair in the error state, or never connected, fail with kFlushed.
class RoceTransport final : public Transport {
 public:
  static constexpr uint32_t kFirstQueuePair = 0x10;  ///< 0 and 1 are management's (IBTA 3.5.3)

  RoceTransport(const RoceOptions& options, std::vector<PortBinding> ports);
  ~RoceTransport() override;
  RoceTransport(const RoceTransport&) = delete;
  RoceTransport& operator=(const RoceTransport&) = delete;

  std::vector<EndPoint> prepare(const TransportPlan& plan) override;
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override;
  size_t post(Time now, std::span<const Message> messages) noexcept override;
  size_t poll(Time now, std::span<Event> events) noexcept override;
  Time next_event() const noexcept override;
  uint64_t activity() const noexcept override { return counters_.packets_tx + counters_.packets_rx + reported_; }
  TransportCounters counters() const override;
  std::vector<FlowCounters> flows() const override;
  std::vector<PortCounters> ports() const override;
  std::string describe(ConnectionId connection) const override;
  void close() noexcept override;

  const RoceCounters& roce_counters() const { return roce_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct SourceEnd {
    ConnectionId connection;
    uint32_t lane = 0;
    RemoteMemory memory;
  };
  // The message that is being received.
  struct DestinationEnd {
    ConnectionId connection;
    uint32_t lane = 0;
    MemoryRegion region;
    Time first_rx;
    uint64_t marks = 0;
    uint64_t delivered = 0;
    PayloadCheck check;
  };

  // roce_connection.cc
  void check_ports(const TransportPlan& plan) const;
  uint32_t lane_of(NicId nic) const;
  void place_ends(const Connection& connection);
  void make_queue_pairs();
  EndPoint source_end_point(uint32_t source) const;
  EndPoint destination_end_point(uint32_t destination) const;
  PacketPath path_between(const EndPoint& local, const EndPoint& remote) const;
  std::string connect_source(uint32_t source, const EndPoint* remote);
  std::string connect_destination(uint32_t destination, const EndPoint* remote);
  void announce() noexcept;
  std::string describe_source(uint32_t source) const;
  std::string describe_destination(uint32_t destination) const;

  // roce_receive.cc
  void receive(uint32_t lane, Time now) noexcept;
  void accept(uint32_t lane, const Frame& frame, Time now) noexcept;
  void count_reject(Reject reject) noexcept;
  void on_acknowledgement(uint32_t lane, const ParsedPacket& packet, Time now) noexcept;
  void on_request(uint32_t lane, const ParsedPacket& packet, Time arrival) noexcept;
  void on_payload(uint32_t destination, const ParsedPacket& packet, const Reception& reception, Time arrival) noexcept;
  void deliver(uint32_t destination, const ParsedPacket& packet, const Reception& reception, Time arrival) noexcept;

  // roce_transport.cc
  void note_standstill(Time now) noexcept;
  Time expiry(uint32_t source) const noexcept;
  void expire(Time now) noexcept;
  void transmit(TransmitLane& lane, Time now) noexcept;
  bool transmit_reply(TransmitLane& lane, Time now) noexcept;
  bool transmit_data(TransmitLane& lane, Time now) noexcept;
  void prefetch_turns(const IndexQueue& senders) const noexcept;
  void count_requests(uint32_t source, const RequestRun& run) noexcept;
  void after_step(uint32_t source, Time deadline_before) noexcept;
  size_t report_finished(std::span<Event> events) noexcept;

  const RoceOptions options_;
  const ReliableOptions reliable_;
  const std::vector<PortBinding> bindings_;
  TransportPlan plan_;
  std::vector<TransmitLane> lanes_;  // in the order of bindings_

  // Queue pair kFirstQueuePair + i is requester i, or responder i - requesters_.size().
  std::vector<Requester> requesters_;
  std::vector<HeaderTemplate> request_headers_;
  std::vector<SourceEnd> sources_;
  std::vector<Responder> responders_;
  std::vector<HeaderTemplate> reply_headers_;
  std::vector<DestinationEnd> destinations_;
  std::vector<uint32_t> source_of_, destination_of_;  // by connection

  std::optional<RequestWriter> writer_;
  std::optional<RequesterPool> pool_;
  RecencyList deadlines_;  // requesters whose time-out runs
  SpscRing<Event> received_;
  Time last_now_;
  Time last_poll_;
  Time hold_until_;           // no time-out fires earlier
  uint32_t standstills_ = 0;  // in a row

  TransportCounters counters_;
  uint64_t reported_ = 0;  // events
  RoceCounters roce_;
  std::vector<FlowCounters> flows_;  // by connection
};

}  // namespace rankwire
