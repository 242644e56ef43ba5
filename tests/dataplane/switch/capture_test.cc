#include "dataplane/switch/capture.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace rankwire {
namespace {

uint32_t word(const std::string& file, size_t at) {
  uint32_t value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

struct Block {
  uint32_t type;
  size_t at;  ///< of its body
  uint32_t length;
};

std::vector<Block> blocks_of(const std::string& file) {
  std::vector<Block> blocks;
  for (size_t at = 0; at < file.size(); at += blocks.back().length) {
    blocks.push_back({word(file, at), at + 8, word(file, at + 4)});
    EXPECT_EQ(word(file, at + blocks.back().length - 4), blocks.back().length);
    EXPECT_EQ(blocks.back().length % 4, 0u);
    if (blocks.back().length < 12) break;
  }
  return blocks;
}

std::string file_of(const FabricCapture& capture, const std::vector<std::string>& names) {
  return capture.file_head(names) + std::string(capture.blocks(0));
}

/// 54 bytes of head, a borrowed payload and a tail.
class FabricCaptureTest : public ::testing::Test {
 protected:
  FabricCaptureTest() {
    head_.fill(0xAA), payload_.fill(0xBB);
    frame_.head = head_.data(), frame_.head_length = 54;
    frame_.payload = payload_.data(), frame_.payload_length = 30;
    frame_.tail_length = 5;
    std::memset(frame_.tail, 0xCC, sizeof frame_.tail);
    frame_.arrival = Time(0x1'0000'0002);
  }

  std::array<uint8_t, 256> head_;
  std::array<uint8_t, 4096> payload_;
  Frame frame_;
};

TEST_F(FabricCaptureTest, WritesAnInterfaceAPortAndABlockAFrame) {
  FabricCapture capture(Bytes(4096));
  capture.received(1, frame_);
  capture.sent(0, Time(-5), frame_);
  const std::string file = file_of(capture, {"s.a", "s.long"});
  const std::vector<Block> blocks = blocks_of(file);
  ASSERT_EQ(blocks.size(), 5u);
  EXPECT_EQ(blocks[0].type, 0x0A0D0D0Au);
  EXPECT_EQ(word(file, blocks[0].at), 0x1A2B3C4Du);
  EXPECT_EQ(blocks[1].type, 1u);
  EXPECT_EQ(word(file, blocks[1].at), 1u) << "Ethernet";
  EXPECT_EQ(file.substr(blocks[2].at + 12, 6), "s.long");
  const Block& in = blocks[3];
  EXPECT_EQ(in.type, 6u);
  EXPECT_EQ(word(file, in.at), 1u);
  EXPECT_EQ(word(file, in.at + 4), 1u) << "upper half of the time";
  EXPECT_EQ(word(file, in.at + 8), 2u);
  EXPECT_EQ(word(file, in.at + 12), 89u) << "54 + 30 + 5";
  EXPECT_EQ(word(file, in.at + 16), 89u);
  EXPECT_EQ(file.substr(in.at + 20, 92),
            std::string(54, '\xAA') + std::string(30, '\xBB') + std::string(5, '\xCC') + std::string(3, '\0'));
  EXPECT_EQ(word(file, in.at + 20 + 92 + 4), 1u) << "inbound";
  const Block& out = blocks[4];
  EXPECT_EQ(word(file, out.at), 0u);
  EXPECT_EQ(word(file, out.at + 4) | word(file, out.at + 8), 0u) << "before the run";
  EXPECT_EQ(word(file, out.at + 20 + 92 + 4), 2u) << "outbound";
}

TEST_F(FabricCaptureTest, CutsLongFramesAndCountsThoseWithoutRoom) {
  frame_.payload_length = 4000;
  // 32 bytes of block, 128 of frame, 12 of options.
  FabricCapture capture(Bytes(2 * 172 + 171));
  for (int i = 0; i < 5; ++i) capture.received(0, frame_);
  EXPECT_EQ(capture.frames(), 2u);
  EXPECT_EQ(capture.left_out(), 3u);
  const std::string file = file_of(capture, {"s.a"});
  const std::vector<Block> blocks = blocks_of(file);
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[3].length, 172u);
  EXPECT_EQ(word(file, blocks[3].at + 12), FabricCapture::kSnapLength);
  EXPECT_EQ(word(file, blocks[3].at + 16), 54u + 4000 + 5);
}

TEST_F(FabricCaptureTest, KeepsAsMuchOfEachFrameAsItIsTold) {
  frame_.payload_length = 100;
  FabricCapture capture(Bytes(4096), 64);
  capture.received(0, frame_);
  const std::string file = file_of(capture, {"s.a"});
  const std::vector<Block> blocks = blocks_of(file);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(word(file, blocks[1].at + 4), 64u) << "of the interface";
  EXPECT_EQ(word(file, blocks[2].at + 12), 64u);
  EXPECT_EQ(word(file, blocks[2].at + 16), 54u + 100 + 5);
  EXPECT_EQ(file.substr(blocks[2].at + 20, 64), std::string(54, '\xAA') + std::string(10, '\xBB'));
}

// What is written meanwhile is whole blocks, and the rest follows.
TEST_F(FabricCaptureTest, TellsItsBlocksInParts) {
  FabricCapture capture(Bytes(4096));
  EXPECT_TRUE(capture.blocks(0).empty());
  capture.received(0, frame_);
  const std::string first(capture.blocks(0));
  EXPECT_EQ(blocks_of(first).size(), 1u);
  capture.sent(0, Time(7), frame_);
  const std::string second(capture.blocks(first.size()));
  EXPECT_EQ(blocks_of(second).size(), 1u);
  EXPECT_EQ(first + second, capture.blocks(0));
}

}  // namespace
}  // namespace rankwire
