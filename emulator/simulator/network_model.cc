#include "emulator/simulator/network_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr __int128 kPicosecondsPerSecond = 1'000'000'000'000;

/// `ways`: all that connections ever take.
template <class Ways>
void validate(const Network& network, const Ways& ways) {
  for (size_t i = 0; i < network.routes.size(); ++i)
    if (network.routes[i].links.empty()) fail_input("connection {} has no route", i);
  std::vector<int64_t> connections(network.links.size());
  for (const auto& way : ways)
    for (const LinkUse& use : way.route.links) connections[use.link.value] += use.times;
  for (size_t i = 0; i < network.links.size(); ++i) {
    const int64_t rate = network.links[i].bandwidth.bits_per_second;
    if (rate < std::max<int64_t>(connections[i], 1) || rate > MaxMin::kMaxCapacity)
      fail_input("link {}: {} bit/s for {} connections is not within 1 bit/s for each and {} bit/s",
                 network.links[i].name, rate, connections[i], MaxMin::kMaxCapacity);
  }
}

/// What the connections for which the route stands take of each of its links. Uses of one link that differ in nothing
/// are the same connections', seen from each of the links for which that one stands.
std::vector<MaxMin::Draw> draws_of(const Route& route, bool split) {
  std::vector<MaxMin::Draw> draws;
  for (size_t i = 0; i < route.links.size(); ++i) {
    const LinkUse& use = route.links[i];
    const auto alike = [&](const LinkUse& other) {
      return other.link == use.link && other.hop == use.hop && other.share == use.share;
    };
    if (std::any_of(route.links.begin(), route.links.begin() + static_cast<ptrdiff_t>(i), alike)) continue;
    const uint32_t weight = (split ? use.share : 1) * use.times;
    const auto known = std::ranges::find(draws, use.link.value, &MaxMin::Draw::constraint);
    if (known == draws.end())
      draws.push_back({use.link.value, weight});
    else
      known->weight += weight;
  }
  return draws;
}

template <class Ways>
MaxMin make_shares(const Network& network, const Ways& ways) {
  validate(network, ways);
  std::vector<int64_t> capacities;
  for (const Link& link : network.links) capacities.push_back(link.bandwidth.bits_per_second);
  const bool split = std::ranges::any_of(ways, [](const auto& way) {
    return std::ranges::any_of(way.route.links, [](const LinkUse& use) { return use.share != LinkUse::kWhole; });
  });
  std::vector<std::vector<MaxMin::Draw>> draws;
  for (const auto& way : ways) draws.push_back(draws_of(way.route, split));
  return MaxMin(capacities, draws, split ? LinkUse::kWhole : 1);
}

/// The first min(8, bytes) bytes of the payload, zero extended.
uint64_t visible_key(const Message& message) {
  const uint64_t key = payload_key(message.id);
  return message.bytes.count >= 8 ? key : key & ((uint64_t{1} << (8 * message.bytes.count)) - 1);
}

Event event_of(const Message& message) {
  Event event;
  event.connection = message.connection;
  event.index = message.index;
  event.bytes = message.bytes;
  return event;
}

}  // namespace

NetworkModel::NetworkModel(Network network)
    : network_(std::move(network)),
      ways_(ways_of(network_, turns_)),
      shares_(make_shares(network_, ways_)),
      flows_(network_.routes.size()),
      completions_(static_cast<uint32_t>(network_.routes.size())),
      notices_(0) {
  for (uint32_t i = 0; i < flows_.size(); ++i) {
    flows_[i].variable = i;
    note_route(i, network_.routes[i]);
  }
  if (!network_.acknowledgements.empty() ||
      std::ranges::any_of(network_.links, [](const Link& link) { return link.turn.count > 0; }))
    ports_.resize(network_.links.size());
}

/// A connection that returns to a way that it had is the same variable again.
std::vector<NetworkModel::Way> NetworkModel::ways_of(const Network& network, std::vector<Turn>& turns) {
  std::vector<Way> ways;
  for (const Route& route : network.routes) ways.push_back({static_cast<uint32_t>(ways.size()), route});
  std::map<uint32_t, std::vector<uint32_t>> known;  // by connection: its variables
  for (const Reroute& reroute : network.reroutes) {
    Turn& turn = turns.emplace_back(Turn{reroute.at, reroute.connection, kNone});
    if (reroute.links.empty()) continue;
    std::vector<uint32_t>& variables = known[reroute.connection];
    if (variables.empty()) variables.push_back(reroute.connection);
    const auto same = std::ranges::find_if(variables, [&](uint32_t v) { return ways[v].route.links == reroute.links; });
    if (same == variables.end()) {
      Route route = network.routes[reroute.connection];
      route.links = reroute.links;
      turn.variable = static_cast<uint32_t>(ways.size());
      variables.push_back(turn.variable);
      ways.push_back({reroute.connection, std::move(route)});
    } else {
      turn.variable = *same;
    }
  }
  return ways;
}

