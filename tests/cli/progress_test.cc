#include "emulator/cli/progress.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

ProgressItem item(const char* label, uint64_t total, uint64_t done) {
  return {label, [total] { return total; }, [done] { return done; }, "operations", nullptr};
}

TEST(ProgressText, TellsOfTheOneThatIsLeastDone) {
  EXPECT_EQ(progress_text({}), std::nullopt);
  EXPECT_EQ(progress_text({item("twin", 200, 7)}), "twin: 7 of 200 operations (3 %)");
  // 50 %, 3 % and 4 %.
  EXPECT_EQ(progress_text({item("flow", 200, 100), item("twin", 4000, 120), item("a alone", 100, 4)}),
            "twin: 120 of 4000 operations (3 %), 2 beside it");
}

// 98 % of the operations have ended, and they were short.
TEST(ProgressText, TellsTheShareOfTimeWhereItIsKnown) {
  ProgressItem of_time = item("emulated", 1000, 980);
  of_time.share = [] { return 0.079; };
  EXPECT_EQ(progress_text({of_time}), "emulated: 7 %, 980 of 1000 operations");
  EXPECT_EQ(progress_text({item("twin", 100, 50), of_time}), "emulated: 7 %, 980 of 1000 operations, 1 beside it");
  EXPECT_EQ(progress_text({item("twin", 100, 5), of_time}), "twin: 5 of 100 operations (5 %), 1 beside it");
}

TEST(ProgressText, WhatIsNotKnownYetIsNotDone) {
  EXPECT_EQ(progress_text({item("scan", 0, 5)}), "scan: 5 of 0 operations (0 %)");
  EXPECT_EQ(progress_text({item("twin", 100, 1), item("scan", 0, 5)}), "scan: 5 of 0 operations (0 %), 1 beside it");
}

}  // namespace
}  // namespace rankwire
