#include "dataplane/wire/receive_check.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "dataplane/roce/request_writer.h"
#include "dataplane/wire/payload.h"
#include "tests/dataplane/wire/encapsulations.h"

namespace rankwire {
namespace {

constexpr uint32_t kCheckedMtu = 256;
constexpr ReceiveCheck kModes[] = {ReceiveCheck::kWholeFrame, ReceiveCheck::kHeaderAndTrailer};

PacketPath way_back(PacketPath path) {
  std::swap(path.source_mac, path.destination_mac);
  std::swap(path.source_ip, path.destination_ip);
  path.destination_qp = 0x11;
  return path;
}

/// One end of a queue pair, and packets from the other.
class CheckedEnds {
 public:
  explicit CheckedEnds(const testing::Encapsulation& as)
      : own_(pattern_icrc_.make_template(as.path)),
        sender_(pattern_icrc_.make_peer(way_back(as.path))),
        peer_(make_template(way_back(as.path))) {}

  /// A packet from the other end with the pattern as payload.
  testing::FrameBytes packet(Opcode opcode, uint32_t length, bool ack_request = false) const {
    testing::FrameBytes bytes(kMaxHeaderBytes + kCheckedMtu + kTrailerRoom);
    Frame frame;
    frame.head = bytes.data();
    write_headers(peer_,
                  {.opcode = opcode,
                   .ack_request = ack_request,
                   .psn = 0x123456,
                   .payload_length = length,
                   .immediate = 7,
                   .rkey = 8,
                   .dma_length = 9000,
                   .address = 0x7F00'0000'0000,
                   .msn = 0x345678},
                  frame);
    std::memcpy(frame.head + frame.head_length, payload_pattern().data(), length);
    frame.head_length = static_cast<uint16_t>(frame.head_length + length);
    seal(frame);
    bytes.resize(frame.head_length);
    return bytes;
  }
  testing::FrameBytes acknowledgement() const {
    testing::FrameBytes bytes(kMaxHeaderBytes);
    Frame frame;
    frame.head = bytes.data();
    write_acknowledgement(peer_, {.psn = 0xFFFFFF, .msn = 0xABCDEF}, frame);
    bytes.resize(frame.head_length);
    return bytes;
  }

  struct Result {
    bool parsed = false, mirrored = false, matches = false;
  };
  Result check(testing::FrameBytes bytes, ReceiveCheck mode) const {
    const Frame frame = testing::frame_over(bytes);
    const ParsedPacket parsed = parse(frame);
    if (parsed.reject != Reject::kNone) return {};
    const bool mirrored = is_addressed_to(own_, parsed) && is_mirrored(own_, parsed);
    const IcrcCheck check(pattern_icrc_, mode, kCheckedMtu);
    return {true, mirrored, mirrored ? check.matches(sender_, frame, parsed) : icrc_matches(frame, parsed)};
  }

