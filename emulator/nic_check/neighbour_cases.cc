// Noisy neighbours: one queue pair's trouble held against what others of the same NIC come to.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

constexpr const char* kNoisyNeighbour = "Wei et al., Lumina, SIGCOMM 2023 (noisy neighbour)";
constexpr const char* kAnomalies = "Kong et al., Collie, NSDI 2022 (one connection's traffic slows others)";

/// Frames after which the capture begins anew, so that it has room for what comes.
constexpr size_t kFramesKept = 32768;

bool is_virtual(const NicBench& bench) {
  return bench.limits().quiet < milliseconds(1);
}

/// How long rates are watched: in real time long enough for the noise of a host.
Duration look_of(const NicBench& bench) {
  return is_virtual(bench) ? microseconds(200) : milliseconds(20);
}

double microseconds_of(Duration d) {
  return static_cast<double>(d.ps) / 1e6;
}

/// A queue pair of the NIC that sends all the time.
struct Sender {
  PeerEnd* end = nullptr;
  WorkKind kind = WorkKind::kWrite;
  uint32_t bytes = 0, most = 0;  ///< of a message; messages under way
  uint32_t under_way = 0;
  bool failed = false;
};

/// The NIC sends on two queue pairs. What is watched is the one with which nothing is wrong.
class BesideAnother {
 public:
  BesideAnother(NicBench& bench, WorkKind kind, uint32_t bytes, const EndOptions& options = {}) : bench_(bench) {
    watched_ = {&bench.open(), WorkKind::kWrite, 64 << 10, 8};
    troubled_ = {&bench.open(options), kind, bytes, 4};
    for (const Sender* sender : {&watched_, &troubled_}) sender->end->keeps_payload = false;
    watched_.end->on_request = [this](size_t frame) {
      const int32_t ahead = psn_distance(watched_.end->expected, bench_.packet(frame).psn);
      if (ahead > 0) is_lost_on_the_wire_ = true;
      if (ahead < 0) sent_again_.push_back(frame);
      return Fate::kDelivered;
    };
  }

  PeerEnd& troubled() { return *troubled_.end; }
  const Sender& watched() const { return watched_; }

  /// Payload of the watched queue pair that arrives from now for `time`, bits per second. `tick` is called again and
  /// again.
  double watch(Duration time, const std::function<void()>& tick = {}) {
    const uint64_t before = watched_.end->arrived;
    const Time began = bench_.now();
    bench_.run_until(
        [&] {
          take_completions();
          refill(watched_);
          refill(troubled_);
          if (tick) tick();
          if (bench_.log().size() > kFramesKept) bench_.log().clear();
          // On a busy machine each look may be an absence, which would put off the end again and again.
          return bench_.now() >= began + time;
        },
        time);
    const double lasted = static_cast<double>((bench_.now() - began).ps) / 1e12;
    return 8 * static_cast<double>(watched_.end->arrived - before) / lasted;
  }

  /// `make_trouble` is called once `watch` has seen how it is without, and may return what is then to be called again
  /// and again. At most `window` long.
  void compare(Duration window, const std::function<std::function<void()>()>& make_trouble) {
    watch(look_of(bench_));
    const double before = watch(look_of(bench_));
    if (before <= 0) bench_.undecided("nothing was sent before the trouble began");
    sent_again_.clear();
    const double beside = watch(window, make_trouble());
    if (is_lost_on_the_wire_) bench_.undecided("packets of the watched queue pair were lost on the wire as well");
    bench_.require(!watched_.failed, {}, "the other queue pair has broken down with it");
    bench_.measure(measured("rate without trouble", before / 1e9, "Gbit/s"));
    bench_.measure_within(window, measured("rate beside the trouble", beside / before, "of that without", 0.5));
    if (!sent_again_.empty() && sent_again_.front() < bench_.log().size())
      bench_.log().mark(sent_again_.front(), "sent again by the queue pair that had no trouble");
    bench_.measure_within(window, measured("times that the other's packets were sent again",
                                           static_cast<double>(sent_again_.size()), "", {}, 0));
  }

