// A machine that keeps rankwire from the wire for a while: no NIC is blamed for it, and a NIC's fault is found all the
// same.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <string>

#include "dataplane/ports/forwarding_port.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memory_port.h"
#include "emulator/nic_check/bench.h"
#include "emulator/nic_check/catalogue.h"
#include "emulator/nic_check/emulated_nic.h"
#include "emulator/suite/suite.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

/// A real clock of a machine on which everything takes its time, and that once does something else for long.
class BusyClock final : public Clock {
 public:
  /// How long each look takes.
  void be_slow(Duration step) { step_ = step; }
  void pass(Duration time) { now_ += time; }
  void be_away(Time from, Duration time) { from_ = from, away_ = time; }
  void start() noexcept override { now_ = Time(); }
  Time now() noexcept override {
    now_ += step_;
    if (now_ >= from_) {
      now_ += away_;
      from_ = Time::never();
    }
    return now_;
  }
  void idle_until(Time) noexcept override {}
  bool runs_by_itself() const noexcept override { return true; }

 private:
  Time now_, from_ = Time::never();
  Duration away_, step_ = nanoseconds(200);
};

/// A wire on which somebody else never stops sending.
class NoisyWire final : public ForwardingPort {
 public:
  NoisyWire(FramePort& inner, bool is_noisy) : ForwardingPort(inner), is_noisy_(is_noisy) {}
  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    const size_t n = inner_.receive(now, frames);
    if (n > 0 || !is_noisy_ || inner_.allocate(frames.first(1)) == 0) return n;
    Frame& foreign = frames.front();
    std::fill_n(foreign.head, kForeign, uint8_t{0});
    foreign.head_length = kForeign, foreign.payload_length = foreign.tail_length = 0;
    foreign.arrival = now;
    return 1;
  }

 private:
  static constexpr uint16_t kForeign = 60;
  const bool is_noisy_;
};

/// A wire on which each of rankwire's frames is given away long before rankwire goes on, so that what the NIC answers,
/// and what it does when its timers have run out, is there by then.
class StolenMoments final : public ForwardingPort {
 public:
  static constexpr Duration kStolen = milliseconds(16);

  StolenMoments(FramePort& inner, EmulatedNic& nic, BusyClock& clock)
      : ForwardingPort(inner), nic_(nic), clock_(clock) {}
  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    const size_t n = inner_.transmit(now, frames);
    for (int i = 0; i < 2; ++i) {
      nic_.turn(clock_.now());
      clock_.pass(kStolen);
    }
    nic_.turn(clock_.now());
    return n;
  }
  /// Stamped with the time of the look, as of devices that have no stamps.
  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    const size_t n = inner_.receive(now, frames);
    for (Frame& frame : frames.first(n)) frame.arrival = now;
    return n;
  }

 private:
  EmulatedNic& nic_;
  BusyClock& clock_;
};

