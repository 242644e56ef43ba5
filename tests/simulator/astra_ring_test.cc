// Rings computed as a whole beside the same rings event by event.
#include "emulator/simulator/astra_ring.h"

#include <gmock/gmock.h>

#include <random>

#include "tests/simulator/astra_program.h"

namespace rankwire {
namespace {

using testing::AstraProgramBuilder;
using testing::finish_times;
using testing::run_program;

/// A random system of one or two dimensions, of which all phases are rings, and ranks that begin when they like.
struct RandomRun {
  AstraModel model;
  AstraProgramBuilder builder;
};

RandomRun random_run(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random);
  };
  AstraModel model;
  const uint32_t dimensions = pick(1, 2);
  for (uint32_t d = 0; d < dimensions; ++d) {
    model.network.dimensions.push_back({static_cast<AstraBlock>(pick(0, 2)), pick(2, 5),
                                        static_cast<double>(pick(10, 400)), static_cast<double>(pick(0, 2000))});
  }
  model.system.implementations.fill(std::vector<AstraImplementation>(dimensions));
  model.system.splits = pick(1, 5), model.system.active_chunks = pick(1, 3);
  model.system.local_bandwidth_aware = pick(0, 1) == 1;
  model.system.memory_bandwidth = pick(10, 2000);
  model.system.endpoint_delay = nanoseconds(pick(1, 50));
  model.queues = pick(1, 4), model.rendezvous = pick(0, 1) == 1;
  const uint32_t npus = model.network.npus();
  RandomRun run{model, AstraProgramBuilder(npus)};
  std::vector<uint32_t> last(npus);
  for (uint32_t r = 0; r < npus; ++r) last[r] = run.builder.compute(r, nanoseconds(pick(1, 100'000)));
  for (uint32_t n = 0; n < 3; ++n) {
    const auto collective = static_cast<AstraCollective>(pick(0, 3));
    const Bytes bytes(pick(1, 4 << 20));
    for (uint32_t r = 0; r < npus; ++r) {
      last[r] = run.builder.collective(r, collective, bytes, {last[r]});
      last[r] = run.builder.compute(r, nanoseconds(pick(1, 20'000)), {last[r]});
    }
  }
  return run;
}

TEST(AstraRing, IsAsEventByEvent) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    RandomRun run = random_run(seed);
    const AstraProgram& program = run.builder.build();
    const AstraResult whole = run_program(run.model, program), events = run_program(run.model, program, true);
    ASSERT_EQ(whole.verdict, events.verdict) << "seed " << seed << ": " << whole.reason << events.reason;
    ASSERT_EQ(whole.verdict, AstraVerdict::kOk) << "seed " << seed << ": " << whole.reason;
    ASSERT_EQ(finish_times(whole), finish_times(events)) << "seed " << seed;
  }
}

TEST(AstraRing, OfEqualMembersTakesOneSum) {
  const AstraPhase phase{.collective = AstraCollective::kReduceScatter, .members = 4, .data = Bytes(4000)};
  const AstraEndpoint endpoint{nanoseconds(10), 1};  // adding up 1000 bytes takes 3 x 1000 ns
  const std::vector<Time> begins(4, Time() + nanoseconds(7));
  const std::vector<AstraHop> hops(4, {nanoseconds(100), std::nullopt});
  // 7 + 10 + 3 x (100 + 10 + 3000)
  EXPECT_THAT(astra_ring_ends(phase, endpoint, begins, hops), ::testing::Each(Time() + nanoseconds(9347)));
  const std::vector<AstraHop> asked(4, {nanoseconds(100), nanoseconds(50)});
  EXPECT_THAT(astra_ring_ends(phase, endpoint, begins, asked), ::testing::Each(Time() + nanoseconds(9497)));
}

TEST(AstraRing, WaitsForTheLastMember) {
  const AstraPhase phase{.collective = AstraCollective::kAllGather, .members = 3, .data = Bytes(1000)};
  const AstraEndpoint endpoint{nanoseconds(10), 1};
  const std::vector<Time> begins{Time(), Time(), Time() + nanoseconds(1000)};
  const std::vector<AstraHop> hops(3, {nanoseconds(100), std::nullopt});
  // Sends at 10, 10, 1010. First messages: member 0 gets that of 2 at 1110, 1 that of 0 at 110, 2 has waited for its
  // own: 1010. Second ones leave at 1120, 120, 1020: members 0 to 2 get them at 1120, 1220, 1020.
  EXPECT_THAT(
      astra_ring_ends(phase, endpoint, begins, hops),
      ::testing::ElementsAre(Time() + nanoseconds(1130), Time() + nanoseconds(1230), Time() + nanoseconds(1030)));
}

}  // namespace
}  // namespace rankwire
