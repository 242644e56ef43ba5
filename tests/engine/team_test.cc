#include "emulator/engine/team.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

TEST(RunTeam, HasFinishedWhenAllHave) {
  RunTeam team(3);
  team.finish(0), team.finish(2);
  EXPECT_FALSE(team.finished());
  team.finish(1);
  EXPECT_TRUE(team.finished());
  EXPECT_FALSE(team.ended()) << "nobody has ended the run before";
  EXPECT_EQ(team.verdict(), Verdict::kOk);
}

TEST(RunTeam, MadeProgressWhenItsLastMemberDid) {
  RunTeam team(2);
  team.note_progress(0, Time(7));
  EXPECT_EQ(team.last_progress(), Time(7));
  team.note_progress(1, Time(5));
  EXPECT_EQ(team.last_progress(), Time(7));
  team.note_progress(1, Time(9));
  EXPECT_EQ(team.last_progress(), Time(9));
}

TEST(RunTeam, EndsOnceAndTheFirstSaysWhy) {
  RunTeam team(2);
  team.end(Verdict::kFailed, "lost");
  team.end(Verdict::kStalled, "no progress");
  EXPECT_TRUE(team.ended());
  EXPECT_EQ(team.verdict(), Verdict::kFailed);
  EXPECT_EQ(team.reason(), "lost");
}

}  // namespace
}  // namespace rankwire
