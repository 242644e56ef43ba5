#include "dataplane/roce/parts.h"

#include "dataplane/roce/congestion.h"

namespace rankwire {
namespace {

ReliableOptions reliable_options_of(const RoceOptions& options) {
  ReliableOptions reliable = reliable_options(options.profile, options.mtu);
  if (follows_acknowledgements(options)) reliable.ack_every = 1;
  return reliable;
}

}  // namespace

RoceParts::RoceParts(const RoceOptions& options, std::span<const PortBinding> bindings, Doorbells* bells,
                     const TransportPlan& plan)
    : reliable(reliable_options_of(options)),
      room(options, plan.messages_in_flight),
      codec(options),
      pairs(options, plan, bindings, room.offers),
      lanes(options, bindings, pairs, far_end_of(bells, bindings)),
      watch(bells, bindings),
      standstills(options.standstill, first_timeout(reliable), !watch.foresees()),
      latencies(lanes.ports()),
      hops(options.neighbours == NeighbourMode::kResolve ? NextHopLinks(lanes.ports(), pairs.size()) : NextHopLinks()),
      deadlines(pairs.size()),
      accounts(options.causes == CauseRecording::kOn ? CauseAccounts(pairs.size(), room.transfers, room.messages)
                                                     : CauseAccounts()),
      held(make_rate_holds(options, pairs)),
      paced(make_paced_senders(options, reliable, plan, pairs, lanes, held.get())),
      marks(make_mark_responder(options, pairs, lanes)),
      counters(pairs.size(), paced || marks, options.verb == DataVerb::kRead),
      outbound(reliable, room, pairs.size()),
      early(options.out_of_order > 0 ? std::make_unique<EarlyPackets>(pairs.size(), lanes.size(), options.out_of_order)
                                     : nullptr),
      holds(held ? std::make_unique<ConnectionHolds>(options, pairs, watch, *held, *paced) : nullptr),
      causes(reliable, pairs, lanes, paced.get(), accounts),
      order(reliable, pairs, lanes, watch, paced.get(), causes, counters),
      deliveries(options, pairs, counters, room.assembled),
      ending(options, pairs, lanes, deadlines, outbound, causes, deliveries, early.get()),
      steps(reliable, pairs, lanes, watch, deadlines, paced != nullptr, causes, order, ending),
      expiry(standstills, pairs, outbound, deadlines, paced.get(), causes, steps, counters),
      links(options, pairs, lanes, hops, outbound, order, steps),
      poster(options, pairs, outbound, causes, steps, counters),
      rendezvous(options, pairs, lanes, outbound, poster, deliveries, latencies, counters),
      messages(options, pairs, lanes, outbound, deliveries, rendezvous, latencies, counters),
      reports(options, pairs, outbound, accounts, causes, rendezvous, counters),
      notices(marks ? std::make_unique<NotificationSender>(options.profile.notification_hop_limit, pairs, lanes, watch,
                                                           *marks, counters)
                    : nullptr),
      requests(pairs, lanes, early.get(), deliveries, messages, order, ending, counters),
      answers(options, pairs, outbound, paced.get(), steps, rendezvous, latencies, counters),
      receiver(options, codec, pairs, lanes, deliveries, requests, answers, notices.get(), counters),
      answer_sender(options, codec, pairs, outbound, order, counters),
      request_sender(reliable, codec, pairs, outbound, causes, steps, counters),
      turns(options, reliable, codec, pairs, outbound, request_sender),
      transmitter(options, reliable, pairs, lanes, paced.get(), order, answer_sender, request_sender, turns,
                  notices.get(), counters),
      forecast(pairs, lanes, outbound, early != nullptr),
      loop(options, standstills, lanes, watch, paced.get(), deliveries, reports, forecast, expiry, links, requests,
           receiver, transmitter, counters),
      run_ahead(reliable, standstills, pairs, lanes, watch, outbound, deadlines, expiry, forecast, loop),
      describer(options, reliable, pairs, lanes, outbound, paced.get(), links),
      figures(options, standstills, pairs, lanes, paced.get(), causes, reports, latencies, counters) {}

size_t RoceParts::queue_pair_bytes() const noexcept {
  if (pairs.size() == 0) return 0;
  const size_t each = RequesterDeadlines::kBytesEach + accounts.bytes_each() + (early ? EarlyPackets::kBytesEach : 0);
  return pairs.bytes() + lanes.bytes() + counters.bytes() + hops.bytes() + outbound.bytes() +
         (paced ? paced->bytes() : 0) + (held ? held->bytes() : 0) + pairs.size() * each;
}

}  // namespace rankwire
