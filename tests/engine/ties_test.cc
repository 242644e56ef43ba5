// Whether equal times needed an order.
#include <gtest/gtest.h>

#include "emulator/collective/schedule_builder.h"
#include "tests/engine/bench.h"

namespace rankwire::testing {
namespace {

Step send(uint32_t peer, uint16_t step, int64_t bytes) {
  return {.kind = StepKind::kSend, .step = step, .peer = peer, .bytes = Bytes(bytes), .message = Bytes(bytes)};
}
Step receive(uint32_t peer, uint16_t step, int64_t bytes) {
  Step result = send(peer, step, bytes);
  result.kind = StepKind::kReceive;
  return result;
}

/// Ranks 1 and 2 send a message to rank 0, which passes both on to rank 1 as they come, on one connection.
struct PassedOn {
  explicit PassedOn(int64_t of_second) {
    const std::vector<Step> steps[] = {
        {receive(1, 0, 1'000), receive(2, 0, of_second), send(1, 1, 1'000), send(1, 2, of_second)},
        {send(0, 0, 1'000), receive(0, 1, 1'000), receive(0, 2, of_second)},
        {send(0, 0, of_second)}};
    const std::vector<StepEdge> after[] = {{{0, 2}, {1, 3}}, {}, {}};
    plan.transport.ranks = 3;
    const auto connection = [&](uint32_t source, uint32_t destination, uint32_t messages) {
      const ConnectionId id(static_cast<uint32_t>(plan.transport.connections.size()));
      plan.transport.connections.push_back({.id = id,
                                            .source = RankId(source),
                                            .destination = RankId(destination),
                                            .path = Path::kLocal,
                                            .messages_per_iteration = messages});
      return id;
    };
    const ConnectionId from_1 = connection(1, 0, 1), from_2 = connection(2, 0, 1), to_1 = connection(0, 1, 2);
    const std::vector<ConnectionId> edges[] = {{from_1, from_2, to_1}, {from_1, to_1}, {from_2}};
    for (uint32_t r = 0; r < 3; ++r) {
      plan.schedules.push_back(planned_schedule(make_schedule(steps[r], after[r])));
      plan.nodes.push_back({{.schedule = r, .first_edge = static_cast<uint32_t>(plan.edges.size()), .slot = r}});
      for (const ConnectionId c : edges[r]) plan.edges.push_back({c, 0});
    }
    index_plan(plan);
  }

  bool tied() {
    RowsOfARun rows;
    EngineOptions options;
    options.messages.watch_ties = true;
    Engine engine(workload, plan, options, rows);
    NetworkModel model(star_network({.local_bandwidth = kRate}, plan.transport));
    model.connect(model.prepare(plan.transport));
    VirtualClock clock;
    EXPECT_EQ(rankwire::run(engine, model, {}, clock, {}, kGoOn).verdict, Verdict::kOk);
    return engine.communication().tied();
  }

  Workload workload = all_reduce_of_three(3'000);
  Plan plan;
};

TEST(Ties, MessagesOfOneConnectionWantAnOrder) {
  // Both messages share the way into rank 0 and are there at once; what they release stands in one queue.
  EXPECT_TRUE(PassedOn(1'000).tied());
  // The second one is longer: when it is there, the first has been passed on.
  EXPECT_FALSE(PassedOn(2'000).tied());
}

TEST(Ties, ARingHasNone) {
  Bench bench(all_reduce_of_three(3'000), {.messages = {.reduce_latency = nanoseconds(10), .watch_ties = true}});
  EXPECT_EQ(bench.run().verdict, Verdict::kOk);
  EXPECT_FALSE(bench.engine.communication().tied());
}

}  // namespace
}  // namespace rankwire::testing
