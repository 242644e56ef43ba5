// Workers take no memory once they are at work.
#include <gtest/gtest.h>

#include <vector>

#include "tests/counting_new.h"
#include "tests/workers/worker_run.h"

namespace rankwire {
namespace {

using testing::PortUse;
using testing::SwitchThread;
using testing::WorkerCase;
using testing::WorkerRun;

/// What the thread of a worker has allocated from its first row to its last.
class AllocationWatch final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord> rows) noexcept override {
    if (rows_ == 0) before_ = testing::allocations;
    rows_ += rows.size();
    allocated_ = testing::allocations - before_;
  }
  void messages(std::span<const MessageRecord>) noexcept override {}
  uint64_t rows() const { return rows_; }
  uint64_t allocated() const { return allocated_; }

 private:
  uint64_t rows_ = 0, before_ = 0, allocated_ = 0;
};

class WorkerMemory : public ::testing::TestWithParam<WorkerCase> {};

// Ranks 0 and 3 execute four nodes an iteration, 1 and 2 three: rank r is of worker r mod 2.
TEST_P(WorkerMemory, IsTakenBeforeTheRun) {
  constexpr uint32_t kIterations = 10;
  std::vector<AllocationWatch> watches(2);
  RecordSink* const sinks[] = {&watches[0], &watches[1]};
  WorkerRun run(GetParam(), {0, 1, 0, 1}, {.iterations = kIterations}, sinks);
  const RunResult result = run.run(GetParam().switch_thread);
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  for (const AllocationWatch& watch : watches) {
    EXPECT_EQ(watch.rows(), kIterations * (4 + 3));
    EXPECT_EQ(watch.allocated(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, WorkerMemory,
                         ::testing::Values(WorkerCase{2}, WorkerCase{2, SwitchThread::kItsOwn},
                                           WorkerCase{2, SwitchThread::kOfEachWorker},
                                           WorkerCase{2, SwitchThread::kOfAWorker, 20'000},
                                           WorkerCase{2, SwitchThread::kOfAWorker, 0, PortUse::kShared}));

}  // namespace
}  // namespace rankwire
