#include "dataplane/dpdk/port.h"

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <span>

#include "base/error.h"
#include "dataplane/dpdk/device.h"
#include "dataplane/dpdk/kept_device.h"
#include "dataplane/dpdk/mbuf.h"
#include "dataplane/dpdk/opening.h"
#include "dataplane/dpdk/pattern.h"
#include "dataplane/dpdk/time.h"
#include "dataplane/dpdk/vdev.h"

namespace rankwire {
namespace {

constexpr size_t kMbufBurst = 32;

/// One direction of a ring link, which net_ring borrows.
struct alignas(64) RingLine {
  RingLine() = default;
  RingLine(const RingLine&) = delete;
  RingLine& operator=(const RingLine&) = delete;
  ~RingLine() { ::rte_ring_free(ring); }

  rte_ring* ring = nullptr;
  std::atomic<Time> sent;  ///< when frames were last given to it: one store a burst
};
struct RingLines {
  RingLine a_to_b, b_to_a;
};

/// What an end of a ring link has beside its device. Empty: it is not one.
struct RingEnd {
  std::shared_ptr<RingLines> lines;
  const RingLine* in = nullptr;
  RingLine* out = nullptr;
  Doorbell bell;           ///< for the far end
  bool one_thread = true;  ///< has both ends
};

class DpdkPort final : public FramePort {
 public:
  /// The device has been started.
  DpdkPort(std::shared_ptr<const DpdkDevice> device, uint16_t queue, rte_mempool* pool, uint32_t frame_capacity,
           const std::string& name, RingEnd end = {})
      : id_(device->id()),
        queue_(queue),
        frame_capacity_(frame_capacity),
        pool_(pool),
        ring_(std::move(end)),
        device_(std::move(device)),
        stamps_(ReceiveStamps::of_device(id_)),
        missed_before_(missed_by_device()) {
    counters_.name = name;
  }

  size_t allocate(std::span<Frame> frames) noexcept override {
    std::array<void*, kMbufBurst> mbufs;
    size_t done = 0;
    while (done < frames.size()) {
      const size_t wanted = std::min(kMbufBurst, frames.size() - done);
      const size_t n = take(std::span(mbufs).first(wanted));
      for (size_t i = 0; i < n; ++i) {
        auto* const mbuf = static_cast<rte_mbuf*>(mbufs[i]);
        mbuf->pkt_len = kNoLength;
        make_empty(mbuf, frames[done + i]);
      }
      done += n;
      if (n < wanted) break;
    }
    return done;
  }

  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    note_sending(now);
    std::array<rte_mbuf*, kMbufBurst> mbufs;
    size_t sent = 0;
    while (sent < frames.size()) {
      const auto burst = frames.subspan(sent, std::min(kMbufBurst, frames.size() - sent));
      for (size_t i = 0; i < burst.size(); ++i) mbufs[i] = finished_mbuf(pattern_, burst[i]);
      const size_t taken = give(std::span(mbufs).first(burst.size()));
      sent += taken;
      if (taken < burst.size()) break;
    }
    counters_.tx_refused += frames.size() - sent;
    return sent;
  }

  size_t reserve(std::span<FrameBuffer> buffers) noexcept override { return take(buffers); }

  void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override {
    const PatternInPlace pattern = pattern_;
    const FrameBuffer* buffer = buffers.data();
    uint64_t bytes = 0;
    for (const FrameRun& run : runs) {
      const FrameShape shape = run.shape;
      const MbufHead head(shape);
      const FrameBuffer* const end = buffer + run.count;
      if (shape.trailer_length > 0) {
        pattern.provide({buffer, end}, static_cast<uint16_t>(shape.payload_length),
                        [head](rte_mbuf* mbuf) { head.write(mbuf); });
      } else {
        for (const FrameBuffer* b = buffer; b != end; ++b) {
          auto* const mbuf = static_cast<rte_mbuf*>(*b);
          pattern.overwritten(mbuf, place_in(mbuf) + shape.payload_length);
          head.write(mbuf);
        }
      }
      bytes += uint64_t{shape.length()} * run.count;
      buffer = end;
    }
    counters_.tx_bytes += bytes;
  }

  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override {
    auto** const mbufs = reinterpret_cast<rte_mbuf**>(buffers.data());
    note_sending(now);
    const size_t sent = ::rte_eth_tx_burst(id_, queue_, mbufs, static_cast<uint16_t>(buffers.size()));
    if (sent > 0) ring_.bell.ring();
    counters_.tx_frames += sent;
    counters_.tx_refused += buffers.size() - sent;
    return sent;
  }

  void cancel(std::span<const FrameBuffer> buffers) noexcept override {
    for (const FrameBuffer buffer : buffers) {
      auto* const mbuf = static_cast<rte_mbuf*>(buffer);
      pattern_.overwritten(mbuf, place_in(mbuf) + 1);
      ::rte_pktmbuf_free(mbuf);
    }
  }

