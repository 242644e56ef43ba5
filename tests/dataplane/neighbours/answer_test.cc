// What the NICs of a port answer, and how they announce themselves.
#include <set>

#include "base/error.h"
#include "tests/dataplane/neighbours/fixture.h"
#include "tests/dataplane/wire/encapsulations.h"

namespace rankwire {
namespace {

using testing::FrameBytes;
using testing::Frames;
using testing::from_hex;
using testing::ipv4;
using testing::ipv6;
using testing::kPeerMac;
using testing::make_nic;
using testing::make_peer;
using testing::NeighboursFixture;

const IpAddress kIp = ipv4(0xC6120001), kOtherIp = ipv4(0xC6120002), kPeerIp = ipv4(0xC6120099);

using NeighboursAnswer = NeighboursFixture;

TEST_F(NeighboursAnswer, AnswersArpForItsAddress) {
  start({make_nic(1, kIp), make_nic(2, kOtherIp)});
  receive(request(make_peer(kPeerIp), kOtherIp));
  // RFC 826: to the asker; Ethernet 1, IPv4 0x0800, lengths 6 and 4, reply 2; sender, target. Padded to 60 bytes.
  FrameBytes expected = from_hex(
      "020000000099020000000002"
      "0806"
      "0001080006040002020000000002c6120002020000000099c6120099");
  expected.resize(60, 0);
  EXPECT_EQ(sent(), Frames{expected});
  EXPECT_EQ(counters().arp_requests_rx, 1u);
  EXPECT_EQ(counters().arp_replies_tx, 1u);
}

TEST_F(NeighboursAnswer, AnswersAnArpProbe) {
  start({make_nic(1, kIp)});
  Nic nobody = make_peer(ipv4(0));
  receive(request(nobody, kIp));
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1u);
  // RFC 5227 2.1.1: the probe's sender address is 0, and so is the target address of the answer.
  EXPECT_EQ(FrameBytes(frames[0].begin() + 38, frames[0].begin() + 42), from_hex("00000000"));
  EXPECT_EQ(counters().conflicts, 0u);
}

TEST_F(NeighboursAnswer, AnswersUnicastRequestsForItselfOnly) {
  start({make_nic(1, kIp)});
  FrameBytes unicast = request(make_peer(kPeerIp), kIp);
  std::copy(nics_[0].mac.bytes.begin(), nics_[0].mac.bytes.end(), unicast.begin());
  receive(unicast);
  EXPECT_EQ(sent().size(), 1u);
  unicast[5] ^= 1;  // flooded to this port on the way to another station
  receive(unicast);
  receive(request(make_peer(kPeerIp), ipv4(0xC6120003)));
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(counters().ignored, 2u);
}

TEST_F(NeighboursAnswer, AnswersNeighbourSolicitations) {
  start({make_nic(1, ipv6(1))});
  FrameBytes solicitation = request(make_peer(ipv6(0x99)), ipv6(1));
  // RFC 2464 section 7, RFC 4291 2.7.1: 33:33:ff and the last three bytes; ff02::1:ff00:1.
  EXPECT_EQ(FrameBytes(solicitation.begin(), solicitation.begin() + 6), from_hex("3333ff000001"));
  EXPECT_EQ(FrameBytes(solicitation.begin() + 38, solicitation.begin() + 54),
            from_hex("ff0200000000000000000001ff000001"));
  receive(solicitation);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1u);
  // Ethernet; IPv6: payload 32, next header 58, hop limit 255; type 136, flags S and O 0x60; target; option 2 of 8
  // bytes.
  FrameBytes expected = from_hex(
      "02000000009902000000000186dd"
      "6000000000203aff20010db800000000000000000000000120010db8000000000000000000000099"
      "8800000060000000"
      "20010db8000000000000000000000001"
      "0201020000000001");
  // The checksum by hand: pseudo-header addresses 2 x 2db9 + 1 + 99 = 5c0c, length 20 and next header 3a: 5c66; message
  // 8800 + 6000 + 2db9 + 1 + 0201 + 0200 + 1 = 119bc; 5c66 + 119bc = 17622, folded 7623, inverted 89dc.
  expected[56] = 0x89, expected[57] = 0xDC;
  EXPECT_EQ(frames[0], expected);

  std::copy(nics_[0].mac.bytes.begin(), nics_[0].mac.bytes.end(), solicitation.begin());
  receive(solicitation);  // a unicast probe (RFC 4861 7.3.1), here with a multicast IP address
  EXPECT_EQ(sent().size(), 1u);
  EXPECT_EQ(counters().advertisements_tx, 2u);
}

