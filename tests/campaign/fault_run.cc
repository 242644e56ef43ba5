#include "tests/campaign/fault_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/transport_counters.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/roce/transport.h"
#include "dataplane/switch/virtual_fabric.h"
#include "dataplane/wire/opcode_name.h"
#include "emulator/engine/worker_transport.h"
#include "tests/campaign/sightings.h"
#include "tests/campaign/transitions.h"

namespace rankwire::testing {
namespace {

constexpr uint32_t kFrames = 1 << 14;
/// Longer than any queue pair of a case lives without progress: 8 time-outs of 2 x 2 ms, and RNR timers.
constexpr Duration kPatience = seconds(20);
constexpr uint32_t kPollsAtOnce = 10'000;

std::string_view syndrome_name(uint8_t syndrome) {
  switch (syndrome & kSyndromeTypeMask) {
    case kSyndromeTypeAck:
      return syndrome == kCreditsInvalid ? "ACK" : "ACK with credits";
    case kSyndromeTypeNotReady:
      return "RNR NAK";
    case kSyndromeTypeNak:
      break;
    default:
      return "reserved syndrome";
  }
  switch (static_cast<Syndrome>(syndrome)) {
    case Syndrome::kNakSequence:
      return "NAK sequence error";
    case Syndrome::kNakInvalidRequest:
      return "NAK invalid request";
    case Syndrome::kNakRemoteAccess:
      return "NAK remote access error";
    case Syndrome::kNakRemoteOperational:
      return "NAK remote operational error";
    default:
      return "reserved syndrome";
  }
}

using MessageKey = std::pair<uint32_t, uint32_t>;  // connection, index

/// What was heard of a message.
struct Fate {
  Message message;
  uint32_t sent = 0, received = 0, failed_here = 0, failed_there = 0;
  bool over() const { return sent + failed_here > 0; }
};

/// What a worker has of the case's transports. They outlive it, and others prepare, connect and close them.
class OwnTransports final : public Transport {
 public:
  OwnTransports(std::vector<Transport*> transports, std::map<NicId, Transport*> of_nic, const TransportPlan& plan)
      : transports_(std::move(transports)), of_nic_(std::move(of_nic)), plan_(plan) {}

  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time now, std::span<const Message> messages) noexcept override {
    size_t posted = 0;
    for (const Message& message : messages)
      posted += of_nic_.at(plan_.connections[message.connection.value].source_nic)->post(now, {&message, 1});
    return posted;
  }
  size_t poll(Time now, std::span<Event> events) noexcept override {
    size_t n = 0;
    for (Transport* transport : transports_) n += transport->poll(now, events.subspan(n));
    return n;
  }
  Time next_event() const noexcept override { return Time::never(); }
  uint64_t activity() const noexcept override {
    uint64_t sum = 0;
    for (const Transport* transport : transports_) sum += transport->activity();
    return sum;
  }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return {}; }
  void close() noexcept override {}

 private:
  const std::vector<Transport*> transports_;
  const std::map<NicId, Transport*> of_nic_;
  const TransportPlan& plan_;
};

class Lab {
 public:
  /// With several workers a case that has one transport has one a worker.
  Lab(const FaultCase& fault, uint32_t workers) : case_(fault), pool_(kFrames), exchange_(workers) {
    std::vector<FramePort*> ends;
    std::vector<PortBinding> bindings;
    for (size_t host = 0; host < fault.rates.size(); ++host) {
      auto [near, far] = make_memory_link(pool_, 4096, fmt::format("host{}", host));
      near_.push_back(std::move(near));
      far_.push_back(std::move(far));
      ends.push_back(far_.back().get());
      ports_.push_back(std::make_unique<ImpairedPort>(*near_.back(), fault.impairments[host]));
      ports_.back()->refuse_every(fault.refuse_every[host]);
      pass_forger(host);
      bindings.push_back({PortId(static_cast<uint32_t>(host)), ports_.back().get(), fault.rates[host]});
      stations_.push_back({fault.plan.nics[host].mac, static_cast<uint32_t>(host)});
    }
    make_transports(bindings, workers);
    if (workers > 1) make_workers(workers);
    FabricOptions options = fault.fabric;
    options.stations = stations_;
    fabric_ = std::make_unique<VirtualFabric>(fault.topology, ends, std::span(&fault.device, 1), options);
  }
  ~Lab() {
    for (const auto& transport : transports_) transport->close();
  }

