// How the NICs of a port find their next hops.
#include "tests/dataplane/neighbours/fixture.h"
#include "tests/dataplane/wire/encapsulations.h"

namespace rankwire {
namespace {

using testing::frame_over;
using testing::FrameBytes;
using testing::Frames;
using testing::from_hex;
using testing::ipv4;
using testing::ipv6;
using testing::kPeerMac;
using testing::make_nic;
using testing::make_peer;
using testing::NeighboursFixture;

const IpAddress kAskerIp = ipv4(0xC6120001), kOtherAskerIp = ipv4(0xC6120002), kHopIp = ipv4(0xC6120099);

using NeighboursResolve = NeighboursFixture;

TEST_F(NeighboursResolve, ResolvesANextHop) {
  start({make_nic(1, kAskerIp)});
  const uint32_t hop = neighbours_->resolve(nics_[0], kHopIp);
  ASSERT_NE(hop, Neighbours::kNone);
  EXPECT_FALSE(neighbours_->ready());
  EXPECT_EQ(sent(), Frames{request(nics_[0], kHopIp)});
  EXPECT_TRUE(sent().empty());
  receive(answer(make_peer(kHopIp), nics_[0]));
  EXPECT_EQ(state(hop), NextHop::State::kReachable);
  EXPECT_EQ((*neighbours_)[hop].mac, kPeerMac);
  EXPECT_TRUE(neighbours_->ready());
  EXPECT_EQ(neighbours_->next_event(), Time::never());
  // Twice is the same.
  receive(answer(make_peer(kHopIp), nics_[0]));
  EXPECT_EQ(neighbours_->unresolved(), 0u);
  EXPECT_EQ(counters().moved, 0u);
}

TEST_F(NeighboursResolve, ResolvesOverIpv6) {
  start({make_nic(1, ipv6(1))});
  const uint32_t hop = neighbours_->resolve(nics_[0], ipv6(0x99));
  EXPECT_EQ(sent(), Frames{request(nics_[0], ipv6(0x99))});
  receive(answer(make_peer(ipv6(0x99)), nics_[0]));
  EXPECT_EQ(state(hop), NextHop::State::kReachable);
  EXPECT_EQ((*neighbours_)[hop].mac, kPeerMac);
  EXPECT_EQ(counters().solicitations_tx, 1u);
  EXPECT_EQ(counters().advertisements_rx, 1u);
}

TEST_F(NeighboursResolve, AsksAgainEveryIntervalUntilTheDeadline) {
  start({make_nic(1, kAskerIp)});
  const Time begun = now_;
  const uint32_t hop = neighbours_->resolve(nics_[0], kHopIp);
  EXPECT_EQ(sent().size(), 1u);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(neighbours_->next_event(), begun + milliseconds(250 * i));
    now_ = begun + milliseconds(250 * i) - Duration(1);
    EXPECT_TRUE(sent().empty());
    advance(Duration(1));
    EXPECT_EQ(sent().size(), 1u) << i;
  }
  EXPECT_EQ(neighbours_->next_event(), begun + seconds(1));
  now_ = begun + seconds(1) - Duration(1);
  neighbours_->write(now_, {});
  EXPECT_EQ(state(hop), NextHop::State::kIncomplete);
  advance(Duration(1));
  neighbours_->write(now_, {});
  EXPECT_EQ(state(hop), NextHop::State::kUnreachable);
  EXPECT_EQ((*neighbours_)[hop].requests, 4u);
  EXPECT_EQ((*neighbours_)[hop].asker, NicId(1));
  EXPECT_EQ(counters().unreachable, 1u);
  EXPECT_TRUE(neighbours_->ready());
  EXPECT_EQ(neighbours_->next_event(), Time::never());
  // Too late.
  receive(answer(make_peer(kHopIp), nics_[0]));
  EXPECT_EQ(state(hop), NextHop::State::kUnreachable);
}

TEST_F(NeighboursResolve, APortThatTakesNoFramesMeetsTheDeadlineToo) {
  start({make_nic(1, kAskerIp)});
  const uint32_t hop = neighbours_->resolve(nics_[0], kHopIp);
  neighbours_->write(now_, {});
  EXPECT_LE(neighbours_->next_event(), now_ + seconds(1));
  advance(seconds(1));
  neighbours_->write(now_, {});
  EXPECT_EQ((*neighbours_)[hop].state, NextHop::State::kUnreachable);
  EXPECT_EQ((*neighbours_)[hop].requests, 0u);
}

TEST_F(NeighboursResolve, OneNextHopIsAskedForOnceByAllNicsOfAVlan) {
  start({make_nic(1, kAskerIp), make_nic(2, kOtherAskerIp), make_nic(3, kAskerIp, 100)});
  const uint32_t hop = neighbours_->resolve(nics_[0], kHopIp);
  EXPECT_EQ(neighbours_->resolve(nics_[1], kHopIp), hop);
  const uint32_t other = neighbours_->resolve(nics_[2], kHopIp);
  EXPECT_NE(other, hop);
  EXPECT_EQ(sent().size(), 2u);
  EXPECT_EQ(neighbours_->unresolved(), 2u);
}

TEST_F(NeighboursResolve, OtherSubnetsAreReachedThroughTheGateway) {
  Nic nic = make_nic(1, kAskerIp);
  const IpAddress gateway = ipv4(0xC61200FE), far = ipv4(0x0A000007);
  EXPECT_EQ(next_hop_of(nic, far), std::nullopt);
  EXPECT_EQ(next_hop_of(nic, ipv6(1)), std::nullopt);
  start({nic});
  EXPECT_EQ(neighbours_->resolve(nic, far), Neighbours::kNone);
  nic.gateway = ipv6(0xFE);
  EXPECT_EQ(next_hop_of(nic, far), std::nullopt);
  nic.gateway = gateway;
  EXPECT_EQ(next_hop_of(nic, far), gateway);
  EXPECT_EQ(next_hop_of(nic, kHopIp), kHopIp);
  start({nic});
  const uint32_t hop = neighbours_->resolve(nic, far);
  EXPECT_EQ(neighbours_->resolve(nic, ipv4(0x0A000008)), hop);
  EXPECT_EQ((*neighbours_)[hop].address, gateway);
  EXPECT_EQ(sent(), Frames{request(nic, gateway)});
}

TEST_F(NeighboursResolve, NoMoreNextHopsThanThereIsRoomFor) {
  start({make_nic(1, kAskerIp)});
  for (uint32_t i = 0; i < 16; ++i) ASSERT_NE(neighbours_->resolve(nics_[0], ipv4(0xC6120100 + i)), Neighbours::kNone);
  EXPECT_EQ(neighbours_->resolve(nics_[0], ipv4(0xC6120200)), Neighbours::kNone);
  EXPECT_NE(neighbours_->resolve(nics_[0], ipv4(0xC6120105)), Neighbours::kNone);
}

TEST_F(NeighboursResolve, ItsOwnNicsAreReachableAtOnce) {
  start({make_nic(1, kAskerIp), make_nic(2, kOtherAskerIp)});
  const uint32_t hop = neighbours_->resolve(nics_[0], kOtherAskerIp);
  EXPECT_EQ(state(hop), NextHop::State::kReachable);
  EXPECT_EQ((*neighbours_)[hop].mac, nics_[1].mac);
  EXPECT_TRUE(sent().empty());
}

TEST_F(NeighboursResolve, VlansAreSeparate) {
  start({make_nic(1, kAskerIp), make_nic(2, kAskerIp, 100)});
  // The same question untagged, in VLAN 100 and in VLAN 101, which nobody here is in.
  receive(request(make_peer(kHopIp), kAskerIp));
  receive(request(make_peer(kHopIp, 100), kAskerIp));
  receive(request(make_peer(kHopIp, 101), kAskerIp));
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0], answer(nics_[0], make_peer(kHopIp)));
  EXPECT_EQ(frames[1], answer(nics_[1], make_peer(kHopIp, 100)));
  EXPECT_EQ(FrameBytes(frames[1].begin() + 12, frames[1].begin() + 18), from_hex("810000640806"));

  const uint32_t untagged = neighbours_->resolve(nics_[0], kHopIp), tagged = neighbours_->resolve(nics_[1], kHopIp);
  EXPECT_EQ(sent().size(), 2u);
  receive(answer(make_peer(kHopIp, 101), nics_[1]));
  EXPECT_EQ(neighbours_->unresolved(), 2u);
  receive(answer(make_peer(kHopIp, 100), nics_[1]));
  EXPECT_EQ(state(untagged), NextHop::State::kIncomplete);
  EXPECT_EQ(state(tagged), NextHop::State::kReachable);
}

