#include "emulator/diagnosis/blame.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace rankwire {
namespace {

/// Of the completion time, or of what was lost: less is not spoken of.
constexpr int64_t kLeastGap = 20, kLeastCause = 50;
/// Packets wait in the network, and not for the window, where half of the round trips take so many times the shortest.
constexpr int64_t kWaitingTrip = 4;
/// One packet of so many is enough to be suspected where nobody recorded what repairing took.
constexpr uint64_t kLeastLost = 10'000;

/// What communication loses without an event that says why.
constexpr GapCause kSoft[] = {GapCause::kUnexplained,    GapCause::kPathLatency,          GapCause::kQueueingOwnJob,
                              GapCause::kQueueingOthers, GapCause::kAcknowledgement,      GapCause::kWindow,
                              GapCause::kPort,           GapCause::kAcknowledgementFrames};

class Account {
 public:
  explicit Account(const BlameFacts& facts) : facts_(facts) {
    if (facts.parts) {
      parts_ = *facts.parts;
    } else {
      of(GapCause::kUnexplained) = facts.gap;
    }
    // What was faster on the way is set off against what nobody can say why it was slower.
    for (Duration& part : parts_) {
      if (part < Duration()) {
        part = Duration();
      } else {
        left_ += part;
      }
    }
    // The parts are those of the gap to a single run, which may be less than the gap to the median of many.
    if (left_ < facts.gap) of(GapCause::kUnexplained) += facts.gap - left_;
    left_ = std::max(Duration(), facts.gap);
  }

  std::vector<Blame> finish() {
    generator();
    slow_rank();
    shared_with_the_reference();
    losses();
    pauses();
    congestion_control();
    not_ready();
    window();
    model();
    add(BlameKind::kUnexplained, {}, left_, false, unexplained());
    return ranked();
  }

 private:
  Duration& of(GapCause cause) { return parts_[static_cast<size_t>(cause)]; }
  /// No more than what is left of the gap.
  Duration take(GapCause cause, Duration most = Duration(INT64_MAX)) {
    const Duration taken = std::min({of(cause), left_, most});
    of(cause) = of(cause) - taken;
    left_ = left_ - taken;
    return taken;
  }

  /// What the run would have ended earlier without it, where that is more than what is left of the gap: something else
  /// was faster than in the reference.
  Duration take_worth(GapCause cause) {
    const Duration worth = std::min(of(cause), facts_.worth[static_cast<size_t>(cause)]);
    const Duration taken = take(cause), beyond = std::max(Duration(), worth - taken);
    of(cause) = of(cause) - beyond;
    return taken + beyond;
  }

  void add(BlameKind kind, Culprit culprit, Duration gap, bool counted, Evidence evidence) {
    if (gap <= Duration()) return;
    for (Blame& blame : list_) {
      if (blame.kind != kind || blame.culprit != culprit) continue;
      blame.gap += gap, blame.evidence.time += evidence.time, blame.evidence.waited += evidence.waited;
      return;
    }
    list_.push_back({.kind = kind, .culprit = std::move(culprit), .gap = gap, .evidence = evidence});
    if (counted) counted_ |= 1U << static_cast<unsigned>(kind);
  }

  /// First of all, and beyond what the waterfall has of it from what lateness brings about at first.
  void generator() {
    const Duration late = facts_.generator;
    // Frames that its own ports missed were lost by it.
    Duration taken;
    const GapCause repair = facts_.knows_causes ? GapCause::kRecovering : GapCause::kUnexplained;
    if (facts_.missed > 0 && facts_.lost > 0) taken += take(repair, part(of(repair), facts_.missed, facts_.lost));
    taken += take(GapCause::kGenerator);
    for (const GapCause cause : kLengthenedByLateness) {
      if (taken >= late) break;
      taken += take(cause, late - taken);
    }
    add(BlameKind::kLateGenerator, {.kind = Culprit::Kind::kGenerator}, taken, true,
        {.time = std::min(late, facts_.gap), .count = facts_.missed, .typical = facts_.turn});
  }

  Evidence unexplained() const {
    Evidence evidence{.time = left_, .unsearched = facts_.unsearched};
    const auto largest = std::ranges::max_element(parts_);
    const auto cause = static_cast<GapCause>(largest - parts_.begin());
    if (cause != GapCause::kUnexplained && *largest > Duration())
      evidence.part = cause, evidence.part_time = std::min(*largest, left_);
    return evidence;
  }

  static Duration part(Duration all, uint64_t count, uint64_t of) {
    if (count >= of) return all;
    return Duration(
        static_cast<int64_t>(static_cast<double>(all.ps) * static_cast<double>(count) / static_cast<double>(of)));
  }

