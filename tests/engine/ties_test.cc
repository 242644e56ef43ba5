// Whether equal times needed an order.
#include <gtest/gtest.h>

#include "tests/engine/bench.h"
#include "tests/engine/hand_made_plan.h"

namespace rankwire::testing {
namespace {

/// Ranks 1 and 2 send a message to rank 0, which passes both on to rank 1 as they come, on one connection.
struct PassedOn {
  explicit PassedOn(int64_t of_second) {
    HandMadePlan made;
    const ConnectionId from_1 = made.connect(1, 0, 1), from_2 = made.connect(2, 0, 1), to_1 = made.connect(0, 1, 2);
    made.add_rank({receive(1, 0, 1'000), receive(2, 0, of_second), send(1, 1, 1'000), send(1, 2, of_second)},
                  {{0, 2}, {1, 3}}, {from_1, from_2, to_1});
    made.add_rank({send(0, 0, 1'000), receive(0, 1, 1'000), receive(0, 2, of_second)}, {}, {from_1, to_1});
    made.add_rank({send(0, 0, of_second)}, {}, {from_2});
    plan = made.build();
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