TEST_F(NeighboursResolve, LearnsFromRequestsButOnlyWhatItAskedFor) {
  start({make_nic(1, kAskerIp)});
  receive(announcement(make_peer(kHopIp)));
  const uint32_t hop = neighbours_->resolve(nics_[0], kHopIp);
  EXPECT_EQ(state(hop), NextHop::State::kIncomplete);  // it had not been asked for
  receive(announcement(make_peer(kHopIp)));
  EXPECT_EQ(state(hop), NextHop::State::kReachable);
  EXPECT_TRUE(sent().empty());  // and need not be any more
  EXPECT_EQ(counters().arp_requests_tx, 0u);
}

TEST_F(NeighboursResolve, FollowsANextHopThatMoves) {
  start({make_nic(1, ipv6(1))});
  const uint32_t hop = neighbours_->resolve(nics_[0], ipv6(0x99));
  receive(answer(make_peer(ipv6(0x99)), nics_[0]));
  Nic moved = make_peer(ipv6(0x99));
  moved.mac.bytes[5] = 0x98;
  // RFC 4861 7.2.5: without the override flag another address is not taken over.
  FrameBytes timid = announcement(moved);
  timid[58] = 0;
  // The checksum grows by what the flags lose (RFC 1624).
  uint32_t checksum = (uint32_t{timid[56]} << 8 | timid[57]) + 0x2000;
  checksum = (checksum & 0xFFFF) + (checksum >> 16);
  timid[56] = static_cast<uint8_t>(checksum >> 8), timid[57] = static_cast<uint8_t>(checksum);
  receive(timid);
  EXPECT_EQ((*neighbours_)[hop].mac, kPeerMac);
  EXPECT_EQ(counters().malformed, 0u);
  receive(announcement(moved));
  EXPECT_EQ((*neighbours_)[hop].mac, moved.mac);
  EXPECT_EQ(counters().moved, 1u);
}

