#include "emulator/symmetry/folded_run.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"
#include "tests/symmetry/both_runs.h"

namespace rankwire {
namespace {

BothRuns one_collective(CollectiveKind kind, uint32_t ranks, int64_t bytes, ScheduleOptions schedule = {}) {
  testing::WorkloadBuilder builder(ranks);
  const GroupId world = builder.group("world", members(0, ranks, 1));
  for (uint32_t r = 0; r < ranks; ++r) builder.collective(r, kind, world, bytes);
  return on_star(builder.build(), schedule, {}, ranks, 1, kRate);
}

TEST(FoldedRun, ARingIsOneRankThatSendsToItself) {
  const BothRuns runs = one_collective(CollectiveKind::kAllReduce, 16, 16 << 16, {.channels = 4});
  const auto reduced = quotient(runs.workload, runs.plan, runs.network);
  ASSERT_TRUE(reduced);
  EXPECT_EQ(reduced->classes.ranks.classes(), 1u);
  EXPECT_EQ(reduced->classes.connections.classes(), 4u) << "one a channel";
  for (const Connection& c : reduced->plan.transport.connections) EXPECT_EQ(c.source, c.destination);
  EXPECT_EQ(reduced->plan.messages_per_iteration * 16, runs.plan.messages_per_iteration);
  const auto folded = runs.folded();
  ASSERT_TRUE(folded);
  EXPECT_EQ(*folded, runs.whole());
}

TEST(FoldedRun, AnAllToAllHasAClassForEachDistance) {
  const BothRuns runs = one_collective(CollectiveKind::kAllToAll, 8, 8 << 14);
  const auto reduced = quotient(runs.workload, runs.plan, runs.network);
  ASSERT_TRUE(reduced);
  EXPECT_EQ(reduced->classes.ranks.classes(), 1u);
  EXPECT_EQ(reduced->classes.connections.classes(), 7u);
  const auto folded = runs.folded();
  ASSERT_TRUE(folded);
  EXPECT_EQ(*folded, runs.whole());
}

TEST(FoldedRun, WhatIsNotSymmetricIsNotFolded) {
  EXPECT_FALSE(one_collective(CollectiveKind::kBroadcast, 8, 1 << 16).folded()) << "a chain from the root";
  EXPECT_FALSE(one_collective(CollectiveKind::kAllReduce, 8, (8 << 10) + 1).folded()) << "one part is longer";
  testing::WorkloadBuilder builder(16);
  const GroupId world = builder.group("world", members(0, 16, 1));
  for (uint32_t r = 0; r < 16; ++r) {
    const uint32_t before = builder.compute(r, microseconds(r == 5 ? 2 : 1));
    builder.collective(r, CollectiveKind::kAllReduce, world, 16 << 12, {before});
  }
  EXPECT_FALSE(on_star(builder.build(), {}, {}, 16, 1, kRate).folded()) << "one rank is late";
  testing::WorkloadBuilder same(16);
  const GroupId all = same.group("world", members(0, 16, 1));
  for (uint32_t r = 0; r < 16; ++r) same.collective(r, CollectiveKind::kAllReduce, all, 16 << 12);
  EXPECT_FALSE(on_star(same.build(), {}, {}, 16, 1, Bandwidth(99'000'000'000)).folded()) << "one port is slower";
}

/// A training step of stages x data x tensor ranks, tensor fastest, with sizes, durations and overlap by chance but
/// alike at all ranks of a stage.
Workload training_step(Random& random, uint32_t tensor, uint32_t data, uint32_t stages, int64_t odd) {
  testing::WorkloadBuilder builder(tensor * data * stages);
  std::vector<GroupId> tensor_groups, data_groups;
  for (uint32_t i = 0; i < data * stages; ++i)
    tensor_groups.push_back(builder.group("tp" + std::to_string(i), members(i * tensor, tensor, 1)));
  for (uint32_t s = 0; s < stages; ++s)
    for (uint32_t t = 0; t < tensor; ++t)
      data_groups.push_back(
          builder.group("dp" + std::to_string(s * tensor + t), members(s * tensor * data + t, data, tensor)));
  const auto nodes = static_cast<uint32_t>(2 + random.below(4));
  constexpr std::array kKinds = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                 CollectiveKind::kAllToAll, CollectiveKind::kBarrier};
  for (uint32_t s = 0; s < stages; ++s) {
    struct Item {
      Duration compute;
      CollectiveKind kind;
      int64_t bytes;
      bool of_data, serial;
    };
    std::vector<Item> items;
    for (uint32_t n = 0; n < nodes; ++n) {
      const bool of_data = random.below(2) == 0;
      items.push_back({microseconds(static_cast<int64_t>(random.below(4))), kKinds[random.below(kKinds.size())],
                       static_cast<int64_t>(tensor * data * (1 + random.below(30)) * 1'000) + odd, of_data,
                       random.below(2) == 0});
    }
    for (uint32_t i = 0; i < tensor * data; ++i) {
      const uint32_t r = s * tensor * data + i;
      std::vector<uint32_t> after;
      if (s > 0) after = {builder.receive(r, r - tensor * data, 0, 30'000)};
      for (const Item& item : items) {
        const uint32_t computed = builder.compute(r, item.compute, after);
        const GroupId group = item.of_data ? data_groups[s * tensor + i % tensor] : tensor_groups[r / tensor];
        const int64_t bytes = item.kind == CollectiveKind::kBarrier ? 0 : item.bytes;
        const uint32_t done = builder.collective(r, item.kind, group, bytes, {computed});
        after = {item.serial ? done : computed};
      }
      if (s + 1 < stages) builder.send(r, r + tensor * data, 0, 30'000, after);
    }
  }
  return builder.build();
}

// The claim itself: what is told of a folded run is what the whole run tells, to the picosecond.
TEST(FoldedRun, TellsWhatTheWholeRunTells) {
  uint32_t folded_runs = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const auto some = [&](std::initializer_list<uint32_t> of) { return of.begin()[random.below(of.size())]; };
    const uint32_t tensor = some({1, 2, 4}), data = some({1, 2, 3, 4}), stages = some({1, 2, 3});
    const uint32_t ranks = tensor * data * stages;
    if (ranks < 2) continue;
    const bool uneven = random.below(8) == 0;
    Workload workload = training_step(random, tensor, data, stages, uneven ? 1 : 0);
    EngineOptions options{.iterations = some({1, 2, 3}), .communication = some({0, 0, 1, 2})};
    options.messages.reduce_latency = nanoseconds(some({0, 0, 700}));
    ScheduleOptions schedule{.channels = some({1, 2, 4}), .chunk = Bytes(some({4'000, 20'000, 1 << 20}))};
    if (random.below(4) == 0) schedule.nccl = NcclProfile{.channels = some({1, 2})};
    const uint32_t hosts = some({1, 2}) == 1 ? ranks : data * stages;
    const uint32_t a_nic = hosts == ranks ? 1 : some({1, tensor});
    const Bandwidth first = random.below(8) == 0 ? Bandwidth(99'000'000'000) : kRate;
    const BothRuns runs = on_star(std::move(workload), schedule, options, hosts, a_nic, first);
    const auto folded = runs.folded();
    folded_runs += folded.has_value();
    if (!folded) continue;
    const Told whole = runs.whole();
    EXPECT_EQ(folded->operations, whole.operations) << "seed " << seed;
    EXPECT_TRUE(*folded == whole) << "seed " << seed;
  }
  EXPECT_GT(folded_runs, 50u) << "of 150";
}

}  // namespace
}  // namespace rankwire
