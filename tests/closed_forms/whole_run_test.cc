// Collectives alone on a star, as whole runs: the reference is the closed form, and packets take no less and hardly
// more.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <vector>

#include "emulator/assembly/run.h"
#include "emulator/record/reader.h"
#include "tests/simulator/closed_form.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

CollectiveKind kind_of(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return CollectiveKind::kAllReduce;
    case Operation::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case Operation::kAllGather:
      return CollectiveKind::kAllGather;
    case Operation::kBroadcast:
      return CollectiveKind::kBroadcast;
    case Operation::kReduce:
      return CollectiveKind::kReduce;
    case Operation::kGather:
      return CollectiveKind::kGather;
    case Operation::kScatter:
      return CollectiveKind::kScatter;
    default:
      return CollectiveKind::kAllToAll;
  }
}

class ClosedFormOfARun : public ::testing::TestWithParam<ClosedCase> {
 protected:
  struct Times {
    Duration reference, twin;
  };
  static Times run(const ClosedCase& of, uint32_t members, Bytes input) {
    testing::TraceSet traces;
    for (uint32_t rank = 0; rank < members; ++rank)
      traces.add({testing::collective(1, "alone", kind_of(of.operation)).size(input.count)});
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "closed.yaml";
    // The network of star.h.
    std::ofstream(file) << fmt::format(
        "workload: {{traces: {}}}\nhosts: {{count: {}, npus: 1}}\nports: {{count: {}, device: memory, rate: 100Gbps}}\n"
        "switch: {{latency: 1us, link_latency: 100ns, buffer: 256MiB}}\ncollectives: {{channels: 1, chunk: 1GiB, "
        "algorithms: {{{}: {}}}}}\nsimulation: {{ensemble: off, threads: 1}}\nrecord: {{messages: none}}\n",
        traces.options.traces.front(), members, members, to_string(of.operation), to_string(of.algorithm));
    const std::atomic<bool> stop{false};
    PreparedRun prepared(resolve(file, {}, RunKind::kTwin), {folder / "out"});
    for (const CompletedRun& done : prepared.run({stop})) EXPECT_EQ(done.result.verdict, Verdict::kOk);
    Time reference, twin;
    RunReader(folder / "out").for_each_operation([&](const OperationRow& row) {
      reference = std::max(reference, row.reference->end);
      twin = std::max(twin, row.emulated->end);
    });
    return {reference - Time(), twin - Time()};
  }
};

// A sender's operation ends with the acknowledgement of its last message, one way later.
TEST_P(ClosedFormOfARun, IsTheReferenceAndAlmostTheTwin) {
  const ClosedCase& of = GetParam();
  for (const uint32_t members : {2, 5, 16, 64})
    for (const int64_t block : {16, 20'000, 1'000'000}) {
      if (block * members > 8'000'000) continue;  // takes long
      SCOPED_TRACE(fmt::format("{} members, {} bytes of each", members, block));
      const Bytes input = closed_input(of, members, block);
      const ClosedForms form = of.form(members, input);
      const Duration expected = time_of(form) + kOneWay;
      const Times times = run(of, members, input);
      EXPECT_EQ(times.reference.ps, expected.ps);
      EXPECT_GE(times.twin.ps, expected.ps);
      EXPECT_LE(times.twin.ps, (expected + slack_of(form)).ps);
    }
}

INSTANTIATE_TEST_SUITE_P(Collectives, ClosedFormOfARun, ::testing::ValuesIn(closed_cases()), case_name);

}  // namespace
}  // namespace rankwire
