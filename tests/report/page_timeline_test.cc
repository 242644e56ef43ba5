// What the page has for its script.
#include "emulator/report/page_timeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/report/html_table.h"
#include "emulator/report/page_data.h"
#include "tests/report/decoded_numbers.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using testing::at_microsecond;
using testing::decoded_numbers;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

std::vector<std::string> names_of(const nlohmann::json& data) {
  const std::vector<int64_t> shared = decoded_numbers(data["names"]["shared"]);
  std::vector<std::string> names;
  std::string before;
  for (size_t i = 0; i < shared.size(); ++i) {
    before = before.substr(0, static_cast<size_t>(shared[i])) + data["names"]["rest"][i].get<std::string>();
    names.push_back(before);
  }
  return names;
}

class PageOperationsTest : public ::testing::Test {
 protected:
  PageOperationsTest() { testing::write_sample(folder_.path()); }

  /// An execution on rank 0 from `start` on.
  static OperationRow row(const std::string& name, Time start, Duration emulated, Duration reference = Duration(0)) {
    OperationRow row;
    row.node = testing::sample_node(0, 1, name, "all_reduce");
    row.emulated = OperationTimes{start, start + emulated};
    if (reference > Duration(0)) row.reference = OperationTimes{start, start + reference};
    return row;
  }
  std::string text(const PageOperations& operations) const {
    return operations.json(RunReader(folder_.path()), at_microsecond(50));
  }
  nlohmann::json data(const PageOperations& operations) const { return nlohmann::json::parse(text(operations)); }

  TemporaryFolder folder_;
};

// The example of the package that browsers' tools use: 123, 456, 789 is 2HwcqxB; these are the sums. And -1 is D.
TEST(VlqDifferences, AreThoseOfSourceMaps) {
  EXPECT_EQ(vlq_differences({123, 579, 1368}), "2HwcqxB");
  EXPECT_EQ(vlq_differences({16, 16, 15}), "gBAD");
  EXPECT_EQ(vlq_differences({}), "");
  const std::vector<int64_t> extremes = {INT64_MAX / 2, -INT64_MAX / 2, 0, 1};
  EXPECT_EQ(decoded_numbers(vlq_differences(extremes)), extremes);
}

// An all-reduce from 10 us to 50 us, in the reference to 30 us, and one of the reference alone.
TEST_F(PageOperationsTest, HasBothSidesOfAnExecution) {
  PageOperations operations;
  operations.add(row("grads", at_microsecond(10), microseconds(40), microseconds(20)));
  OperationRow other = row("other", at_microsecond(20), microseconds(5), microseconds(7));
  other.emulated.reset();
  other.iteration = 3;
  operations.add(other);
  const nlohmann::json json = data(operations);
  EXPECT_EQ(json["end_ps"], 50'000'000);
  EXPECT_EQ(json["operations"], 2);
  EXPECT_EQ(json["left_out"], 0);
  EXPECT_EQ(json["shortest_ps"], 0);
  EXPECT_EQ(json["sides"], nlohmann::json({"emulated", "reference"}));
  EXPECT_EQ(json["ranks"], nlohmann::json::parse(R"([[0,"rank 0",""]])"));
  EXPECT_EQ(json["kinds"], nlohmann::json::parse(R"([["all_reduce",1]])"));
  EXPECT_EQ(json["groups"], nlohmann::json({"dp"}));
  EXPECT_THAT(names_of(json), ElementsAre("grads", "other"));
  const auto column = [&](const char* name) { return decoded_numbers(json["columns"][name]); };
  EXPECT_THAT(column("rank"), ElementsAre(0, 0));
  EXPECT_THAT(column("name"), ElementsAre(0, 1));
  EXPECT_THAT(column("iteration"), ElementsAre(0, 3));
  EXPECT_THAT(column("node"), ElementsAre(11, 11));
  EXPECT_THAT(column("bytes"), ElementsAre(1'000'000, 1'000'000));
  EXPECT_THAT(column("sides"), ElementsAre(3, 2));
  EXPECT_EQ(column("emulated_start")[0], 10'000'000);
  EXPECT_EQ(column("emulated_duration")[0], 40'000'000);
  EXPECT_THAT(column("reference_start"), ElementsAre(10'000'000, 20'000'000));
  EXPECT_THAT(column("reference_duration"), ElementsAre(20'000'000, 7'000'000));
}

TEST_F(PageOperationsTest, IsHarmlessInAScriptWhateverNamesAre) {
  const std::vector<std::string> names = {"</script><script>alert(1)</script>",
                                          "<!-- <script>",
                                          "]]>",
                                          "line\u2028paragraph\u2029",
                                          "quotes \" ' ` \\",
                                          "\u202Eright to left \u0627\u0644",
                                          std::string("nul\0", 4)};
  PageOperations operations;
  for (const std::string& name : names) operations.add(row(name, at_microsecond(10), microseconds(1)));
  const std::string json = text(operations);
  EXPECT_THAT(json, Not(HasSubstr("<")));
  EXPECT_TRUE(std::ranges::all_of(json, [](char c) { return c >= ' ' && c <= '~'; }));
  EXPECT_THAT(names_of(nlohmann::json::parse(json)), ::testing::UnorderedElementsAreArray(names));
}

TEST_F(PageOperationsTest, TakesNamesThatAreNoUtf8) {
  PageOperations operations;
  operations.add(row("bad \xff", at_microsecond(10), microseconds(1)));
  EXPECT_THAT(names_of(data(operations)), ElementsAre("bad \uFFFD"));
}

