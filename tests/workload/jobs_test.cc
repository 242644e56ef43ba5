#include "emulator/workload/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "emulator/workload/node_stream.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

/// Rank 0 sends to rank 1 what both reduce before; 4-byte elements.
Workload two_ranks() {
  testing::TraceSet set({{testing::collective(1, "sum").size(64), testing::send(2, "out", 1).after({1}).size(8)},
                         {testing::collective(1, "sum").size(64), testing::receive(2, "in", 0).after({1}).size(8)}});
  set.options.element_size = Bytes(4);
  return set.load();
}

/// Rank 2 is the root of a broadcast among three.
Workload three_ranks() {
  testing::TraceSet set;
  for (int rank = 0; rank < 3; ++rank)
    set.add({testing::collective(1, "weights", CollectiveKind::kBroadcast).size(64).integer("root", 2)});
  return set.load();
}

Workload both() {
  std::vector<JobPart> parts;
  parts.push_back({.job = {.name = "a", .iterations = 2}, .workload = two_ranks()});
  parts.push_back({.job = {.name = "b", .after = JobId(0), .start = microseconds(3)}, .workload = three_ranks()});
  parts.push_back({.job = {.name = "c"}, .workload = two_ranks()});
  return join_jobs(std::move(parts));
}

TEST(JoinJobs, RanksOfOneJobFollowThoseOfAnother) {
  const Workload all = both();
  ASSERT_EQ(all.ranks.size(), 7u);
  ASSERT_EQ(all.jobs.size(), 3u);
  EXPECT_EQ(all.jobs[1].name, "b");
  EXPECT_EQ(all.jobs[1].first_rank, 2u);
  EXPECT_EQ(all.jobs[1].ranks, 3u);
  EXPECT_EQ(all.jobs[1].after, JobId(0));
  EXPECT_EQ(all.jobs[1].start, microseconds(3));
  EXPECT_EQ(all.jobs[2].first_rank, 5u);
  for (uint32_t rank = 0; rank < 7; ++rank)
    EXPECT_EQ(job_of(all, RankId(rank)), JobId(rank < 2 ? 0 : rank < 5 ? 1 : 2)) << rank;
  EXPECT_EQ(all.iterations_of(JobId(0), 9), 2u);
  EXPECT_EQ(all.element_of(JobId(1)), Bytes(1));
  EXPECT_EQ(all.element_of(JobId(2)), Bytes(4));
}

TEST(JoinJobs, PeersRootsAndGroupsAreOfTheJob) {
  const Workload all = both();
  ASSERT_EQ(all.groups.size(), 3u);
  EXPECT_EQ(all.groups[1].name, all.groups[2].name) << "each is all ranks of its job";
  EXPECT_THAT(all.groups[1].members, ElementsAre(RankId(2), RankId(3), RankId(4)));
  EXPECT_EQ(all.groups[1].job, JobId(1));
  EXPECT_THAT(all.groups[2].members, ElementsAre(RankId(5), RankId(6)));
  EXPECT_EQ(all.ranks[3].nodes[0].peer, RankId(4)) << "the root";
  EXPECT_FALSE(all.ranks[0].nodes[0].peer.valid()) << "an all-reduce has none";
  EXPECT_EQ(all.ranks[5].nodes[1].peer, RankId(6));
  EXPECT_EQ(all.ranks[6].nodes[1].peer, RankId(5));
  EXPECT_EQ(all.ranks[5].nodes[0].group, GroupId(2));
  EXPECT_EQ(all.ranks[5].nodes[0].name, "sum");
}

// Nodes that are read again when they are needed know their rank by its number in the files.
TEST(JoinJobs, TracesMayStayInTheirFiles) {
  testing::TraceSet set({{testing::compute(1, "long").micros(7), testing::send(2, "out", 1).after({1}).size(8)},
                         {testing::compute(1, "short").micros(3), testing::receive(2, "in", 0).after({1}).size(8)}});
  const auto texts = [&](uint64_t stream_above) {
    set.options.stream_above = stream_above;
    std::vector<JobPart> parts;
    parts.push_back({.job = {.name = "a"}, .workload = three_ranks()});
    parts.push_back({.job = {.name = "b"}, .workload = set.load()});
    const Workload all = join_jobs(std::move(parts));
    EXPECT_EQ(all.streaming.size(), stream_above == 0 ? 1u : 0u);
    std::vector<std::string> found;
    for_each_node(all, [&](RankId rank, uint32_t place, const Node& node) {
      found.push_back(fmt::format("{} {} {} {} {}", rank.value, place, node.name, node.duration.ps, node.peer.value));
    });
    return found;
  };
  const std::vector<std::string> whole = texts(UINT64_MAX);
  EXPECT_THAT(whole, ::testing::Contains("3 0 long 7000000 4294967295"));
  EXPECT_THAT(whole, ::testing::Contains("4 1 in 0 3"));
  EXPECT_EQ(texts(0), whole);
}

TEST(JoinJobs, PeopleCountWithinTheJob) {
  const Workload all = both();
  EXPECT_EQ(rank_text(all, RankId(6)), "rank 1 of job c");
  EXPECT_EQ(rank_text(two_ranks(), RankId(1)), "rank 1");
  MessageId id;
  id.job = 2, id.group = 2, id.source = 5, id.destination = 6;
  EXPECT_EQ(message_text(all, id), "job c group 2 #0 iteration 0 rank 0 -> 1 step 0 channel 0 slice 0");
  id.job = 0;
  EXPECT_EQ(message_text(two_ranks(), id), to_string(id));
}

TEST(JoinJobs, MoreRanksThanMessagesCanNameAreAnError) {
  std::vector<JobPart> parts(2);
  parts[0].workload.ranks.resize(MessageId::kMaxRanks);
  parts[1].workload.ranks.resize(1);
  EXPECT_THROW(join_jobs(std::move(parts)), Error);
}

}  // namespace
}  // namespace rankwire
