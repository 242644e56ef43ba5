// The sink's calls are on the hot path: they allocate nothing.
#include <gtest/gtest.h>

#include "emulator/record/reader.h"
#include "emulator/record/recorder.h"
#include "tests/counting_new.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

TEST(Allocation, PushingRowsAllocatesNothing) {
  testing::TemporaryFolder folder;
  RunRecorder recorder(folder.path(), {.messages = MessageDetail::kAll, .causes = true, .ring = 1024});
  std::vector<OperationRecord> operations(64, OperationRecord{.rank = RankId(0)});
  std::vector<MessageRecord> messages(64);
  std::vector<CauseRecord> causes(64);
  for (const char* clock : {"real", "virtual"}) {
    RunRecorder::Run run = recorder.begin({.fidelity = Fidelity::kEmulated, .clock = clock, .ranks = 1});
    RecordSink& sink = run.sink();
    const uint64_t before = testing::allocations;
    // 64,000 rows through rings of 1,024: full rings are part of it.
    for (int batch = 0; batch < 1000; ++batch) {
      sink.operations(operations);
      sink.messages(messages);
      sink.causes(causes);
    }
    EXPECT_EQ(testing::allocations, before) << clock;
    run.end({});
  }
  EXPECT_GT(testing::allocations, 0u) << "the counter works";
}

}  // namespace
}  // namespace rankwire
