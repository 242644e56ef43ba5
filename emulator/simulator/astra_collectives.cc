#include "emulator/simulator/astra_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/simulator/astra_custom.h"
#include "emulator/simulator/astra_ring.h"

namespace rankwire {
namespace {

using Algorithm = AstraImplementation::Algorithm;

constexpr uint32_t kNotBegun = UINT32_MAX;
/// What ASTRA-sim takes for rings of groups, whatever the system's endpoint delay.
constexpr Duration kGroupEndpointDelay = nanoseconds(10);

std::string text(const AstraPhase& phase) {
  return fmt::format("{} of {} bytes", to_string(phase.collective), phase.data.count);
}

}  // namespace

/// A phase with all of its members: who has begun, and the algorithm unless it is computed as a whole.
class AstraCollectives::Shared final : public AstraPhaseHost {
 public:
  Shared(AstraCollectives& all, uint32_t index, const Key& key, const AstraPlannedPhase& planned)
      : all_(all),
        index_(index),
        key_(key),
        planned_(planned),
        begins_(planned.phase.members),
        streams_(planned.phase.members, kNotBegun) {}

  const Key& key() const { return key_; }
  const AstraPlannedPhase& planned() const { return planned_; }
  const AstraPhase& phase() const { return planned_.phase; }
  std::span<const Time> begins() const { return begins_; }
  uint32_t stream(uint32_t member) const { return streams_[member]; }
  bool runs() const { return algorithm_ != nullptr; }
  bool complete() const { return begun_ == phase().members; }
  bool count_end() { return ++ended_ == phase().members; }

  uint32_t rank_of(uint32_t member) const {
    return planned_.stride == 0 ? all_.program_.groups[key_.group][member] : key_.base + member * planned_.stride;
  }
  uint32_t member_of(uint32_t rank) const {
    if (planned_.stride == 0) return all_.place_in_group_[key_.group].at(rank);
    return (rank - key_.base) / planned_.stride;
  }

  void run(std::unique_ptr<AstraAlgorithm> algorithm) {
    algorithm_ = std::move(algorithm);
    matches_.resize(size_t{phase().members} * algorithm_->numbers());
  }

  void begin(uint32_t member, uint32_t stream, Time now) {
    streams_[member] = stream, begins_[member] = now, ++begun_;
    if (algorithm_) algorithm_->begin(member);
  }

  void due(uint32_t member, uint32_t step) { algorithm_->due(member, step); }

  void arrived(AstraMessage message) {
    AstraMatch& match = matches_[place(message.to, message.number)];
    if (message.answer) {
      message.answer = false;
      if (match.answer()) all_.transfers_.start(message);
      return;
    }
    algorithm_->arrived(message.to, message.number);
    if (match.arrive()) receive_now(message.to, message.number);
  }

  void send(uint32_t from, uint32_t to, uint32_t number, Bytes bytes) override {
    if (bytes.count <= 0) return all_.fail_empty(*this);
    if (matches_[place(to, number)].send(all_.model_.rendezvous))
      all_.transfers_.start(message(from, to, number, bytes));
  }

  void receive(uint32_t at, uint32_t from, uint32_t number, Bytes bytes) override {
    if (all_.model_.rendezvous) {
      AstraMessage answer = message(from, at, number, bytes);
      answer.answer = true;
      all_.transfers_.start(answer);
    }
    if (matches_[place(at, number)].await()) receive_now(at, number);
  }

  void wait(uint32_t member, uint32_t step, Duration delay) override {
    all_.events_.push(all_.events_.now() + delay,
                      {.a = index_, .b = member, .c = step, .kind = AstraEvent::Kind::kStep});
  }

  void end(uint32_t member) override { end_at(member, all_.events_.now()); }

  void end_at(uint32_t member, Time time) {
    all_.events_.push(time, {.a = streams_[member], .kind = AstraEvent::Kind::kPhaseEnds});
  }

 private:
  /// Of the n-th message to a member, until it is received.
  size_t place(uint32_t member, uint32_t number) const {
    return size_t{member} * algorithm_->numbers() + number % algorithm_->numbers();
  }

  void receive_now(uint32_t member, uint32_t number) {
    matches_[place(member, number)] = AstraMatch();
    algorithm_->received(member, number);
  }

  AstraMessage message(uint32_t from, uint32_t to, uint32_t number, Bytes bytes) const {
    return {.source = rank_of(from),
            .destination = rank_of(to),
            .owner = index_,
            .to = to,
            .number = number,
            .collective = true,
            .bytes = bytes};
  }

