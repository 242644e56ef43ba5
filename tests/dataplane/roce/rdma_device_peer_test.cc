// What a RoceTransport must do so that an RDMA device can be its peer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/dataplane/roce/pair.h"
#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using testing::FrameBytes;
using testing::pair_plan;
using testing::RocePair;

/// Where a's WRITEs of messages of so many bytes go, as offsets in b's memory, when b offers slots.
std::vector<uint64_t> written_to(const RoceOptions& options, const std::vector<int64_t>& sizes, uint32_t slots,
                                 uint64_t slot_bytes) {
  RocePair pair(options, {});
  uint64_t base = 0;
  for (EndPoint& end : pair.ends()) {
    if (end.connection != ConnectionId(0) || end.at_source) continue;
    end.slots = slots;
    end.slot_bytes = slot_bytes;
    base = end.address;
  }
  pair.connect();
  pair.port_a().capture();
  for (uint32_t i = 0; i < sizes.size(); ++i) pair.post(RocePair::message(0, 7 - i, sizes[i]));
  pair.run_until();
  EXPECT_EQ(pair.events(EventKind::kReceived).size(), sizes.size());
  std::vector<uint64_t> places;
  for (FrameBytes bytes : pair.port_a().sent()) {
    const ParsedPacket packet = parse(testing::frame_over(bytes));
    if (packet.reject == Reject::kNone && packet.address != 0) places.push_back(packet.address - base);
  }
  return places;
}

TEST(RoceToVerbs, WritesToThePeersSlotsInTheOrderOfPosting) {
  RoceOptions options;
  EXPECT_THAT(written_to(options, {100, 3000, 0, 50, 60}, 3, 4096), ElementsAre(0, 4096, 8192, 0, 4096));
  EXPECT_THAT(written_to(options, {100, 3000}, 1, 0), ElementsAre(0, 0));
}

// The WRITE and the immediate behind it are one message.
TEST(RoceToVerbs, KeepsTheSlotForTheImmediateThatFollows) {
  RoceOptions options;
  options.verb = DataVerb::kWriteThenImm;
  EXPECT_THAT(written_to(options, {100, 200, 300}, 2, 4096), ElementsAre(0, 0, 4096, 4096, 0, 0));
}

// Dealt to two queue pairs, each counts its own: messages 7 and 5 on one, 6 and 4 on the other. b offers both the same.
TEST(RoceToVerbs, CountsTheMessagesOfEachQueuePair) {
  RoceOptions options;
  options.queue_pairs = 2;
  options.spread = Spread::kDeal;
  std::vector<uint64_t> places = written_to(options, {100, 100, 100, 100}, 2, 4096);
  std::ranges::sort(places);
  EXPECT_THAT(places, ElementsAre(0, 0, 4096, 4096));
}

// Parts of 128 = ceil(ceil(200 / 2) / 128) x 128 bytes and the rest, each at its offset in the slot of the message.
TEST(RoceToVerbs, PutsThePartsOfASplitMessageIntoOneSlot) {
  RoceOptions options;
  options.queue_pairs = 2;
  std::vector<uint64_t> places = written_to(options, {200, 200}, 2, 4096);
  std::ranges::sort(places);
  EXPECT_THAT(places, ElementsAre(0, 128, 4096, 4096 + 128));
}

/// b with a peer that segments its messages.
class SegmentsTest : public ::testing::Test {
 protected:
  SegmentsTest() { pair_.connect(); }
  static RoceOptions options() {
    RoceOptions options;
    options.payload = PayloadMode::kChecking;
    return options;
  }
  const EndPoint& end(bool at_source) {
    return *std::ranges::find_if(
        pair_.ends(), [&](const EndPoint& e) { return e.connection == ConnectionId(0) && e.at_source == at_source; });
  }
  /// One WRITE of bytes `offset` .. `offset + length` of the message with this key.
  void write(Opcode opcode, uint64_t key, uint32_t offset, uint32_t length) {
    Frame frame;
    ASSERT_EQ(pair_.port_a().allocate({&frame, 1}), 1u);
    const PacketPath path{.source_mac = end(true).mac,
                          .destination_mac = end(false).mac,
                          .source_ip = end(true).ip,
                          .destination_ip = end(false).ip,
                          .destination_qp = end(false).queue_pair};
    write_headers(make_template(path),
                  {.opcode = opcode,
                   .ack_request = true,
                   .psn = end(true).psn + packets_++,
                   .payload_length = length,
                   .immediate = 3,
                   .rkey = end(false).rkey,
                   .dma_length = length,
                   .address = end(false).address + offset},
                  frame);
    write_payload(key, offset, {frame.head + frame.head_length, length});
    frame.head_length = static_cast<uint16_t>(frame.head_length + length);
    seal(frame);
    ASSERT_EQ(pair_.port_a().transmit(pair_.now(), {&frame, 1}), 1u);
    pair_.run_until();
  }

  RocePair pair_{options(), {}};
  uint32_t packets_ = 0;
};

TEST_F(SegmentsTest, AreOneMessage) {
  constexpr uint64_t kKey = 0x1234'5678'9ABC'DEF0;
  write(Opcode::kWriteOnly, kKey, 0, 1024);
  write(Opcode::kWriteOnly, kKey, 1024, 1024);
  EXPECT_TRUE(pair_.events(EventKind::kReceived).empty());
  write(Opcode::kWriteOnlyImmediate, kKey, 2048, 500);
  const std::vector<Event> received = pair_.events(EventKind::kReceived);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].index, 3u);
  EXPECT_EQ(received[0].bytes, Bytes(2548));
  EXPECT_EQ(received[0].received.payload_key, kKey);
  EXPECT_EQ(pair_.b().counters().payload_errors, 0u);
  // The next message begins anew.
  write(Opcode::kWriteOnlyImmediate, ~kKey, 0, 100);
  ASSERT_EQ(pair_.events(EventKind::kReceived).size(), 2u);
  EXPECT_EQ(pair_.events(EventKind::kReceived)[1].bytes, Bytes(100));
  EXPECT_EQ(pair_.events(EventKind::kReceived)[1].received.payload_key, ~kKey);
}

TEST_F(SegmentsTest, AreComparedAtTheirPlaceInTheMessage) {
  constexpr uint64_t kKey = 0x1234'5678'9ABC'DEF0;
  write(Opcode::kWriteOnly, kKey, 0, 1024);
  write(Opcode::kWriteOnlyImmediate, kKey, 0, 1024);
  EXPECT_EQ(pair_.b().counters().payload_errors, 1u);
}

}  // namespace
}  // namespace rankwire
