#include "emulator/peer/ping_pong.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace rankwire {
namespace {

// What the client reads at the end of its memory, from the definition of a payload (base/message.h).
uint8_t last_byte(const PingPong::Turn& turn) {
  std::vector<uint8_t> payload;
  const uint64_t key = payload_key(turn.id);
  for (uint64_t word = 0; payload.size() < static_cast<uint64_t>(turn.bytes.count); ++word)
    for (int byte = 0; byte < 8; ++byte) payload.push_back(static_cast<uint8_t>(payload_word(key, word) >> (8 * byte)));
  return payload[static_cast<size_t>(turn.bytes.count - 1)];
}

TEST(PingPong, EveryTurnEndsInItsNumber) {
  for (const int64_t bytes : {1, 2, 7, 8, 9, 64, 4097}) {
    PingPong game({.message = Bytes(bytes), .largest_message = Bytes(bytes)});
    PingPong::Turn turn = game.begin();
    for (uint32_t number = 1; number <= 600; ++number) {
      ASSERT_EQ(turn.bytes, Bytes(bytes));
      ASSERT_EQ(last_byte(turn), static_cast<uint8_t>(number)) << bytes << " bytes";
      turn = game.next().value();
    }
  }
}

TEST(PingPong, CountsAnewInEverySizeAndEndsBehindTheLast) {
  PingPong game({.message = Bytes(2), .largest_message = Bytes(8), .iterations = 3});
  std::vector<std::pair<int64_t, uint8_t>> turns;
  for (std::optional<PingPong::Turn> turn = game.begin(); turn; turn = game.next())
    turns.emplace_back(turn->bytes.count, last_byte(*turn));
  const std::vector<std::pair<int64_t, uint8_t>> expected = {{2, 1}, {2, 2}, {2, 3}, {4, 1}, {4, 2},
                                                             {4, 3}, {8, 1}, {8, 2}, {8, 3}};
  EXPECT_EQ(turns, expected);
}

TEST(PingPong, SeveralSizesNeedANumberOfIterations) {
  EXPECT_THROW(PingPong({.message = Bytes(2), .largest_message = Bytes(4)}), Error);
}

}  // namespace
}  // namespace rankwire
