#include "emulator/engine/stall.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace rankwire {
namespace {

constexpr size_t kClasses = static_cast<size_t>(StallClass::kGoneMachine) + 1;
constexpr size_t kNone = SIZE_MAX;

StallClass class_of(Hold hold, bool has_unheard) {
  switch (hold) {
    case Hold::kNotConnected:
    case Hold::kNextHop:
    case Hold::kBroken:
    case Hold::kFetch:
      return StallClass::kDeadPeer;
    case Hold::kReceiver:
    case Hold::kNoCredits:
      return StallClass::kCreditShortage;
    case Hold::kPaused:
      return StallClass::kPfcDeadlock;
    case Hold::kAnswer:
      return has_unheard ? StallClass::kLostCompletion : StallClass::kDeadPeer;
    case Hold::kTurn:
      return StallClass::kGeneratorStarvation;
    case Hold::kNothing:
      return StallClass::kLostCompletion;
    case Hold::kUnknown:
      break;
  }
  return StallClass::kUnknown;
}

StallClass class_of(Failure failure, bool has_unheard) {
  if (failure == Failure::kNotReadyExceeded) return StallClass::kCreditShortage;
  if (failure == Failure::kRetryExceeded && has_unheard) return StallClass::kLostCompletion;
  const bool is_silent =
      failure == Failure::kRetryExceeded || failure == Failure::kUnreachable || failure == Failure::kDevice;
  return is_silent ? StallClass::kDeadPeer : StallClass::kUnknown;
}

/// Where a wait leads: to another rank, or it ends.
struct Outcome {
  RankId next;                             ///< invalid where it ends
  StallClass kind = StallClass::kUnknown;  ///< where it ends, or of a pause that leads on
  RankId source, destination;              ///< of the connection at which it ends; either may be invalid
  bool has_unheard = false;                ///< of its messages something has arrived of which the source has not heard
};

class Graph {
 public:
  Graph(const StallFacts& facts, const std::function<std::vector<QueuePairState>(ConnectionId)>& states)
      : facts_(facts), waits_(facts.waits), of_rank_(facts.ranks), states_(states) {
    for (const RankWait& wait : facts.broken) waits_.push_back(wait);
    for (size_t i = 0; i < waits_.size(); ++i) of_rank_[waits_[i].rank.value].push_back(i);
    for (const RankId rank : facts.finished) finished_.push_back(rank.value);
    std::ranges::sort(finished_);
    for (const RankId rank : facts.gone) gone_.push_back(rank.value);
    std::ranges::sort(gone_);
    for (size_t i = 0; i < waits_.size(); ++i) outcomes_.push_back(outcome_of(i));
    follow_the_paused();
    follow_the_silent();
  }

  Stall diagnose() const {
    if (const std::optional<RankId> culprit = most_accused()) return ending_at(*culprit);
    if (!gone_.empty())
      return {.kind = StallClass::kGoneMachine, .culprit = RankId(gone_.front()), .behind = waiting_ranks()};
    return cycle();
  }

 private:
  Outcome outcome_of(size_t i) const {
    const RankWait& wait = waits_[i];
    for (const RankId rank : {wait.peer, wait.rank})
      if (has_gone(rank)) return {{}, StallClass::kGoneMachine, {}, rank};
    if (i >= facts_.waits.size()) {
      const bool has_unheard = std::ranges::any_of(states_(wait.connection), &QueuePairState::has_unheard);
      return {{}, class_of(facts_.broken_by[i - facts_.waits.size()], has_unheard), wait.rank, wait.peer};
    }
    if (wait.kind == WaitKind::kMessage || wait.kind == WaitKind::kAnswer) return outcome_of_message(wait);
    // Others of the rank's waits say for whom it waits.
    return {wait.rank, {}, {}, {}};
  }

