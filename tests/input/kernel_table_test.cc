#include "emulator/input/kernel_table.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/error.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

class KernelTable : public ::testing::Test {
 protected:
  /// Ranks 1, 2 and 5 are in the group "tp".
  std::vector<KernelRow> read(const std::string& text) {
    const std::filesystem::path file = folder_ / "k.csv";
    std::ofstream(file) << text;
    return read_kernel_table(file, [](const std::string& group) {
      return group == "tp" ? std::vector{RankId(1), RankId(2), RankId(5)} : std::vector<RankId>();
    });
  }
  /// Behind the folder.
  std::string error_of(const std::string& text) {
    try {
      read(text);
    } catch (const Error& error) {
      return std::string(error.what()).substr(folder_.path().string().size() + 1);
    }
    return "accepted";
  }

  testing::TemporaryFolder folder_;
};

TEST_F(KernelTable, HasColumnsInAnyOrder) {
  const auto rows =
      read("# by hand\r\nps_per_byte,pattern,duration\r\n\r\n0.25,gemm*,1.5us\n,\"f<a, \"\"b\"\">\",2ns\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].pattern, "gemm*");
  EXPECT_EQ(rows[0].duration, nanoseconds(1'500));
  EXPECT_EQ(rows[0].per_byte, 250'000'000);
  EXPECT_EQ(rows[0].per_operation, 0);
  EXPECT_FALSE(rows[0].ranks);
  EXPECT_EQ(rows[1].pattern, "f<a, \"b\">");
  EXPECT_EQ(rows[1].duration, nanoseconds(2));
}

TEST_F(KernelTable, ChoosesRanksAndGroups) {
  const auto rows = read("pattern,ranks,group,ps_per_flop\na,3 0-1,,1\nb,,tp,0.000000001\nc,2-9,tp,7\n");
  EXPECT_THAT(*rows[0].ranks, ElementsAre(RankId(0), RankId(1), RankId(3)));
  EXPECT_THAT(*rows[1].ranks, ElementsAre(RankId(1), RankId(2), RankId(5)));
  EXPECT_EQ(rows[1].per_operation, 1);
  EXPECT_THAT(*rows[2].ranks, ElementsAre(RankId(2), RankId(5)));
}

TEST_F(KernelTable, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(""), "k.csv: the table of kernels is empty; its first line names columns");
  EXPECT_EQ(error_of("name,duration\n"),
            "k.csv:1: column 'name' is none of pattern, ranks, group, duration, ps_per_flop, ps_per_byte");
  EXPECT_EQ(error_of("duration\n"), "k.csv:1: there is no column 'pattern'");
  EXPECT_EQ(error_of("pattern,pattern\n"), "k.csv:1: column 'pattern' is named twice");
  const std::string head = "pattern,ranks,group,duration,ps_per_flop\n";
  EXPECT_EQ(error_of(head + "a,,,1us\n"), "k.csv:2: 4 fields, but 5 columns");
  EXPECT_EQ(error_of(head + "#\n,,,1us,\n"), "k.csv:3: there is no pattern");
  EXPECT_EQ(error_of(head + "a,,,,\n"), "k.csv:2: there is neither a duration nor a coefficient");
  EXPECT_EQ(error_of(head + "a,,,12,\n"), "k.csv:2: duration: '12' has no unit; write for example 12us");
  EXPECT_EQ(error_of(head + "a,,,,-1\n"),
            "k.csv:2: ps_per_flop: '-1' is not a number of picoseconds with at most nine decimals");
  EXPECT_EQ(error_of(head + "a,4-3,,1us,\n"), "k.csv:2: ranks: '4-3' ends before it begins");
  EXPECT_EQ(error_of(head + "a,x,,1us,\n"), "k.csv:2: ranks: 'x' is not a whole number");
  EXPECT_EQ(error_of(head + "a,,dp,1us,\n"), "k.csv:2: group: no process group is named 'dp'");
  EXPECT_EQ(error_of(head + "a,0,tp,1us,\n"), "k.csv:2: group: none of the ranks is in the group");
  EXPECT_EQ(error_of(head + "\"a,,,1us,\n"), "k.csv:2: a quotation is not closed");
  EXPECT_THROW(read_kernel_table(folder_ / "absent", {}), Error);
  try {
    read_kernel_table(folder_.path(), {});
    FAIL() << "accepted a directory";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), folder_.path().string() + ": is a directory, not a table of kernels");
  }
}

}  // namespace
}  // namespace rankwire
