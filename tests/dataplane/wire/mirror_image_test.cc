#include "dataplane/wire/mirror_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "dataplane/wire/payload.h"
#include "dataplane/wire/receive_check.h"
#include "tests/dataplane/wire/encapsulations.h"

namespace rankwire {
namespace {

constexpr uint32_t kMirroredMtu = 1024;

PacketPath reversed(PacketPath path) {
  std::swap(path.source_mac, path.destination_mac);
  std::swap(path.source_ip, path.destination_ip);
  path.destination_qp = 0x11;
  return path;
}

/// The headers of one end, and packets from the other.
class Ends {
 public:
  explicit Ends(const PacketPath& path)
      : own(pattern_icrc_.make_template(path)), peer_(make_template(reversed(path))) {}

  testing::FrameBytes middle(OutboundPacket packet = {}) const {
    if (packet.opcode == Opcode::kWriteOnlyImmediate) packet.opcode = Opcode::kWriteMiddle;
    if (packet.payload_length == 0) packet.payload_length = kMirroredMtu;
    testing::FrameBytes bytes(kMaxHeaderBytes + kMirroredMtu + kTrailerRoom);
    Frame frame;
    frame.head = bytes.data();
    write_headers(peer_, packet, frame);
    std::memcpy(frame.head + frame.head_length, payload_pattern().data(), packet.payload_length);
    frame.head_length = static_cast<uint16_t>(frame.head_length + packet.payload_length);
    seal(frame);
    bytes.resize(frame.head_length);
    return bytes;
  }
  testing::FrameBytes acknowledgement(Syndrome syndrome = Syndrome::kAck) const {
    testing::FrameBytes bytes(kMaxHeaderBytes);
    Frame frame;
    frame.head = bytes.data();
    write_acknowledgement(peer_, {.psn = 0x9ABCDE, .msn = 7, .syndrome = static_cast<uint8_t>(syndrome)}, frame);
    bytes.resize(frame.head_length);
    return bytes;
  }

  const PatternIcrc pattern_icrc_{kMirroredMtu};
  const HeaderTemplate own;

