#include "dataplane/dpdk/demand.h"

#include <rte_config.h>
#include <rte_malloc.h>

#include "tests/dataplane/dpdk/fixture.h"

namespace rankwire {
namespace {

using DpdkDemand = testing::Dpdk;

// Names, zones and what DPDK keeps of each device.
constexpr int64_t kBeside = 512 << 10;

int64_t allocated() {
  rte_malloc_socket_stats stats{};
  EXPECT_EQ(::rte_malloc_get_socket_stats(0, &stats), 0);
  return static_cast<int64_t>(stats.heap_allocsz_bytes);
}

// What is foreseen beside what DPDK has handed out.
TEST_F(DpdkDemand, ALinkTakesWhatIsForeseen) {
  environment();
  for (const RingLinkOptions& options :
       {RingLinkOptions{.queue_frames = 4096, .frames = 2047}, RingLinkOptions{.queue_frames = 100, .frames = 6000}}) {
    const int64_t before = allocated();
    const auto link = make_ring_link(environment(), "demand", options);
    const int64_t taken = allocated() - before, foreseen = ring_link_memory(options).count;
    EXPECT_GE(taken, foreseen);
    EXPECT_LE(taken, foreseen + kBeside);
  }
}

// net_null has no memory of frames of its own.
TEST_F(DpdkDemand, QueuesTakeWhatIsForeseen) {
  environment();
  const DpdkPortOptions options{.descriptors = 512, .frames = 1023, .queues = 2};
  const int64_t before = allocated();
  const auto queues = open_dpdk_queues(environment(), "net_null7", options);
  const int64_t taken = allocated() - before, foreseen = dpdk_queues_memory(options).count;
  EXPECT_GE(taken, foreseen);
  EXPECT_LE(taken, foreseen + kBeside);
}

TEST_F(DpdkDemand, ArgumentsOfTheUserDecideThemselves) {
  EXPECT_EQ(dpdk_memory_limit({.memory = Bytes(64 << 20), .devices = {}, .extra = {"--no-huge"}}), Bytes(64 << 20));
  EXPECT_EQ(dpdk_memory_limit({.devices = {}, .extra = {"--no-huge", "-m", "4096"}}), std::nullopt);
  EXPECT_EQ(dpdk_memory_limit({.devices = {}, .extra = {"--no-huge", "--socket-mem=4096"}}), std::nullopt);
}

TEST_F(DpdkDemand, MoreDevicesThanThatAreRefused) {
  const uint32_t most = most_dpdk_devices();
  std::vector<std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>>> links;
  for (uint32_t l = 0; l < most / 2; ++l)
    links.push_back(make_ring_link(environment(), "most" + std::to_string(l), small_link()));
  EXPECT_THROW(make_ring_link(environment(), "beyond", small_link()), Error);
}

}  // namespace
}  // namespace rankwire