  AstraCollectives& all_;
  const uint32_t index_;
  const Key key_;
  const AstraPlannedPhase planned_;
  std::vector<Time> begins_;       // by member
  std::vector<uint32_t> streams_;  // by member
  std::unique_ptr<AstraAlgorithm> algorithm_;
  std::vector<AstraMatch> matches_;  // by member and number
  uint32_t begun_ = 0, ended_ = 0;
};

size_t AstraCollectives::KeyHash::operator()(const Key& key) const noexcept {
  const uint64_t high = uint64_t{key.group} << 32 | key.number, low = uint64_t{key.phase} << 32 | key.base;
  uint64_t hash = high * 0x9E3779B97F4A7C15u ^ low;
  hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u;
  return hash ^ hash >> 32;
}

AstraCollectives::AstraCollectives(const AstraModel& model, const AstraProgram& program, AstraEvents& events,
                                   AstraTransfers& transfers, bool event_by_event, std::function<void(uint32_t)> ended)
    : model_(model),
      program_(program),
      events_(events),
      transfers_(transfers),
      event_by_event_(event_by_event),
      ended_(std::move(ended)),
      planner_(model),
      delays_(model.network),
      place_in_group_(program.groups.size()),
      ranks_(program.ranks.size()) {
  for (size_t g = 0; g < program.groups.size(); ++g) {
    for (uint32_t i = 0; i < program.groups[g].size(); ++i) place_in_group_[g].emplace(program.groups[g][i], i);
  }
  for (Rank& rank : ranks_) {
    rank.turns = planner_.first_turns();
    rank.queues.resize(planner_.queues());
  }
}

AstraCollectives::~AstraCollectives() = default;

bool AstraCollectives::is_whole(uint32_t group) const {
  return program_.groups[group].size() == ranks_.size();
}

bool AstraCollectives::start(uint32_t rank, const AstraNode& node) {
  Rank& r = ranks_[rank];
  const AstraChunks chunks = planner_.chunks(node.collective, node.bytes);
  const auto members = static_cast<uint32_t>(program_.groups[node.group].size());
  r.streams.clear();
  for (uint64_t i = 0; i < chunks.count; ++i) {
    std::vector<AstraPlannedPhase> phases = is_whole(node.group)
                                                ? planner_.plan(node.collective, chunks.size, node.dimensions, r.turns)
                                                : planner_.plan_group(node.collective, chunks.size, members, r.turns);
    if (phases.empty()) return false;
    const uint32_t stream = new_stream();
    streams_[stream] = {.rank = rank,
                        .group = node.group,
                        .number = r.started[node.group]++,
                        .next = 0,
                        .shared = kNotBegun,
                        .phases = std::move(phases)};
    r.streams.push_back(stream);
  }
  for (const uint32_t stream : std::vector<uint32_t>(r.streams)) join_queue(stream);
  return !r.streams.empty();
}

uint32_t AstraCollectives::new_stream() {
  if (unused_streams_.empty()) {
    streams_.emplace_back();
    return static_cast<uint32_t>(streams_.size() - 1);
  }
  const uint32_t stream = unused_streams_.back();
  unused_streams_.pop_back();
  return stream;
}

void AstraCollectives::join_queue(uint32_t stream) {
  const Stream& s = streams_[stream];
  Queue& queue = ranks_[s.rank].queues[s.phases[s.next].queue];
  queue.waiting.push_back(stream);
  start_waiting(queue);
}

void AstraCollectives::start_waiting(Queue& queue) {
  while (queue.running < planner_.active() && !queue.waiting.empty()) {
    const uint32_t stream = queue.waiting.front();
    queue.waiting.pop_front();
    ++queue.running;
    begin_phase(stream);
  }
}

AstraEndpoint AstraCollectives::endpoint(const AstraPlannedPhase& planned) const {
  return {planned.stride == 0 ? kGroupEndpointDelay : model_.system.endpoint_delay, model_.system.memory_bandwidth};
}

uint32_t AstraCollectives::shared_phase(const Key& key, const Stream& stream) {
  const auto [at, added] = phase_of_.try_emplace(key, static_cast<uint32_t>(phases_.size()));
  if (!added) return at->second;
  if (unused_phases_.empty()) {
    phases_.emplace_back();
  } else {
    at->second = unused_phases_.back();
    unused_phases_.pop_back();
  }
  const AstraPlannedPhase& planned = stream.phases[stream.next];
  auto shared = std::make_unique<Shared>(*this, at->second, key, planned);
  switch (planned.phase.implementation.algorithm) {
    case Algorithm::kRing:
      if (event_by_event_ || model_.congestion_aware)
        shared->run(make_astra_exchange(planned.phase, endpoint(planned), *shared));
      break;
    case Algorithm::kDirect:
    case Algorithm::kHalvingDoubling:
      shared->run(make_astra_exchange(planned.phase, endpoint(planned), *shared));
      break;
    case Algorithm::kDoubleBinaryTree:
      shared->run(make_astra_tree(planned.phase, endpoint(planned), *shared));
      break;
    case Algorithm::kCustom:
      shared->run(make_astra_custom(program_.custom[static_cast<size_t>(planned.phase.collective)], *shared));
      break;
  }
  phases_[at->second] = std::move(shared);
  return at->second;
}

void AstraCollectives::begin_phase(uint32_t stream) {
  Stream& s = streams_[stream];
  const AstraPlannedPhase& planned = s.phases[s.next];
  const uint32_t span = planned.stride * planned.phase.members;
  const uint32_t base = span == 0 ? 0 : s.rank / span * span + s.rank % planned.stride;
  s.shared = shared_phase({s.group, s.number, s.next, base}, s);
  Shared& shared = *phases_[s.shared];
  if (shared.phase() != planned.phase) {
    if (problem_.empty()) {
      uint32_t other = 0;
      while (shared.stream(other) == kNotBegun) ++other;
      problem_ = fmt::format("mismatched collectives: chunk {} of a group is {} at rank {} and {} at rank {}", s.number,
                             text(shared.phase()), shared.rank_of(other), text(planned.phase), s.rank);
    }
    return;
  }
  shared.begin(shared.member_of(s.rank), stream, events_.now());
  if (!shared.runs() && shared.complete()) compute_ring(shared);
}

void AstraCollectives::compute_ring(Shared& shared) {
  const AstraPhase& phase = shared.phase();
  const Bytes bytes = message_size(phase);
  if (bytes.count <= 0) return fail_empty(shared);
  // The order in which messages go round.
  const auto member = [&](uint32_t i) { return phase.anticlockwise ? phase.members - 1 - i : i; };
  std::vector<Time> begins(phase.members);
  std::vector<AstraHop> hops(phase.members);
  for (uint32_t i = 0; i < phase.members; ++i) {
    const uint32_t self = shared.rank_of(member(i));
    const uint32_t before = shared.rank_of(member(i > 0 ? i - 1 : phase.members - 1));
    begins[i] = shared.begins()[member(i)];
    hops[i].delay = delays_.delay(before, self, bytes);
    if (model_.rendezvous) hops[i].handshake = delays_.delay(self, before, kAstraHandshake);
  }
  const std::vector<Time> ends = astra_ring_ends(phase, endpoint(shared.planned()), begins, hops);
  for (uint32_t i = 0; i < phase.members; ++i) shared.end_at(member(i), ends[i]);
}

void AstraCollectives::fail_empty(const Shared& shared) {
  if (!problem_.empty()) return;
  problem_ = fmt::format("{} among {} NPUs would be messages of 0 bytes: lower preferred-dataset-splits",
                         text(shared.phase()), shared.phase().members);
}

void AstraCollectives::due(uint32_t phase, uint32_t member, uint32_t step) {
  phases_[phase]->due(member, step);
}

void AstraCollectives::arrived(const AstraMessage& message) {
  phases_[message.owner]->arrived(message);
}

void AstraCollectives::phase_ended(uint32_t stream) {
  const uint32_t rank = streams_[stream].rank, phase = streams_[stream].shared;
  Queue& queue = ranks_[rank].queues[streams_[stream].phases[streams_[stream].next].queue];
  if (phases_[phase]->count_end()) {
    phase_of_.erase(phases_[phase]->key());
    phases_[phase].reset();
    unused_phases_.push_back(phase);
  }
  --queue.running;
  start_waiting(queue);
  Stream& s = streams_[stream];
  s.shared = kNotBegun;
  if (++s.next < s.phases.size()) return join_queue(stream);
  unused_streams_.push_back(stream);
  std::erase(ranks_[rank].streams, stream);
  if (ranks_[rank].streams.empty()) ended_(rank);
}

std::string AstraCollectives::waiting(uint32_t rank) const {
  for (const uint32_t stream : ranks_[rank].streams) {
    const Stream& s = streams_[stream];
    if (s.shared == kNotBegun) continue;
    const Shared& shared = *phases_[s.shared];
    for (uint32_t member = 0; member < shared.phase().members; ++member) {
      if (shared.stream(member) == kNotBegun)
        return fmt::format("rank {} waits in chunk {} of {} for rank {}", rank, s.number, text(shared.phase()),
                           shared.rank_of(member));
    }
    return fmt::format("rank {} waits for a message of chunk {} of {}", rank, s.number, text(shared.phase()));
  }
  return fmt::format("rank {} waits for its turn in a queue", rank);
}

}  // namespace rankwire
