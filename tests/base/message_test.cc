#include "base/message.h"

#include <gtest/gtest.h>

#include <set>

#include "base/address.h"
#include "base/random.h"

namespace rankwire {
namespace {

TEST(MessageId, EveryFieldHoldsItsRange) {
  MessageId id;
  id.group = MessageId::kPointToPoint;
  id.sequence = MessageId::kMaxSequence - 1;
  id.iteration = MessageId::kMaxIterations - 1;
  id.job = MessageId::kMaxJobs - 1;
  id.channel = MessageId::kMaxChannels - 1;
  id.source = MessageId::kMaxRanks - 1;
  id.destination = MessageId::kMaxRanks - 2;
  id.step = MessageId::kMaxSteps - 1;
  id.slice = MessageId::kMaxSlices - 1;
  EXPECT_EQ(to_string(id),
            "job 127 point-to-point tag#65535 #4194303 iteration 16383 rank 131071 -> 131070 channel 31 slice 8191");
  id.group = 7;
  EXPECT_EQ(to_string(id),
            "job 127 group 7 #4194303 iteration 16383 rank 131071 -> 131070 step 65535 channel 31 slice "
            "8191");
  id.control = 1;
  EXPECT_TRUE(to_string(id).ends_with("channel 31 slice 8191 clear-to-send")) << to_string(id);
}

TEST(PayloadKey, DiffersWithEveryField) {
  std::set<uint64_t> keys;
  const auto add = [&](auto change) {
    MessageId id;
    change(id);
    EXPECT_TRUE(keys.insert(payload_key(id)).second);
  };
  add([](MessageId&) {});
  add([](MessageId& id) { id.group = 1; });
  add([](MessageId& id) { id.sequence = 1; });
  add([](MessageId& id) { id.iteration = 1; });
  add([](MessageId& id) { id.job = 1; });
  add([](MessageId& id) { id.channel = 1; });
  add([](MessageId& id) { id.source = 1; });
  add([](MessageId& id) { id.destination = 1; });
  add([](MessageId& id) { id.step = 1; });
  add([](MessageId& id) { id.slice = 1; });
  add([](MessageId& id) { id.control = 1; });
}

TEST(PayloadWord, NoTwoWordsOfAMessageAreEqual) {
  std::set<uint64_t> words;
  for (uint64_t i = 0; i < 100'000; ++i) EXPECT_TRUE(words.insert(payload_word(42, i)).second);
  EXPECT_EQ(payload_word(42, 0), 42u);
}

TEST(Random, IsSplitmix64) {
  // The first outputs of the reference implementation (Vigna, splitmix64.c) for seed 1234567.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(Random, ChanceMeetsItsRate) {
  // 10^6 draws at 1 %: mean 10000, standard deviation sqrt(10^6 x 0.01 x 0.99) = 99.5; within five of them.
  Random random(7);
  int hits = 0;
  for (int i = 0; i < 1'000'000; ++i) hits += random.chance(10'000);
  EXPECT_NEAR(hits, 10'000, 498);
}

TEST(Address, IsWrittenAsPeopleWriteIt) {
  EXPECT_EQ(to_string(Ipv4Address{0xC6120001}), "198.18.0.1");
  EXPECT_EQ(to_string(MacAddress{{0x02, 0x52, 0x57, 0, 0, 0x1f}}), "02:52:57:00:00:1f");
}

}  // namespace
}  // namespace rankwire
