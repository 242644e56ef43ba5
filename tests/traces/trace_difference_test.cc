#include "emulator/traces/trace_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/traces/inspect_page.h"
#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Inspection inspected(const std::vector<Nodes>& ranks) {
  const TraceSet set(ranks);
  const CheckedSet checked = check(set);
  return inspect(checked.set, checked.matches, {});
}

/// One rank: gemm for 10 us as often as is said, and whatever else.
Inspection with_gemms(size_t count, Nodes others) {
  for (uint64_t id = 100; id < 100 + count; ++id) others.push_back(step(id));
  return inspected({others, others});
}

// "new" takes 40 us more (2 ranks x 20), "old" 30 less (2 x 15), "gemm" 20 more (2 x 10); "same" nothing.
TEST(TraceDifference, TellsWhatHasChangedMostFirst) {
  const Inspection here =
      with_gemms(3, {compute(1, "new").micros(20), compute(3, "same").micros(1), all_reduce(4, {}, 64)});
  const Inspection there =
      with_gemms(2, {compute(2, "old").micros(15), compute(3, "same").micros(1), all_reduce(4, {}, 128)});
  const TraceDifference difference = trace_difference(here, there);
  std::vector<std::string> changes;
  for (const OperationDifference& of : difference.operations) changes.push_back(of.key.name + " " + of.change());
  EXPECT_THAT(changes, ElementsAre("new added", "old missing", "gemm more", "all (2 ranks) changed", "same same"));
  const nlohmann::ordered_json json = to_json(difference);
  EXPECT_EQ(json["operations"][2]["count"], 6);
  EXPECT_EQ(json["operations"][2]["against_count"], 4);
  EXPECT_EQ(json["operations"][3]["bytes"], 128);
  EXPECT_EQ(json["operations"][3]["against_bytes"], 256);
  EXPECT_EQ(json["here"]["nodes"], 12);
  EXPECT_THAT(to_text(difference), HasSubstr("missing  compute"));
  EXPECT_THAT(inspection_html(here, difference), HasSubstr("<td>missing</td><td>compute</td><td>old</td>"));
}

TEST(TraceDifference, OfTheSameIsNone) {
  const Inspection here = with_gemms(1, {});
  const TraceDifference difference = trace_difference(here, here);
  EXPECT_STREQ(difference.operations.front().change(), "same");
  EXPECT_THAT(to_text(difference), HasSubstr("no operation differs"));
}

}  // namespace
}  // namespace rankwire