  Outcome outcome_of_message(const RankWait& wait) const {
    const bool receives = wait.kind == WaitKind::kMessage;
    const RankId source = receives ? wait.peer : wait.rank, destination = receives ? wait.rank : wait.peer;
    const std::vector<QueuePairState> states = states_(wait.connection);
    const auto held = std::ranges::find_if(
        states, [](const QueuePairState& s) { return s.hold != Hold::kNothing && s.hold != Hold::kUnknown; });
    if (held != states.end())
      return {{}, class_of(held->hold, held->has_unheard()), source, destination, held->has_unheard()};
    const bool is_known = std::ranges::any_of(states, [](const QueuePairState& s) { return s.hold == Hold::kNothing; });
    if (!receives) return {{}, is_known ? StallClass::kLostCompletion : StallClass::kUnknown, source, destination};
    if (leads_on(source)) return {source, {}, {}, {}};
    if (facts_.messages_undelivered > 0) return {{}, StallClass::kLostCompletion, source, destination};
    const bool never_sends = std::ranges::binary_search(finished_, source.value);
    return {{}, never_sends ? StallClass::kMismatchedCollective : StallClass::kTraceCycle, {}, source};
  }

  bool has_gone(RankId rank) const { return std::ranges::binary_search(gone_, rank.value); }

  /// Whether the rank waits for anybody itself, but to begin an iteration.
  bool leads_on(RankId rank) const {
    return std::ranges::any_of(of_rank_[rank.value], [&](size_t i) { return waits_[i].kind != WaitKind::kIteration; });
  }

  /// A port that is paused holds up whatever it sends, for whomever. So a pause leads on to the rank whose port it
  /// holds up, and ends only at a destination that is not paused itself, and from which nothing is missing.
  void follow_the_paused() {
    std::vector<bool> is_paused(facts_.ranks);
    for (const Outcome& outcome : outcomes_)
      if (outcome.kind == StallClass::kPfcDeadlock) is_paused[outcome.source.value] = true;
    for (size_t i = 0; i < waits_.size(); ++i) {
      Outcome& outcome = outcomes_[i];
      if (outcome.kind != StallClass::kPfcDeadlock) continue;
      const RankId peer = waits_[i].peer;
      if (is_paused[peer.value] || (outcome.has_unheard && leads_on(peer))) {
        outcome = {.next = peer, .kind = StallClass::kPfcDeadlock};
      } else {
        outcome.source = {};
      }
    }
  }

  /// What a port or a receiver says of itself explains why others are silent, and not the other way round: waits that
  /// end in silence lead on to whom they wait for.
  void follow_the_silent() {
    const auto says = [&](StallClass kind) {
      return std::ranges::any_of(outcomes_, [&](const Outcome& o) { return o.kind == kind; });
    };
    const StallClass known = says(StallClass::kPfcDeadlock)      ? StallClass::kPfcDeadlock
                             : says(StallClass::kCreditShortage) ? StallClass::kCreditShortage
                                                                 : StallClass::kUnknown;
    if (known == StallClass::kUnknown) return;
    for (size_t i = 0; i < waits_.size(); ++i)
      if (!outcomes_[i].next.valid() && outcomes_[i].kind != known && outcomes_[i].kind != StallClass::kGoneMachine &&
          leads_on(waits_[i].peer))
        outcomes_[i] = {waits_[i].peer, {}, {}, {}};
  }

  /// The rank at which most waits end; where any have gone, of these. However many wait at a connection, it accuses
  /// each of its ends once: how many of a rank's connections stand still tells whether it is dead.
  std::optional<RankId> most_accused() const {
    std::vector<std::pair<uint32_t, uint32_t>> votes(facts_.ranks);  // all, and those of what is sent to the rank
    std::set<std::pair<ConnectionId, RankId>> counted;
    const auto accuses_first = [&](size_t i, RankId rank) {
      const ConnectionId connection = waits_[i].connection;
      return rank.valid() && (!connection.valid() || counted.emplace(connection, rank).second);
    };
    for (size_t i = 0; i < outcomes_.size(); ++i) {
      const Outcome& outcome = outcomes_[i];
      if (outcome.next.valid() || (!gone_.empty() && outcome.kind != StallClass::kGoneMachine)) continue;
      if (accuses_first(i, outcome.destination)) {
        ++votes[outcome.destination.value].first;
        ++votes[outcome.destination.value].second;
      }
      // A receiver without room is not its source's doing.
      if (outcome.kind != StallClass::kCreditShortage && accuses_first(i, outcome.source))
        ++votes[outcome.source.value].first;
    }
    const auto most = std::ranges::max_element(votes);
    if (most == votes.end() || most->first == 0) return std::nullopt;
    return RankId(static_cast<uint32_t>(most - votes.begin()));
  }

