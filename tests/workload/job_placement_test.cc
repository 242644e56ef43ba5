#include "emulator/workload/job_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// As "host.npu/port".
std::vector<std::string> texts(const std::vector<Place>& places) {
  std::vector<std::string> texts;
  for (const Place& p : places) texts.push_back(fmt::format("{}.{}/{}", p.host, p.npu, p.port.value));
  return texts;
}

std::string refusal(std::span<const JobPlacement> jobs, const PlacementOptions& options, std::optional<uint32_t> npus) {
  try {
    place_jobs(jobs, options, npus);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr PlacementPolicy kBlock = PlacementPolicy::kBlock, kRoundRobin = PlacementPolicy::kRoundRobin,
                          kExplicit = PlacementPolicy::kExplicit;

// One job alone stands where place_ranks puts it, with and without a number of NPUs.
TEST(PlaceJobs, OneJobStandsAsAWorkloadDoes) {
  for (const PlacementPolicy policy : {kBlock, kRoundRobin}) {
    for (const uint32_t ranks : {1u, 5u, 8u}) {
      for (const bool fixed : {false, true}) {
        PlacementOptions options{.policy = policy,
                                 .hosts = 4,
                                 .npus = fixed ? 3 : (ranks + 3) / 4,
                                 .nics = 2,
                                 .ports = 8,
                                 .addresses = {.first = Ipv4Address{0xC6120001}}};
        const Placement expected = place_ranks(ranks, options);
        const JobPlacement job{.label = "a", .ranks = ranks, .policy = policy};
        const auto npus = fixed ? std::optional(3u) : std::nullopt;
        EXPECT_EQ(texts(place_jobs({&job, 1}, options, npus)), texts(expected.ranks)) << ranks << fixed;
      }
    }
  }
}

// Round robin, each job takes the lowest free NPU of the next host; NICs and so ports are shared.
TEST(PlaceJobs, LaterJobsTakeWhatIsFree) {
  const JobPlacement jobs[] = {{.label = "a", .ranks = 3}, {.label = "b", .ranks = 2, .policy = kBlock}};
  const PlacementOptions options{.hosts = 2, .ports = 2};
  // a: 0.0, 1.0, 0.1; b fills one host after the other, with one rank each: 0.2, 1.1.
  EXPECT_THAT(texts(place_jobs(jobs, options, std::nullopt)), ElementsAre("0.0/0", "1.0/1", "0.1/0", "0.2/0", "1.1/1"));
}

TEST(PlaceJobs, AJobKeepsToItsHostsAndPassesOverThoseThatAreFull) {
  const JobPlacement jobs[] = {{.label = "a", .ranks = 2, .hosts = {1}}, {.label = "b", .ranks = 3, .hosts = {1, 2}}};
  const PlacementOptions options{.hosts = 3, .ports = 3};
  EXPECT_THAT(texts(place_jobs(jobs, options, 3)), ElementsAre("1.0/1", "1.1/1", "1.2/1", "2.0/2", "2.1/2"));
  EXPECT_THAT(refusal(jobs, options, 2), HasSubstr("b: its rank 2 has no place: all NPUs of its hosts are taken"));
}

TEST(PlaceJobs, WithoutAFreeNpuThereIsNoPlace) {
  const JobPlacement jobs[] = {{.label = "f:3: jobs[0]", .ranks = 2}, {.label = "f:4: jobs[1]", .ranks = 3}};
  EXPECT_THAT(refusal(jobs, {.hosts = 2, .ports = 2}, 2),
              HasSubstr("f:4: jobs[1]: its rank 2 has no place: all NPUs of the hosts are taken"));
}

TEST(PlaceJobs, ExplicitPlacesAreTakenFirst) {
  const JobPlacement jobs[] = {
      {.label = "a", .ranks = 2},
      {.label = "b", .ranks = 1, .policy = kExplicit, .places = {{.host = 0, .npu = 0, .nic = 0, .port = PortId(0)}}}};
  EXPECT_THAT(texts(place_jobs(jobs, {.hosts = 2, .ports = 2}, std::nullopt)), ElementsAre("0.1/0", "1.0/1", "0.0/0"));
}

TEST(PlaceJobs, OnlyJobsThatShareStandOnOneNpu) {
  JobPlacement jobs[] = {{.label = "a", .ranks = 2, .share = true}, {.label = "b", .ranks = 2, .share = true}};
  const PlacementOptions options{.hosts = 2, .ports = 2};
  EXPECT_THAT(texts(place_jobs(jobs, options, std::nullopt)), ElementsAre("0.0/0", "1.0/1", "0.0/0", "1.0/1"));
  jobs[0].share = false;
  EXPECT_THAT(texts(place_jobs(jobs, options, std::nullopt)), ElementsAre("0.0/0", "1.0/1", "0.1/0", "1.1/1"));
}

TEST(PlaceJobs, AnNpuIsClaimedOnce) {
  const std::vector<Place> place = {{.host = 1, .npu = 2, .nic = 0, .port = PortId(1)}};
  const JobPlacement jobs[] = {{.label = "f:3: jobs[0]", .ranks = 1, .policy = kExplicit, .places = place},
                               {.label = "f:9: jobs[1]", .ranks = 1, .policy = kExplicit, .places = place}};
  EXPECT_EQ(refusal(jobs, {.hosts = 2, .ports = 2}, std::nullopt),
            "f:9: jobs[1].mapping.ranks: NPU 2 of host 1 is not free: job f:3: jobs[0] has it");
  const JobPlacement short_of_ranks{.label = "f:3: jobs[0]", .ranks = 2, .policy = kExplicit, .places = place};
  EXPECT_EQ(refusal({&short_of_ranks, 1}, {.hosts = 2, .ports = 2}, std::nullopt),
            "f:3: jobs[0].mapping.ranks: 1 ranks are placed but the workload has 2");
}

}  // namespace
}  // namespace rankwire
