// The hot end of the recorder: rings from an engine shard to the writer thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/record.h"
#include "base/spsc_ring.h"

namespace rankwire {

/// What a sink does with rows that have no room.
enum class WhenFull : uint8_t {
  kDrop,  ///< real time: counts them and goes on
  kWait,  ///< virtual time: waits for the writer, so that nothing is lost
};

/// One producer thread and the writer thread. Takes all memory at construction.
class RingSink final : public RecordSink {
 public:
  struct Options {
    size_t operations = 0;  ///< rows of the ring; rounded up to a power of two; 0: not recorded, nor counted as dropped
    size_t messages = 0;    ///< the same of messages
    size_t causes = 0;      ///< and of times by cause
    WhenFull when_full = WhenFull::kDrop;
  };

  explicit RingSink(const Options& options)
      : options_(options), operations_(options.operations), messages_(options.messages), causes_(options.causes) {}

  void operations(std::span<const OperationRecord> rows) noexcept override {
    if (options_.operations != 0) push(operations_, rows, operations_dropped_);
  }
  void messages(std::span<const MessageRecord> rows) noexcept override {
    if (options_.messages != 0) push(messages_, rows, messages_dropped_);
  }

  bool wants_messages() const noexcept override { return options_.messages != 0; }
  /// What has no room counts as a dropped row of operations.
  void causes(std::span<const CauseRecord> rows) noexcept override {
    if (options_.causes != 0) push(causes_, rows, operations_dropped_);
  }
  bool wants_causes() const noexcept override { return options_.causes != 0; }

  /// Writer only: move rows out and return their number.
  size_t pop(std::span<OperationRecord> out) noexcept { return popped(operations_.pop(out)); }
  size_t pop(std::span<MessageRecord> out) noexcept { return popped(messages_.pop(out)); }
  size_t pop(std::span<CauseRecord> out) noexcept { return popped(causes_.pop(out)); }

  /// Writer only: no row will be taken out any more; what comes is dropped and counted.
  void close() noexcept {
    closed_.store(true, std::memory_order_release);
    popped(1);
  }

  uint64_t operations_dropped() const noexcept { return operations_dropped_.load(std::memory_order_relaxed); }
  uint64_t messages_dropped() const noexcept { return messages_dropped_.load(std::memory_order_relaxed); }

 private:
  template <class Row>
  void push(SpscRing<Row>& ring, std::span<const Row> rows, std::atomic<uint64_t>& dropped) noexcept {
    rows = rows.subspan(ring.push(rows));
    while (!rows.empty()) {
      // Read before the ring is tried again: a pop in between changes it, and the wait returns at once.
      const uint32_t seen = pops_.load(std::memory_order_acquire);
      rows = rows.subspan(ring.push(rows));
      if (rows.empty()) return;
      if (options_.when_full == WhenFull::kDrop || closed_.load(std::memory_order_acquire)) {
        dropped.store(dropped.load(std::memory_order_relaxed) + rows.size(), std::memory_order_relaxed);
        return;
      }
      pops_.wait(seen, std::memory_order_acquire);
    }
  }

  size_t popped(size_t n) noexcept {
    if (n == 0 || options_.when_full == WhenFull::kDrop) return n;
    pops_.fetch_add(1, std::memory_order_release);
    pops_.notify_one();
    return n;
  }

  const Options options_;
  SpscRing<OperationRecord> operations_;
  SpscRing<MessageRecord> messages_;
  SpscRing<CauseRecord> causes_;
  std::atomic<uint64_t> operations_dropped_{0}, messages_dropped_{0};  // written by the producer alone
  std::atomic<bool> closed_{false};
  alignas(64) std::atomic<uint32_t> pops_{0};
};

}  // namespace rankwire
