#include "dataplane/roce/cause_accounts.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

constexpr Duration kUnpaused;

constexpr Time at_ns(int64_t ns) {
  return Time() + nanoseconds(ns);
}

TEST(CauseAccounts, OffUnlessMade) {
  EXPECT_FALSE(CauseAccounts().on());
  EXPECT_EQ(CauseAccounts().bytes_each(), 0u);
  EXPECT_TRUE(CauseAccounts(1, 0, 1).on());
  // A clock of 96 bytes, and what was told of its eight causes, 8 bytes each.
  EXPECT_EQ(CauseAccounts(1, 0, 1).bytes_each(), 96u + 64u);
}

TEST(CauseAccounts, AMessageIsChargedWhatNoneBeforeItWas) {
  CauseAccounts accounts(2, 0, 2);
  accounts.note(1, Cause::kWindow, at_ns(0), kUnpaused);
  accounts.note(1, Cause::kAcknowledgement, at_ns(30), kUnpaused);
  const TimeByCause first = accounts.take_share(1, at_ns(50), kUnpaused);
  EXPECT_EQ(first[Cause::kWindow], nanoseconds(30));
  EXPECT_EQ(first[Cause::kAcknowledgement], nanoseconds(20));
  accounts.note(1, std::nullopt, at_ns(60), kUnpaused);
  const TimeByCause second = accounts.take_share(1, at_ns(100), kUnpaused);
  EXPECT_EQ(second[Cause::kAcknowledgement], nanoseconds(10)) << "idle from 60 ns on";
  EXPECT_EQ(second.total(), nanoseconds(10));
  EXPECT_EQ(accounts.read(1, at_ns(100), kUnpaused).total(), nanoseconds(60)) << "of the queue pair, all";
  EXPECT_EQ(accounts.read(0, at_ns(100), kUnpaused).total(), Duration()) << "of another, nothing";
}

TEST(CauseAccounts, TransmissionAndBlameReachTheClock) {
  CauseAccounts accounts(1, 0, 1);
  accounts.note(0, Cause::kPort, at_ns(0), kUnpaused);
  accounts.transmit(0, nanoseconds(8), at_ns(0), false);
  accounts.note(0, Cause::kAcknowledgement, at_ns(8), kUnpaused);
  accounts.blame(0, Cause::kRecovering);
  const TimeByCause share = accounts.take_share(0, at_ns(20), kUnpaused);
  EXPECT_EQ(share[Cause::kTransmitting], nanoseconds(8));
  EXPECT_EQ(share[Cause::kRecovering], nanoseconds(12));
}

TEST(CauseAccounts, ATransferAddsUpItsRequestsAndBeginsAnew) {
  CauseAccounts accounts(1, 2, 1);
  TimeByCause share;
  share[Cause::kWindow] = nanoseconds(3);
  accounts.add_to_transfer(1, share);
  accounts.add_to_transfer(1, share);
  EXPECT_EQ(accounts.take_transfer(0).total(), Duration());
  EXPECT_EQ(accounts.take_transfer(1)[Cause::kWindow], nanoseconds(6));
  EXPECT_EQ(accounts.take_transfer(1).total(), Duration()) << "the next in its place";
}

TEST(CauseAccounts, EventsPointToTheirOwnShares) {
  CauseAccounts accounts(1, 0, 2);
  TimeByCause one, other;
  one[Cause::kPort] = nanoseconds(1);
  other[Cause::kPort] = nanoseconds(2);
  const TimeByCause* const first = accounts.keep(one);
  const TimeByCause* const second = accounts.keep(other);
  EXPECT_EQ(*first, one);
  EXPECT_EQ(*second, other);
  accounts.forget_events();
  EXPECT_EQ(accounts.keep(other), first) << "there is room for two events, not for three";
}

}  // namespace
}  // namespace rankwire
