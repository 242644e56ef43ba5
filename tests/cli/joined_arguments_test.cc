#include "emulator/cli/joined_arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rankwire {
namespace {

/// The arguments as the parser is given them, with spaces between them.
std::string joined(const std::vector<const char*>& given) {
  const JoinedArguments arguments(static_cast<int>(given.size()), given.data());
  std::string all;
  const size_t count = given.size() - static_cast<size_t>(arguments.joined());
  for (size_t i = 0; i < count; ++i) all += (i > 0 ? " " : "") + std::string(arguments.data()[i]);
  EXPECT_EQ(arguments.data()[count], nullptr);
  return all;
}

TEST(JoinedArguments, TakeAnAddressBehindLive) {
  EXPECT_EQ(joined({"rankwire", "run", "--live", "127.0.0.1:80", "x.yaml"}), "rankwire run --live=127.0.0.1:80 x.yaml");
  EXPECT_EQ(joined({"run", "x.yaml", "--live", "localhost:0"}), "run x.yaml --live=localhost:0");
  EXPECT_EQ(joined({"run", "--live", "[fe80::1]:8080", "x"}), "run --live=[fe80::1]:8080 x");
  EXPECT_EQ(joined({"run", "--live", "8080", "x"}), "run --live=8080 x");
  EXPECT_EQ(joined({"run", "--live", "999.1:70000", "x"}), "run --live=999.1:70000 x") << "wrong, but meant as one";
  EXPECT_EQ(joined({"run", "--live", "127.0.0.1", "x"}), "run --live=127.0.0.1 x") << "so is that";
  EXPECT_EQ(joined({"run", "--live", "lab-pc:80", "x"}), "run --live=lab-pc:80 x") << "and that";
}

TEST(JoinedArguments, TakeANumberBehindCheck) {
  EXPECT_EQ(joined({"collective", "all_reduce", "-c", "1"}), "collective all_reduce --check=1");
  EXPECT_EQ(joined({"collective", "--check", "0", "all_reduce"}), "collective --check=0 all_reduce");
  EXPECT_EQ(joined({"collective", "-c", "all_reduce"}), "collective -c all_reduce");
  EXPECT_EQ(joined({"collective", "all_reduce", "-c", "-n", "3"}), "collective all_reduce -c -n 3");
}

TEST(JoinedArguments, LeaveTheConfigurationAlone) {
  for (const char* text : {"run --live x.yaml", "run --live configs/1", "run --live abc", "run --live --json x",
                           "run x --live", "run --live a1.2", "run --live=1.2.3.4:5 6", "run --out 127.0.0.1:80"}) {
    std::vector<std::string> words;
    std::string word;
    for (const char* c = text;; ++c) {
      if (*c != ' ' && *c != '\0') {
        word += *c;
        continue;
      }
      words.push_back(word);
      word.clear();
      if (*c == '\0') break;
    }
    std::vector<const char*> given;
    for (const std::string& one : words) given.push_back(one.c_str());
    EXPECT_EQ(joined(given), text);
  }
}

}  // namespace
}  // namespace rankwire
