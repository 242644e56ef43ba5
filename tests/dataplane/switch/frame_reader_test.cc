#include "dataplane/switch/frame_reader.h"

#include <optional>
#include <utility>
#include <vector>

#include "dataplane/switch/frames.h"
#include "tests/dataplane/switch/parts.h"

namespace rankwire {
namespace {

class FrameReaderTest : public testing::FabricPartsTest {
 protected:
  static constexpr uint64_t kEverybody = 0xFFFFFFFFFFFF, kLinkLayerDiscovery = 0x0180C200000E;

  /// A star of three hosts, of which the stations are known: number and host.
  FrameReader& make_reader(std::vector<std::pair<uint64_t, uint32_t>> known) {
    std::vector<FabricStation> stations;
    for (const auto& [number, host] : known)
      stations.push_back({{{2, 0, 0, 0, 0, static_cast<uint8_t>(number)}}, host});
    options_.stations = stations;
    FrameReader& reader = make(star(lines(3))).reader;
    options_.stations = {};
    return reader;
  }
  FabricPacket read_early(uint32_t port, const testing::FrameText& text) {
    FabricPacket packet{};
    const Frame frame = write(text);
    parts_->reader.read_early(port, frame, packet);
    pool_.release({&frame, 1});
    return packet;
  }
  /// Nothing when the frame goes no further.
  std::optional<FabricPacket> classify(uint32_t port, const testing::FrameText& text) {
    FabricPacket packet{};
    const Frame frame = write(text);
    const bool goes_on = parts_->reader.classify(port, frame, packet);
    pool_.release({&frame, 1});
    return goes_on ? std::optional(packet) : std::nullopt;
  }
};

TEST_F(FrameReaderTest, ReadsWhatAKnownStationSendsToAnotherAtOnce) {
  const FrameReader& reader = make_reader({{0, 0}, {1, 1}});
  const FabricPacket packet = read_early(0, {.source = station(0), .destination = station(1), .dscp = 26, .ecn = 1});
  EXPECT_EQ(packet.destination, 1);
  EXPECT_EQ(packet.priority, 26 / 8);
  EXPECT_TRUE(packet.ecn_capable);
  EXPECT_EQ(packet.flow, 0u);  // one switch has no ways to choose from
  EXPECT_FALSE(reader.must_classify(packet));
  EXPECT_FALSE(read_early(0, {.source = station(0), .destination = station(1), .ecn = 0}).ecn_capable);
}

TEST_F(FrameReaderTest, LeavesToTheSwitchWhatTellsWhereAStationIs) {
  const FrameReader& reader = make_reader({{1, 1}});
  EXPECT_TRUE(reader.must_classify(read_early(0, {.source = station(0), .destination = station(1)})));
  // Known, but not from here.
  EXPECT_TRUE(reader.must_classify(read_early(0, {.source = station(1), .destination = station(1)})));
  // For others than one host, or for nobody that is known.
  EXPECT_TRUE(reader.must_classify(read_early(1, {.source = station(1), .destination = kEverybody})));
  EXPECT_TRUE(reader.must_classify(read_early(1, {.source = station(1), .destination = station(2)})));
}

TEST_F(FrameReaderTest, LearnsFromSources) {
  const FrameReader& reader = make_reader({});
  EXPECT_EQ(classify(0, {.source = station(0), .destination = station(1)})->destination, FabricPacket::kFlooded);
  EXPECT_EQ(classify(1, {.source = station(1), .destination = station(0)})->destination, 0);
  EXPECT_EQ(classify(2, {.source = station(2), .destination = kEverybody})->destination, FabricPacket::kFlooded);
  const FabricPacket packet = read_early(2, {.source = station(2), .destination = station(1)});
  EXPECT_EQ(packet.destination, 1);
  EXPECT_FALSE(reader.must_classify(packet));
}

TEST_F(FrameReaderTest, EndsWhatNoBridgeRelays) {
  make_reader({{1, 1}});
  EXPECT_FALSE(classify(0, {.source = station(0), .destination = kLinkLayerDiscovery}).has_value());
  EXPECT_FALSE(classify(2, {.source = station(2), .destination = station(1), .length = 13}).has_value());
  // The first has been learned from, the runt has no source.
  EXPECT_EQ(classify(1, {.source = station(1), .destination = station(0)})->destination, 0);
  EXPECT_EQ(classify(1, {.source = station(1), .destination = station(2)})->destination, FabricPacket::kFlooded);
}

TEST_F(FrameReaderTest, SeveralStationsMaySendFromAHost) {
  make_reader({{0, 0}, {7, 0}, {1, 1}});
  // An address of zeros is a station's like any other, and here unknown, whoever has sent from the host before.
  EXPECT_EQ(read_early(0, {.source = 0, .destination = station(1)}).destination, FabricPacket::kUnread);
  for (const uint64_t number : {0, 7, 7, 0})
    EXPECT_EQ(read_early(0, {.source = station(number), .destination = station(1)}).destination, 1);
  EXPECT_EQ(read_early(1, {.source = station(7), .destination = station(0)}).destination, FabricPacket::kUnread);
  EXPECT_EQ(read_early(0, {.source = station(1), .destination = station(0)}).destination, FabricPacket::kUnread);
}

TEST_F(FrameReaderTest, AStationThatMovesIsFollowed) {
  const FrameReader& reader = make_reader({{0, 0}, {1, 1}, {2, 2}});
  const testing::FrameText text{.source = station(2), .destination = station(0)};
  const FabricPacket before = read_early(2, text);
  EXPECT_EQ(before.destination, 0);
  EXPECT_EQ(classify(1, {.source = station(0), .destination = station(2)})->destination, 2);
  // What was read before then may be wrong, and nothing is read early any more.
  EXPECT_TRUE(reader.must_classify(before));
  EXPECT_EQ(read_early(2, text).destination, FabricPacket::kUnread);
  EXPECT_EQ(classify(2, text)->destination, 1);
}

TEST_F(FrameReaderTest, SeveralSwitchesNeedTheFlow) {
  FabricParts& parts = make(leaf_spine({.leaves = 2, .spines = 2, .uplink = kTenGigabit}, lines(2)));
  const Frame frame = write({.source = station(0), .destination = station(1)});
  FabricPacket packet{};
  ASSERT_TRUE(parts.reader.classify(parts.tables.first_host_port, frame, packet));
  EXPECT_EQ(packet.flow, flow_of(frame, read_headers(frame), options_.balancing));
  EXPECT_NE(packet.flow, 0u);
}

}  // namespace
}  // namespace rankwire