bool NetworkModel::watch_sharing(std::span<const JobId> jobs) {
  std::vector<LinkSharing::Flow> flows;
  flows.reserve(ways_.size());
  for (const Way& way : ways_) flows.push_back({jobs[id_of(way.connection).value], &way.route});
  if (LinkSharing::is_too_much(network_.links, flows)) return false;
  sharing_ = std::make_unique<LinkSharing>(network_.links, flows);
  return true;
}

std::vector<EndPoint> NetworkModel::prepare(const TransportPlan& plan) {
  if (!network_.connections && plan.connections.size() != flows_.size())
    fail_input("the network has routes for {} connections, the plan has {}", flows_.size(), plan.connections.size());
  if (network_.connections) flow_of_.assign(plan.connections.size(), kNone);
  for (uint32_t i = 0; network_.connections && i < flows_.size(); ++i) flow_of_.at(id_of(i).value) = i;
  transfers_ = UntouchedArray<Transfer>(plan.messages_in_flight);
  transfers_used_ = 0, transfers_most_ = plan.messages_in_flight;
  free_ = kNone;
  notices_ = NoticeQueue(plan.messages_in_flight);
  return {};
}

std::vector<ConnectFailure> NetworkModel::connect(std::span<const EndPoint>) {
  return {};
}

size_t NetworkModel::post(Time now, std::span<const Message> messages) noexcept {
  advance(now);
  size_t taken = 0;
  while (taken < messages.size() && (free_ != kNone || transfers_used_ < transfers_most_))
    enqueue(now, messages[taken++]);
  counters_.post_refused += messages.size() - taken;
  return taken;
}

size_t NetworkModel::poll(Time now, std::span<Event> events) noexcept {
  advance(now);
  size_t reported = 0;
  while (reported < events.size() && notices_.top_time() <= now) events[reported++] = report(notices_.top());
  // After a report more messages are likely to be posted at this very time; the shares wait for them.
  if (reported == 0 && shares_changed_ <= now) share_rates();
  return reported;
}

Time NetworkModel::next_event() const noexcept {
  return std::min({shares_changed_, completions_.top_time(), notices_.top_time(), next_turn()});
}

void NetworkModel::advance(Time now) noexcept {
  for (;;) {
    const Time completion = completions_.top_time(), turn = next_turn();
    // All that completes, or turns, at the time of a change belongs to the same change.
    if (shares_changed_ < std::min(completion, turn) && shares_changed_ < now)
      share_rates();
    else if (completion <= std::min(turn, now))
      complete(completions_.top(), completion);
    else if (turn <= now)
      take(turns_[turned_++]);
    else
      return;
  }
}

void NetworkModel::share_rates() noexcept {
  const Time now = std::exchange(shares_changed_, Time::never());
  for (const uint32_t variable : shares_.solve()) {
    const uint32_t connection = ways_[variable].connection;
    Flow& flow = flows_[connection];
    flow.remaining -= static_cast<__int128>(flow.rate) * (now - flow.updated).ps;
    flow.updated = now;
    flow.rate = shares_.share(variable);
    if (sharing_) sharing_->set_rate(variable, flow.rate, now);
    if (flow.loads == 0) schedule_completion(connection);
  }
  if (holds_) renew_holds(now);
}

void NetworkModel::take(const Turn& turn) noexcept {
  Flow& flow = flows_[turn.connection];
  const uint32_t before = std::exchange(flow.variable, turn.variable);
  flow.cost.message = Bytes(-1);
  if (turn.variable != kNone) note_route(turn.connection, ways_[turn.variable].route);
  if (!flow.active) return;
  flow.remaining -= static_cast<__int128>(flow.rate) * (turn.at - flow.updated).ps;
  flow.updated = turn.at;
  flow.rate = 0;
  completions_.remove(turn.connection);
  if (before != kNone) shares_.deactivate(before);
  if (turn.variable != kNone) shares_.activate(turn.variable);
  if (holds_) turn_holds(turn, before);
  if (sharing_ && before != kNone) sharing_->end(before, turn.at);
  if (sharing_ && turn.variable != kNone) sharing_->begin(turn.variable, turn.at);
  shares_changed_ = turn.at;
}