 private:
  void take_completions() {
    const std::vector<WorkCompletion>& all = bench_.completions();
    for (; seen_ < all.size(); ++seen_)
      for (Sender* sender : {&watched_, &troubled_}) {
        if (sender->end->nic_number != all[seen_].queue_pair) continue;
        --sender->under_way;
        sender->failed |= all[seen_].status != WorkStatus::kSuccess;
      }
  }

  void refill(Sender& sender) {
    while (!sender.failed && sender.under_way < sender.most) {
      bench_.post(*sender.end, sender.kind, sender.bytes);
      ++sender.under_way;
    }
  }

  NicBench& bench_;
  Sender watched_, troubled_;
  size_t seen_ = 0;
  bool is_lost_on_the_wire_ = false;
  std::vector<size_t> sent_again_;
};

constexpr uint32_t kTroubledBytes = 16 << 10;

/// Of every sixteen packets that `troubled` sends for the first time one is lost.
void lose_requests(NicBench& bench) {
  BesideAnother pair(bench, WorkKind::kWrite, kTroubledBytes);
  PeerEnd& troubled = pair.troubled();
  uint32_t sent = 0;
  pair.compare(look_of(bench), [&]() -> std::function<void()> {
    troubled.on_request = [&](size_t frame) {
      if (bench.packet(frame).psn != troubled.expected || ++sent % 16 != 0) return Fate::kDelivered;
      bench.log().mark(frame, "taken as lost");
      return Fate::kLost;
    };
    return {};
  });
}

void lose_responses(NicBench& bench) {
  if (bench.nic().facts().reads == 0) bench.skip("the NIC offers no READs");
  BesideAnother pair(bench, WorkKind::kRead, kTroubledBytes);
  PeerEnd& troubled = pair.troubled();
  uint32_t sent = 0;
  pair.compare(look_of(bench), [&]() -> std::function<void()> {
    troubled.on_response = [&](uint32_t) { return ++sent % 5 == 0 ? Fate::kLost : Fate::kDelivered; };
    return {};
  });
}

/// Each packet is answered as by a receiver that has nothing posted.
void be_not_ready(NicBench& bench) {
  constexpr uint8_t kCode = 14;  // 1.28 ms
  BesideAnother pair(bench, WorkKind::kSend, 64, {.not_ready_retry_count = 7});
  PeerEnd& troubled = pair.troubled();
  pair.compare(look_of(bench) + not_ready_wait(kCode) * 2, [&]() -> std::function<void()> {
    troubled.on_request = [&](size_t frame) {
      if (bench.packet(frame).psn != troubled.expected) return Fate::kLost;
      const size_t nak = bench.send_acknowledgement(troubled, troubled.expected, kSyndromeTypeNotReady | kCode);
      bench.log().mark(nak, "RNR NAK");
      return Fate::kLost;
    };
    return {};
  });
}

void be_deaf(NicBench& bench) {
  const uint32_t exponent = bench.limits().timeout_exponent - 3;
  BesideAnother pair(bench, WorkKind::kWrite, kTroubledBytes, {.timeout_exponent = exponent});
  PeerEnd& troubled = pair.troubled();
  // A NIC may wait for four times what it was told.
  pair.compare(ack_timeout(exponent) * 5, [&]() -> std::function<void()> {
    troubled.on_request = [](size_t) { return Fate::kLost; };
    return {};
  });
}