TEST_F(NeighboursAnswer, AnswersDuplicateAddressDetectionToAllNodes) {
  start({make_nic(1, ipv6(1))});
  // RFC 4862 5.4.2: from the unspecified address, without a source link-layer address option. 24 bytes of ICMPv6.
  FrameBytes probe = from_hex(
      "3333ff00000102000000009986dd"
      "6000000000183aff00000000000000000000000000000000ff0200000000000000000001ff000001"
      "8700000000000000"
      "20010db8000000000000000000000001");
  // ff02 + 1 + ff00 + 1 = 1fe04; + 18 + 3a = 1fe56; 8700 + 2db9 - ... = 20010db8 -> 2001 + 0db8 + 1 = 2dba; together
  // 1fe56 + 8700 + 2dba = 2b310, folded b312, inverted 4ced.
  probe[56] = 0x4C, probe[57] = 0xED;
  receive(probe);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(FrameBytes(frames[0].begin(), frames[0].begin() + 6), from_hex("333300000001"));
  EXPECT_EQ(frames[0][58], 0x20);  // not solicited: override only
}

TEST_F(NeighboursAnswer, IgnoresWhatCameThroughARouter) {
  start({make_nic(1, ipv6(1))});
  FrameBytes forwarded = request(make_peer(ipv6(0x99)), ipv6(1));
  forwarded[21] = 254;  // hop limit; not in the checksum
  receive(forwarded);
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(counters().malformed, 1u);
}

TEST_F(NeighboursAnswer, AnswersPing) {
  start({make_nic(1, kIp)});
  // ping -c1 -s4 198.18.0.1: total length 32, id 0x1234, sequence 1, "abcd". The header's words are 4500 + 0020 + 0 +
  // 4000 + 4001 + c612 + 0099 + c612 + 0001 = 251df, folded 51e1: checksum ae1e. The message's are 0800 + 1234 + 1 +
  // 6162 + 6364 = defb: checksum 2104.
  FrameBytes echo = from_hex(
      "0200000000010200000000990800"
      "4500002000004000"
      "4001ae1ec6120099c6120001"
      "0800210412340001"
      "61626364");
  receive(echo);
  // Addresses swapped, type 0, so the checksum grows by 0800; the rest stays. Padded to 60 bytes.
  FrameBytes expected = from_hex(
      "0200000000990200000000010800"
      "4500002000004000"
      "4001ae1ec6120001c6120099"
      "0000290412340001"
      "61626364");
  expected.resize(60, 0);
  EXPECT_EQ(sent(), Frames{expected});
  echo[40] ^= 1;  // the identifier: the checksum is wrong
  receive(echo);
  EXPECT_EQ(counters().malformed, 1u);
  EXPECT_EQ(counters().echo_replies_tx, 1u);
}

TEST_F(NeighboursAnswer, AnswersPingOverIpv6InItsVlan) {
  start({make_nic(1, ipv6(1), 100)});
  // Payload 8 + 2, hop limit 64, type 128. Pseudo-header 5c0c (as above) + a + 3a = 5c50; 8000 + 1234 + 1 + 6162 =
  // f397; together 14fe7, folded 4fe8, inverted b017.
  receive(
      from_hex("0200000000010200000000998100006486dd"
               "60000000000a3a4020010db800000000000000000000009920010db8000000000000000000000001"
               "8000b01712340001"
               "6162"));
  // Type 129: the checksum is less by 0100.
  EXPECT_EQ(sent(), Frames{from_hex("0200000000990200000000018100006486dd"
                                    "60000000000a3a4020010db800000000000000000000000120010db8000000000000000000000099"
                                    "8100af1712340001"
                                    "6162")});
}

TEST_F(NeighboursAnswer, DropsPingsThatDoNotFitIntoAFrame) {
  NeighbourOptions small = options();
  small.frame_capacity = 128;
  start({make_nic(1, kIp)}, small);
  FrameBytes echo(14 + 20 + 8 + 100);
  std::copy_n(nics_[0].mac.bytes.begin(), 6, echo.begin());
  echo[6] = 2, echo[12] = 0x08;
  Ipv4Header ip;
  ip.total_length = Be16(128);
  ip.protocol = 1;
  ip.source = Be32(0xC6120099);
  ip.destination = Be32(0xC6120001);
  ip.checksum = ipv4_checksum(ip);
  std::memcpy(echo.data() + 14, &ip, sizeof ip);
  echo[34] = 8, echo[36] = 0xF7, echo[37] = 0xFF;  // zeros but for the type: ~0x0800
  receive(echo);
  EXPECT_EQ(counters().echo_requests_rx, 1u);
  EXPECT_EQ(counters().answers_dropped, 1u);
  EXPECT_TRUE(sent().empty());
}