  std::string run() {
    if (const std::string trouble = connect(); !trouble.empty()) return trouble;
    size_t posted = 0;
    for (now_ = Time();;) {
      for (; posted < case_.posts.size() && case_.posts[posted].at <= now_; ++posted) post(case_.posts[posted].message);
      turn();
      if (posted == case_.posts.size() && all_over()) break;
      const Time next = posted < case_.posts.size() ? std::min(next_event(), case_.posts[posted].at) : next_event();
      if (const std::string hang = advance(next); !hang.empty()) return hang;
    }
    // What is under way must not deliver anything a second time.
    for (const Time end = now_ + milliseconds(50); now_ < end;) {
      turn();
      const Time next = next_event();
      if (next == Time::never()) break;
      if (const std::string hang = advance(next); !hang.empty()) return hang;
    }
    note_counters();
    return judge();
  }

  FaultVerdict verdict() const {
    FaultVerdict verdict;
    for (const auto& [key, fate] : fates_) {
      ++verdict.messages;
      verdict.delivered += fate.received > 0;
      verdict.failed += fate.failed_here > 0;
    }
    for (const auto& transport : transports_) verdict.counters += transport->counters();
    return verdict;
  }

 private:
  // What comes to the host's port is seen here first.
  void pass_forger(size_t host) {
    const RoceOptions& options = case_.transports[case_.transports.size() == 1 ? 0 : host];
    forgers_.emplace_back(case_.forgeries, options.verb == DataVerb::kRead, options.mtu, mix64(case_.seed) + host);
    ImpairedPort& port = *ports_[host];
    port.forge([this, host, capacity = port.capabilities().frame_capacity](const Frame& frame, Frame& forged) {
      const ImpairedPort::Kept kept = forgers_[host].forge(frame, forged, capacity);
      if (kept != ImpairedPort::Kept::kSecond) note_packet(frame);
      if (kept != ImpairedPort::Kept::kFirst) note_packet(forged);
      return kept;
    });
  }

  void make_transports(const std::vector<PortBinding>& bindings, uint32_t workers) {
    const bool apart = case_.transports.size() > 1;
    transport_of_.resize(bindings.size());
    for (uint32_t first = 0; first < (apart ? bindings.size() : workers); ++first) {
      std::vector<PortBinding> ports;
      for (size_t host = first; host < bindings.size(); host += apart ? bindings.size() : workers)
        ports.push_back(bindings[host]);
      if (ports.empty()) continue;
      transports_.push_back(std::make_unique<RoceTransport>(case_.transports[apart ? first : 0], ports));
      for (const PortBinding& port : ports) transport_of_[port.id.value] = transports_.back().get();
    }
  }

  // Of W workers, i has every W-th host from i on. The ranks are with the next worker, so that all that is posted and
  // reported goes from one to another.
  void make_workers(uint32_t workers) {
    const auto of_host = [&](NicId nic) { return static_cast<uint16_t>(nic.value % workers); };
    const auto of_rank = [&](NicId nic) { return static_cast<uint16_t>((nic.value + 1) % workers); };
    for (const Connection& c : case_.plan.connections)
      routes_.push_back(
          {of_host(c.source_nic), of_host(c.destination_nic), of_rank(c.source_nic), of_rank(c.destination_nic)});
    for (uint32_t worker = 0; worker < workers; ++worker) {
      std::vector<Transport*> own;
      std::map<NicId, Transport*> of_nic;
      for (uint32_t host = worker; host < transport_of_.size(); host += workers) {
        of_nic[NicId(host)] = transport_of_[host];
        if (std::ranges::find(own, transport_of_[host]) == own.end()) own.push_back(transport_of_[host]);
      }
      workers_.push_back(std::make_unique<WorkerTransport>(
          std::make_unique<OwnTransports>(std::move(own), std::move(of_nic), case_.plan), worker, routes_, exchange_));
    }
  }

  RoceTransport& transport_of(NicId nic) const { return *transport_of_[nic.value]; }

  // Before the run, so that next hops are known or unreachable by time 0.
  std::string connect() {
    std::vector<EndPoint> ends;
    for (const auto& transport : transports_)
      std::ranges::copy(transport->prepare(plan_of(*transport)), std::back_inserter(ends));
    for (EndPoint& end : ends) {
      if (end.connection != ConnectionId(0) || end.at_source) continue;
      if (case_.disagreement == Disagreement::kKey) end.rkey ^= 1;
      if (case_.disagreement == Disagreement::kQueuePair) end.queue_pair = kQueuePairMask;
    }
    for (const auto& transport : transports_)
      if (const auto failures = transport->connect(ends); !failures.empty())
        return fmt::format("not connected: {}", failures.front().reason);
    now_ = last_change_ = Time() - milliseconds(100);
    while (now_ < Time()) {
      turn();
      const Time next = std::min(next_event(), Time());
      if (const std::string hang = advance(next); !hang.empty()) return hang;
    }
    return {};
  }

