#include "emulator/engine/first_failures.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

Event failure_of(uint32_t connection, uint32_t index, Failure failure) {
  Event event;
  event.kind = EventKind::kFailed;
  event.connection = ConnectionId(connection);
  event.index = index;
  event.failure = failure;
  return event;
}

TEST(FirstFailures, KeepsTheFirstOfEachConnection) {
  FirstFailures failures;
  EXPECT_FALSE(failures.any());
  failures.keep(failure_of(7, 3, Failure::kRetryExceeded));
  failures.keep(failure_of(7, 4, Failure::kFlushed));
  failures.keep(failure_of(2, 0, Failure::kUnreachable));
  EXPECT_TRUE(failures.any());
  ASSERT_EQ(failures.events().size(), 2u);
  EXPECT_EQ(failures.events()[0].connection, ConnectionId(7));
  EXPECT_EQ(failures.events()[0].index, 3u);
  EXPECT_EQ(failures.events()[0].failure, Failure::kRetryExceeded);
  EXPECT_EQ(failures.events()[1].connection, ConnectionId(2));
}

TEST(FirstFailures, KeepsNoMoreThanItHasRoomFor) {
  FirstFailures failures;
  const Event* const room = failures.events().data();
  for (uint32_t c = 0; c < FirstFailures::kMost + 5; ++c) failures.keep(failure_of(c, 0, Failure::kDevice));
  ASSERT_EQ(failures.events().size(), FirstFailures::kMost);
  EXPECT_EQ(failures.events().back().connection, ConnectionId(FirstFailures::kMost - 1)) << "the first ones";
  EXPECT_EQ(failures.events().data(), room) << "nothing was allocated";
}

// They are the transport's, until it is polled next.
TEST(FirstFailures, KeepsNoCauses) {
  FirstFailures failures;
  const TimeByCause causes;
  Event event = failure_of(0, 0, Failure::kRetryExceeded);
  event.causes = &causes;
  failures.keep(event);
  EXPECT_EQ(failures.events().front().causes, nullptr);
}

}  // namespace
}  // namespace rankwire
