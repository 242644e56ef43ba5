// A NIC that is tested: what its driver is asked to do, while a scripted peer watches its wire.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/units.h"
#include "dataplane/verbs/api.h"

namespace rankwire {

/// What is known of the NIC before it is tested.
struct NicFacts {
  std::string name;                      ///< "emulated", "mlx5_0"
  MacAddress mac;                        ///< of all its frames
  IpAddress ip;                          ///< of the GID that is used
  uint32_t mtu = 0;                      ///< the largest path MTU in bytes
  uint32_t reads = 0;                    ///< READs that a queue pair may have outstanding; 0: READs are not offered
  uint64_t largest = uint64_t{1} << 31;  ///< bytes of a message
};

/// The NIC's memory that its peer may write and read.
struct NicRegion {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t rkey = 0;
};

/// A work request of a send queue. Its completion has its `id`.
struct NicWork {
  uint64_t id = 0;
  WorkKind kind = WorkKind::kWrite;
  uint32_t offset = 0;  ///< in the NIC's memory: what it sends, or where what it reads goes
  uint32_t bytes = 0;
  uint64_t remote_address = 0;
  uint32_t remote_key = 0;
  uint32_t immediate = 0;
};

/// One thread. Throws Error(kRun) when the device, or the way to it, fails; what a test asks of a queue pair that is in
/// error is no failure but a flushed completion.
class NicUnderTest {
 public:
  virtual ~NicUnderTest() = default;

  virtual const NicFacts& facts() const = 0;
  virtual const NicRegion& region() const = 0;

  /// A queue pair in the state INIT with room for `depth` sends and receives.
  virtual uint32_t make_queue_pair(uint32_t depth) = 0;
  /// To RTR and RTS. `path.port` and `gid_index` are the NIC's own and not looked at.
  virtual void connect(uint32_t queue_pair, const QueuePairPath& path) = 0;
  virtual void destroy(uint32_t queue_pair) = 0;
  virtual void post_receive(uint32_t queue_pair, uint64_t id, uint32_t offset, uint32_t bytes) = 0;
  virtual void post(uint32_t queue_pair, const NicWork& work) = 0;
  /// What has completed since the last call, on all queue pairs.
  virtual std::vector<WorkCompletion> poll() = 0;

  /// Within the region.
  virtual void write_memory(uint32_t offset, std::span<const uint8_t> bytes) = 0;
  virtual std::vector<uint8_t> read_memory(uint32_t offset, uint32_t bytes) = 0;
  /// Memory of the same process that stands behind the region and is nobody's to write; empty: it cannot be looked at.
  virtual std::vector<uint8_t> read_guard() { return {}; }

  /// What it has counted by now: `hw_counters.` and `ethtool.` by mlx5's names where it has them, `counters.` of its
  /// RDMA port, `netdev.` of its network interface.
  virtual std::vector<VerbsCounter> counters() = 0;

  /// Why it is not there any more, naming it; empty: it is, or there is no way to know.
  virtual std::string vanished() { return {}; }

  /// Of a NIC that has no life of its own: does what is to be done at `now`.
  virtual void turn([[maybe_unused]] Time now) {}
  /// When it next does something by itself.
  virtual Time next_event() const { return Time::never(); }
};

}  // namespace rankwire