  // Where destinations have less memory than sources know, each transport sees its own side.
  TransportPlan plan_of(const RoceTransport& transport) const {
    TransportPlan plan = case_.plan;
    if (case_.disagreement != Disagreement::kMemory) return plan;
    for (Connection& connection : plan.connections)
      if (&transport_of(connection.destination_nic) == &transport && !connection.control)
        connection.largest_message = Bytes(2000);
    return plan;
  }

  void post(const Message& message) {
    fates_[{message.connection.value, message.index}].message = message;
    last_change_ = now_;
    const NicId nic = case_.plan.connections[message.connection.value].source_nic;
    Transport& transport = workers_.empty() ? static_cast<Transport&>(transport_of(nic))
                                            : *workers_[routes_[message.connection.value].source];
    if (transport.post(now_, {&message, 1}) != 1) trouble_ = "a message was refused";
  }

  void turn() {
    fabric_->step(now_);
    if (workers_.empty()) {
      for (const auto& transport : transports_) listen(*transport, [](const Event&) { return true; });
    }
    // What one hands over another takes, and what is reported of it goes back.
    for (uint64_t before = UINT64_MAX; before != activity_of_workers();) {
      before = activity_of_workers();
      for (uint32_t worker = 0; worker < workers_.size(); ++worker)
        listen(*workers_[worker], [&](const Event& event) { return is_about(event, worker); });
    }
    fabric_->step(now_);
  }

  uint64_t activity_of_workers() const {
    uint64_t sum = 0;
    for (const auto& worker : workers_) sum += worker->activity();
    return sum;
  }

  template <class Counts>
  void listen(Transport& transport, Counts counts) {
    Event events[16];
    for (size_t n; (n = transport.poll(now_, events)) > 0;)
      for (const Event& event : std::span(events).first(n))
        if (counts(event)) hear(event);
  }

  // Whether the event is about a rank of the worker: of a message that is given up both ends' workers hear.
  bool is_about(const Event& event, uint32_t worker) {
    const WorkerRoute& route = routes_[event.connection.value];
    if ((event.at_source ? route.source : route.destination) == worker) return true;
    const bool given_up = event.kind == EventKind::kFailed && event.at_source;
    if (!given_up || route.destination != worker) trouble_ = "an event went to a worker that it is not about";
    sightings().note("given up at its source, heard at its destination");
    return false;
  }

  void hear(const Event& event) {
    last_change_ = now_;
    const auto found = fates_.find({event.connection.value, event.index});
    if (found == fates_.end()) {
      trouble_ = fmt::format("an event of connection {} message {}, which was never posted", event.connection.value,
                             event.index);
      return;
    }
    Fate& fate = found->second;
    switch (event.kind) {
      case EventKind::kSent:
        ++fate.sent;
        break;
      case EventKind::kReceived:
        ++fate.received;
        check_payload(fate, event);
        break;
      case EventKind::kFailed:
        ++(event.at_source ? fate.failed_here : fate.failed_there);
        check_reason(fate, event.failure);
    }
  }

  void check_reason(const Fate& fate, Failure failure) {
    sightings().note(fmt::format("failure: {}", to_string(failure)));
    switch (failure) {
      case Failure::kRetryExceeded:
      case Failure::kNotReadyExceeded:
      case Failure::kFlushed:
        return;
      case Failure::kUnreachable:
        if (case_.transports[0].neighbours == NeighbourMode::kResolve) return;
        break;
      case Failure::kRemoteInvalid:
      case Failure::kRemoteAccess:
      case Failure::kRemoteOperational:
        if (case_.refusals) return;
        break;
      case Failure::kNone:
      case Failure::kDevice:
        break;
    }
    trouble_ = fmt::format("failed for a wrong reason, {}: {}", to_string(failure), name(fate));
  }

  void check_payload(const Fate& fate, const Event& event) {
    const int64_t bytes = fate.message.bytes.count;
    uint64_t key = payload_key(fate.message.id);
    if (bytes < 8) key &= (uint64_t{1} << (8 * bytes)) - 1;
    const bool checked = case_.transports[0].payload == PayloadMode::kChecking;
    if (event.bytes != fate.message.bytes || (checked && event.received.payload_key != key))
      trouble_ = "altered: " + name(fate);
  }

  Time next_event() const {
    Time next = fabric_->next_event();
    for (const auto& transport : transports_) next = std::min(next, transport->next_event());
    return next;
  }

