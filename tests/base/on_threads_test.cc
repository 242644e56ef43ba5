#include "base/on_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
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
    EXPECT_EQ(on_threads(threads, done.size(), [&](size_t part) { ++done[part]; }), nullptr);
    EXPECT_THAT(done, Each(1)) << threads;
  }
  EXPECT_EQ(on_threads(4, 0, [](size_t) { FAIL() << "there is nothing to do"; }), nullptr);
}

TEST(OnThreads, OneThreadIsTheCallers) {
  const auto caller = std::this_thread::get_id();
  EXPECT_EQ(on_threads(1, 3, [&](size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); }), nullptr);
}

// Each of three parts waits for the two others, which therefore run at the same time.
TEST(OnThreads, AsManyRunAtATimeAsThereAreThreads) {
  std::atomic<int> present{0};
  const std::exception_ptr error = on_threads(3, 3, [&](size_t) {
    ++present;
    while (present.load() < 3) std::this_thread::yield();
  });
  EXPECT_EQ(error, nullptr);
  EXPECT_EQ(present.load(), 3);
}

// Of ten parts 1, 4 and 7 throw; with several threads the others of these do so before the first.
TEST(OnThreads, TheFirstErrorInOrderIsToldWhenAllIsDone) {
  for (const uint32_t threads : {1u, 4u}) {
    std::vector<int> done(10);
    std::atomic<int> later{threads == 1 ? 2 : 0};
    const std::exception_ptr error = on_threads(threads, done.size(), [&](size_t part) {
      ++done[part];
      if (part % 3 != 1) return;
      if (part > 1) ++later;
      while (part == 1 && later.load() < 2) std::this_thread::yield();
      throw std::runtime_error(std::to_string(part));
    });
    EXPECT_THAT(done, Each(1)) << threads;
    ASSERT_NE(error, nullptr);
    try {
      std::rethrow_exception(error);
    } catch (const std::runtime_error& first) {
      EXPECT_STREQ(first.what(), "1");
    }
  }
}

TEST(OnThreads, OfAllProcessorsTheFirstErrorIsThrown) {
  std::vector<int> done(10);
  on_all_processors(done.size(), [&](size_t part) { ++done[part]; });
  EXPECT_THAT(done, Each(1));
  EXPECT_THROW(on_all_processors(2, [](size_t part) { throw std::runtime_error(std::to_string(part)); }),
               std::runtime_error);
}

}  // namespace
}  // namespace rankwire
