// What a record keeps of runs that threw, and of those beside them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "emulator/record/database.h"
#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using ::testing::ThrowsMessage;

// As when the disk is: a database that may not grow is full.
TEST(FullDisk, IsNamed) {
  const TemporaryFolder folder;
  Database database(folder / "x.sqlite", Database::Access::kCreate);
  database.execute("CREATE TABLE t(x); PRAGMA max_page_count=2; BEGIN");
  EXPECT_TRUE(database.in_transaction());
  EXPECT_THAT(
      [&] { database.execute("INSERT INTO t VALUES(zeroblob(100000))"); },
      ThrowsMessage<Error>(AllOf(HasSubstr("x.sqlite: cannot be written: "), HasSubstr("No space left on device"))));
  EXPECT_FALSE(database.in_transaction()) << "SQLite has ended it";
}

TEST(FailedRun, AFailureClosesAllThatAreOpen) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run ended = recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 1});
    ended.end({});
    for (const char* model : {"flow", "alpha_beta"})
      recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .model = model});
    recorder.fail("no connection");
    recorder.fail("nothing is open any more");
  }
  const RunReader reader(folder.path());
  EXPECT_EQ(reader.failure(), "no connection");
  std::vector<std::string> ends;
  for (const RecordedRun& run : reader.runs()) ends.push_back(run.end.verdict + " " + run.end.reason);
  EXPECT_THAT(ends, ElementsAre("ok ", "failed no connection", "failed no connection"));
}

constexpr OperationRecord kOperation{.rank = RankId(0), .node = 0, .iteration = 0, .start = Time(1), .end = Time(3)};

// Of four runs the first has ended, the second is at work, and two have not begun.
TEST(FailedRun, EachRunFailsForAReasonOfItsOwn) {
  TemporaryFolder folder;
  {
    RunRecorder recorder(folder.path());
    RunRecorder::Run ended = recorder.begin({.fidelity = Fidelity::kTwin, .clock = "virtual", .ranks = 1});
    ended.end({.completion = Duration(5)});
    RunRecorder::Run open = recorder.begin({.fidelity = Fidelity::kReference, .clock = "virtual", .model = "flow"});
    open.sink().operations(std::vector{kOperation});
    RunRecorder::Run named = recorder.next_run(), unnamed = recorder.next_run();
    unnamed.fail({}, "never heard of");
    named.fail(RunStart{.fidelity = Fidelity::kReference, .clock = "virtual", .model = "recorded"}, "no times");
    open.fail({}, "no room");
    ended.fail({}, "too late");
  }
  const RunReader reader(folder.path());
  std::vector<std::string> ends;
  for (const RecordedRun& run : reader.runs())
    ends.push_back(fmt::format("{} {} {}", run.start.model, run.end.verdict, run.end.reason));
  EXPECT_THAT(ends, ElementsAre(" ok ", "flow failed no room", "recorded failed no times"));
  EXPECT_EQ(reader.execution_count(reader.runs()[1]), 1u);
  EXPECT_EQ(reader.runs()[0].end.completion, Duration(5));
  EXPECT_EQ(reader.failure(), "");
}

}  // namespace
}  // namespace rankwire
