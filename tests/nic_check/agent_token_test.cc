#include "emulator/nic_check/agent_token.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class AgentToken : public ::testing::Test {
 protected:
  ~AgentToken() override { unsetenv(kAgentTokenVariable); }
  std::string file(const std::string& text) const {
    const std::filesystem::path path = folder_ / "token";
    std::ofstream(path) << text;
    return path;
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(AgentToken, OfTheArgumentsComesBeforeThatOfTheEnvironment) {
  EXPECT_EQ(agent_token("", ""), "");
  setenv(kAgentTokenVariable, "around", 1);
  EXPECT_EQ(agent_token("", ""), "around");
  EXPECT_EQ(agent_token("given", ""), "given");
  EXPECT_EQ(agent_token("", file("of a file\r\nand more\n")), "of a file");
  EXPECT_EQ(agent_token("", file("without an end")), "without an end");
}

TEST_F(AgentToken, IsNotLookedForElsewhereWhereItsFileHasNone) {
  setenv(kAgentTokenVariable, "around", 1);
  for (const std::string& wrong : {file("\nsecret\n"), (folder_ / "absent").string()})
    EXPECT_THAT([&] { agent_token("", wrong); }, ThrowsMessage<Error>(HasSubstr(wrong)));
}

}  // namespace
}  // namespace rankwire
