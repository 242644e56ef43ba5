#include "emulator/cli/run_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/log.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What is said of a page at this address where --quiet leaves out what nobody asked for.
std::string said_quietly(const std::string& listen) {
  const testing::TemporaryFolder folder;
  const Verbosity before = log_verbosity();
  configure_log(Verbosity::kQuiet);
  ::testing::internal::CaptureStderr();
  {
    RunPage page(listen, "run");
    page.start(folder.path());
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  configure_log(before);
  return said;
}

TEST(RunPage, SaysAlsoQuietlyThatOthersCanReachIt) {
  const std::string said = said_quietly("0.0.0.0:0");
  EXPECT_THAT(said, HasSubstr("live page: http"));
  EXPECT_THAT(said, HasSubstr("nothing is encrypted"));
  EXPECT_THAT(said_quietly("127.0.0.1:0"), Not(HasSubstr("encrypted")));
}

}  // namespace
}  // namespace rankwire