/// WRITEs of a queue pair each, one after the other; `refuses`: answered by a NAK that breaks it.
std::function<void()> write_in_turn(NicBench& bench, const std::vector<PeerEnd*>& ends, bool refuses) {
  const Duration gap = Duration(look_of(bench).ps / static_cast<int64_t>(ends.size()));
  for (PeerEnd* end : ends) {
    if (!refuses) continue;
    end->on_request = [&bench, end](size_t frame) {
      const size_t nak =
          bench.send_acknowledgement(*end, bench.packet(frame).psn, static_cast<uint8_t>(Syndrome::kNakRemoteAccess));
      bench.log().mark(nak, "NAK of a remote access error");
      return Fate::kLost;
    };
  }
  return [&bench, ends, gap, next = size_t{0}, at = bench.now()]() mutable {
    if (next == ends.size() || bench.now() < at) return;
    at = bench.now() + gap;
    bench.post(*ends[next++], WorkKind::kWrite, 64);
  };
}

void refuse_access(NicBench& bench) {
  BesideAnother pair(bench, WorkKind::kWrite, kTroubledBytes);
  std::vector<PeerEnd*> refused;
  for (int i = 0; i < 8; ++i) refused.push_back(&bench.open({.depth = 4}));
  pair.compare(look_of(bench), [&] { return write_in_turn(bench, refused, true); });
}

void notify_another(NicBench& bench) {
  BesideAnother pair(bench, WorkKind::kWrite, kTroubledBytes);
  const Duration gap = Duration(look_of(bench).ps / 10);
  pair.compare(look_of(bench), [&]() -> std::function<void()> {
    return [&bench, &pair, gap, at = bench.now()]() mutable {
      if (bench.now() < at) return;
      at = bench.now() + gap;
      bench.log().mark(bench.send_notification(pair.troubled()), "CNP of the other queue pair");
    };
  });
}

// Beside answers of the NIC.

using NeighbourTrouble = std::function<void(NicBench& bench, PeerEnd& troubled)>;

constexpr size_t kNeighbourTurns = 8;

/// Time from a WRITE to its acknowledgement, in each turn behind what `trouble` sends to a queue pair of its own; the
/// one in the middle.
Duration acknowledged_after(NicBench& bench, PeerEnd& watched, const std::vector<PeerEnd*>& others,
                            const NeighbourTrouble& trouble) {
  std::vector<Duration> times;
  for (size_t i = 0; i < kNeighbourTurns; ++i) {
    trouble(bench, *others[i]);
    const size_t sent = bench.send(watched, {.payload = NicBench::pattern_bytes(64, i)});
    const size_t ack = bench.expect_ack(watched, sent, psn_add(watched.next_psn, kPsnMask));
    times.push_back(bench.frame(ack).at - bench.frame(sent).at);
  }
  std::ranges::nth_element(times, times.begin() + kNeighbourTurns / 2);
  return times[kNeighbourTurns / 2];
}

void answer_beside(NicBench& bench, const NeighbourTrouble& trouble) {
  PeerEnd& watched = bench.open();
  std::vector<PeerEnd*> usual, troubled;
  for (size_t i = 0; i < kNeighbourTurns; ++i) usual.push_back(&bench.open({.depth = 4}));
  for (size_t i = 0; i < kNeighbourTurns; ++i) troubled.push_back(&bench.open({.depth = 4}));
  const Duration before = acknowledged_after(bench, watched, usual, [](NicBench& on, PeerEnd& end) {
    on.send(end, {.payload = NicBench::pattern_bytes(64)});
  });
  const size_t from = bench.log().size();
  const Duration beside = acknowledged_after(bench, watched, troubled, trouble);
  bench.run_for(bench.limits().quiet);
  const std::vector<size_t> notified = bench.notifications(watched, from);
  bench.require(notified.empty(), notified.empty() ? std::nullopt : std::optional(notified.front()),
                "a CNP came for the queue pair none of whose packets was marked");
  for (const size_t answer : bench.answers(watched, from))
    bench.require((bench.packet(answer).syndrome & kSyndromeTypeMask) == kSyndromeTypeAck, answer,
                  "a NAK came for the queue pair that had no trouble");
  bench.measure(measured("time until the ACK without trouble", microseconds_of(before), "us"));
  // What a NIC's own answer to the trouble may cost the ACK behind it, and the noise of a host.
  const Duration more = is_virtual(bench) ? microseconds(2) : microseconds(50);
  bench.measure(measured("time until the ACK beside the trouble", microseconds_of(beside), "us", {},
                         microseconds_of(before * 2 + more)));
  bench.expect_alive(watched);
}

