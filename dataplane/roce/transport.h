// Messages over RoCEv2 Reliable Connections, on any frame ports.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/index_queue.h"
#include "base/transport.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/neighbours/neighbours.h"
#include "dataplane/ports/doorbells.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/roce/answer_receiver.h"
#include "dataplane/roce/answer_sender.h"
#include "dataplane/roce/cause_accounts.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/deliveries.h"
#include "dataplane/roce/early_packets.h"
#include "dataplane/roce/frame_receiver.h"
#include "dataplane/roce/lane_transmitter.h"
#include "dataplane/roce/lane_watch.h"
#include "dataplane/roce/lanes.h"
#include "dataplane/roce/latencies.h"
#include "dataplane/roce/link_keeper.h"
#include "dataplane/roce/loop_watch.h"
#include "dataplane/roce/mark_responder.h"
#include "dataplane/roce/message_receiver.h"
#include "dataplane/roce/next_hop_links.h"
#include "dataplane/roce/notification_sender.h"
#include "dataplane/roce/options.h"
#include "dataplane/roce/outbound_messages.h"
#include "dataplane/roce/packet_codec.h"
#include "dataplane/roce/port.h"
#include "dataplane/roce/queue_pair.h"
#include "dataplane/roce/queue_pair_ending.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/receive_batch.h"
#include "dataplane/roce/rendezvous.h"
#include "dataplane/roce/request_poster.h"
#include "dataplane/roce/request_receiver.h"
#include "dataplane/roce/request_sender.h"
#include "dataplane/roce/request_turns.h"
#include "dataplane/roce/request_writer.h"
#include "dataplane/roce/requester_deadlines.h"
#include "dataplane/roce/requester_steps.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/roce/send_order.h"
#include "dataplane/roce/sent_reports.h"
#include "dataplane/roce/transmit_lane.h"
#include "dataplane/wire/packet.h"

namespace rankwire {

/// Has the ends of those Path::kWire connections whose NICs stand behind the given ports. A queue pair's end is a
/// requester, a responder and what they write headers from; a connection has `queue_pairs` of them, or uses those of
/// the connection that it is the reverse of. Ports are paced at line rate: a frame starts in its slot, neighbour
/// discovery before acknowledgements, those before READ responses and data, queue pairs in turns. Received packets
/// always have their ICRC verified, as RoceOptions::receive_check says.
///
/// Errors: prepare throws kInput for options, ports and plans that cannot work together.
///
/// Messages fail at their source; at the destination only those that it fetches (DataVerb::kRead). When a responder
/// refuses a request it cannot name the message, and only `describe` says so. A queue pair that fails in one direction
/// is in the error state in both (IBTA 10.3.1). Messages posted to a queue pair in the error state, or never connected,
/// fail with kFlushed, those to a peer without link address with kUnreachable.
class RoceTransport final : public Transport {
 public:
  static constexpr uint32_t kFirstQueuePair = QueuePairs::kFirst;

  /// `bells`: rung, by place in `ports`, whenever one of these ports has received something, or been given something to
  /// hold back, no later than in the turn of the loop in which it arrives; borrowed. Then only ports with something to
  /// do are looked at, which virtual time with many needs; each has one queue. Null: every poll looks at all.
  RoceTransport(const RoceOptions& options, std::vector<PortBinding> ports, Doorbells* bells = nullptr);
  ~RoceTransport() override;
  RoceTransport(const RoceTransport&) = delete;
  RoceTransport& operator=(const RoceTransport&) = delete;

  std::vector<EndPoint> prepare(const TransportPlan& plan) override;
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override;
  bool ready() const noexcept override;
  std::vector<ConnectFailure> not_ready() const override;
  size_t post(Time now, std::span<const Message> messages) noexcept override;
  size_t poll(Time now, std::span<Event> events) noexcept override;
  Time next_event() const noexcept override;
  Time run_ahead(Time limit) noexcept override;  ///< with bells; without, nothing
  uint64_t activity() const noexcept override {
    return counters_ ? counters_->packets_tx() + counters_->totals.packets_rx + counters_->events : 0;
  }
  TransportCounters counters() const override;
  std::vector<FlowCounters> flows() const override;
  std::vector<PortCounters> ports() const override;
  std::vector<NamedCounter> details() const override;
  std::vector<PortLatency> latencies() const override;
  std::string describe(ConnectionId connection) const override;
  void close() noexcept override;

