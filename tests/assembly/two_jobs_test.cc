// Two jobs on the same ranks, in the twin. No trace names a job, so the second is made of the groups of the first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "emulator/assembly/execute.h"
#include "emulator/assembly/impairments.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/record/reader.h"
#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// Four ranks on four ports: the tensor-parallel groups are job 0, the data-parallel ones job 1.
void two_jobs(const ImpairmentConfig& rule, const std::filesystem::path& folder, Setup& setup) {
  RunConfig config = tiny_run(2, 2);
  config.hosts = {.count = 4, .npus = 1};
  config.transport.checking = true;
  prepare(setup, config, folder);
  for (Group& group : setup.workload.groups)
    if (group.name.starts_with("dp")) group.job = JobId(1);
  setup.plan = make_plan(setup.workload, setup.placement, setup.schedules, config.workload.iterations);
  setup.config.impairments = {rule};
  setup.impairments = impairment_rules(setup);
}

void run_twin(const Setup& setup, const std::filesystem::path& folder) {
  RunRecorder recorder(folder);
  RunRecorder::Run record = recorder.next_run();
  VirtualClock clock;
  const std::atomic<bool> go_on{false};
  const std::unique_ptr<Testbed> testbed = make_memory_testbed(setup);
  const std::unique_ptr<Impairments> impairments = make_impairments(setup);
  const std::unique_ptr<Transport> transport = make_roce_transport(roce_options(setup), *testbed, impairments.get());
  const RunResult result = execute(setup,
                                   {.fidelity = Fidelity::kTwin,
                                    .clock_name = "virtual",
                                    .clock = clock,
                                    .transport = *transport,
                                    .testbed = testbed.get(),
                                    .impairments = impairments.get()},
                                   record, {go_on});
  EXPECT_EQ(result.verdict, Verdict::kOk) << result.reason;
}

class RuleForAJob : public ::testing::TestWithParam<ImpairmentConfig> {};

TEST_P(RuleForAJob, LosesItsPacketsAndNobodyElses) {
  const TemporaryFolder folder;
  rankwire::Setup setup;
  two_jobs(GetParam(), folder.path(), setup);
  run_twin(setup, folder / "run");
  const RunReader record(folder / "run");
  const RecordedRun& run = *record.emulated();
  const std::vector<ImpairmentRow> events = record.impairments(run);
  const std::vector<ImpairmentRuleRow> rules = record.impairment_rules(run);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(rules.at(0).done, events.size());
  for (const ImpairmentRow& event : events) {
    EXPECT_THAT(event.message, HasSubstr("job 1 "));
    EXPECT_EQ(setup.plan.transport.connections[event.connection.id.value].job, JobId(1));
  }
  uint64_t messages[2] = {}, again[2] = {};
  record.for_each_flow(run, [&](const RecordedFlow& row) {
    messages[row.flow.connection.job.value] += row.flow.counters.messages;
    again[row.flow.connection.job.value] += row.flow.counters.retransmitted;
  });
  EXPECT_GT(messages[0], 0u);
  EXPECT_GT(messages[1], 0u);
  EXPECT_EQ(again[0], 0u);
  EXPECT_GE(again[1], events.size());
}

// By connections, and by messages of operations.
INSTANTIATE_TEST_SUITE_P(
    TwoJobs, RuleForAJob,
    ::testing::Values(ImpairmentConfig{.packets = PacketClassName::kData, .job = 1, .every = 3},
                      ImpairmentConfig{.packets = PacketClassName::kData, .job = 1, .operation = "*", .every = 3}));

TEST(TwoJobs, ARuleForAThirdIsAnError) {
  const TemporaryFolder folder;
  rankwire::Setup setup;
  EXPECT_THROW(two_jobs({.job = 2}, folder.path(), setup), Error);
}

}  // namespace
}  // namespace rankwire
