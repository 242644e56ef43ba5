#include "emulator/simulator/astra_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "emulator/simulator/astra_collectives.h"
#include "emulator/simulator/astra_events.h"
#include "emulator/simulator/astra_transfers.h"

namespace rankwire {
namespace {

constexpr size_t kReportedWaits = 64;

/// Ready nodes of one resource, the lowest id first.
using Ready =
    std::priority_queue<std::pair<uint64_t, uint32_t>, std::vector<std::pair<uint64_t, uint32_t>>, std::greater<>>;

}  // namespace

class AstraSimulation::State {
 public:
  State(const AstraModel& model, const AstraProgram& program, RecordSink& sink, bool event_by_event)
      : model_(model),
        program_(program),
        sink_(sink),
        transfers_(model, events_),
        collectives_(model, program, events_, transfers_, event_by_event,
                     [this](uint32_t rank) { complete(rank, std::exchange(ranks_[rank].collective, kNoNode)); }),
        ranks_(program.ranks.size()) {
    for (uint32_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].started.resize(program.ranks[r].nodes.size());
    }
  }

  AstraResult run(const std::atomic<bool>& interrupted) {
    for (uint32_t r = 0; r < ranks_.size(); ++r) begin_iteration(r), issue(r);
    AstraEvent event;
    while (collectives_.problem().empty() && !interrupted.load(std::memory_order_relaxed) && events_.next(event))
      handle(event);
    return result(interrupted.load());
  }