  void discard(std::span<const FrameBuffer> buffers) noexcept override {
    for (const FrameBuffer buffer : buffers) counters_.tx_bytes -= length(buffer);
    cancel(buffers);
  }

  uint32_t length(FrameBuffer buffer) const noexcept override { return static_cast<rte_mbuf*>(buffer)->pkt_len; }
  const uint8_t* head(FrameBuffer buffer) const noexcept override {
    return rte_pktmbuf_mtod(static_cast<const rte_mbuf*>(buffer), const uint8_t*);
  }

  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    std::array<rte_mbuf*, kMbufBurst> mbufs;
    const size_t wanted = std::min(kMbufBurst, frames.size());
    if (stamps_) stamps_->read_clock(now);
    const size_t n = ::rte_eth_rx_burst(id_, queue_, mbufs.data(), static_cast<uint16_t>(wanted));
    if (n == 0) return 0;
    const Time arrival = ring_.in != nullptr && ring_.one_thread ? ring_.in->sent.load(std::memory_order_relaxed) : now;
    size_t kept = 0;
    for (rte_mbuf* mbuf : std::span(mbufs).first(n)) {
      if (mbuf->nb_segs != 1) {
        ++counters_.rx_missed;
        ::rte_pktmbuf_free(mbuf);
        continue;
      }
      Frame& frame = frames[kept++];
      make_empty(mbuf, frame);
      frame.head = rte_pktmbuf_mtod(mbuf, uint8_t*);
      frame.arrival = stamps_ ? stamps_->arrival(*mbuf, now) : arrival;
      frame.head_length = mbuf->data_len;
      counters_.rx_bytes += mbuf->data_len;
    }
    counters_.rx_frames += kept;
    return kept;
  }

  void release(std::span<const Frame> frames) noexcept override {
    // As rte_pktmbuf_free_bulk; but the pools of a port's frames seldom change.
    std::array<void*, kMbufBurst> mbufs;
    rte_mempool* pool = pool_;
    unsigned n = 0;
    for (const Frame& frame : frames) {
      rte_mbuf* const mbuf = ::rte_pktmbuf_prefree_seg(mbuf_of(frame));
      if (mbuf == nullptr) continue;
      if (n == mbufs.size() || mbuf->pool != pool) {
        if (n > 0) ::rte_mempool_put_bulk(pool, mbufs.data(), n);
        pool = mbuf->pool;
        n = 0;
      }
      mbufs[n++] = mbuf;
    }
    if (n > 0) ::rte_mempool_put_bulk(pool, mbufs.data(), n);
  }

  Time next_event() const noexcept override {
    return ring_.in != nullptr && ::rte_ring_empty(ring_.in->ring) == 0 ? Time::long_ago() : Time::never();
  }

  Capabilities capabilities() const noexcept override {
    return {.frame_capacity = frame_capacity_,
            .payload_by_reference = false,
            .hardware_time = stamps_.has_value(),
            .place_offset = sizeof(rte_mbuf) + kPlaceOffset};
  }

  PortCounters counters() const override {
    PortCounters counters = counters_;
    if (stamps_) stamps_->describe(counters);
    counters.rx_missed += missed_by_device() - missed_before_;
    return counters;
  }

 private:
  /// Since it was opened. The device's own counters are of all its queues: the first one's port tells them.
  uint64_t missed_by_device() const {
    rte_eth_stats stats;
    if (queue_ != 0 || ::rte_eth_stats_get(id_, &stats) != 0) return 0;
    return stats.imissed + stats.ierrors + stats.rx_nombuf;
  }

  size_t take(std::span<void*> mbufs) noexcept {
    // As rte_mempool_get_bulk, which turns their order around one by one.
    rte_mempool_cache* const cache = ::rte_mempool_default_cache(pool_, ::rte_lcore_id());
    if (cache != nullptr && cache->len >= mbufs.size()) {
      cache->len -= static_cast<uint32_t>(mbufs.size());
      std::memcpy(mbufs.data(), &cache->objs[cache->len], mbufs.size_bytes());
      return mbufs.size();
    }
    if (::rte_mempool_get_bulk(pool_, mbufs.data(), static_cast<unsigned>(mbufs.size())) == 0) return mbufs.size();
    // A bulk that the pool cannot serve in whole is not served at all.
    size_t n = 0;
    while (n < mbufs.size() && ::rte_mempool_get(pool_, &mbufs[n]) == 0) ++n;
    return n;
  }

  void note_sending(Time now) noexcept {
    if (ring_.out != nullptr) ring_.out->sent.store(now, std::memory_order_relaxed);
  }

