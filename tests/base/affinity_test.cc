#include "base/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "base/error.h"

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

TEST(PinnedThread, IsRefusedACpuThatThereIsNot) {
  EXPECT_THROW(PinnedThread(CPU_SETSIZE - 1), Error);
}

TEST(AvoidedCpu, IsLeftToOthersWhereThereIsAnother) {
  const std::vector<uint32_t> before = allowed_cpus();
  {
    const AvoidedCpu avoided(before.front());
    if (before.size() > 1) {
      EXPECT_EQ(allowed_cpus(), std::vector<uint32_t>(before.begin() + 1, before.end()));
      const PinnedThread pinned(before.front());
      EXPECT_THAT(allowed_cpus(), ElementsAre(before.front())) << "a thread may have it all the same";
    } else {
      EXPECT_EQ(allowed_cpus(), before);
    }
  }
  EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace rankwire