// Of 1, 4, 2, 4, 3 and 2 us four are kept: not the 1 us, and of those of 2 us the first.
TEST_F(PageOperationsTest, KeepsTheLongestAndOfEqualOnesTheFirst) {
  PageOperations operations(4);
  const std::vector<int64_t> lengths = {1, 4, 2, 4, 3, 2};
  for (size_t i = 0; i < lengths.size(); ++i) {
    operations.add(
        row(fmt::format("op {}", i), at_microsecond(static_cast<int64_t>(10 * i)), microseconds(lengths[i])));
  }
  const nlohmann::json json = data(operations);
  EXPECT_THAT(names_of(json), ElementsAre("op 1", "op 2", "op 3", "op 4"));
  EXPECT_EQ(json["operations"], 4);
  EXPECT_EQ(json["left_out"], 2);
  EXPECT_EQ(json["shortest_ps"], 2'000'000);
}

TEST_F(PageOperationsTest, AnExecutionIsAsLongAsOnItsLongerSide) {
  PageOperations operations(1);
  operations.add(row("short", at_microsecond(1), microseconds(5), microseconds(6)));
  operations.add(row("long", at_microsecond(1), microseconds(1), microseconds(7)));
  EXPECT_THAT(names_of(data(operations)), ElementsAre("long"));
}

TEST_F(PageOperationsTest, MayKeepNone) {
  PageOperations operations(0);
  operations.add(row("one", at_microsecond(1), microseconds(5)));
  EXPECT_EQ(data(operations)["operations"], 0);
  EXPECT_EQ(data(operations)["left_out"], 1);
}

// "ä" has two bytes: of 201 bytes 199 and the first of an "ä" would stay, so that 199 do.
TEST_F(PageOperationsTest, CutsLongNamesBetweenCharacters) {
  PageOperations operations;
  operations.add(row(std::string(199, 'x') + "ä", at_microsecond(1), microseconds(1)));
  operations.add(row(std::string(10'000, 'y'), at_microsecond(1), microseconds(1)));
  operations.add(row(std::string(200, 'z'), at_microsecond(1), microseconds(1)));
  EXPECT_THAT(names_of(data(operations)),
              ElementsAre(std::string(199, 'x') + "…", std::string(200, 'y') + "…", std::string(200, 'z')));
}

// Names that share little of their beginnings: 10,000 of 150 bytes are 1.5 MB, more than there may be.
TEST_F(PageOperationsTest, CutsNamesShorterWhereThereAreMany) {
  PageOperations operations;
  for (int i = 0; i < 10'000; ++i) {
    const std::string digits = fmt::format("{:04}", i);
    const std::string first(1, static_cast<char>('A' + i % 26));
    operations.add(row(first + std::string(digits.rbegin(), digits.rend()) + std::string(145, 'x'), at_microsecond(1),
                       microseconds(1)));
  }
  const std::vector<std::string> names = names_of(data(operations));
  ASSERT_EQ(names.size(), 10'000u);
  for (const std::string& name : names) EXPECT_THAT(name, EndsWith("x…"));
  EXPECT_LE(text(operations).size(), PageOperations::kMostNameBytes + 500'000);
}

// 200,000 executions whose times look random, in 8 ranks: half of them are kept, in less than 4.5 MB.
TEST_F(PageOperationsTest, IsOfBoundedSize) {
  PageOperations operations;
  uint64_t random = 1;
  const auto next = [&](uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((random >> 33) % below);
  };
  std::vector<Time> now(8);
  for (uint32_t i = 0; i < 200'000; ++i) {
    const uint32_t rank = i % 8;
    now[rank] += Duration(next(20'000'000));
    OperationRow one = row(fmt::format("layer{}.mlp.{}", i / 8 % 96, i % 3), now[rank], Duration(next(100'000'000)),
                           Duration(1 + next(100'000'000)));
    one.node.rank = RankId(rank);
    one.node.id = i;
    one.node.bytes = Bytes(next(1 << 20));
    operations.add(one);
  }
  const std::string json = text(operations);
  EXPECT_EQ(nlohmann::json::parse(json)["operations"], kMostPageOperations);
  EXPECT_LT(json.size(), 4'500'000u);
}

TEST(HtmlTable, CellsThatRoundCarryTheirValues) {
  HtmlTable table("", {{"a"}, {"b"}, {"c"}, {"d"}, {"e", HtmlColumn::kText}});
  table.add({Duration(1'234'567), Bytes(1500), uint64_t{7}, std::optional<Duration>(), HtmlCell::valued("3 to 4", 4)},
            html_operations("a\"b", "send"));
  const std::string html = std::move(table).finish();
  EXPECT_THAT(html, HasSubstr("<tr data-name=\"a&quot;b\" data-kind=\"send\">"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\" data-value=\"1234567\">1.235 us</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\" data-value=\"1500\">1.465 KiB</td>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">7</td><td class=\"n\">-</td><td data-value=\"4\">3 to 4</td>"));
}

TEST(Page, HasTheOperationsAndWhatTheTablesSayOfThem) {
  const std::string html = testing::SampleReport().page();
  EXPECT_THAT(html, HasSubstr("<div id=\"timeline\">"));
  EXPECT_THAT(html, HasSubstr("<script type=\"application/json\" id=\"operations\">{\"end_ps\":50000000,"));
  EXPECT_THAT(html, HasSubstr("\"left_out\":0"));
  // The all-reduce is node 11 of whichever rank is the worst.
  EXPECT_THAT(html, ::testing::ContainsRegex("<tr data-operation=\"[01],0,11\">"));
  EXPECT_THAT(html, HasSubstr("<tr data-name=\"grads &lt;script&gt;\" data-kind=\"all_reduce\">"));
}

}  // namespace
}  // namespace rankwire