NicCase beside_answers(const char* name, const char* title, const char* stimulus, NeighbourTrouble trouble) {
  return {
      fmt::format("neighbour.responder.{}", name),
      title,
      fmt::format("{} before each of eight WRITEs to another queue pair", stimulus),
      "the WRITEs are acknowledged by nothing but ACKs, in no more than twice the time that they take behind WRITEs, "
      "and 50 us",
      kAnomalies,
      [trouble = std::move(trouble)](NicBench& bench) { answer_beside(bench, trouble); }};
}

}  // namespace

NicCases neighbour_cases() {
  NicCases cases;
  const auto add = [&](const char* name, const char* title, const char* stimulus, const char* source,
                       void (*run)(NicBench&)) {
    cases.push_back({fmt::format("neighbour.requester.{}", name), title,
                     fmt::format("the NIC sends on two queue pairs; {}", stimulus),
                     "the other one sends at half its rate or more, sends nothing again, and does not break down",
                     source, run});
  };
  add("loss", "losses of another queue pair", "of the packets of one each sixteenth is lost", kNoisyNeighbour,
      lose_requests);
  add("read_loss", "losses of another queue pair's READs", "one of them reads, and each fifth response to it is lost",
      kNoisyNeighbour, lose_responses);
  add("rnr", "receiver of another queue pair that is not ready",
      "each SEND of one is answered by an RNR NAK with a timer of 1.28 ms", kNoisyNeighbour, be_not_ready);
  add("deaf", "peer of another queue pair that does not answer",
      "one, whose time-out is an eighth of the other's, is answered by nothing", kNoisyNeighbour, be_deaf);
  add("key", "other queue pairs that break down",
      "WRITEs of eight others, one after the other, are answered by NAKs of a remote access error", kAnomalies,
      refuse_access);
  add("cnp", "CNPs of another queue pair", "ten CNPs arrive for one", kDcqcnPaper, notify_another);
  cases.push_back(beside_answers("gap", "gaps of other queue pairs", "a packet ahead of its time arrives on one",
                                 [](NicBench& bench, PeerEnd& end) {
                                   bench.send(end, {.psn = psn_add(end.options.peer_psn, 1),
                                                    .payload = NicBench::pattern_bytes(64)});
                                 }));
  cases.push_back(beside_answers("key", "invalid rkeys of other queue pairs",
                                 "a WRITE with an invalid rkey arrives on one", [](NicBench& bench, PeerEnd& end) {
                                   bench.send(end, {.payload = NicBench::pattern_bytes(64),
                                                    .rkey = bench.nic().region().rkey ^ 0x55555500});
                                 }));
  cases.push_back(
      beside_answers("rnr", "SENDs without receives of other queue pairs",
                     "a SEND that no receive is posted for arrives on one", [](NicBench& bench, PeerEnd& end) {
                       bench.send(end, {.opcode = Opcode::kSendOnly, .payload = NicBench::pattern_bytes(64)});
                     }));
  cases.push_back(beside_answers("icrc", "corrupted packets of other queue pairs",
                                 "a packet whose ICRC is wrong arrives on one", [](NicBench& bench, PeerEnd& end) {
                                   PeerPacket packet{.psn = end.next_psn, .payload = NicBench::pattern_bytes(64)};
                                   packet.after_seal = [](Frame& frame) { frame.head[frame.head_length - 1] ^= 1; };
                                   bench.send(end, packet);
                                 }));
  cases.push_back(
      beside_answers("marked", "marked packets of other queue pairs", "a WRITE marked CE arrives on one",
                     [](NicBench& bench, PeerEnd& end) {
                       bench.send(end, {.payload = NicBench::pattern_bytes(64), .ecn = Ecn::kCongestionExperienced});
                     }));
  return cases;
}

}  // namespace rankwire
