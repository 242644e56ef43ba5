#include "dataplane/protocol/message_assembly.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/random.h"

namespace rankwire {
namespace {

constexpr ConnectionId kConnection(7);
constexpr uint64_t kMessageKey = 0x1122334455667788;

ReceivedPart part(int64_t first_rx, int64_t delivered, uint64_t bytes, uint64_t key = kMessageKey) {
  return {.first_rx = Time(first_rx), .delivered = Time(delivered), .bytes = bytes, .key = bytes == 0 ? 0 : key};
}

TEST(MessageAssembly, PartsInAnyOrderMakeTheMessage) {
  MessageAssembly assembly(4);
  EXPECT_EQ(assembly.add(kConnection, 3, 3, part(50, 60, 128)).missing, 2u);
  EXPECT_EQ(assembly.add(kConnection, 3, 3, part(90, 90, 0)).missing, 1u);
  const auto done = assembly.add(kConnection, 3, 3, part(10, 40, 256));
  EXPECT_EQ(done.missing, 0u);
  EXPECT_EQ(done.message.first_rx, Time(10));
  EXPECT_EQ(done.message.delivered, Time(90));
  EXPECT_EQ(done.message.bytes, 384u);
  EXPECT_EQ(done.message.key, kMessageKey);
  EXPECT_TRUE(done.message.payload_good);
  EXPECT_EQ(assembly.size(), 0u);
}

TEST(MessageAssembly, ShortLastPartMayComeFirst) {
  // 131 bytes over two queue pairs: 128 and 3.
  MessageAssembly assembly(1);
  assembly.add(kConnection, 0, 2, part(0, 0, 3, kMessageKey & 0xFFFFFF));
  const auto done = assembly.add(kConnection, 0, 2, part(1, 1, 128));
  EXPECT_EQ(done.message.key, kMessageKey);
  EXPECT_TRUE(done.message.payload_good);
}

TEST(MessageAssembly, PartOfAnotherMessageIsNoticed) {
  MessageAssembly assembly(1);
  assembly.add(kConnection, 0, 2, part(0, 0, 128));
  EXPECT_FALSE(assembly.add(kConnection, 0, 2, part(1, 1, 128, kMessageKey + 1)).message.payload_good);
  assembly.add(kConnection, 0, 2, part(0, 0, 3, (kMessageKey + 1) & 0xFFFFFF));
  EXPECT_FALSE(assembly.add(kConnection, 0, 2, part(1, 1, 128)).message.payload_good);
}

TEST(MessageAssembly, FullTableAdmitsOnlyWhatItKnows) {
  MessageAssembly assembly(2);
  assembly.add(kConnection, 0, 2, part(0, 0, 128));
  assembly.add(kConnection, 1, 2, part(0, 0, 128));
  EXPECT_TRUE(assembly.admits(kConnection, 0));
  EXPECT_FALSE(assembly.admits(kConnection, 2));
  EXPECT_FALSE(assembly.admits(ConnectionId(8), 0));
  EXPECT_EQ(assembly.add(kConnection, 0, 2, part(0, 0, 128)).missing, 0u);
  EXPECT_TRUE(assembly.admits(kConnection, 2));
}

// The same against std::map, with many messages open at once, so that chains of probes are cut and closed.
TEST(MessageAssembly, ForgetsAConnectionAndNothingElse) {
  MessageAssembly assembly(100);
  for (uint32_t i = 0; i < 50; ++i) {
    assembly.open(kConnection, i, 2);
    assembly.open(ConnectionId(8), i, 2);
  }
  assembly.forget(kConnection);
  EXPECT_EQ(assembly.size(), 50u);
  for (uint32_t i = 0; i < 50; ++i)
    EXPECT_EQ(assembly.add(ConnectionId(8), i, 2, part(0, 0, 128)).missing, 1u) << "was there with two parts missing";
  assembly.forget(ConnectionId(8));
  EXPECT_EQ(assembly.size(), 0u);
}

TEST(MessageAssembly, ForgetsExactlyWhatIsComplete) {
  constexpr uint32_t kCapacity = 100;
  MessageAssembly assembly(kCapacity);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> expected;  // parts missing
  Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    const auto connection = static_cast<uint32_t>(random.below(5));
    const auto index = static_cast<uint32_t>(random.below(40));
    const auto known = expected.find({connection, index});
    const bool admitted = known != expected.end() || expected.size() < kCapacity;
    ASSERT_EQ(assembly.admits(ConnectionId(connection), index), admitted);
    if (!admitted) continue;
    const uint32_t missing = (known == expected.end() ? 3 : known->second) - 1;
    ASSERT_EQ(assembly.add(ConnectionId(connection), index, 3, part(0, 0, 128)).missing, missing);
    if (missing == 0) {
      expected.erase({connection, index});
    } else {
      expected[{connection, index}] = missing;
    }
    ASSERT_EQ(assembly.size(), expected.size());
  }
}

}  // namespace
}  // namespace rankwire