TEST_F(NeighboursResolve, AnswersComeFirstThenRequestsThenAnnouncements) {
  nics_ = {make_nic(1, kAskerIp), make_nic(2, kOtherAskerIp)};
  neighbours_ = std::make_unique<Neighbours>(options(), nics_);
  neighbours_->resolve(nics_[0], kHopIp);
  receive(request(make_peer(ipv4(0xC6120098)), kAskerIp));
  EXPECT_EQ(neighbours_->next_event(), Time::long_ago());
  const Frames expected{answer(nics_[0], make_peer(ipv4(0xC6120098))), request(nics_[0], kHopIp),
                        announcement(nics_[0]), announcement(nics_[1])};
  EXPECT_EQ(sent(), expected);
  EXPECT_EQ(counters().announcements_tx, 2u);
}

TEST_F(NeighboursResolve, FiveThousandNextHops) {
  NeighbourOptions many = options();
  many.next_hops = 5000;
  start({make_nic(1, kAskerIp)}, many);
  for (uint32_t i = 0; i < 5000; ++i) ASSERT_EQ(neighbours_->resolve(nics_[0], ipv4(0xC6121000 + i)), i);
  // Every second one answers.
  while (!neighbours_->ready()) {
    now_ = std::max(now_, neighbours_->next_event());
    for (FrameBytes& frame : sent()) {
      const NeighbourMessage question = read_neighbour_frame(frame_over(frame));
      if (question.target.bytes[15] % 2 == 0) receive(answer(make_peer(question.target), nics_[0]));
    }
  }
  EXPECT_EQ(counters().unreachable, 2500u);
  EXPECT_EQ(counters().arp_replies_rx, 2500u);
  // Once each, and those that do not answer at 0, 250, 500 and 750 ms.
  EXPECT_EQ(counters().arp_requests_tx, 2500u + 4 * 2500u);
  for (uint32_t i = 0; i < 5000; ++i)
    EXPECT_EQ(state(i), i % 2 == 0 ? NextHop::State::kReachable : NextHop::State::kUnreachable) << i;
}

}  // namespace
}  // namespace rankwire