  uint64_t completed() const noexcept { return completed_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kNoNode = UINT32_MAX;
  static constexpr uint32_t kNoPort = UINT32_MAX;

  struct Access {
    uint32_t rank = 0, node = 0;
  };

  /// A memory that serves one access after the other.
  struct Port {
    std::deque<Access> waiting;
    bool busy = false;
  };

  /// The sends and receives with one tag, size and pair of ranks: the n-th of each belong together.
  struct Channel {
    struct Exchange {
      uint32_t sender = UINT32_MAX, receiver = UINT32_MAX;  ///< nodes
      AstraMatch match;
    };
    uint32_t source = 0, destination = 0;
    int64_t tag = 0;
    Bytes bytes;
    std::deque<Exchange> open;
    uint32_t first = 0;  ///< number of the first in `open`
    uint32_t sends = 0, receives = 0;

    Exchange& at(uint32_t number) {
      while (number - first >= open.size()) open.emplace_back();
      return open[number - first];
    }
  };

  struct Rank {
    std::vector<uint32_t> open;  ///< by node: dependencies that are not complete
    std::vector<Time> started;   ///< by node
    std::array<Ready, kAstraResources> ready;
    std::array<bool, kAstraResources> busy{};
    uint32_t left = 0;              ///< nodes of this iteration
    uint32_t iteration = 0;         ///< that runs; as many as there are when it has finished
    uint32_t collective = kNoNode;  ///< node that runs
    Time last_end;
  };

  void begin_iteration(uint32_t rank) {
    Rank& r = ranks_[rank];
    const AstraRank& trace = program_.ranks[rank];
    r.open.assign(trace.dependencies.begin(), trace.dependencies.end());
    r.left = static_cast<uint32_t>(trace.nodes.size());
    for (uint32_t n = 0; n < trace.nodes.size(); ++n) {
      if (r.open[n] == 0) make_ready(rank, n);
    }
  }

  void make_ready(uint32_t rank, uint32_t node) {
    const AstraNode& n = program_.ranks[rank].nodes[node];
    ranks_[rank].ready[static_cast<size_t>(n.resource)].emplace(n.id, node);
  }

  /// Starts whatever is ready and finds its resource free.
  void issue(uint32_t rank) {
    Rank& r = ranks_[rank];
    for (bool again = true; again;) {
      again = false;
      for (size_t resource = 0; resource < kAstraResources; ++resource) {
        if (r.busy[resource] || r.ready[resource].empty()) continue;
        const uint32_t node = r.ready[resource].top().second;
        r.ready[resource].pop();
        r.busy[resource] = resource != static_cast<size_t>(AstraResource::kNone);
        start(rank, node);
        again = true;
      }
    }
  }

  void start(uint32_t rank, uint32_t node) {
    const AstraNode& n = program_.ranks[rank].nodes[node];
    ranks_[rank].started[node] = events_.now();
    switch (n.work) {
      case AstraNode::Work::kNothing:
        return finish(rank, node);
      case AstraNode::Work::kTimed:
        return end_after(rank, node, n.duration);
      case AstraNode::Work::kMemory:
        return access_memory(rank, node);
      case AstraNode::Work::kCollective:
        ranks_[rank].collective = node;
        if (collectives_.start(rank, n)) return;
        ranks_[rank].collective = kNoNode;
        return finish(rank, node);
      case AstraNode::Work::kSend:
        return send(rank, node);
      case AstraNode::Work::kReceive:
        return receive(rank, node);
    }
  }

  void complete(uint32_t rank, uint32_t node) {
    finish(rank, node);
    issue(rank);
  }

  /// Records the node and readies what depends on it; the caller issues.
  void finish(uint32_t rank, uint32_t node) {
    Rank& r = ranks_[rank];
    const AstraRank& trace = program_.ranks[rank];
    r.busy[static_cast<size_t>(trace.nodes[node].resource)] = false;
    r.last_end = events_.now();
    if (trace.nodes[node].work != AstraNode::Work::kNothing) record(rank, node);
    for (const uint32_t next : trace.successors_of(node)) {
      if (--r.open[next] == 0) make_ready(rank, next);
    }
    if (--r.left == 0 && ++r.iteration < program_.iterations) begin_iteration(rank);
  }

  void record(uint32_t rank, uint32_t node) {
    const OperationRecord row{.rank = RankId(rank),
                              .node = node,
                              .iteration = ranks_[rank].iteration,
                              .start = ranks_[rank].started[node],
                              .end = events_.now()};
    sink_.operations({&row, 1});
    completed_.store(completed() + 1, std::memory_order_relaxed);
  }

  void end_after(uint32_t rank, uint32_t node, Duration duration) {
    events_.push(events_.now() + duration, {.a = rank, .b = node, .kind = AstraEvent::Kind::kNodeEnds});
  }

  void access_memory(uint32_t rank, uint32_t node) {
    const AstraMemory& memory = model_.memory;
    if (memory.kind == AstraMemory::Kind::kPerNpu) return serve(kNoPort, {rank, node});
    const uint32_t index = memory.kind == AstraMemory::Kind::kPerNode ? rank / memory.npus_per_node : 0;
    if (ports_.size() <= index) ports_.resize(index + 1);
    if (ports_[index].busy) return ports_[index].waiting.push_back({rank, node});
    ports_[index].busy = true;
    serve(index, {rank, node});
  }

  void serve(uint32_t port, const Access& access) {
    const AstraMemory& memory = model_.memory;
    const Bytes bytes = program_.ranks[access.rank].nodes[access.node].bytes;
    const double seconds = static_cast<double>(bytes.count) / (memory.bandwidth * 1e9);
    const Duration takes = memory.latency + whole_nanoseconds(seconds * 1e9);
    end_after(access.rank, access.node, takes);
    if (port != kNoPort) events_.push(events_.now() + takes, {.a = port, .kind = AstraEvent::Kind::kMemoryFree});
  }

  void free_port(uint32_t index) {
    Port& port = ports_[index];
    port.busy = !port.waiting.empty();
    if (!port.busy) return;
    const Access next = port.waiting.front();
    port.waiting.pop_front();
    serve(index, next);
  }

  uint32_t channel(uint32_t source, uint32_t destination, const AstraNode& node) {
    const auto [at, added] = channel_of_.try_emplace({source, destination, node.tag, node.bytes.count},
                                                     static_cast<uint32_t>(channels_.size()));
    if (added) {
      Channel& c = channels_.emplace_back();
      c.source = source, c.destination = destination, c.tag = node.tag, c.bytes = node.bytes;
    }
    return at->second;
  }

  AstraMessage message(uint32_t channel, uint32_t number, bool answer) const {
    const Channel& c = channels_[channel];
    return {.source = c.source,
            .destination = c.destination,
            .owner = channel,
            .number = number,
            .answer = answer,
            .bytes = c.bytes};
  }

  void send(uint32_t rank, uint32_t node) {
    const AstraNode& n = program_.ranks[rank].nodes[node];
    const uint32_t index = channel(rank, n.peer, n), number = channels_[index].sends++;
    Channel::Exchange& exchange = channels_[index].at(number);
    exchange.sender = node;
    if (exchange.match.send(model_.rendezvous)) transfers_.start(message(index, number, false));
  }

  void receive(uint32_t rank, uint32_t node) {
    const AstraNode& n = program_.ranks[rank].nodes[node];
    const uint32_t index = channel(n.peer, rank, n), number = channels_[index].receives++;
    Channel::Exchange& exchange = channels_[index].at(number);
    exchange.receiver = node;
    if (model_.rendezvous) transfers_.start(message(index, number, true));
    if (!exchange.match.await()) return;
    forget(channels_[index]);
    end_after(rank, node, Duration());
  }

  void arrived(AstraMessage m) {
    Channel& c = channels_[m.owner];
    Channel::Exchange& exchange = c.at(m.number);
    if (m.answer) {
      m.answer = false;
      if (exchange.match.answer()) transfers_.start(m);
      return;
    }
    const uint32_t sender = exchange.sender, receiver = exchange.receiver;
    const bool received = exchange.match.arrive();
    if (received) forget(c);
    complete(m.source, sender);
    if (received) complete(m.destination, receiver);
  }

  static void forget(Channel& c) {
    while (!c.open.empty() && c.open.front().match.has_arrived && c.open.front().match.awaited)
      c.open.pop_front(), ++c.first;
  }

  void handle(const AstraEvent& event) {
    switch (event.kind) {
      case AstraEvent::Kind::kNodeEnds:
        return complete(event.a, event.b);
      case AstraEvent::Kind::kMemoryFree:
        return free_port(event.a);
      case AstraEvent::Kind::kStep:
        return collectives_.due(event.a, event.b, event.c);
      case AstraEvent::Kind::kPhaseEnds:
        return collectives_.phase_ended(event.a);
      case AstraEvent::Kind::kMessage:
        if (const std::optional<AstraMessage> m = transfers_.advance(event.a)) {
          if (m->collective) return collectives_.arrived(*m);
          arrived(*m);
        }
    }
  }

  AstraResult result(bool interrupted) const {
    AstraResult result;
    for (const Rank& rank : ranks_) result.per_rank.push_back(rank.last_end - Time());
    const auto hangs = [&](const Rank& rank) { return rank.iteration < program_.iterations; };
    if (!collectives_.problem().empty()) {
      result.verdict = AstraVerdict::kFailed, result.reason = collectives_.problem();
    } else if (std::ranges::none_of(ranks_, hangs)) {
      return result;
    } else if (interrupted) {
      result.verdict = AstraVerdict::kInterrupted, result.reason = "stopped by a signal";
    } else {
      result.verdict = AstraVerdict::kStalled;
      result.reason = fmt::format("{} of {} ranks hang, where ASTRA-sim ends without a word",
                                  std::ranges::count_if(ranks_, hangs), ranks_.size());
      for (uint32_t r = 0; r < ranks_.size() && result.waiting.size() < kReportedWaits; ++r) {
        if (hangs(ranks_[r])) result.waiting.push_back(waiting(r));
      }
    }
    return result;
  }

  std::string waiting(uint32_t rank) const {
    const Rank& r = ranks_[rank];
    if (r.collective != kNoNode) return collectives_.waiting(rank);
    for (const Channel& c : channels_) {
      if (c.destination == rank && c.receives > c.sends)
        return fmt::format("rank {} waits for a message of {} bytes with tag {} from rank {}", rank, c.bytes.count,
                           c.tag, c.source);
      if (c.source == rank && c.sends > c.receives)
        return fmt::format("rank {} waits until rank {} receives {} bytes with tag {}", rank, c.destination,
                           c.bytes.count, c.tag);
    }
    return fmt::format("rank {} has {} nodes left that never become ready", rank, r.left);
  }

  const AstraModel& model_;
  const AstraProgram& program_;
  RecordSink& sink_;
  AstraEvents events_;
  AstraTransfers transfers_;
  AstraCollectives collectives_;
  std::vector<Rank> ranks_;
  std::vector<Port> ports_;
  std::map<std::tuple<uint32_t, uint32_t, int64_t, int64_t>, uint32_t> channel_of_;
  std::vector<Channel> channels_;
  std::atomic<uint64_t> completed_ = 0;
};

AstraSimulation::AstraSimulation(const AstraModel& model, const AstraProgram& program, RecordSink& sink,
                                 Options options)
    : state_(std::make_unique<State>(model, program, sink, options.event_by_event)) {}

AstraSimulation::~AstraSimulation() = default;

AstraResult AstraSimulation::run(const std::atomic<bool>& interrupted) {
  return state_->run(interrupted);
}

uint64_t AstraSimulation::nodes_completed() const noexcept {
  return state_->completed();
}

}  // namespace rankwire
