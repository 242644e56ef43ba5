// Names that are no UTF-8, as in a record that somebody has changed.
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "emulator/record/database.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

// "be", a byte that begins no character, "gin": everything that is drawn stays text, and the rest of the name is there.
TEST(DamagedText, IsDrawnWithReplacementCharacters) {
  const testing::SampleReport sample;
  Database(sample.folder() / "run.sqlite", Database::Access::kCreate)
      .execute("UPDATE nodes SET name=CAST(X'6265FF67696E' AS TEXT), \"group\"=CAST(X'6470FE' AS TEXT) WHERE node=1");
  const std::string page = sample.page(), operations = sample.csv("operations.csv");
  EXPECT_TRUE(is_utf8(page));
  EXPECT_TRUE(is_utf8(operations));
  EXPECT_TRUE(is_utf8(testing::file_text(sample.folder() / "critical_path.csv")));
  EXPECT_NE(operations.find("be\xEF\xBF\xBDgin,all_reduce,dp\xEF\xBF\xBD,1000000"), std::string::npos) << operations;
  EXPECT_TRUE(is_utf8(sample.table()));
  EXPECT_NO_THROW(sample.summary().dump());
}

}  // namespace
}  // namespace rankwire