  /// Of ranks whose machines have gone one is as good as another.
  bool accuses(size_t i, RankId rank) const {
    const Outcome& outcome = outcomes_[i];
    if (has_gone(rank)) return outcome.kind == StallClass::kGoneMachine;
    return !outcome.next.valid() && (outcome.source == rank || outcome.destination == rank);
  }

  Stall ending_at(RankId culprit) const {
    Stall stall{.culprit = culprit};
    std::array<uint32_t, kClasses> of_class{};
    std::vector<size_t> via(facts_.ranks, kNone);  // by rank: the wait that leads to the culprit
    std::vector<uint32_t> found;                   // ranks, nearest first
    const auto find = [&](size_t i) {
      size_t& known = via[waits_[i].rank.value];
      if (known != kNone) return;
      known = i;
      found.push_back(waits_[i].rank.value);
    };
    for (size_t i = 0; i < waits_.size(); ++i) {
      if (!accuses(i, culprit)) continue;
      ++stall.accused;
      ++of_class[static_cast<size_t>(outcomes_[i].kind)];
      find(i);
    }
    // What is known of some of them goes for all.
    const auto most = std::ranges::max_element(std::span(of_class).subspan(1));
    if (*most > 0) stall.kind = static_cast<StallClass>(&*most - of_class.data());
    // Where nothing that is sent to it arrives, answers to it do not either.
    const bool hears_nothing = std::ranges::any_of(outcomes_, [&](const Outcome& o) {
      return !o.next.valid() && o.destination == culprit && o.kind == StallClass::kDeadPeer;
    });
    if (stall.kind == StallClass::kLostCompletion && hears_nothing) stall.kind = StallClass::kDeadPeer;
    std::vector<std::vector<size_t>> leading(facts_.ranks);  // by rank: waits of others that lead there
    for (size_t i = 0; i < waits_.size(); ++i)
      if (outcomes_[i].next.valid()) leading[outcomes_[i].next.value].push_back(i);
    for (size_t at = 0; at < found.size(); ++at)
      for (const size_t i : leading[found[at]]) find(i);
    stall.behind = static_cast<uint32_t>(
        std::ranges::count_if(found, [&](uint32_t r) { return r != culprit.value && !has_gone(RankId(r)); }));
    // All others of the job wait for one that does not end its iteration.
    for (uint32_t rank = 0; rank < facts_.ranks; ++rank)
      if (rank != culprit.value && via[rank] == kNone && !of_rank_[rank].empty() && !leads_on(RankId(rank)))
        ++stall.behind;
    // From the farthest.
    for (uint32_t rank = found.back();;) {
      const size_t i = via[rank];
      stall.chain.push_back(waits_[i]);
      if (!outcomes_[i].next.valid()) {
        if (has_gone(culprit)) stall.culprit = outcomes_[i].destination;
        break;
      }
      rank = outcomes_[i].next.value;
    }
    return stall;
  }

  /// No wait ends: from any rank one comes round.
  Stall cycle() const {
    Stall stall;
    std::vector<size_t> step(facts_.ranks, kNone);  // by rank: its place in `chain`
    for (const RankWait& first : waits_) {
      stall.chain.clear();
      std::ranges::fill(step, kNone);
      RankId rank = first.rank;
      while (step[rank.value] == kNone) {
        const auto way = std::ranges::find_if(
            of_rank_[rank.value], [&](size_t i) { return outcomes_[i].next.valid() && outcomes_[i].next != rank; });
        if (way == of_rank_[rank.value].end()) break;
        step[rank.value] = stall.chain.size();
        stall.chain.push_back(waits_[*way]);
        rank = outcomes_[*way].next;
      }
      if (step[rank.value] == kNone) continue;
      stall.chain.erase(stall.chain.begin(), stall.chain.begin() + static_cast<ptrdiff_t>(step[rank.value]));
      stall.is_cycle = true;
      stall.kind = class_of_cycle(stall.chain);
      stall.behind = waiting_ranks();
      return stall;
    }
    stall.chain.clear();
    // Ranks that hold collectives back and wait for nobody: their own nodes wait for each other.
    for (const RankWait& wait : waits_) {
      if (wait.kind != WaitKind::kOrder && wait.kind != WaitKind::kPlace) continue;
      stall.kind = StallClass::kTraceCycle;
      stall.culprit = wait.rank;
      stall.chain.push_back(wait);
      stall.behind = waiting_ranks() - 1;
      break;
    }
    return stall;
  }

