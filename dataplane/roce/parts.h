// All parts of a RoCEv2 transport.
#pragma once

#include <memory>
#include <span>

#include "base/transport.h"
#include "dataplane/congestion/paced_senders.h"
#include "dataplane/congestion/rate_holds.h"
#include "dataplane/ports/doorbells.h"
#include "dataplane/protocol/queue_pair.h"
#include "dataplane/roce/answer_receiver.h"
#include "dataplane/roce/answer_sender.h"
#include "dataplane/roce/cause_accounts.h"
#include "dataplane/roce/cause_watch.h"
#include "dataplane/roce/connection_describer.h"
#include "dataplane/roce/connection_holds.h"
#include "dataplane/roce/deliveries.h"
#include "dataplane/roce/early_packets.h"
#include "dataplane/roce/frame_receiver.h"
#include "dataplane/roce/lane_loop.h"
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
#include "dataplane/roce/queue_pair_ending.h"
#include "dataplane/roce/queue_pairs.h"
#include "dataplane/roce/rendezvous.h"
#include "dataplane/roce/report_forecast.h"
#include "dataplane/roce/request_poster.h"
#include "dataplane/roce/request_receiver.h"
#include "dataplane/roce/request_sender.h"
#include "dataplane/roce/request_turns.h"
#include "dataplane/roce/requester_deadlines.h"
#include "dataplane/roce/requester_expiry.h"
#include "dataplane/roce/requester_steps.h"
#include "dataplane/roce/roce_counters.h"
#include "dataplane/roce/roce_figures.h"
#include "dataplane/roce/run_ahead.h"
#include "dataplane/roce/send_order.h"
#include "dataplane/roce/sent_reports.h"

namespace rankwire {

/// Each part is made from some of those before it and knows no others. Those that most packets pass begin with a cache
/// line, since all of them are looked at in every turn of the loop. Those that
/// the options do not ask for are there without content, or null. Its transport's own, in that thread; no allocation
/// after construction, but by `connect` of QueuePairs and LinkKeeper.
struct alignas(64) RoceParts {
  /// `options` and `bindings` are borrowed, as is what they name; `bells` as RoceTransport. All have been checked.
  /// Throws Error(kInput) when the plan has too many queue pairs or messages for numbers of their own, or two NICs of a
  /// port have the same address.
  RoceParts(const RoceOptions& options, std::span<const PortBinding> bindings, Doorbells* bells,
            const TransportPlan& plan);
  RoceParts(const RoceParts&) = delete;
  RoceParts& operator=(const RoceParts&) = delete;

  /// Memory that all queue pairs take, messages apart. 0 without queue pairs.
  size_t queue_pair_bytes() const noexcept;

  // What is known.
  const ReliableOptions reliable;
  const MessageRoom room;
  const PacketCodec codec;
  QueuePairs pairs;
  Lanes lanes;
  LaneWatch watch;
  LoopWatch standstills;
  Latencies latencies;
  NextHopLinks hops;  ///< with NeighbourMode::kResolve
  RequesterDeadlines deadlines;
  CauseAccounts accounts;                ///< with CauseRecording::kOn
  std::unique_ptr<RateHolds> held;       ///< where connections may be held to rates from outside
  std::unique_ptr<PacedSenders> paced;   ///< with congestion control, or `held`
  std::unique_ptr<MarkResponder> marks;  ///< where marked packets are answered
  RoceCounters counters;
  OutboundMessages outbound;
  std::unique_ptr<EarlyPackets> early;  ///< with RoceOptions::out_of_order

  std::unique_ptr<ConnectionHolds> holds;  ///< with `held`

  // What follows from a change of a queue pair.
  CauseWatch causes;
  SendOrder order;
  Deliveries deliveries;  ///< here since `ending` forgets what has been delivered in part
  QueuePairEnding ending;
  RequesterSteps steps;
  RequesterExpiry expiry;
  LinkKeeper links;

  // Messages.
  RequestPoster poster;
  Rendezvous rendezvous;
  MessageReceiver messages;
  SentReports reports;

  // Packets.
  std::unique_ptr<NotificationSender> notices;  ///< with `marks`
  RequestReceiver requests;
  AnswerReceiver answers;
  FrameReceiver receiver;
  AnswerSender answer_sender;
  RequestSender request_sender;
  RequestTurns turns;
  LaneTransmitter transmitter;

  // The loop, and what is seen of it.
  ReportForecast forecast;
  LaneLoop loop;
  RunAhead run_ahead;
  ConnectionDescriber describer;
  RoceFigures figures;
};

}  // namespace rankwire