  void slow_rank() {
    if (!facts_.slow_rank) return;
    const BlamedTime& slow = *facts_.slow_rank;
    // What the reference takes longer as well is no part of the gap to it.
    take(GapCause::kCompute, slow.time);
    add(BlameKind::kSlowRank, slow.culprit, slow.time, slow.stands_out,
        {.time = slow.time, .count = slow.count, .factor = slow.factor, .also = slow.also});
  }

  void lost_beyond(BlameKind kind, const BlamedTime& lost) {
    add(kind, lost.culprit, lost.time, true, {.time = lost.time, .count = lost.count, .factor = lost.factor});
  }

  /// Takes what packets may have waited behind others.
  Duration waiting(Duration most) {
    Duration waited;
    for (const GapCause cause : kSoft) waited += take(cause, most - waited);
    return waited + take(GapCause::kOtherChain, most - waited);
  }

  /// The waterfall has it already, as waiting.
  void lost_within(BlameKind kind, const BlamedTime& lost) {
    const Duration waited = waiting(lost.time);
    add(kind, lost.culprit, waited, true, {.time = lost.time, .count = lost.count, .factor = lost.factor});
  }

  void shared_with_the_reference() {
    const std::pair<BlameKind, const std::optional<BlamedTime>*> kinds[] = {
        {BlameKind::kEcmpCollision, &facts_.collisions},
        {BlameKind::kSlowSpine, &facts_.failures},
        {BlameKind::kBackground, &facts_.background}};
    const std::optional<BlamedTime>* most = nullptr;
    BlameKind kind = BlameKind::kUnexplained;
    for (const auto& [of_kind, lost] : kinds) {
      if (!*lost || (*lost)->time <= Duration()) continue;
      if ((*lost)->in_gap) {
        lost_within(of_kind, **lost);
      } else {
        lost_beyond(of_kind, **lost);
      }
      if (most == nullptr || (**lost).time > (**most).time) most = lost, kind = of_kind;
    }
    if (most == nullptr || !matters(facts_.completion, (**most).time)) return;
    // Packets wait behind those of others, which the reference does without: the rest is of the same cause.
    const Duration waited = waiting(left_);
    add(kind, (**most).culprit, waited, true, {.waited = waited});
  }

  static bool matters(Duration whole, Duration part) { return part * kLeastGap > whole; }

  /// Nobody recorded what repairing took, and there were time-outs, or enough was lost to tell.
  bool may_be_losses() const {
    if (facts_.knows_causes) return false;
    const uint64_t of_network = facts_.lost - std::min(facts_.lost, facts_.missed);
    if (of_network == 0) return facts_.answers_lost > 0 && facts_.timeouts > 0;
    return facts_.timeouts > 0 || of_network * kLeastLost >= facts_.packets;
  }

  void losses() {
    Duration time = take_worth(GapCause::kRecovering);
    const bool is_inferred = may_be_losses();
    if (is_inferred) time += take(GapCause::kUnexplained);
    if (time <= Duration()) return;
    if (facts_.lost == 0) {
      // Packets were sent again although they had arrived: answers were lost, or late, perhaps behind a pause.
      if (facts_.answers_lost > 0 && facts_.queue_drops.value_or(0) * 2 < facts_.answers_lost)
        return add(BlameKind::kLossyCable, facts_.loss_place, time, !is_inferred,
                   {.time = time, .count = facts_.answers_lost, .is_inferred = is_inferred});
      if (of(GapCause::kPaused) > Duration()) return pauses(time);
      if (facts_.out_of_order > 0)
        return add(BlameKind::kReordering, facts_.order_place, time, !is_inferred,
                   {.time = time, .count = facts_.out_of_order, .is_inferred = is_inferred});
      left_ += time;
      return;
    }
    const Evidence evidence{.time = time,
                            .count = facts_.lost,
                            .of = facts_.packets,
                            .on_purpose = std::min(facts_.impaired, facts_.lost),
                            .is_inferred = is_inferred};
    if (facts_.storm_drops * 2 >= facts_.lost) return pauses(time);
    if (facts_.buffer_drops * 2 >= facts_.lost)
      return add(BlameKind::kSlowNic, facts_.loss_place, time, !is_inferred,
                 {.time = time, .count = facts_.buffer_drops, .of = facts_.packets});
    if (facts_.queue_drops && *facts_.queue_drops * 2 >= facts_.lost) {
      // For want of buffer: behind a port that a NIC paused that is its doing, else who filled it is another question.
      if (facts_.pauses_by_rule + facts_.pauses_by_buffer > 0) return pauses(time);
      left_ += time;
      return;
    }
    add(BlameKind::kLossyCable, facts_.loss_place, time,
        !is_inferred && facts_.counted_there && facts_.loss_place.kind != Culprit::Kind::kNobody, evidence);
  }