  size_t give(std::span<rte_mbuf*> mbufs) noexcept {
    uint64_t bytes = 0;
    for (const rte_mbuf* mbuf : mbufs) bytes += mbuf->pkt_len;
    const size_t taken = ::rte_eth_tx_burst(id_, queue_, mbufs.data(), static_cast<uint16_t>(mbufs.size()));
    if (taken > 0) ring_.bell.ring();
    for (const rte_mbuf* refused : mbufs.subspan(taken)) bytes -= refused->pkt_len;
    counters_.tx_frames += taken;
    counters_.tx_bytes += bytes;
    return taken;
  }

  const uint16_t id_, queue_;
  const uint32_t frame_capacity_;
  rte_mempool* const pool_;
  const RingEnd ring_;  // outlives the device
  const std::shared_ptr<const DpdkDevice> device_;
  std::optional<ReceiveStamps> stamps_;
  const uint64_t missed_before_;  // by the device, when this port was made
  const PatternInPlace pattern_;
  PortCounters counters_;
};

rte_ring* make_ring(DpdkEnvironment& environment, uint32_t queue_frames) {
  const std::string name = fmt::format("rankwire_ring_{}", environment.unique());
  // A ring of 2^n has room for 2^n - 1 unless its size is exact.
  rte_ring* ring = ::rte_ring_create(name.c_str(), std::bit_ceil(queue_frames), SOCKET_ID_ANY,
                                     RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
  if (ring == nullptr) fail_run("no memory for a ring of {} frames: {}", queue_frames, ::rte_strerror(rte_errno));
  // Once around: its places are resident before the first frame comes.
  std::vector<void*> nothing(::rte_ring_get_size(ring), nullptr);
  for (unsigned left = ::rte_ring_get_size(ring); left > 0;) {
    const unsigned n =
        ::rte_ring_enqueue_burst(ring, nothing.data(), std::min(left, ::rte_ring_get_capacity(ring)), nullptr);
    ::rte_ring_dequeue_bulk(ring, nothing.data(), n, nullptr);
    left -= n;
  }
  return ring;
}

std::unique_ptr<FramePort> make_ring_port(const DpdkEnvironment& environment, const std::string& name,
                                          rte_mempool* pool, RingEnd end) {
  rte_ring *receive = end.in->ring, *transmit = end.out->ring;
  const int id = ::rte_eth_from_rings(name.c_str(), &receive, 1, &transmit, 1, 0);
  if (id < 0)
    fail_run("ring port {} cannot be created ({}): {}", name, ::rte_strerror(rte_errno), environment.log_tail());
  const auto device = std::make_shared<DpdkDevice>(static_cast<uint16_t>(id));
  start_device(device->id(), {&pool, 1}, environment, name, {});
  return std::make_unique<DpdkPort>(device, 0, pool, kSmallestCapacity, name, std::move(end));
}

}  // namespace

std::vector<std::unique_ptr<FramePort>> open_dpdk_queues(DpdkEnvironment& environment, const std::string& device,
                                                         const DpdkPortOptions& options) {
  if (options.queues < 1 || options.queues > 16) {
    fail_input("device {}: {} queues are not within 1 .. 16", device, options.queues);
  }
  if (options.mtu < RTE_ETHER_MIN_MTU || options.mtu > 9600) {
    fail_input("device {}: an MTU of {} bytes is not within 68 .. 9600", device, options.mtu);
  }
  const std::shared_ptr<const OpenDpdkDevice> opened = open_device(environment, device, options);
  const std::shared_ptr<const DpdkDevice> ethdev(opened, &opened->device);
  std::vector<std::unique_ptr<FramePort>> ports;
  for (uint16_t q = 0; q < options.queues; ++q) {
    const std::string name = options.queues == 1 ? device : fmt::format("{} queue {}", device, q);
    ports.push_back(std::make_unique<DpdkPort>(ethdev, q, opened->sent[q], opened->capacity, name));
  }
  return ports;
}

std::unique_ptr<FramePort> open_dpdk_port(DpdkEnvironment& environment, const std::string& device,
                                          const DpdkPortOptions& options) {
  return std::move(open_dpdk_queues(environment, device, options).front());
}

std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> make_ring_link(DpdkEnvironment& environment,
                                                                                 const std::string& name,
                                                                                 const RingLinkOptions& options,
                                                                                 Doorbell bell, Doorbell answer) {
  auto lines = std::make_shared<RingLines>();
  RingLine &there = lines->a_to_b, &back = lines->b_to_a;
  there.ring = make_ring(environment, options.queue_frames);
  back.ring = make_ring(environment, options.queue_frames);
  rte_mempool* pool = make_frame_pool(environment, options.frames, kSmallestCapacity, SOCKET_ID_ANY);
  auto a = make_ring_port(environment, name + ".a", pool, {lines, &back, &there, bell, options.one_thread});
  auto b = make_ring_port(environment, name + ".b", pool, {lines, &there, &back, answer, options.one_thread});
  return {std::move(a), std::move(b)};
}

}  // namespace rankwire
