#include "base/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ThrowsMessage;

// Two that compute without end on one core take turns, each while the other waits; one that sleeps waits for nobody.
TEST(ChildProcess, TellsHowLongItWaitedForACore) {
  if (!std::filesystem::exists("/proc/self/schedstat")) GTEST_SKIP() << "the kernel keeps no schedstat";
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const testing::TemporaryFolder folder;
  const std::vector<std::string> endless = {"sh", "-c", "while :; do :; done"};
  const ChildProcess first(endless, folder.path() / "first"), second(endless, folder.path() / "second");
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  const ChildProcess idle({"sleep", "1000"}, folder.path() / "idle");
  constexpr std::chrono::milliseconds kLong(20);
  const auto has_waited = [&](const ChildProcess& child) { return child.longest_wait() > idle.longest_wait() + kLong; };
  for (int i = 0; i < 10'000 && !(has_waited(first) && has_waited(second)); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(has_waited(first));
  EXPECT_TRUE(has_waited(second));
}

TEST(ChildProcess, SaysWhyAProgramCannotBeStarted) {
  const testing::TemporaryFolder folder;
  EXPECT_THAT([] { ChildProcess({"/nowhere/rankwire"}); },
              ThrowsMessage<Error>("/nowhere/rankwire cannot be started: No such file or directory"));
  EXPECT_THAT([&] { ChildProcess({"true"}, folder.path() / "absent" / "output"); },
              ThrowsMessage<Error>("true cannot be started: No such file or directory"));
}

// As in a script that has put this process into the background.
TEST(ChildProcess, HeedsSignalsThatThisProcessIgnores) {
  const testing::TemporaryFolder folder;
  const auto interrupt = std::signal(SIGINT, SIG_IGN), hangup = std::signal(SIGHUP, SIG_IGN);
  ChildProcess asked({"sleep", "1000"}, folder.path() / "asked");
  ChildProcess hung_up({"sh", "-c", "kill -HUP $$; exit 7"}, folder.path() / "hung_up");
  std::signal(SIGINT, interrupt), std::signal(SIGHUP, hangup);
  asked.signal(SIGINT);
  while (!asked.status() || !hung_up.status()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(asked.status(), 128 + SIGINT);
  EXPECT_EQ(hung_up.status(), 7);
}

TEST(ChildProcess, WritesToItsFileAndEndsWithItsStatus) {
  const testing::TemporaryFolder folder;
  ChildProcess child({"sh", "-c", "echo first; echo error: second >&2; exit 7"}, folder.path() / "output");
  while (!child.status()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(child.status(), 7);
  EXPECT_EQ(last_words(folder.path() / "output"), "second");
}

}  // namespace
}  // namespace rankwire
