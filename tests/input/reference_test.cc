// docs/configuration.md against the loader: every key stands in both.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "emulator/input/config.h"

namespace rankwire {
namespace {

/// The first cells of the table rows that begin with "| `key`".
std::set<std::string> documented_keys(const std::string& file) {
  std::set<std::string> keys;
  std::ifstream stream(file);
  const std::regex row("^\\| `([^`]+)` \\|.*");
  for (std::string line; std::getline(stream, line);) {
    if (std::smatch match; std::regex_match(line, match, row)) {
      EXPECT_TRUE(keys.insert(match[1]).second) << match[1] << " is documented twice";
    }
  }
  return keys;
}

TEST(ConfigurationReference, HasExactlyTheKeysOfTheLoader) {
  const std::vector<std::string> keys = configuration_keys();
  const std::set<std::string> known(keys.begin(), keys.end());
  ASSERT_EQ(known.size(), keys.size()) << "a key is listed twice";
  EXPECT_THAT(documented_keys(RANKWIRE_SOURCE "/docs/configuration.md"), ::testing::ContainerEq(known));
}

}  // namespace
}  // namespace rankwire
