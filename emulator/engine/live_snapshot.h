// Numbers that one thread publishes and others read while it goes on.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rankwire {

/// A sequence lock: who publishes never waits, and who reads takes a copy again that was overwritten meanwhile. Of its
/// readers none writes, so that they do not slow the writer down. One thread publishes, any number read.
class LiveSnapshot {
 public:
  explicit LiveSnapshot(size_t words) : words_(words) {}

  size_t size() const noexcept { return words_.size(); }
  /// `words`: as many as there are. Takes no memory and no lock.
  void publish(std::span<const uint64_t> words) noexcept {
    const uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    // Who sees one of these words sees the odd version, too.
    for (size_t i = 0; i < words_.size(); ++i) words_[i].store(words[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }
  /// The words of one `publish`, of the last one that had ended when the call began or of a later one. False, and
  /// `words` have no meaning, before the first, or when the writer has overtaken every one of many attempts.
  bool read(std::span<uint64_t> words) const noexcept {
    constexpr int kAttempts = 1000;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const uint64_t before = version_.load(std::memory_order_acquire);
      if (before == 0) return false;
      if (before % 2 != 0) continue;
      for (size_t i = 0; i < words_.size(); ++i) words[i] = words_[i].load(std::memory_order_acquire);
      if (version_.load(std::memory_order_relaxed) == before) return true;
    }
    return false;
  }

 private:
  alignas(64) std::atomic<uint64_t> version_{0};  // odd while words are written
  std::vector<std::atomic<uint64_t>> words_;
};

}  // namespace rankwire