class BusyMachine : public ::testing::Test {
 protected:
  static constexpr Bandwidth kLine{100'000'000'000};
  static constexpr MacAddress kPeerMac{{2, 0, 0, 0, 0, 1}}, kNicMac{{2, 0, 0, 0, 0, 2}};
  static constexpr Ipv4Address kPeerIp{0xC6120001}, kNicIp{0xC6120002};
  // 1.05 ms.
  static constexpr BenchLimits kLimits{.timeout_exponent = 8, .answer = microseconds(500), .quiet = microseconds(200)};

  /// What comes of a case when rankwire is away `after` the case has begun.
  CaseOutcome check(const std::string& id, Duration after, Duration time, NicMutant mutant = NicMutant::kNone,
                    bool is_noisy = false, Duration look = nanoseconds(200), bool is_stolen = false) {
    BusyClock clock;
    clock.be_slow(look);
    FramePool pool(8191, FramePool::kDefaultCapacity, PoolUse::kOneThread);
    const auto link = make_memory_link(pool, 8192, "bench");
    EmulatedNic nic(*link.second, {.facts = {.name = "x", .mac = kNicMac, .ip = kNicIp, .mtu = 4096, .reads = 16},
                                   .peer_mac = kPeerMac,
                                   .line = kLine,
                                   .mutant = mutant});
    Nic peer;
    peer.mac = kPeerMac;
    peer.ip = kPeerIp;
    peer.prefix_length = 15;
    NoisyWire wire(*link.first, is_noisy);
    StolenMoments stolen(wire, nic, clock);
    NicBench bench(nic, is_stolen ? static_cast<FramePort&>(stolen) : wire, clock,
                   {.peer = peer, .line = kLine, .limits = kLimits});
    clock.start();
    clock.be_away(Time() + after, time);
    const testing::TemporaryFolder folder;
    const SuiteResult suite =
        run_suite(select_cases(nic_catalogue(&bench), std::vector<std::string>{id}),
                  {.name = "nic-check", .version = "test", .folder = folder.path()}, kNotInterrupted);
    return suite.cases.at(0).outcome;
  }

  static inline const std::atomic<bool> kNotInterrupted{false};
};

// Four time-outs and an answer are 4.7 ms.
TEST_F(BusyMachine, DoesNotMakeATimeOutTooLong) {
  const CaseOutcome quiet = check("requester.loss.write.last", {}, {});
  EXPECT_EQ(quiet.verdict, CaseVerdict::kPass) << quiet.reason;
  const CaseOutcome busy = check("requester.loss.write.last", microseconds(500), milliseconds(10));
  EXPECT_EQ(busy.verdict, CaseVerdict::kInconclusive) << busy.reason;
  EXPECT_THAT(busy.reason, HasSubstr("did not look at the wire for up to 10 ms"));
}

// A peer that is to answer within three quarters of a time-out, and is away for longer.
TEST_F(BusyMachine, DoesNotMakeANicImpatient) {
  EXPECT_EQ(check("robustness.slow_peer", {}, {}).verdict, CaseVerdict::kPass);
  // Whether the NIC's repetition comes before the acknowledgement is a matter of moments.
  const CaseOutcome busy = check("robustness.slow_peer", microseconds(500), milliseconds(2));
  EXPECT_NE(busy.verdict, CaseVerdict::kFail) << busy.reason;
}

// The bench was away for all of the 0.5 ms within which an answer is to come.
TEST_F(BusyMachine, GivesAnAnswerItsTime) {
  const CaseOutcome busy = check("responder.write.1", microseconds(100), milliseconds(3));
  EXPECT_EQ(busy.verdict, CaseVerdict::kPass) << busy.reason;
}

// Each look is an absence: what puts off the end of a wait for what never comes must itself have an end.
TEST_F(BusyMachine, EndsAWaitThoughEachLookTakesLong) {
  const CaseOutcome slow = check("requester.loss.write.last", {}, {}, NicMutant::kNoTimeout, false, milliseconds(2));
  EXPECT_NE(slow.verdict, CaseVerdict::kPass) << slow.reason;
  const CaseOutcome watched = check("neighbour.requester.loss", {}, {}, NicMutant::kNone, false, milliseconds(2));
  EXPECT_NE(watched.verdict, CaseVerdict::kFail) << watched.reason;
}

// The repetition is there when rankwire goes on behind its RNR NAK, and did not come before it.
TEST_F(BusyMachine, TakesNothingForEarlierThanWhatItFollows) {
  const auto check_timer = [&](NicMutant mutant) {
    return check("requester.rnr.timer", {}, {}, mutant, false, nanoseconds(200), true);
  };
  const CaseOutcome patient = check_timer(NicMutant::kNone);
  EXPECT_EQ(patient.verdict, CaseVerdict::kPass) << patient.reason;
  ASSERT_EQ(patient.measurements.size(), 1u);
  EXPECT_GE(patient.measurements.front().value, 1.28);
  // It repeats at once, but who was away for longer cannot know.
  const CaseOutcome hasty = check_timer(NicMutant::kHastyAfterNotReady);
  EXPECT_NE(hasty.verdict, CaseVerdict::kFail) << hasty.reason;
}

TEST_F(BusyMachine, HidesNoFault) {
  for (const Duration time : {Duration(), milliseconds(3)}) {
    const CaseOutcome deaf = check("requester.loss.write.last", microseconds(500), time, NicMutant::kNoTimeout);
    EXPECT_EQ(deaf.verdict, CaseVerdict::kFail) << deaf.reason;
    const CaseOutcome wrong = check("responder.msn", microseconds(100), time, NicMutant::kWrongMessageNumber);
    EXPECT_EQ(wrong.verdict, CaseVerdict::kFail) << wrong.reason;
  }
}

// What has no end on the wire has one here, and is no fault of the NIC's. A second goes by at once.
TEST_F(BusyMachine, WaitsForNoSilenceThatDoesNotCome) {
  const CaseOutcome noisy = check("responder.write.1", microseconds(1), seconds(1), NicMutant::kNone, true);
  EXPECT_EQ(noisy.verdict, CaseVerdict::kInconclusive) << noisy.reason;
  EXPECT_THAT(noisy.reason, HasSubstr("must be silent before a case begins"));
}

}  // namespace
}  // namespace rankwire
