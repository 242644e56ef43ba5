// Writes a channel of a member's schedule from what it sends and receives alone: who waits for whom follows from the
// bytes that each step reads and writes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "emulator/collective/pieces.h"
#include "emulator/collective/schedule_builder.h"

namespace rankwire {

/// Steps are given in an order in which they could be executed one by one. Each slice waits for what it needs and no
/// more: a send for the step that wrote its data last, what writes (the receipt of data that replaces the member's own,
/// and a reduction) for that and for the sends that still read the old data. Data that nothing has written is there
/// from the start. What is received to be reduced goes to a place of its own. Empty data is neither sent nor received.
///
/// The ends of a message name its data by the same pieces, and messages from one member to another stand in the same
/// order at both. Borrows the builder and adds to its present channel.
class DataFlow {
 public:
  explicit DataFlow(ScheduleBuilder& builder) : builder_(builder), ranges_{{0, {}}} {}

  void send(uint32_t peer, uint32_t step, std::span<const Extent> data);
  void receive(uint32_t peer, uint32_t step, std::span<const Extent> data);
  void receive_and_reduce(uint32_t peer, uint32_t step, std::span<const Extent> data);

  /// What is sent from here on also waits for the last slice of every message so far.
  void wait_for_all();
  /// What is sent from here on, or replaced or reduced by what is received, also waits for these steps, until the next
  /// call.
  void wait_for(std::vector<uint32_t> steps) { gate_ = std::move(steps), gates_all_ = true; }
  /// The step that completes the last slice of the latest message; none when that had no data.
  std::optional<uint32_t> last() const { return latest_ == kNone ? std::nullopt : std::optional(latest_); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// A range of bytes that the same steps have touched; it ends where the next begins.
  struct Range {
    uint32_t writer = kNone;        ///< the last
    std::vector<uint32_t> readers;  ///< since then
  };

  template <class Visit>
  void for_each_range(std::span<const Extent> pieces, Visit visit);
  std::map<int64_t, Range>::iterator split(Bytes at);
  std::vector<uint32_t> writers_of(std::span<const Extent> pieces);
  /// Those that have touched what a receipt changes, and what it waits for besides.
  std::vector<uint32_t> users_of(std::span<const Extent> pieces);
  void note(uint32_t last);
  void write(std::span<const Extent> pieces, uint32_t step);

  ScheduleBuilder& builder_;
  std::map<int64_t, Range> ranges_;  ///< by first byte
  std::vector<uint32_t> last_;       ///< the last slice of each message since the last wait_for_all
  std::vector<uint32_t> gate_;       ///< what sends wait for besides
  bool gates_all_ = false;           ///< and so does what is received
  uint32_t latest_ = kNone;
};

}  // namespace rankwire
