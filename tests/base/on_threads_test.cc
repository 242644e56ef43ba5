#include "base/on_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rankwire {
namespace {

using ::testing::Each;

TEST(OnThreads, EveryPartIsDoneOnce) {
  for (const uint32_t threads : {1u, 3u, 64u}) {
    std::vector<int> done(20);
    on_threads(threads, done.size(), [&](size_t part) { ++done[part]; });
    EXPECT_THAT(done, Each(1)) << threads;
  }
  on_threads(4, 0, [](size_t) { FAIL() << "there is nothing to do"; });
}

TEST(OnThreads, OneThreadIsTheCallers) {
  on_threads(1, 3, [caller = std::this_thread::get_id()](size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

// Each of three parts waits for the two others, which therefore run at the same time.
TEST(OnThreads, AsManyRunAtATimeAsThereAreThreads) {
  std::atomic<int> present{0};
  on_threads(3, 3, [&](size_t) {
    ++present;
    while (present.load() < 3) std::this_thread::yield();
  });
  EXPECT_EQ(present.load(), 3);
}

/// What is thrown when the first two parts throw, of which the second does so before the first.
std::string thrown_by_two(uint32_t threads, std::set<size_t>& begun) {
  std::atomic<bool> second{threads == 1};
  std::atomic<uint64_t> begins{0};
  std::string text;
  try {
    on_threads(threads, 10, [&](size_t part) {
      begins.fetch_or(uint64_t{1} << part);
      if (part == 0)
        while (!second.load()) std::this_thread::yield();
      if (part == 1) second.store(true);
      throw std::runtime_error(std::to_string(part));
    });
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
  for (size_t part = 0; part < 10; ++part)
    if (begins.load() >> part & 1) begun.insert(part);
  return text;
}

// A thread that throws takes no other part, so that each has one at most.
TEST(OnThreads, TheFirstErrorInOrderIsThrownAndNoMoreBegin) {
  for (const uint32_t threads : {1u, 2u, 4u}) {
    std::set<size_t> begun;
    EXPECT_EQ(thrown_by_two(threads, begun), "0");
    EXPECT_LE(begun.size(), threads);
    EXPECT_TRUE(begun.contains(0));
  }
}

}  // namespace
}  // namespace rankwire
