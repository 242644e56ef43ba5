#include "emulator/record/table_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "emulator/record/database.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using Row = std::tuple<int64_t, int64_t, std::string, std::optional<int64_t>>;

/// 5,000 rows whose numbers have 0 to 8 bytes and whose texts 0 to 40,000, of which pages of 512 bytes hold a part.
constexpr const char* kRows =
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999) "
    "INSERT INTO t(a, b, c, d) SELECT i, (1 << (i % 64)) * (i % 2 * 2 - 1), "
    "substr(hex(zeroblob(20000)), 1, CASE WHEN i % 500 = 7 THEN 40000 ELSE i % 700 END) || 'x', "
    "CASE WHEN i % 3 = 0 THEN NULL ELSE i % 3 - 1 END FROM n";

class TablePagesFile : public ::testing::TestWithParam<const char*> {
 protected:
  TablePagesFile() {
    Database database(file_, Database::Access::kCreate);
    database.execute("PRAGMA page_size=512; CREATE TABLE other(x)");
    database.execute(GetParam());
    database.execute(kRows);
    database.execute("DELETE FROM t WHERE a % 11 = 0");
  }

  std::vector<Row> by_statement() const {
    const Database database(file_, Database::Access::kRead);
    std::vector<Row> rows;
    for (Statement select = database.prepare("SELECT a, b, c, d FROM t"); select.step();)
      rows.emplace_back(select.integer(0), select.integer(1), select.text(2), select.optional_integer(3));
    return rows;
  }

  std::vector<Row> by_pages(size_t threads) const {
    const std::optional<TablePages> pages = TablePages::open(file_, "t");
    std::vector<Row> rows;
    if (!pages) return rows;
    const size_t a = pages->column("a").value(), b = pages->column("b").value(), c = pages->column("c").value(),
                 d = pages->column("d").value();
    for (size_t thread = 0; thread < threads; ++thread)
      pages->for_each_row(pages->parts() * thread / threads, pages->parts() * (thread + 1) / threads,
                          [&](const PageRow& row) {
                            rows.emplace_back(row.integer(a), row.integer(b), row.text(c), row.optional_integer(d));
                          });
    return rows;
  }

  testing::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "some.sqlite";
};

TEST_P(TablePagesFile, HasTheRowsThatSqliteHas) {
  const std::vector<Row> rows = by_statement();
  ASSERT_EQ(rows.size(), 4545u);  // 5,000 less those of which 455 are multiples of 11
  EXPECT_EQ(by_pages(1), rows);
  EXPECT_EQ(by_pages(3), rows);
}

TEST_P(TablePagesFile, KnowsWhichColumnsThereAre) {
  EXPECT_EQ(TablePages::open(file_, "t")->column("e"), std::nullopt);
  EXPECT_THROW(TablePages::open(file_, "none"), Error);
}

// Whatever a byte is changed to, reading ends, with rows or with an error.
TEST_P(TablePagesFile, EndsOnADamagedFile) {
  const auto size = static_cast<int64_t>(std::filesystem::file_size(file_));
  for (int i = 0; i < 60; ++i) {
    const int64_t at = 512 + (i * 7919 * 31) % (size - 512);
    std::fstream bytes(file_, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(at).put(static_cast<char>(i % 2 == 0 ? 0xff : 0x05 + i));
    bytes.close();
    try {
      by_pages(1);
    } catch (const Error&) {
    }
  }
}

// While it has a log, rows are in the log.
TEST_P(TablePagesFile, LeavesAFileWithALogToSqlite) {
  Database(file_, Database::Access::kCreate).execute("PRAGMA journal_mode=WAL");
  EXPECT_FALSE(TablePages::open(file_, "t").has_value());
}

INSTANTIATE_TEST_SUITE_P(Tables, TablePagesFile,
                         ::testing::Values("CREATE TABLE t(a, b, c, d)",
                                           "CREATE TABLE t(d, c, b, a, PRIMARY KEY(a, b)) WITHOUT ROWID"),
                         [](const auto& kind) { return kind.index == 0 ? "rowid" : "key"; });

}  // namespace
}  // namespace rankwire
