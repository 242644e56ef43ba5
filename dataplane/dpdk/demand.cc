#include "dataplane/dpdk/demand.h"

#include <rte_common.h>
#include <rte_config.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <bit>
#include <string_view>

#include "dataplane/dpdk/vdev.h"

namespace rankwire {
namespace {

constexpr uint64_t kOrdinaryPage = 4096;  // of x86-64

/// A frame that is larger than a page begins with one; others lie within theirs.
uint64_t frames_memory(uint64_t frames, uint64_t object) {
  if (object > kOrdinaryPage) return frames * ((object + kOrdinaryPage - 1) / kOrdinaryPage * kOrdinaryPage);
  const uint64_t of_page = kOrdinaryPage / object;
  return (frames + of_page - 1) / of_page * kOrdinaryPage;
}

uint64_t object_of(uint32_t capacity) {
  const auto element = static_cast<uint32_t>(sizeof(rte_mbuf)) + RTE_PKTMBUF_HEADROOM + capacity;
  return ::rte_mempool_calc_obj_size(element, 0, nullptr);
}

}  // namespace

uint32_t most_dpdk_devices() {
  return RTE_MAX_ETHPORTS;
}

size_t longest_ring_link_name() {
  constexpr size_t kTerminator = 1;
  return RTE_RING_NAMESIZE - kTerminator - std::string_view("net_ring_").size() - std::string_view(".a").size();
}

std::optional<Bytes> dpdk_memory_limit(const DpdkOptions& options) {
  for (const char* own : {"-m", "--socket-mem", "--socket-limit"}) {
    if (contains_option(options.extra, own)) return std::nullopt;
  }
  return takes_huge_pages(options) ? std::nullopt : std::optional(options.memory);
}

Bytes frame_pool_memory(uint32_t frames, uint32_t capacity) {
  const uint64_t object = object_of(capacity);
  // The pool itself, a cache for each thread that there may be, and the ring of the free frames.
  const uint64_t pool = sizeof(rte_mempool) + sizeof(rte_mempool_cache) * RTE_MAX_LCORE;
  const auto ring = static_cast<uint64_t>(::rte_ring_get_memsize(std::bit_ceil(frames + 1)));
  return Bytes(static_cast<int64_t>(frames_memory(frames, object) + pool + ring));
}

Bytes frame_pool_slack(uint32_t frames, uint32_t capacity) {
  const uint64_t object = object_of(capacity);
  return Bytes(static_cast<int64_t>(frames_memory(frames, object) - object * frames));
}

Bytes ring_link_memory(const RingLinkOptions& options) {
  // A ring that is to hold exactly so many has one place more, and a power of two of places.
  const auto ring =
      static_cast<int64_t>(::rte_ring_get_memsize(std::bit_ceil(std::bit_ceil(options.queue_frames) + 1)));
  return Bytes(2 * ring) + frame_pool_memory(options.frames, kSmallestCapacity);
}

Bytes dpdk_queues_memory(const DpdkPortOptions& options) {
  const uint32_t capacity = frame_capacity(options.mtu);
  const Bytes queue =
      frame_pool_memory(options.frames, capacity) + frame_pool_memory(options.descriptors + kReceivedFrames, capacity);
  return Bytes(queue.count * options.queues);
}

}  // namespace rankwire
