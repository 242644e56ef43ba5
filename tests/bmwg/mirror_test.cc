#include "emulator/bmwg/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Json = nlohmann::ordered_json;

std::string refusal(const std::string& before, const std::string& after) {
  try {
    const MirrorCounts first = mirror_counts(Json::parse(before));
    mirrored_since(first, mirror_counts(Json::parse(after)));
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Mirror, TellsWhatPassedBetweenTwoLooks) {
  EXPECT_THAT(mirrored_since(mirror_counts(Json::parse(R"({"packets": 10, "marked": 1})")),
                             mirror_counts(Json::parse(R"({"packets": 110, "marked": 26, "cnps": 3})"))),
              ElementsAre(Pair("marked", 25), Pair("packets", 100)));
}

TEST(Mirror, TakesNothingButCountsThatGrow) {
  EXPECT_THAT(refusal("[]", "{}"), HasSubstr("it printed no JSON object"));
  EXPECT_THAT(refusal("{}", "{}"), HasSubstr("none of packets, marked, cnps, pauses, out_of_order"));
  EXPECT_THAT(refusal(R"({"mark": 1})", "{}"), HasSubstr("'mark', which is none of packets, marked"));
  EXPECT_THAT(refusal(R"({"marked": "1"})", "{}"), HasSubstr("\"1\" of 'marked', which is no count"));
  EXPECT_THAT(refusal(R"({"marked": -1})", "{}"), HasSubstr("-1 of 'marked', which is no count"));
  EXPECT_THAT(refusal(R"({"marked": 5})", R"({"cnps": 5})"), HasSubstr("'marked' before the run, and not after it"));
  EXPECT_THAT(refusal(R"({"marked": 5})", R"({"marked": 4})"), HasSubstr("was 5 before the run and 4 after it"));
  EXPECT_THAT(refusal(R"({"packets": 5, "out_of_order": 2})", R"({"packets": 15, "out_of_order": 302})"),
              HasSubstr("it saw 300 of 'out_of_order' during the run and 10 of 'packets', of which these are a part"));
}

TEST(Mirror, MakesSharesOfPackets) {
  BmwgOutcome outcome;
  add_mirrored(outcome, {{"packets", 100}, {"marked", 25}, {"pauses", 2}}, "10 kB");
  add_mirrored(outcome, {{"marked", 25}}, "20 kB");
  const CaseOutcome found = std::move(outcome).finish();
  ASSERT_EQ(found.measurements.size(), 4u);
  EXPECT_EQ(found.measurements[1].name, "mirrored port, ECN marking ratio");
  EXPECT_EQ(found.measurements[1].value, 0.25);
  EXPECT_EQ(found.measurements[2].value, 2);
  EXPECT_EQ(found.measurements[3].name, "mirrored port, marked");
  EXPECT_EQ(found.measurements[3].unit, "frames");
}

}  // namespace
}  // namespace rankwire
