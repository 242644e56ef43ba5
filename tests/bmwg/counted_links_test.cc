#include "emulator/bmwg/counted_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Json = nlohmann::ordered_json;

LinkBytes since(const std::string& before, const std::string& after) {
  const auto read = [](const std::string& links) {
    return counted_links(Json::parse(R"({"memory": 1, "links": )" + links + "}"), "counters: 'c'");
  };
  const LinkBytes first = read(before);
  return counted_since(first, read(after), "counters: 'c'");
}

std::string refused_links(const std::string& before, const std::string& after) {
  try {
    since(before, after);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(CountedLinks, TellsWhatEachHasSent) {
  EXPECT_THAT(since(R"({"a": 10, "b": 7})", R"({"a": 110, "b": 7})"), ElementsAre(Pair("a", 100), Pair("b", 0)));
}

// A balance of these would be that of other counts than the traffic's.
TEST(CountedLinks, TakesNoCountsThatStandStillOrShrinkNorOneLink) {
  EXPECT_THAT(refused_links("3", "3"), HasSubstr("counters: 'c': prints no object 'links'"));
  EXPECT_THAT(refused_links(R"({"a": 1})", "{}"), HasSubstr("printed 1 of the device's links, and two or more"));
  EXPECT_THAT(refused_links(R"({"a": -1, "b": 0})", "{}"), HasSubstr("-1 of link 'a', which is no count of bytes"));
  EXPECT_THAT(refused_links(R"({"a": "1", "b": 0})", "{}"), HasSubstr("\"1\" of link 'a', which is no count of bytes"));
  EXPECT_THAT(refused_links(R"({"a": 5, "b": 5})", R"({"a": 6, "b": 4})"),
              HasSubstr("'b' had sent 5 B before the run and 4"));
  EXPECT_THAT(refused_links(R"({"a": 5, "b": 5})", R"({"a": 5, "b": 5})"),
              HasSubstr("none of its 2 links has sent anything"));
  EXPECT_THAT(refused_links(R"({"a": 5, "b": 5})", R"({"a": 6, "c": 6})"),
              HasSubstr("the link 'b' before the run, and not"));
  EXPECT_THAT(refused_links(R"({"a": 5, "b": 5})", R"({"a": 6, "b": 6, "c": 6})"),
              HasSubstr("'c' after the run, and not"));
}

}  // namespace
}  // namespace rankwire
