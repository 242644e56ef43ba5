#include "emulator/hooks/hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "emulator/hooks/hook_process.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using rankwire::testing::TemporaryFolder;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr milliseconds kPatience(10'000);

TEST(SplitCommand, KnowsQuotationMarksAndNothingElseOfAShell) {
  EXPECT_THAT(split_command("ssh  sw1 'shutdown port 3' \"a b\"c d\\ e"),
              ElementsAre("ssh", "sw1", "shutdown port 3", "a bc", "d e"));
  EXPECT_THAT(split_command("echo $HOME *.cc | sort ''"), ElementsAre("echo", "$HOME", "*.cc", "|", "sort", ""));
  for (const char* wrong : {"", "  ", "echo 'x", "echo \"x", "'' x"})
    EXPECT_THROW(split_command(wrong), Error) << wrong;
}

const std::atomic<bool> kGoesOn = false;

std::string output_of(const std::string& command, milliseconds patience = kPatience) {
  return run_hook("link_down", command, patience, kGoesOn);
}

TEST(Hook, ReturnsWhatIsPrintedAndHasAnEmptyInput) {
  EXPECT_EQ(output_of("echo '{\"a\": 1}'"), "{\"a\": 1}\n");
  EXPECT_EQ(output_of("cat"), "");
  EXPECT_EQ(output_of("head -c 1000000 /dev/zero").size(), 1'000'000u);
}

TEST(Hook, TellsWhatWentWrong) {
  const auto run = [](const char* command) { return [=] { output_of(command); }; };
  EXPECT_THAT(run("/no/such/program x"), ThrowsMessage<Error>(HasSubstr("link_down: '/no/such/program' cannot be")));
  EXPECT_THAT(run("sh -c 'echo no route >&2; exit 3'"),
              ThrowsMessage<Error>(HasSubstr("ended with status 3; it wrote: no route")));
  EXPECT_THAT(run("false"), ThrowsMessage<Error>(HasSubstr("status 1; it wrote nothing")));
  EXPECT_THAT(run("head -c 2000000 /dev/zero"), ThrowsMessage<Error>(HasSubstr("more than 1 MiB")));
  EXPECT_THAT(run("sh -c 'kill -9 $$'"), ThrowsMessage<Error>(HasSubstr("status 137")));
}

// Each would take a minute: the first says nothing, the second has closed its output, the third never stops to print.
TEST(Hook, IsKilledWhenItHangs) {
  for (const char* command :
       {"sleep 60", "sh -c 'exec >&- 2>&-; sleep 60'", "sh -c 'while sleep 0.001; do echo; done'"})
    EXPECT_THAT([&] { output_of(command, milliseconds(200)); },
                ThrowsMessage<Error>(HasSubstr("did not end within 0.2 s")))
        << command;
}

// The child would hold the output for a minute, which is more than the hook may take.
TEST(Hook, EndsWithItsProcessThoughAChildHoldsItsOutput) {
  EXPECT_EQ(output_of("sh -c 'echo on it; sleep 60 & exit 0'"), "on it\n");
  EXPECT_THAT([] { output_of("sh -c 'sleep 60 & exit 4'"); }, ThrowsMessage<Error>(HasSubstr("status 4")));
}

// As when the whole process is killed, and nobody is left to end it.
TEST(HookProcess, IsKilledWhenWhoeverStartedItIs) {
  std::optional<HookProcess> hook;
  std::thread([&] { hook.emplace("link_down", std::vector<std::string>{"sleep", "60"}); }).join();
  std::optional<int> status;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!status && std::chrono::steady_clock::now() < deadline) status = hook->listen(milliseconds(10));
  EXPECT_EQ(status, 128 + SIGKILL);
}

TEST(Hook, IsKilledWithItsGroupByAnInterrupt) {
  const TemporaryFolder folder;
  const std::filesystem::path fifo = folder.path() / "fifo";
  std::atomic<bool> interrupted = false;
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  // The child of the hook says that it runs, and its end of the pipe is closed when it has been killed.
  std::thread onlooker([&] {
    std::ifstream pipe(fifo);
    std::string word;
    pipe >> word;
    interrupted = true;
    while (pipe >> word) {
    }
  });
  EXPECT_THAT(
      [&] {
        run_hook("link_down", "sh -c '(echo here; sleep 60) >" + fifo.string() + "; true'", milliseconds(60'000),
                 interrupted);
      },
      ThrowsMessage<Error>(HasSubstr("was ended by an interrupt")));
  onlooker.join();
}

}  // namespace
}  // namespace rankwire