TEST_F(NeighboursAnswer, ReportsOthersThatClaimItsAddress) {
  start({make_nic(1, kIp), make_nic(2, ipv6(1))});
  for (const IpAddress& ip : {kIp, ipv6(1)}) {
    receive(announcement(make_peer(ip)));
    receive(answer(make_peer(ip), make_peer(ip)));
  }
  EXPECT_EQ(counters().conflicts, 4u);
  ASSERT_EQ(neighbours_->conflicts().size(), 2u);  // of two NICs with one other station each
  EXPECT_EQ(neighbours_->conflicts()[0].nic, NicId(1));
  EXPECT_EQ(neighbours_->conflicts()[0].mac, kPeerMac);
  EXPECT_EQ(neighbours_->conflicts()[1].nic, NicId(2));
  EXPECT_TRUE(sent().empty());
  // Our own frames come back.
  for (const Nic& nic : nics_) receive(announcement(nic));
  EXPECT_EQ(counters().conflicts, 4u);
  EXPECT_TRUE(sent().empty());
}

TEST_F(NeighboursAnswer, FullAnswerQueueDropsAndCounts) {
  NeighbourOptions small = options();
  small.answer_bytes = 200;  // three answers of 2 + 60 bytes
  start({make_nic(1, kIp)}, small);
  for (int i = 0; i < 5; ++i) receive(request(make_peer(kPeerIp), kIp));
  EXPECT_EQ(counters().answers_dropped, 2u);
  EXPECT_EQ(counters().arp_replies_tx, 3u);
  EXPECT_EQ(sent().size(), 3u);
  receive(request(make_peer(kPeerIp), kIp));
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(NeighboursAnswer, TwoNicsWithOneAddressAreRefused) {
  const std::vector<Nic> same{make_nic(1, kIp), make_nic(2, kIp)};
  EXPECT_THROW(Neighbours(options(), same), Error);
}

TEST_F(NeighboursAnswer, NicsThatEverybodyKnowsSayNothingUnasked) {
  NeighbourOptions silent = options();
  silent.announcements = Announcements::kOmitted;
  nics_ = {make_nic(1, kIp)};
  neighbours_ = std::make_unique<Neighbours>(silent, nics_);
  EXPECT_TRUE(neighbours_->ready());
  EXPECT_EQ(neighbours_->next_event(), Time::never());
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(counters().announcements_tx, 0u);
  receive(request(make_peer(kPeerIp), kIp));
  EXPECT_EQ(neighbours_->next_event(), Time::long_ago());
  EXPECT_EQ(sent().size(), 1u) << "the answer";
}

TEST_F(NeighboursAnswer, FiveThousandNicsAnnounceThemselvesAtTheirPace) {
  std::vector<Nic> nics;
  for (uint32_t i = 0; i < 5000; ++i) {
    IpAddress ip = ipv4(0xC6130000 + i);
    if (i % 2 != 0) {
      ip = ipv6(static_cast<uint8_t>(i));
      ip.bytes[14] = static_cast<uint8_t>(i >> 8);
    }
    nics.push_back(make_nic(i, ip, static_cast<uint16_t>(1 + i % 7)));
  }
  nics_ = nics;
  neighbours_ = std::make_unique<Neighbours>(options(), nics_);
  const Time begun = now_;
  std::set<FrameBytes> announced;
  size_t frames = 0;
  while (!neighbours_->ready()) {
    now_ = std::max(now_, neighbours_->next_event());
    const auto now_sent = sent();
    ASSERT_LE(now_sent.size(), Neighbours::kBurst + 1);
    frames += now_sent.size();
    announced.insert(now_sent.begin(), now_sent.end());
  }
  EXPECT_EQ(frames, 5000u);
  EXPECT_EQ(announced.size(), 5000u);
  // 10 us apart but for the first burst.
  EXPECT_EQ(now_ - begun, microseconds(10) * (5000 - 1 - Neighbours::kBurst));

  // Each is found by its own VLAN and address, and by nothing else.
  for (uint32_t i = 0; i < 5000; i += 97) {
    IpAddress elsewhere = ipv6(1);
    elsewhere.bytes[8] = 1;
    const Nic peer = make_peer(nics[i].ip.is_ipv4() ? ipv4(0xC613FFFF) : elsewhere, nics[i].vlan);
    receive(request(peer, nics[i].ip));
    EXPECT_EQ(sent(), Frames{answer(nics[i], peer)}) << i;
    receive(request(make_peer(peer.ip, 9), nics[i].ip));
    EXPECT_TRUE(sent().empty()) << i;
  }
}

}  // namespace
}  // namespace rankwire
