#include "base/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

namespace rankwire {
namespace {

using ::testing::ElementsAre;

TEST(PinnedThread, RunsOnItsCpuAloneAndWhereItMightBeforeOnceItEnds) {
  const std::vector<uint32_t> before = allowed_cpus();
  ASSERT_FALSE(before.empty());
  for (const uint32_t cpu : before) {
    const PinnedThread pinned(cpu);
    EXPECT_THAT(allowed_cpus(), ElementsAre(cpu));
    EXPECT_EQ(::sched_getcpu(), static_cast<int>(cpu));
  }
  EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace rankwire