void NetworkModel::enqueue(Time now, const Message& message) noexcept {
  const uint32_t slot = free_ != kNone ? free_ : transfers_used_++;
  Transfer& transfer = transfers_[slot];
  if (slot == free_) free_ = transfer.next;
  transfer = {.message = message, .posted = now, .first_tx = now, .last_tx = now, .delivered = now};
  const uint32_t connection = flow_of(message.connection);
  Flow& flow = flows_[connection];
  (flow.head == kNone ? flow.head : transfers_[flow.tail].next) = slot;
  flow.tail = slot;
  if (++flow.queued == 1) begin(connection, now);
}

void NetworkModel::begin(uint32_t connection, Time now) noexcept {
  Flow& flow = flows_[connection];
  const Transfer& transfer = transfers_[flow.head];
  if (const Time asked = transfer.posted + flow.fetched_after; asked > now)
    return wait(connection, Wait::kRequest, asked, now);
  const Bytes size = cost_of(connection, transfer.message.bytes).line;
  if (const Time turn = take_turn(connection, size, now); turn > now) return wait(connection, Wait::kTurn, turn, now);
  start(connection, size, now);
}

void NetworkModel::wait(uint32_t connection, Wait what, Time until, Time now) noexcept {
  stop_sharing(connection, now);
  flows_[connection].waits = what;
  completions_.set(connection, until, connection);
}

void NetworkModel::start(uint32_t connection, Bytes size, Time now) noexcept {
  Flow& flow = flows_[connection];
  transfers_[flow.head].first_tx = now;
  if (flow.port.valid()) ++ports_[flow.port.value].begun;
  flow.remaining = static_cast<__int128>(size.count) * 8 * kPicosecondsPerSecond;
  flow.updated = now;
  if (flow.remaining > 0 && !flow.active) {
    flow.active = true;
    completions_.remove(connection);
    if (flow.variable == kNone) return;
    shares_.activate(flow.variable);
    if (sharing_) sharing_->begin(flow.variable, now);
    if (holds_) holds_->begin(ways_[flow.variable].route);
    shares_changed_ = now;
    return;
  }
  schedule_completion(connection);
}

void NetworkModel::schedule_completion(uint32_t connection) noexcept {
  const Flow& flow = flows_[connection];
  int64_t left = 0;
  if (flow.remaining > 0 && flow.remaining <= INT64_MAX - flow.rate) {
    left = (static_cast<int64_t>(flow.remaining) + flow.rate - 1) / flow.rate;  // much faster than in 128 bits
  } else if (flow.remaining > 0) {
    left = static_cast<int64_t>((flow.remaining + flow.rate - 1) / flow.rate);
  }
  completions_.set(connection, flow.updated + Duration(left), connection);
}

void NetworkModel::complete(uint32_t connection, Time now) noexcept {
  Flow& flow = flows_[connection];
  const uint32_t slot = flow.head;
  Transfer& transfer = transfers_[slot];
  const Wait waited = std::exchange(flow.waits, Wait::kNothing);
  if (waited == Wait::kRequest) return begin(connection, now);
  if (waited == Wait::kTurn) return start(connection, cost_of(connection, transfer.message.bytes).line, now);
  flow.head = std::exchange(transfer.next, kNone);
  --flow.queued;
  leave_port(connection, now);
  transfer.last_tx = now;
  ++transmitted_;
  transfer.delivered = std::max(now + cost_of(connection, transfer.message.bytes).forwarding, flow.last_delivered);
  flow.last_delivered = transfer.delivered;
  notices_.push(slot, transfer.delivered, notices_made_++);
  if (flow.head != kNone) return begin(connection, now);
  completions_.remove(connection);
  stop_sharing(connection, now);
}

void NetworkModel::stop_sharing(uint32_t connection, Time now) noexcept {
  Flow& flow = flows_[connection];
  if (!flow.active) return;
  flow.active = false;
  flow.rate = 0;
  shares_.deactivate(flow.variable);
  if (sharing_) sharing_->end(flow.variable, now);
  if (holds_) holds_->end(ways_[flow.variable].route);
  shares_changed_ = now;
}

