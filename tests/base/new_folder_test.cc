#include "base/new_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

TEST(NewFolder, GoesWithThoseAboveThatWereMade) {
  const TemporaryFolder there;
  for (const char* below : {"a/b/c", "a/b/c/"}) {
    {
      const NewFolder made(there / below);
      made.check();
      EXPECT_TRUE(fs::is_directory(there / "a/b/c"));
    }
    EXPECT_FALSE(fs::exists(there / "a"));
  }
  EXPECT_TRUE(fs::exists(there.path()));
}

TEST(NewFolder, StaysWithWhatIsInIt) {
  const TemporaryFolder there;
  {
    const NewFolder made(there / "a/b");
    std::ofstream(there / "a/file") << "something";
  }
  EXPECT_FALSE(fs::exists(there / "a/b"));
  EXPECT_TRUE(fs::exists(there / "a/file"));
}

TEST(NewFolder, LeavesWhatWasThere) {
  const TemporaryFolder there;
  fs::create_directory(there / "empty");
  { const NewFolder made(there / "empty"); }
  EXPECT_TRUE(fs::exists(there / "empty"));
}

TEST(NewFolder, SaysWhyThereIsNone) {
  const TemporaryFolder there;
  std::ofstream(there / "file") << "something";
  const NewFolder made(there / "file/a");
  EXPECT_TRUE(made.error());
  EXPECT_THROW(made.check(), Error);
  EXPECT_TRUE(fs::exists(there / "file"));
  EXPECT_FALSE(NewFolder("").error());  // the current one
}

}  // namespace
}  // namespace rankwire