  /// Memory that a queue pair takes, messages apart. 0 without queue pairs.
  size_t bytes_per_queue_pair() const noexcept;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // options.cc
  void check_plan(const TransportPlan& plan) const;
  void check_read_size(const Connection& connection) const;

  // connection.cc
  void make_parts(const TransportPlan& plan);
  std::string connect_queue_pair(uint32_t queue_pair, const EndPoint* peer);

  // congestion.cc
  const CongestionOptions& congestion_options_of(const Connection& connection) const;
  void make_congestion_control(const TransportPlan& plan);
  std::vector<uint32_t> notification_groups() const;
  std::string describe_control(uint32_t queue_pair) const;

  // describe.cc
  RdmaCounters rdma_of(PortId port) const;
  std::string describe_sender(uint32_t queue_pair) const;
  std::string describe_receiver(uint32_t queue_pair) const;
  std::string describe_wait(uint32_t queue_pair) const;
  std::string describe_side(uint32_t first, Side side) const;

  // ahead.cc
  void run_lanes(Time next, Time end) noexcept;
  Time run_lane(uint32_t lane, Time end) noexcept;
  void poll_due(Time now) noexcept;
  void fetch_ahead(uint32_t lane, size_t distance) const noexcept;
  bool may_report(const Frame& frame) const noexcept;
  Time next_report_of(uint32_t lane) const noexcept;
  void fetch_lane(uint32_t lane) const noexcept;
  void fetch_sender(uint32_t lane) const noexcept;

  // transport.cc
  void make_progress(Time now) noexcept;
  void poll_all(Time now) noexcept;
  bool has_to_report() const noexcept;
  Time next_event_of(uint32_t lane) const noexcept;

  const RoceOptions options_;
  const ReliableOptions reliable_;
  const std::vector<PortBinding> bindings_;
  Doorbells* const bells_;
  LoopWatch loop_;
  Time last_now_ = Time::long_ago();  // of the last post or poll; what is read is as of then

  // Made by prepare, and never again.
  std::optional<PacketCodec> codec_;
  std::optional<QueuePairs> pairs_;
  std::optional<Lanes> lanes_;
  std::optional<LaneWatch> watch_;
  std::optional<RoceCounters> counters_;
  Latencies latencies_;
  NextHopLinks hops_;  // with NeighbourMode::kResolve
  RequesterDeadlines deadlines_;
  CauseAccounts accounts_;  // with CauseRecording::kOn

  std::unique_ptr<PacedSenders> paced_;  // with congestion control
  std::optional<MarkResponder> marks_;   // where marked packets are answered

  std::optional<OutboundMessages> outbound_;

  std::optional<EarlyPackets> early_;  // with RoceOptions::out_of_order

  std::optional<CauseWatch> causes_;
  std::optional<SendOrder> order_;
  std::optional<Deliveries> deliveries_;
  std::optional<QueuePairEnding> ending_;
  std::optional<RequesterSteps> steps_;
  std::optional<RequestPoster> poster_;
  std::optional<Rendezvous> rendezvous_;
  std::optional<MessageReceiver> messages_;
  std::optional<SentReports> reports_;
  std::optional<LinkKeeper> links_;
  std::optional<NotificationSender> notices_;  // where marked packets are answered
  std::optional<RequestReceiver> requests_;
  std::optional<AnswerReceiver> answers_;
  std::optional<FrameReceiver> receiver_;
  std::optional<AnswerSender> answer_sender_;
  std::optional<RequestSender> request_sender_;
  std::optional<RequestTurns> turns_;
  std::optional<LaneTransmitter> transmitter_;
};

}  // namespace rankwire