  // Moves time on, or says why it must not.
  std::string advance(Time next) {
    if (std::string trouble = first_trouble(); !trouble.empty()) return trouble;
    if (next == Time::never() || next > last_change_ + kPatience) {
      for (const auto& [key, fate] : fates_)
        if (!fate.over()) return fmt::format("hangs: {}: {}", name(fate), where(fate));
      return next == Time::never() ? "nothing is to happen, and yet it is not over" : "does not come to rest";
    }
    polls_ = next > now_ ? 0 : polls_ + 1;
    if (polls_ > kPollsAtOnce) return fmt::format("time stands still at {} ps", now_.ps);
    now_ = std::max(now_, next);
    return {};
  }

  std::string first_trouble() const {
    if (!trouble_.empty()) return trouble_;
    if (std::string unknown = transitions_of<Requester>().unknown(); !unknown.empty()) return unknown;
    return transitions_of<Responder>().unknown();
  }

  bool all_over() const {
    return std::ranges::all_of(fates_, [](const auto& entry) { return entry.second.over(); });
  }
  std::string judge() const {
    if (std::string trouble = first_trouble(); !trouble.empty()) return trouble;
    for (const auto& [key, fate] : fates_) {
      if (fate.sent > 1 || fate.received > 1 || fate.failed_here > 1 || fate.failed_there > 1)
        return fmt::format("reported again: {}", name(fate));
      if (fate.sent > 0 && fate.failed_here > 0) return "sent and failed: " + name(fate);
      if (fate.sent > 0 && fate.received == 0) return "sent and never delivered: " + name(fate);
      if (fate.failed_there > 0 && case_.transports[0].verb != DataVerb::kRead)
        return "failed at its destination: " + name(fate);
      if (case_.survivable && fate.failed_here > 0) return "gave up, although little was lost: " + name(fate);
    }
    if (!fabric_->conserved()) return "the fabric has lost count of its frames";
    for (const auto& transport : transports_)
      if (transport->counters().payload_errors > 0) return "payload errors were counted";
    return {};
  }

  static void note_packet(const Frame& frame) {
    const ParsedPacket packet = parse(frame);
    if (packet.reject != Reject::kNone) return;
    sightings().note(to_string(packet.opcode));
    if (layout_of(packet.opcode).aeth) sightings().note(syndrome_name(packet.syndrome));
    if (packet.psn == 0) sightings().note("PSN wraps");
  }
  void note_counters() const {
    for (const auto& transport : transports_) {
      for (const NamedCounter& counter : transport->details()) sightings().note(counter.name, counter.value);
      const TransportCounters counters = transport->counters();
      for (const CounterField& field : transport_counters()) sightings().note(field.name, counters.*field.field);
    }
    for (const auto& [key, fate] : fates_) {
      const Connection& connection = case_.plan.connections[key.first];
      if (fate.received > 0 && connection.reverse_of.valid())
        sightings().note(connection.control ? "control message delivered" : "reverse message delivered");
    }
  }

  std::string name(const Fate& fate) const {
    return fmt::format("connection {} message {} of {} B at {} ps", fate.message.connection.value, fate.message.index,
                       fate.message.bytes.count, now_.ps);
  }
  std::string where(const Fate& fate) const {
    const Connection& c = case_.plan.connections[fate.message.connection.value];
    return transport_of(c.source_nic).describe(c.id) + " | " + transport_of(c.destination_nic).describe(c.id);
  }

  const FaultCase& case_;
  FramePool pool_;
  std::vector<std::unique_ptr<FramePort>> near_, far_;
  std::vector<std::unique_ptr<ImpairedPort>> ports_;
  std::vector<Forger> forgers_;
  std::vector<FabricStation> stations_;
  std::unique_ptr<VirtualFabric> fabric_;
  std::vector<std::unique_ptr<RoceTransport>> transports_;
  std::vector<RoceTransport*> transport_of_;  // by host
  std::vector<WorkerRoute> routes_;           // with several workers, by connection, as what follows
  WorkerExchange exchange_;
  std::vector<std::unique_ptr<WorkerTransport>> workers_;
  std::map<MessageKey, Fate> fates_;
  std::string trouble_;
  Time now_, last_change_ = Time::long_ago();
  uint32_t polls_ = 0;
};

}  // namespace

FaultVerdict run(const FaultCase& fault, uint32_t workers) {
  // Nobody tells the source of a message whose READ has failed elsewhere.
  if (fault.transports[0].verb == DataVerb::kRead) workers = 1;
  transitions_of<Requester>().begin(fault.seed);
  transitions_of<Responder>().begin(fault.seed);
  sightings().begin(fault.seed);
  Lab lab(fault, workers);
  std::string trouble = lab.run();
  FaultVerdict verdict = lab.verdict();
  verdict.fault = std::move(trouble);
  return verdict;
}

}  // namespace rankwire::testing
