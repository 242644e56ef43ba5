#include "emulator/engine/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <string>

#include "tests/engine/workload_builder.h"

namespace rankwire {
namespace {

Placement one_rank_a_port(uint32_t ranks) {
  return place_ranks(ranks, {.hosts = ranks, .ports = ranks, .addresses = {.first = Ipv4Address{0xC6120001}}});
}

Workload mixed_workload(uint32_t ranks) {
  testing::WorkloadBuilder builder(ranks);
  std::vector<uint32_t> all(ranks);
  for (uint32_t r = 0; r < ranks; ++r) all[r] = r;
  const GroupId world = builder.group("world", all), pair = builder.group("pair", {1, 0});
  for (uint32_t r = 0; r < ranks; ++r) {
    builder.collective(r, CollectiveKind::kAllReduce, world, 10'000);
    builder.collective(r, CollectiveKind::kAllToAll, world, 7'001);
    if (r < 2) builder.collective(r, CollectiveKind::kAllGather, pair, 5'000);
    builder.collective(r, CollectiveKind::kBroadcast, world, 9'999);
    builder.collective(r, CollectiveKind::kBarrier, world, 0);
  }
  // The receiver's file order differs from the sender's: tags and repetition decide what belongs together.
  builder.send(0, 1, 1, 3'000);
  builder.send(0, 1, 0, 2'000);
  builder.send(0, 1, 1, 4'000);
  builder.receive(1, 0, 0, 2'000);
  builder.receive(1, 0, 1, 3'000);
  builder.receive(1, 0, 1, 4'000);
  return builder.build();
}

TEST(Plan, BothEndsNameEveryMessageAlike) {
  for (uint32_t channels : {1u, 3u}) {
    const Workload workload = mixed_workload(4);
    const Placement placement = one_rank_a_port(4);
    const Plan plan = make_plan(workload, placement, {.channels = channels, .chunk = Bytes(1'024)}, 2);
    std::set<std::array<uint64_t, 2>> seen;
    for (const Connection& c : plan.transport.connections) {
      for (uint32_t i = 0; i < c.messages_per_iteration; ++i) {
        const MessageEnds ends = plan.ends(c.id, i);
        const auto step = [&](RankId rank, uint32_t node, uint32_t s) {
          return plan.step(plan.nodes[rank.value][node], s);
        };
        const Step sent = step(c.source, ends.source_node, ends.source_step);
        const Step received = step(c.destination, ends.destination_node, ends.destination_step);
        const MessageId at_source = message_id(workload, c.source, ends.source_node, sent, 1);
        ASSERT_EQ(at_source, message_id(workload, c.destination, ends.destination_node, received, 1));
        ASSERT_EQ(sent.bytes, received.bytes);
        EXPECT_EQ(at_source.source, c.source.value);
        EXPECT_EQ(at_source.destination, c.destination.value);
        std::array<uint64_t, 2> words;
        std::memcpy(words.data(), &at_source, sizeof words);
        EXPECT_TRUE(seen.insert(words).second) << to_string(at_source) << " names two messages";
      }
    }
    EXPECT_EQ(seen.size(), plan.messages_per_iteration);
  }
}

TEST(Plan, PointToPointIsNumberedByTagThenRepetition) {
  const Workload workload = mixed_workload(2);
  const Plan plan = make_plan(workload, one_rank_a_port(2), {.chunk = Bytes(1 << 20)}, 1);
  for (const Connection& c : plan.transport.connections) {
    if (c.group.valid()) continue;
    // Tag 0: 2000 bytes; tag 1: 3000, then 4000.
    ASSERT_EQ(c.messages_per_iteration, 3u);
    EXPECT_EQ(c.bytes_per_iteration, Bytes(9'000));
    EXPECT_EQ(c.largest_message, Bytes(4'000));
    std::vector<int64_t> sizes;
    for (uint32_t i = 0; i < 3; ++i) {
      const MessageEnds ends = plan.ends(c.id, i);
      sizes.push_back(workload.ranks[0].nodes[ends.source_node].bytes.count);
      EXPECT_EQ(workload.ranks[1].nodes[ends.destination_node].bytes.count, sizes.back());
    }
    EXPECT_EQ(sizes, (std::vector<int64_t>{2'000, 3'000, 4'000}));
  }
}

TEST(Plan, CountsWireAndLocalBytes) {
  testing::WorkloadBuilder builder(4);
  const GroupId world = builder.group("world", {0, 1, 2, 3});
  for (uint32_t r = 0; r < 4; ++r) builder.collective(r, CollectiveKind::kAllToAll, world, 4'000);
  const Workload workload = builder.build();
  // Ranks 0 and 2 on host 0, 1 and 3 on host 1: of each rank's three peers one is local. 1000 bytes to each peer.
  const Placement placement =
      place_ranks(4, {.hosts = 2, .npus = 2, .nics = 2, .ports = 4, .addresses = {.first = Ipv4Address{0xC6120001}}});
  const Plan plan = make_plan(workload, placement, {}, 1);
  EXPECT_EQ(plan.bytes_local, Bytes(4 * 1 * 1'000));
  EXPECT_EQ(plan.bytes_wire, Bytes(4 * 2 * 1'000));
}

// 8 ranks, two a host. With NCCL, a rank's messages to its neighbour on the host are not granted: ranks 0, 2, 4, 6 have
// one schedule, turned, and the others another.
TEST(Plan, NcclSchedulesTurnFromHostToHost) {
  constexpr uint32_t kRanks = 8;
  testing::WorkloadBuilder builder(kRanks);
  const GroupId world = builder.group("world", {0, 1, 2, 3, 4, 5, 6, 7});
  for (uint32_t r = 0; r < kRanks; ++r) {
    builder.collective(r, CollectiveKind::kAllReduce, world, 1 << 20);
    builder.collective(r, CollectiveKind::kAllToAll, world, 1 << 20);
    builder.collective(r, CollectiveKind::kBroadcast, world, 1 << 20);  // knows its root
  }
  const Workload workload = builder.build();
  const Placement placement = place_ranks(kRanks, {.policy = PlacementPolicy::kBlock,
                                                   .hosts = 4,
                                                   .npus = 2,
                                                   .ports = 4,
                                                   .addresses = {.first = Ipv4Address{0xC6120001}}});
  ScheduleOptions options{.nccl = NcclProfile{}};
  options.algorithms[static_cast<size_t>(Operation::kAllReduce)] = Algorithm::kRing;
  const Plan plan = make_plan(workload, placement, options, 1);
  EXPECT_EQ(plan.schedules.size(), 2u + 2u + kRanks);
  for (uint32_t r = 0; r < kRanks; ++r)
    for (uint32_t n = 0; n < 3; ++n) {
      ScheduleRequest request{.operation = operation_of(workload.ranks[r].nodes[n]),
                              .members = kRanks,
                              .position = r,
                              .bytes = Bytes(1 << 20),
                              .nodes = 4};
      for (uint32_t m = 0; m < kRanks; ++m) {
        request.local.push_back(m / 2 == r / 2);
        request.hosts.push_back(m / 2);
      }
      const Schedule own = make_schedule(request, options);
      const NodePlan& node = plan.nodes[r][n];
      ASSERT_EQ(plan.schedules[node.schedule].schedule.steps.size(), own.steps.size());
      for (uint32_t s = 0; s < own.steps.size(); ++s) {
        const Step planned = plan.step(node, s);
        ASSERT_TRUE(planned.kind == own.steps[s].kind && planned.peer == own.steps[s].peer &&
                    planned.control == own.steps[s].control && planned.message == own.steps[s].message)
            << "rank " << r << " node " << n << " step " << s;
      }
    }
}

TEST(Plan, RanksBehindOnePortAreLocal) {
  testing::WorkloadBuilder builder(2);
  builder.send(0, 1, 0, 100);
  builder.receive(1, 0, 0, 100);
  const Workload workload = builder.build();
  const Placement placement = place_ranks(2, {.hosts = 2, .ports = 1, .addresses = {.first = Ipv4Address{0xC6120001}}});
  EXPECT_EQ(make_plan(workload, placement, {}, 1).bytes_wire, Bytes(0));
}

/// The text of the error, or "".
std::string refusal(const Workload& workload, uint32_t iterations) {
  try {
    make_plan(workload, one_rank_a_port(2), {.chunk = Bytes(1'024)}, iterations);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Two messages an iteration: 2^31 - 1 iterations have 2^32 - 2, one more has 2^32.
TEST(Plan, RefusesMoreMessagesThanAConnectionCanNumber) {
  testing::WorkloadBuilder builder(2);
  for (uint32_t tag : {0u, 1u}) builder.send(0, 1, tag, 1'000), builder.receive(1, 0, tag, 1'000);
  Workload workload = builder.build();
  EXPECT_EQ(refusal(workload, (1u << 31) - 1), "");
  EXPECT_THAT(
      refusal(workload, 1u << 31),
      ::testing::HasSubstr(
          "2147483648 iterations of 2 messages from rank 0 to rank 1 exceed the 2^32 that a connection can number"));

  // The same within an iteration, where each node stands for 2^31 - 1 or 2^31 of its kind.
  for (const uint32_t times : {(1u << 31) - 1, 1u << 31}) {
    for (RankTrace& rank : workload.ranks) rank.times.assign(2, times);
    EXPECT_THAT(refusal(workload, 1),
                times < 1u << 31 ? ::testing::Matcher<std::string>(::testing::IsEmpty())
                                 : ::testing::HasSubstr("1 iterations of 4294967296 messages from rank 0 to rank 1"));
  }
}

}  // namespace
}  // namespace rankwire
