#include "dataplane/roce/next_hop_links.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

namespace rankwire {
namespace {

using State = NextHop::State;
using Told = std::vector<std::pair<uint32_t, State>>;

/// Two stations of one link, which hear each other when they are told to.
class NextHopLinksTest : public ::testing::Test {
 protected:
  static constexpr size_t kFrameBytes = 256;

  static Nic nic(uint32_t id, uint8_t mac) {
    return {.id = NicId(id),
            .port = PortId(0),
            .mac = {{2, 0, 0, 0, 0, mac}},
            .ip = Ipv4Address{0x0A000001 + id},
            .prefix_length = 24,
            .vlan = {},
            .gateway = {}};
  }
  static NeighbourOptions options() {
    return {.interval = milliseconds(1),
            .deadline = milliseconds(10),
            .spacing = Duration(),
            .next_hops = 4,
            .announcements = Announcements::kOmitted};
  }
  Told update() {
    Told told;
    links_.update(0, near_, [&](uint32_t queue_pair, const NextHop& hop) { told.push_back({queue_pair, hop.state}); });
    return told;
  }
  /// Hands what one has to say to the other.
  void carry(Neighbours& from, Neighbours& to, Time now) {
    std::array<std::array<uint8_t, kFrameBytes>, 4> memory;
    std::array<Frame, 4> frames;
    for (size_t i = 0; i < frames.size(); ++i) frames[i].head = memory[i].data();
    const size_t n = from.write(now, frames);
    for (const Frame& frame : std::span(frames).first(n)) to.receive(frame);
  }
  void converse(Neighbours& far, Time now) {
    carry(near_, far, now);
    carry(far, near_, now);
  }

  const std::array<Nic, 1> near_nics_{nic(0, 1)};
  Neighbours near_{options(), near_nics_};
  NextHopLinks links_{1, 4};
  Time now_;
};

TEST_F(NextHopLinksTest, AllQueuePairsOfANextHopHearWhenItIsFound) {
  const std::array<Nic, 1> far_nics{nic(1, 2)};
  Neighbours far(options(), far_nics);
  const uint32_t found = near_.resolve(near_nics_[0], far_nics[0].ip);
  const uint32_t silent = near_.resolve(near_nics_[0], Ipv4Address{0x0A000009});
  ASSERT_NE(found, silent);
  links_.follow(0, found, 0);
  links_.follow(0, silent, 1);
  links_.follow(0, found, 3);
  EXPECT_EQ(links_.hop_of(0), found);
  EXPECT_EQ(links_.hop_of(1), silent);
  EXPECT_EQ(links_.hop_of(2), NextHopLinks::kNone);
  EXPECT_EQ(update(), Told()) << "nobody has answered";
  EXPECT_TRUE(links_.waits(0));

  converse(far, now_);
  EXPECT_EQ(update(), (Told{{3, State::kReachable}, {0, State::kReachable}}));
  EXPECT_EQ(update(), Told()) << "they hear it once";
  EXPECT_TRUE(links_.waits(0)) << "one is silent";

  near_.write(now_ + milliseconds(10), {});  // its deadline
  EXPECT_EQ(update(), (Told{{1, State::kUnreachable}}));
  EXPECT_FALSE(links_.waits(0));
}

TEST_F(NextHopLinksTest, ThoseOfANextHopThatMovesHearAgain) {
  const std::array<Nic, 1> far_nics{nic(1, 2)}, moved_nics{nic(1, 7)};
  Neighbours far(options(), far_nics);
  links_.follow(0, near_.resolve(near_nics_[0], far_nics[0].ip), 2);
  converse(far, now_);
  ASSERT_EQ(update().size(), 1u);

  // The same address behind another MAC address looks for the near station.
  Neighbours moved(options(), moved_nics);
  moved.resolve(moved_nics[0], near_nics_[0].ip);
  carry(moved, near_, now_ + milliseconds(2));
  ASSERT_EQ(near_.counters().moved, 1u);
  MacAddress mac;
  links_.update(0, near_, [&](uint32_t queue_pair, const NextHop& hop) {
    EXPECT_EQ(queue_pair, 2u);
    mac = hop.mac;
  });
  EXPECT_EQ(mac, moved_nics[0].mac);
  EXPECT_EQ(update(), Told());
}

TEST_F(NextHopLinksTest, OneThatIsKnownAlreadyIsToldToALaterQueuePair) {
  const std::array<Nic, 2> nics{nic(0, 1), nic(1, 2)};
  Neighbours both(options(), nics);
  const uint32_t hop = both.resolve(nics[0], nics[1].ip);  // its own NIC: reachable at once
  Told told;
  const auto tell = [&](uint32_t queue_pair, const NextHop& next) { told.push_back({queue_pair, next.state}); };
  links_.follow(0, hop, 1);
  EXPECT_TRUE(links_.waits(0));
  links_.update(0, both, tell);
  EXPECT_EQ(told, (Told{{1, State::kReachable}}));
  EXPECT_FALSE(links_.waits(0));
}

TEST(NextHopLinks, WithoutPortsNothingWaits) {
  EXPECT_FALSE(NextHopLinks().waits(0));
  EXPECT_EQ(NextHopLinks().bytes(), 0u);
}

}  // namespace
}  // namespace rankwire
