#include "dataplane/ports/doorbells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/random.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

constexpr uint32_t kPorts = 10'000;  // more than one word of the summary's

std::vector<uint32_t> answered(Doorbells& bells) {
  std::vector<uint32_t> ports;
  bells.answer_all([&](uint32_t port) { ports.push_back(port); });
  return ports;
}

class DoorbellsOf : public ::testing::TestWithParam<BellUse> {
 protected:
  Doorbells bells{kPorts, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Use, DoorbellsOf, ::testing::Values(BellUse::kManyThreads, BellUse::kOneThread));

TEST_P(DoorbellsOf, AreAnsweredOnceInTheOrderOfPorts) {
  for (const uint32_t port : {9'999u, 64u, 0u, 4'096u, 63u, 64u, 4'095u}) bells.ring(port);
  std::vector<uint32_t> seen;
  bells.look([&](uint32_t port) { seen.push_back(port); });
  EXPECT_THAT(seen, ElementsAre(0, 63, 64, 4'095, 4'096, 9'999));
  EXPECT_EQ(answered(bells), seen);
  EXPECT_TRUE(answered(bells).empty());
}

TEST_P(DoorbellsOf, RungWhileTheyAreAnsweredAreHeardNextTime) {
  bells.ring(5'000);
  bells.answer_all([&](uint32_t port) { bells.ring(port); });
  EXPECT_THAT(answered(bells), ElementsAre(5'000));
  EXPECT_TRUE(answered(bells).empty());
}

/// Each port's number of announcements goes up before its bell rings; the last one must be seen when all have rung.
TEST(Doorbells, NoRingOfAnotherThreadIsLost) {
  constexpr uint32_t kRings = 200'000;
  Doorbells bells(kPorts);
  std::vector<std::atomic<uint32_t>> announced(kPorts);
  std::vector<uint32_t> seen(kPorts);
  std::atomic<bool> over{false};
  std::thread ringer([&] {
    Random random(1);
    for (uint32_t i = 0; i < kRings; ++i) {
      const auto port = static_cast<uint32_t>(random.below(kPorts));
      announced[port].fetch_add(1, std::memory_order_relaxed);
      bells.ring(port);
    }
    over = true;
  });
  const auto answer = [&] {
    bells.answer_all([&](uint32_t port) { seen[port] = announced[port].load(std::memory_order_relaxed); });
  };
  while (!over) answer();
  ringer.join();
  answer();
  uint32_t rings = 0;
  for (uint32_t port = 0; port < kPorts; ++port) {
    ASSERT_EQ(seen[port], announced[port].load()) << "port " << port;
    rings += seen[port];
  }
  EXPECT_EQ(rings, kRings);
}

}  // namespace
}  // namespace rankwire