 private:
  const PatternIcrc pattern_icrc_{kCheckedMtu};
  const HeaderTemplate own_;
  const PeerIcrcBase sender_;
  const HeaderTemplate peer_;
};

TEST(ReceiveCheck, GoodPacketsPassInBothModes) {
  for (const testing::Encapsulation& as : testing::encapsulations()) {
    SCOPED_TRACE(as.name);
    const CheckedEnds ends(as);
    for (const ReceiveCheck mode : kModes) {
      for (const bool ack_request : {false, true}) {
        for (int i = 0; i <= static_cast<int>(Opcode::kReadResponseOnly); ++i) {
          const auto opcode = static_cast<Opcode>(i);
          if (!layout_of(opcode).payload) continue;
          const CheckedEnds::Result result = ends.check(ends.packet(opcode, kCheckedMtu, ack_request), mode);
          EXPECT_TRUE(result.mirrored) << i;
          EXPECT_TRUE(result.matches) << i;
        }
        EXPECT_TRUE(ends.check(ends.packet(Opcode::kWriteLastImmediate, 20, ack_request), mode).matches);
        // Pad is not in the header that is expected, so the whole frame is looked at.
        const CheckedEnds::Result padded = ends.check(ends.packet(Opcode::kWriteLastImmediate, 21, ack_request), mode);
        EXPECT_FALSE(padded.mirrored);
        EXPECT_TRUE(padded.matches);
      }
      EXPECT_TRUE(ends.check(ends.acknowledgement(), mode).mirrored);
      EXPECT_TRUE(ends.check(ends.acknowledgement(), mode).matches);
    }
  }
}

// A bit after the other from the IP header up to `end`: what is left of them is as good as a pass over the frame says.
void expect_wrong_bits_found(const testing::Encapsulation& as, const CheckedEnds& ends, const testing::FrameBytes& good,
                             size_t end) {
  for (size_t bit = as.ip_offset * 8; bit < end * 8; ++bit) {
    const size_t byte = bit / 8;
    // Another queue pair number finds another queue pair, and the ICRCs of its packets.
    if (byte >= as.bth_offset + 5 && byte < as.bth_offset + 8) continue;
    testing::FrameBytes wrong = good;
    wrong[byte] ^= static_cast<uint8_t>(1 << bit % 8);
    if (as.path.source_ip.is_ipv4()) {
      // A header checksum made right, as by a router.
      auto& ip = *reinterpret_cast<Ipv4Header*>(wrong.data() + as.ip_offset);
      ip.checksum = ipv4_checksum(ip);
    }
    for (const ReceiveCheck mode : kModes) {
      const CheckedEnds::Result result = ends.check(wrong, mode);
      if (!result.parsed) continue;  // perhaps so wrong that it has no ICRC in its place
      const bool whole = testing::bytewise_icrc(wrong) == testing::stored_icrc(wrong);
      EXPECT_EQ(result.matches, whole) << "bit " << bit % 8 << " of byte " << byte;
    }
  }
}

TEST(ReceiveCheck, AnyBitWrongInTheHeadersIsFoundInBothModes) {
  for (const testing::Encapsulation& as : testing::encapsulations()) {
    SCOPED_TRACE(as.name);
    const CheckedEnds ends(as);
    for (const Opcode opcode :
         {Opcode::kWriteMiddle, Opcode::kWriteFirst, Opcode::kWriteLastImmediate, Opcode::kReadResponseLast}) {
      const testing::FrameBytes good = ends.packet(opcode, kCheckedMtu);
      expect_wrong_bits_found(as, ends, good, good.size() - kCheckedMtu - kIcrcBytes);
    }
    const testing::FrameBytes good = ends.acknowledgement();
    expect_wrong_bits_found(as, ends, good, good.size());
  }
}

TEST(ReceiveCheck, OnlyTheWholeFrameShowsAWrongPayload) {
  const CheckedEnds ends(testing::encapsulations()[0]);
  testing::FrameBytes wrong = ends.packet(Opcode::kWriteMiddle, kCheckedMtu);
  wrong[200] ^= 1;
  EXPECT_FALSE(ends.check(wrong, ReceiveCheck::kWholeFrame).matches);
  EXPECT_TRUE(ends.check(wrong, ReceiveCheck::kHeaderAndTrailer).matches);
}

TEST(ReceiveCheck, APayloadThatIsNotThePatternIsCheckedInWhole) {
  const CheckedEnds ends(testing::encapsulations()[0]);
  testing::FrameBytes other = ends.packet(Opcode::kWriteMiddle, kCheckedMtu);
  Frame frame = testing::frame_over(other);
  frame.head_length = static_cast<uint16_t>(other.size() - kIcrcBytes);
  other[200] ^= 1;
  seal(frame);
  EXPECT_TRUE(ends.check(other, ReceiveCheck::kHeaderAndTrailer).matches);
  other[201] ^= 1;
  EXPECT_FALSE(ends.check(other, ReceiveCheck::kHeaderAndTrailer).matches);
}

}  // namespace
}  // namespace rankwire
