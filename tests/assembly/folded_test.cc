// What is told of a run whose traces are folded is what is told of it otherwise.
#include <gtest/gtest.h>

#include "emulator/assembly/folded_memory.h"
#include "emulator/assembly/memory_demand.h"
#include "emulator/assembly/setup.h"
#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

/// A step of pipelines of two stages, so that there are messages beside collectives. Where ends of a pipeline share an
/// embedding, they do not run one operation after the other, so that nothing is folded.
RunConfig pipelines() {
  RunConfig config = tiny_run(2, 2);
  config.workload.generate->transformer.pipeline_parallel = 2;
  config.workload.generate->transformer.micro_batches = 6;
  config.workload.generate->transformer.tied_embeddings = false;
  config.ports = memory_ports(8);
  config.workload.stream_above = 0;
  return config;
}

TEST(FoldedSetup, HasConnectionsSlotsAndMemoryOfTheWhole) {
  const testing::TemporaryFolder folder;
  rankwire::Setup whole, folded;  // tests have a member of the name
  folded.folds = true;
  prepare(whole, pipelines(), folder / "whole");
  prepare(folded, pipelines(), folder / "folded");
  ASSERT_TRUE(folded.workload.folded);
  ASSERT_FALSE(whole.workload.folded);

  const auto& expected = whole.plan.transport.connections;
  const auto& connections = folded.plan.transport.connections;
  ASSERT_EQ(connections.size(), expected.size());
  for (size_t c = 0; c < expected.size(); ++c) {
    EXPECT_EQ(connections[c].source, expected[c].source) << c;
    EXPECT_EQ(connections[c].destination, expected[c].destination) << c;
    EXPECT_EQ(connections[c].messages_per_iteration, expected[c].messages_per_iteration) << c;
    EXPECT_EQ(connections[c].bytes_per_iteration, expected[c].bytes_per_iteration) << c;
    EXPECT_EQ(connections[c].largest_message, expected[c].largest_message) << c;
  }
  EXPECT_EQ(folded.plan.messages_per_iteration, whole.plan.messages_per_iteration);
  EXPECT_EQ(folded.plan.bytes_wire, whole.plan.bytes_wire);
  EXPECT_EQ(folded.plan.slot_steps.size(), whole.plan.slot_steps.size());
  EXPECT_EQ(folded.plan.transport.messages_in_flight, whole.plan.transport.messages_in_flight);
  EXPECT_EQ(planned_operations(folded.config, folded.workload), planned_operations(whole.config, whole.workload));

  uint64_t kept = 0, all = 0;
  for (const RankTrace& trace : folded.workload.ranks) kept += trace.nodes.size();
  for (const RankTrace& trace : whole.workload.ranks) all += trace.nodes.size();
  EXPECT_LT(kept, all);
  EXPECT_EQ(kept + left_out(folded).nodes, all);
  EXPECT_EQ(folded.plan.edges.size() + left_out(folded).edges, whole.plan.edges.size());
  EXPECT_EQ(left_out(whole).setup, Bytes(0));
  EXPECT_GE(left_out(folded).setup, Bytes(static_cast<int64_t>((all - kept) * sizeof(Node))));

  const MemoryDemand demand = memory_demand(folded, RunKind::kModels, Bytes(0));
  const MemoryDemand expected_demand = memory_demand(whole, RunKind::kModels, Bytes(0));
  EXPECT_EQ(demand.setup, left_out(folded).setup);
  EXPECT_EQ(demand.left_out, demand.setup);
  EXPECT_EQ(expected_demand.setup, Bytes(0));
  // This process holds nothing that would be free for the run.
  EXPECT_TRUE(memory_finding(demand, demand.total() - Bytes(1)));
  EXPECT_FALSE(memory_finding(demand, demand.total()));
  ASSERT_EQ(demand.runs.size(), expected_demand.runs.size());
  for (size_t run = 0; run < demand.runs.size(); ++run)
    EXPECT_EQ(demand.runs[run].total(), expected_demand.runs[run].total()) << demand.runs[run].run;
}

}  // namespace
}  // namespace rankwire