 private:
  const HeaderTemplate peer_;
};

bool is_middle(const Ends& ends, const testing::FrameBytes& bytes) {
  return MirrorImage(ends.own, bytes.data()).is_middle();
}
bool is_acknowledgement(const Ends& ends, const testing::FrameBytes& bytes) {
  return MirrorImage(ends.own, bytes.data()).is_acknowledgement();
}

TEST(MirrorImage, KnowsTheMiddlesAndAcknowledgementsOfUntaggedIpv4) {
  for (const testing::Encapsulation& as : testing::encapsulations()) {
    const Ends ends(as.path);
    const bool known = as.name == "IPv4";
    EXPECT_EQ(is_middle(ends, ends.middle({.psn = 0xFFFFFF})), known) << as.name;
    EXPECT_EQ(is_acknowledgement(ends, ends.acknowledgement()), known) << as.name;
    EXPECT_FALSE(is_middle(ends, ends.acknowledgement())) << as.name;
    EXPECT_FALSE(is_acknowledgement(ends, ends.middle())) << as.name;
  }
}

TEST(MirrorImage, LeavesEverythingElseToTheParser) {
  const Ends ends(testing::encapsulations()[0].path);
  EXPECT_FALSE(is_middle(ends, ends.middle({.ack_request = true})));
  EXPECT_FALSE(is_middle(ends, ends.middle({.solicited = true})));
  EXPECT_FALSE(is_middle(ends, ends.middle({.source_port = 0xC124})));
  EXPECT_FALSE(is_middle(ends, ends.middle({.payload_length = kMirroredMtu - 4})));
  EXPECT_FALSE(is_middle(ends, ends.middle({.opcode = Opcode::kWriteFirst})));
  // A NAK has another marking here.
  EXPECT_FALSE(is_acknowledgement(ends, ends.acknowledgement(Syndrome::kNakSequence)));
}

TEST(MirrorImage, AMiddleMayAskForAnAcknowledgement) {
  const Ends ends(testing::encapsulations()[0].path);
  for (const bool asks : {false, true}) {
    const testing::FrameBytes bytes = ends.middle({.ack_request = asks});
    const MirrorImage image(ends.own, bytes.data());
    EXPECT_EQ(image.asks(), asks);
    EXPECT_TRUE(image.is_middle(asks));
    EXPECT_FALSE(image.is_middle(!asks));
  }
}

TEST(MirrorImage, ARouterMayHaveBeenOnTheWay) {
  const Ends ends(testing::encapsulations()[0].path);
  testing::FrameBytes routed = ends.middle();
  routed[6] ^= 0x40;  // the source MAC address
  auto& ip = *reinterpret_cast<Ipv4Header*>(routed.data() + MirrorImage::kIp);
  --ip.time_to_live;
  EXPECT_FALSE(is_middle(ends, routed)) << "its checksum is wrong";
  ip.checksum = ipv4_checksum(ip);
  EXPECT_TRUE(is_middle(ends, routed));
}

// A bit after the other: what is still an image must be a packet that the parser takes and the ICRC's shortcut fits.
void expect_no_wrong_bit_taken(const Ends& ends, const testing::FrameBytes& good,
                               const std::function<bool(const testing::FrameBytes&)>& is_image) {
  ASSERT_TRUE(is_image(good));
  size_t taken = 0;
  for (size_t bit = 0; bit < MirrorImage::kEnd * 8; ++bit) {
    const size_t byte = bit / 8;
    // What an image does not say: the opcode, which queue pair it is for, and the PSN.
    if (byte == MirrorImage::kBth || (byte > MirrorImage::kBth + 4 && byte < MirrorImage::kBth + 8)) continue;
    testing::FrameBytes wrong = good;
    wrong[byte] ^= static_cast<uint8_t>(1 << bit % 8);
    auto& ip = *reinterpret_cast<Ipv4Header*>(wrong.data() + MirrorImage::kIp);
    if (byte < MirrorImage::kIp + 10 || byte > MirrorImage::kIp + 11) ip.checksum = ipv4_checksum(ip);
    if (!is_image(wrong)) continue;
    ++taken;
    const Frame frame = testing::frame_over(wrong);
    const ParsedPacket packet = parse(frame);
    EXPECT_EQ(packet.reject, Reject::kNone) << "bit " << bit % 8 << " of byte " << byte;
    EXPECT_TRUE(is_addressed_to(ends.own, packet)) << "bit " << bit % 8 << " of byte " << byte;
    EXPECT_TRUE(is_mirrored(ends.own, packet)) << "bit " << bit % 8 << " of byte " << byte;
  }
  // Source MAC address 48, TTL 8, PSN 24.
  EXPECT_EQ(taken, 80u);
}

TEST(MirrorImage, IsWhatParserAndMirrorRuleTake) {
  const Ends ends(testing::encapsulations()[0].path);
  expect_no_wrong_bit_taken(ends, ends.middle(), [&](const auto& bytes) { return is_middle(ends, bytes); });
  expect_no_wrong_bit_taken(ends, ends.middle({.ack_request = true}),
                            [&](const auto& bytes) { return MirrorImage(ends.own, bytes.data()).is_middle(true); });
  expect_no_wrong_bit_taken(ends, ends.acknowledgement(),
                            [&](const auto& bytes) { return is_acknowledgement(ends, bytes); });
}

TEST(MirrorImage, FollowsIsEverythingAndTheNextNumber) {
  const Ends ends(testing::encapsulations()[0].path);
  const auto follow = [&](uint32_t psn, uint32_t next) {
    return MirrorImage::follow(ends.middle({.psn = psn}).data(), ends.middle({.psn = next}).data());
  };
  EXPECT_TRUE(follow(0, 1));
  EXPECT_TRUE(follow(0x00FFFF, 0x010000));
  EXPECT_TRUE(follow(0xFFFFFE, 0xFFFFFF));
  EXPECT_FALSE(follow(7, 7));
  EXPECT_FALSE(follow(7, 6));
  EXPECT_FALSE(follow(7, 9));
  EXPECT_FALSE(follow(0xFFFFFF, 0)) << "the numbers begin anew";
  testing::FrameBytes before = ends.middle({.psn = 0xFFFFFF}), next = ends.middle({.psn = 0});
  next[MirrorImage::kEnd - 4] ^= 1;
  EXPECT_FALSE(MirrorImage::follow(before.data(), next.data())) << "as one number of 32 bits it would be the next";
  before = ends.middle({.psn = 0x1FF});
  for (size_t bit = 0; bit < MirrorImage::kEnd * 8; ++bit) {
    next = ends.middle({.psn = 0x200});
    next[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(MirrorImage::follow(before.data(), next.data())) << "bit " << bit;
  }
}

// Runs of every length, in front of whose end is a frame that does not match.
TEST(MirrorImage, RunsMatchUpToTheFirstWrongFrame) {
  constexpr uint32_t kFrames = 20, kFirst = 0x1234F6;  // the last byte of the PSN begins anew behind ten
  const PacketPath path = testing::encapsulations()[0].path;
  const Ends ends(path);
  const PeerIcrcBase sender = ends.pattern_icrc_.make_peer(reversed(path));
  for (const ReceiveCheck mode : {ReceiveCheck::kWholeFrame, ReceiveCheck::kHeaderAndTrailer}) {
    const IcrcCheck check(ends.pattern_icrc_, mode, kMirroredMtu);
    std::vector<testing::FrameBytes> bytes;
    std::vector<Frame> frames;
    for (uint32_t i = 0; i < kFrames; ++i) bytes.push_back(ends.middle({.psn = kFirst + i}));
    for (testing::FrameBytes& frame : bytes) frames.push_back(testing::frame_over(frame));
    for (uint32_t first = 0; first < kFrames; ++first)
      EXPECT_EQ(check.matching_middles(sender, kFirst + first, std::span(frames).subspan(first)), kFrames - first);
    for (uint32_t wrong = 0; wrong < kFrames; ++wrong) {
      bytes[wrong].back() ^= 0x10;
      EXPECT_EQ(check.matching_middles(sender, kFirst, frames), wrong);
      bytes[wrong].back() ^= 0x10;
    }
    // A payload of another kind whose ICRC is right.
    bytes[13][MirrorImage::kEnd + 77] ^= 1;
    Frame other = frames[13];
    other.head_length = static_cast<uint16_t>(other.head_length - kIcrcBytes);
    seal(other);
    EXPECT_EQ(check.matching_middles(sender, kFirst, frames), kFrames);
  }
}

/// The frame that these bytes of a MIDDLE are, wholly in `head` or with the payload by reference.
Frame middle_over(testing::FrameBytes& bytes, bool by_reference) {
  Frame frame = testing::frame_over(bytes);
  if (!by_reference) return frame;
  frame.head_length = MirrorImage::kEnd;
  frame.payload = bytes.data() + MirrorImage::kEnd;
  frame.payload_length = kMirroredMtu;
  frame.tail_length = kIcrcBytes;
  std::memcpy(frame.tail, bytes.data() + MirrorImage::kEnd + kMirroredMtu, kIcrcBytes);
  return frame;
}

TEST(MirrorImage, OneMiddleMatchesByTheIcrcOfTheWholePacket) {
  constexpr uint32_t kPsn = 0xFFFFFF;
  const PacketPath path = testing::encapsulations()[0].path;
  const Ends ends(path);
  const PeerIcrcBase sender = ends.pattern_icrc_.make_peer(reversed(path));
  for (const ReceiveCheck mode : {ReceiveCheck::kWholeFrame, ReceiveCheck::kHeaderAndTrailer}) {
    const IcrcCheck check(ends.pattern_icrc_, mode, kMirroredMtu);
    for (const bool asks : {false, true}) {
      for (const bool by_reference : {false, true}) {
        testing::FrameBytes bytes = ends.middle({.ack_request = asks, .psn = kPsn});
        EXPECT_TRUE(check.matches_middle(sender, asks, kPsn, middle_over(bytes, by_reference)));
        EXPECT_FALSE(check.matches_middle(sender, !asks, kPsn, middle_over(bytes, by_reference)));
        EXPECT_FALSE(check.matches_middle(sender, asks, kPsn ^ 0x100, middle_over(bytes, by_reference)));
        bytes[MirrorImage::kEnd + 500] ^= 4;
        EXPECT_EQ(check.matches_middle(sender, asks, kPsn, middle_over(bytes, by_reference)),
                  mode == ReceiveCheck::kHeaderAndTrailer)
            << "only the whole frame tells";
        bytes.back() ^= 1;
        EXPECT_FALSE(check.matches_middle(sender, asks, kPsn, middle_over(bytes, by_reference)));
      }
    }
  }
}

TEST(MirrorImage, ItsIcrcIsThatOfTheWholePacket) {
  const PacketPath path = testing::encapsulations()[0].path;
  const Ends ends(path);
  const PeerIcrcBase sender = ends.pattern_icrc_.make_peer(reversed(path));
  for (const ReceiveCheck mode : {ReceiveCheck::kWholeFrame, ReceiveCheck::kHeaderAndTrailer}) {
    const IcrcCheck check(ends.pattern_icrc_, mode, kMirroredMtu);
    const auto matches = [&](testing::FrameBytes& middle, uint32_t psn) {
      const Frame frame = testing::frame_over(middle);
      return check.matching_middles(sender, psn, {&frame, 1}) == 1;
    };
    for (const uint32_t psn : {0u, 0x123456u, 0xFFFFFFu}) {
      testing::FrameBytes middle = ends.middle({.psn = psn});
      EXPECT_TRUE(matches(middle, psn));
      EXPECT_FALSE(matches(middle, psn ^ 1));
      middle[MirrorImage::kEnd + 500] ^= 4;
      EXPECT_EQ(matches(middle, psn), mode == ReceiveCheck::kHeaderAndTrailer) << "only the whole frame tells";
      middle.back() ^= 1;
      EXPECT_FALSE(matches(middle, psn));
    }
    for (const Syndrome syndrome : {Syndrome::kAck, Syndrome::kNakSequence}) {
      testing::FrameBytes ack = ends.acknowledgement(syndrome);
      EXPECT_TRUE(check.matches_acknowledgement(sender, 0x9ABCDE, ack.data() + MirrorImage::kEnd));
      EXPECT_FALSE(check.matches_acknowledgement(sender, 0x9ABCDF, ack.data() + MirrorImage::kEnd));
      ack[MirrorImage::kEnd] ^= 1;
      EXPECT_FALSE(check.matches_acknowledgement(sender, 0x9ABCDE, ack.data() + MirrorImage::kEnd));
    }
  }
}

}  // namespace
}  // namespace rankwire
