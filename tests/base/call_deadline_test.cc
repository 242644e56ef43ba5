#include "base/call_deadline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace rankwire {
namespace {

TEST(CallDeadline, IsToldOnceOfACallThatDoesNotReturn) {
  std::promise<void> passed;
  const CallDeadline deadline(std::chrono::milliseconds(1), [&] { passed.set_value(); });  // which twice would throw
  EXPECT_EQ(passed.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
}

TEST(CallDeadline, IsNotToldOfOneThatDoes) {
  bool passed = false;
  {
    const CallDeadline deadline(std::chrono::hours(1), [&] { passed = true; });
  }
  EXPECT_FALSE(passed);
}

}  // namespace
}  // namespace rankwire