const NetworkModel::Cost& NetworkModel::cost_of(uint32_t connection, Bytes message) noexcept {
  Flow& flow = flows_[connection];
  Cost& cost = flow.cost;
  if (cost.message != message) {
    const Route& route = ways_[flow.variable != kNone ? flow.variable : connection].route;
    cost = {.message = message,
            .line = route.weightless ? Bytes(0) : line_size(message, route.framing),
            .forwarding = forwarding_time(network_, route, route.weightless ? Bytes(0) : message),
            .acknowledging = acknowledging_time(network_, connection, message)};
  }
  return cost;
}

Event NetworkModel::report(uint32_t slot) noexcept {
  return transfers_[slot].reported ? report_sent(slot) : report_received(slot);
}

Event NetworkModel::report_received(uint32_t slot) noexcept {
  Transfer& transfer = transfers_[slot];
  transfer.reported = true;
  const uint32_t connection = flow_of(transfer.message.connection);
  notices_.pop();
  notices_.push(slot, transfer.delivered + flows_[connection].way_back, notices_made_++);
  if (!network_.acknowledgements.empty()) acknowledge(connection, transfer);
  ++counters_.messages_delivered;
  const Message& message = transfer.message;
  Event event = event_of(message);
  event.kind = EventKind::kReceived;
  event.at_source = false;
  event.received = {
      .first_rx = Time::never(), .delivered = transfer.delivered, .payload_key = visible_key(message), .marks = 0};
  return event;
}

Event NetworkModel::report_sent(uint32_t slot) noexcept {
  Transfer& transfer = transfers_[slot];
  const Message& message = transfer.message;
  Flow& flow = flows_[flow_of(message.connection)];
  notices_.pop();
  transfer.next = std::exchange(free_, slot);
  ++counters_.messages_sent;
  ++flow.messages;
  flow.bytes += static_cast<uint64_t>(message.bytes.count);
  Event event = event_of(message);
  event.kind = EventKind::kSent;
  event.at_source = true;
  event.sent = {.posted = transfer.posted,
                .first_tx = transfer.first_tx,
                .last_tx = transfer.last_tx,
                .acked = transfer.delivered + flow.way_back};
  return event;
}

std::vector<FlowCounters> NetworkModel::flows_of(ConnectionRange range) const {
  const auto place_of = [&](uint32_t connection) {
    if (!network_.connections) return std::min<size_t>(connection, flows_.size());
    const auto place = std::ranges::lower_bound(*network_.connections, ConnectionId(connection));
    return static_cast<size_t>(place - network_.connections->begin());
  };
  const size_t end = place_of(range.end);
  std::vector<FlowCounters> counters;
  for (size_t i = place_of(range.begin); i < end; ++i) {
    FlowCounters& flow = counters.emplace_back();
    flow.connection = id_of(static_cast<uint32_t>(i));
    flow.messages = flows_[i].messages;
    flow.bytes = flows_[i].bytes;
  }
  return counters;
}

std::string NetworkModel::describe(ConnectionId connection) const {
  const Flow& flow = flows_[flow_of(connection)];
  if (flow.head == kNone) return fmt::format("model: idle, {} messages sent", flow.messages);
  const Transfer& transfer = transfers_[flow.head];
  if (flow.variable == kNone) {
    return fmt::format("model: {} messages queued, message {} of {} bytes waits for a cable to come back", flow.queued,
                       transfer.message.index, transfer.message.bytes.count);
  }
  if (flow.waits != Wait::kNothing) {
    return fmt::format("model: {} messages queued, message {} of {} bytes waits {}", flow.queued,
                       transfer.message.index, transfer.message.bytes.count,
                       flow.waits == Wait::kTurn ? "for its turn at the port" : "until its destination fetches it");
  }
  return fmt::format("model: {} messages queued, sending message {} of {} bytes since {} ps at {} bit/s", flow.queued,
                     transfer.message.index, transfer.message.bytes.count, transfer.first_tx.ps, flow.rate);
}

std::vector<QueuePairState> NetworkModel::states(ConnectionId connection) const {
  const Flow& flow = flows_[flow_of(connection)];
  QueuePairState state;
  state.hold = flow.head == kNone ? Hold::kNothing : flow.variable == kNone ? Hold::kNextHop : Hold::kAnswer;
  return {state};
}

}  // namespace rankwire
