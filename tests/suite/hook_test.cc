#include "emulator/suite/hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace rankwire {
namespace {

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

TEST(Hook, ReturnsWhatIsPrintedAndHasAnEmptyInput) {
  EXPECT_EQ(run_hook("counters", "echo '{\"a\": 1}'", kPatience), "{\"a\": 1}\n");
  EXPECT_EQ(run_hook("counters", "cat", kPatience), "");
}

TEST(Hook, TellsWhatWentWrong) {
  const auto run = [](const char* command, milliseconds patience = kPatience) {
    return [=] { run_hook("link_down", command, patience); };
  };
  EXPECT_THAT(run("/no/such/program x"), ThrowsMessage<Error>(HasSubstr("link_down: '/no/such/program' cannot be")));
  EXPECT_THAT(run("sh -c 'echo no route >&2; exit 3'"),
              ThrowsMessage<Error>(HasSubstr("ended with status 3; it wrote: no route")));
  EXPECT_THAT(run("false"), ThrowsMessage<Error>(HasSubstr("status 1; it wrote nothing")));
  EXPECT_THAT(run("head -c 2000000 /dev/zero"), ThrowsMessage<Error>(HasSubstr("more than 1 MiB")));
  EXPECT_THAT(run("sh -c 'kill -9 $$'"), ThrowsMessage<Error>(HasSubstr("status 137")));
}

// Each would take a minute: the first says nothing, the second has closed its output, the third leaves a child with it.
TEST(Hook, IsKilledWhenItHangs) {
  for (const char* command : {"sleep 60", "sh -c 'exec >&- 2>&-; sleep 60'", "sh -c 'echo on it; sleep 60 & exit 0'"})
    EXPECT_THAT([&] { run_hook("link_down", command, milliseconds(200)); },
                ThrowsMessage<Error>(HasSubstr("did not end within 0.2 s")))
        << command;
}

}  // namespace
}  // namespace rankwire
