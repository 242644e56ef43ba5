// Which ranks and ports belong to which worker makes no difference to what arrives.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/workers/worker_run.h"

namespace rankwire {
namespace {

using testing::PortUse;
using testing::SwitchThread;
using testing::WorkerCase;
using testing::WorkerRun;

class WorkerRuns : public ::testing::TestWithParam<WorkerCase> {};

// Every port is somebody's, whichever, and each worker has one at least.
TEST_P(WorkerRuns, DeliverEveryMessageOnce) {
  constexpr uint32_t kIterations = 3;
  std::mt19937 random(GetParam().workers);
  std::vector<uint16_t> of_port{0, 1, 2, 3};
  for (uint16_t& worker : of_port) worker = static_cast<uint16_t>(worker % GetParam().workers);
  std::shuffle(of_port.begin(), of_port.end(), random);
  std::vector<testing::RowsOfARun> rows(GetParam().workers);
  std::vector<RecordSink*> sinks;
  for (testing::RowsOfARun& of_worker : rows) sinks.push_back(&of_worker);
  WorkerRun run(GetParam(), of_port, {.iterations = kIterations, .messages = {.payload_keys = PayloadKeys::kCompared}},
                sinks);
  const RunResult result = run.run(GetParam().switch_thread);
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
  const CommunicationCounters counters = run.counters();
  EXPECT_EQ(counters.sent, kIterations * run.plan().messages_per_iteration);
  EXPECT_EQ(counters.delivered, counters.sent);
  EXPECT_EQ(counters.duplicated, 0u);
  EXPECT_EQ(counters.payload_errors, 0u);
  EXPECT_EQ(run.transport().ports().size(), testing::kWorkerRanks);
  for (const FlowCounters& flow : run.transport().flows())
    EXPECT_EQ(flow.messages,
              kIterations * run.plan().transport.connections[flow.connection.value].messages_per_iteration);
  if (GetParam().loss_ppm > 0) {
    EXPECT_GT(run.transport().counters().retransmitted, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, WorkerRuns,
                         ::testing::Values(WorkerCase{2}, WorkerCase{3}, WorkerCase{4},
                                           WorkerCase{2, SwitchThread::kItsOwn},
                                           WorkerCase{2, SwitchThread::kOfEachWorker},
                                           WorkerCase{4, SwitchThread::kOfEachWorker, 20'000},
                                           WorkerCase{2, SwitchThread::kOfAWorker, 20'000},
                                           WorkerCase{4, SwitchThread::kOfAWorker, 0, PortUse::kShared},
                                           WorkerCase{3, SwitchThread::kOfAWorker, 20'000, PortUse::kShared}));

}  // namespace
}  // namespace rankwire