  StallClass class_of_cycle(std::span<const RankWait> chain) const {
    const auto any = [&](WaitKind kind) {
      return std::ranges::any_of(chain, [&](const RankWait& wait) {
        return std::ranges::any_of(of_rank_[wait.rank.value], [&](size_t i) { return waits_[i].kind == kind; });
      });
    };
    for (const RankWait& wait : chain)
      for (const size_t i : of_rank_[wait.rank.value])
        if (outcomes_[i].kind == StallClass::kPfcDeadlock) return StallClass::kPfcDeadlock;
    if (any(WaitKind::kPlace)) return StallClass::kConcurrencyLimit;
    return any(WaitKind::kOrder) ? StallClass::kMismatchedCollective : StallClass::kTraceCycle;
  }

  uint32_t waiting_ranks() const {
    return static_cast<uint32_t>(std::ranges::count_if(of_rank_, [](const auto& waits) { return !waits.empty(); }));
  }

  const StallFacts& facts_;
  std::vector<RankWait> waits_;  // facts_.waits, then facts_.broken
  std::vector<std::vector<size_t>> of_rank_;
  std::vector<uint32_t> finished_, gone_;  // ascending
  std::vector<Outcome> outcomes_;          // by wait
  const std::function<std::vector<QueuePairState>(ConnectionId)>& states_;
};

}  // namespace

const char* to_string(WaitKind kind) {
  switch (kind) {
    case WaitKind::kMessage:
      return "message";
    case WaitKind::kAnswer:
      return "acknowledgement";
    case WaitKind::kOrder:
      return "order";
    case WaitKind::kPlace:
      return "place";
    case WaitKind::kIteration:
      return "iteration";
  }
  return "unknown";
}

const char* to_string(StallClass kind) {
  switch (kind) {
    case StallClass::kUnknown:
      return "unknown";
    case StallClass::kDeadPeer:
      return "dead_peer";
    case StallClass::kLostCompletion:
      return "lost_completion";
    case StallClass::kCreditShortage:
      return "credit_shortage";
    case StallClass::kPfcDeadlock:
      return "pfc_deadlock";
    case StallClass::kGeneratorStarvation:
      return "generator_starvation";
    case StallClass::kMismatchedCollective:
      return "mismatched_collective";
    case StallClass::kConcurrencyLimit:
      return "concurrency_limit";
    case StallClass::kTraceCycle:
      return "trace_cycle";
    case StallClass::kGoneMachine:
      return "gone_machine";
  }
  return "unknown";
}

void StallFacts::sort() {
  std::ranges::stable_sort(waits, {}, &RankWait::rank);
  std::vector<size_t> order(broken.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [this](size_t i) { return std::pair(broken[i].rank, broken[i].connection); });
  std::vector<RankWait> sorted;
  std::vector<Failure> sorted_by;
  for (const size_t i : order) sorted.push_back(broken[i]), sorted_by.push_back(broken_by[i]);
  broken = std::move(sorted), broken_by = std::move(sorted_by);
}

Stall diagnose_stall(const StallFacts& facts, const std::function<std::vector<QueuePairState>(ConnectionId)>& states) {
  // Whoever waited, waited for a loop that did not turn.
  if (facts.longest_turn >= Duration(facts.stall_timeout.ps / 2))
    return {.kind = StallClass::kGeneratorStarvation,
            .behind = facts.ranks - static_cast<uint32_t>(facts.finished.size())};
  return Graph(facts, states).diagnose();
}

}  // namespace rankwire