  /// With what waits in switches behind the port that pauses them, and so looks like a full window: that lasts no
  /// longer than the pauses.
  Duration behind(Duration held, Duration paused) {
    Duration waited = paused;
    for (const GapCause cause : kSoft) waited += take(cause, std::max(Duration(), held - waited));
    return waited;
  }

  void pauses(Duration more = {}) {
    const Duration time = take_worth(GapCause::kPaused) + more;
    if (facts_.pauses_by_rule > 0 && facts_.pauses_by_rule >= facts_.pauses_by_buffer) {
      const Duration all = behind(facts_.held_by_rule, time);
      return add(BlameKind::kPfcStorm, facts_.paused_by_rule, all, true, {.time = all, .count = facts_.pauses_by_rule});
    }
    if (facts_.pauses_by_buffer > 0) {
      const Duration all = behind(facts_.held_by_buffer, time);
      return add(BlameKind::kSlowNic, facts_.paused_by_buffer, all, true,
                 {.time = all, .count = facts_.pauses_by_buffer});
    }
    if (facts_.knows_switches && facts_.storm_drops == 0) {
      left_ += time;  // switches paused others because their own buffers filled: who filled them is another question
      return;
    }
    add(BlameKind::kPfcStorm, facts_.paused, time, false, {.time = time, .count = facts_.pauses_heard});
  }

  bool waits_in_the_network() const {
    return facts_.shortest_trip && facts_.typical_trip && *facts_.typical_trip > *facts_.shortest_trip * kWaitingTrip;
  }

  void congestion_control() {
    const Duration time = take_worth(GapCause::kCongestionControl);
    const Evidence evidence{.time = time,
                            .count = facts_.marked,
                            .of = facts_.packets,
                            .waiting = facts_.marked_length,
                            .on_the_way = facts_.on_the_way,
                            .shortest = facts_.shortest_trip.value_or(Duration()),
                            .typical = facts_.typical_trip.value_or(Duration())};
    // A queue shorter than what is on the way in one round trip runs empty before senders have heard of it.
    const bool too_early =
        facts_.marked > 0 && facts_.marked_length && facts_.on_the_way && *facts_.marked_length <= *facts_.on_the_way;
    if (too_early) return add(BlameKind::kEcnThreshold, facts_.marking, time, true, evidence);
    add(BlameKind::kCongestionControl, {}, time, true, evidence);
  }

  void not_ready() {
    const Duration time = take_worth(GapCause::kReceiverNotReady);
    add(BlameKind::kReceiverNotReady, facts_.not_ready, time, facts_.rnr_naks > 0,
        {.time = time, .count = facts_.rnr_naks});
  }

  /// A full window is to blame where no queue made the way longer, and where it does not follow from what was found.
  void window() {
    const bool follows =
        std::ranges::any_of(list_, [&](const Blame& other) { return other.gap > of(GapCause::kWindow); });
    if (follows || waits_in_the_network()) return;
    const Duration time = take(GapCause::kWindow);
    add(BlameKind::kSmallWindow, {}, time, true,
        {.time = time,
         .shortest = facts_.shortest_trip.value_or(Duration()),
         .typical = facts_.typical_trip.value_or(Duration())});
  }

  /// Nobody's fault: it would be so in any network.
  void model() {
    const Duration time = take(GapCause::kAcknowledgementFrames);
    add(BlameKind::kModel, {}, time, false, {.time = time});
  }

  std::vector<Blame> ranked() {
    Duration lost;
    for (const Blame& blame : list_) lost += blame.gap;
    if (!matters(facts_.completion, lost)) return {};
    std::erase_if(list_, [&](const Blame& blame) { return blame.gap * kLeastCause < lost; });
    for (Blame& blame : list_) {
      blame.share = static_cast<double>(blame.gap.ps) / static_cast<double>(lost.ps);
      const bool counted = (counted_ >> static_cast<unsigned>(blame.kind) & 1U) != 0;
      const bool half = blame.share >= 0.5;
      if (blame.kind == BlameKind::kUnexplained) continue;
      blame.confidence = half && counted                           ? Confidence::kHigh
                         : half || (counted && blame.share >= 0.2) ? Confidence::kMedium
                                                                   : Confidence::kLow;
    }
    std::ranges::stable_sort(list_, std::greater(), &Blame::gap);
    return std::move(list_);
  }

  const BlameFacts& facts_;
  GapParts parts_{};
  Duration left_;  // of the gap, that nothing is blamed for
  std::vector<Blame> list_;
  uint32_t counted_ = 0;  // by kind: bits
};

}  // namespace

std::vector<Blame> blame(const BlameFacts& facts) {
  return Account(facts).finish();
}

}  // namespace rankwire
