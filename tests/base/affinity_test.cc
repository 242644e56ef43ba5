#include "base/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "tests/temporary_folder.h"

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

TEST(AvoidedCpus, AreLeftToOthersWhereThereIsAnother) {
  const std::vector<uint32_t> before = allowed_cpus();
  {
    const AvoidedCpus avoided(std::vector<uint32_t>{before.front()});
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

// Two cores with two hardware threads each, numbered as Linux numbers them, and a CPU of which nothing is known.
TEST(OneOfEachCore, IsTheFirstOfThoseThatShareIt) {
  const testing::TemporaryFolder sysfs;
  for (uint32_t cpu = 0; cpu < 4; ++cpu) {
    const std::filesystem::path folder = sysfs / "devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "thread_siblings_list") << cpu % 2 << ',' << cpu % 2 + 2 << '\n';
  }
  EXPECT_THAT(one_of_each_core(std::vector<uint32_t>{0, 1, 2, 3, 9}, sysfs.path()), ElementsAre(0, 1, 9));
  EXPECT_THAT(one_of_each_core(std::vector<uint32_t>{2, 3}, sysfs.path()), ElementsAre(2, 3));
}

}  // namespace
}  // namespace rankwire
