// What a virtual fabric's ports send and receive, as a pcapng file.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "dataplane/switch/options.h"

namespace rankwire {

/// Keeps the first bytes of each frame in memory until that is full; later frames are counted. Each frame
/// is an enhanced packet block of the PCAP Next Generation format (draft-ietf-opsawg-pcapng), its interface the port of
/// the fabric, its direction the port's, its time the run's in picoseconds, 0 before the run: of the last bit in, of
/// the first bit out. No allocation after construction; one thread, but for `blocks`.
class FabricCapture final : public FabricObserver {
 public:
  static constexpr uint32_t kSnapLength = 128;  ///< bytes of each frame, where nothing else is said

  /// `memory` > 0, of which only what is filled is ever touched. `snap_length`: bytes of each frame that are kept, > 0.
  /// Throws std::bad_alloc.
  explicit FabricCapture(Bytes memory, uint32_t snap_length = kSnapLength);

  void received(uint32_t port, const Frame& frame) noexcept override;
  void sent(uint32_t port, Time begun, const Frame& frame) noexcept override;

  uint64_t frames() const noexcept { return frames_; }
  /// For which there was no room.
  uint64_t left_out() const noexcept { return left_out_; }

  /// What the file begins with. `names`: of the ports, by number.
  std::string file_head(std::span<const std::string> names) const;
  /// What follows it: the blocks from this byte on (<= what was returned before), whole ones. Another thread may call
  /// it at any time.
  std::string_view blocks(size_t from) const noexcept;

 private:
  enum class Direction : uint32_t { kInbound = 1, kOutbound = 2 };  // of epb_flags

  void keep(uint32_t port, Direction direction, Time at, const Frame& frame) noexcept;

  const uint32_t snap_length_;
  size_t capacity_, used_ = 0;
  std::atomic<size_t> told_ = 0;  ///< `used_`, for another thread
  std::unique_ptr<uint8_t[]> blocks_;
  uint64_t frames_ = 0, left_out_ = 0;
};

}  // namespace rankwire
