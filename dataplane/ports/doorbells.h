// Which of many ports have something, without asking each.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace rankwire {

/// Who may ring.
enum class BellUse : uint8_t {
  kManyThreads,
  kOneThread,  ///< the one that looks: no locked instructions, which wait for all that was written before
};

/// A bit a port, set by whoever gives the port something and cleared by the one thread that looks; and a bit for every
/// 64 of them, so that thousands that are silent are passed over at once.
class Doorbells {
 public:
  explicit Doorbells(uint32_t ports, BellUse use = BellUse::kManyThreads)
      : alone_(use == BellUse::kOneThread),
        groups_((ports + 4095) / 4096),
        words_(std::make_unique<Word[]>(size_t{groups_} * 64)),
        summary_(std::make_unique<Word[]>(groups_)) {}

  /// Any thread, or the one, after what it announces.
  void ring(uint32_t port) noexcept {
    const uint32_t word = port / 64;
    set(words_[word], bit(port));
    // A bit that is still set has not been cleared yet, and its word is read after that.
    if ((summary_[word / 64].load() & bit(word)) == 0) set(summary_[word / 64], bit(word));
  }

  /// Clears all bits and calls `answer(port)` for each that was set, in the order of ports. `answer` may ring again.
  template <class Answer>
  void answer_all(Answer answer) noexcept {
    for (uint32_t group = 0; group < groups_; ++group) {
      if (summary_[group].load(std::memory_order_relaxed) == 0) continue;
      for_each_bit(clear(summary_[group]), group,
                   [&](uint32_t word) { for_each_bit(clear(words_[word]), word, answer); });
    }
  }

  /// Calls `see(port)` for each bit that is set.
  template <class See>
  void look(See see) const noexcept {
    for (uint32_t group = 0; group < groups_; ++group) {
      for_each_bit(summary_[group].load(std::memory_order_acquire), group,
                   [&](uint32_t word) { for_each_bit(words_[word].load(std::memory_order_acquire), word, see); });
    }
  }

 private:
  using Word = std::atomic<uint64_t>;

  void set(Word& word, uint64_t bits) const noexcept {
    if (!alone_) {
      word.fetch_or(bits);
    } else {
      word.store(word.load(std::memory_order_relaxed) | bits, std::memory_order_relaxed);
    }
  }
  /// Returns what it was.
  uint64_t clear(Word& word) const noexcept {
    if (!alone_) return word.exchange(0);
    const uint64_t bits = word.load(std::memory_order_relaxed);
    word.store(0, std::memory_order_relaxed);
    return bits;
  }
  static constexpr uint64_t bit(uint32_t number) noexcept { return uint64_t{1} << number % 64; }
  template <class See>
  static void for_each_bit(uint64_t bits, uint32_t word, See&& see) noexcept {
    for (; bits != 0; bits &= bits - 1) see(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
  }

  const bool alone_;
  uint32_t groups_;
  std::unique_ptr<Word[]> words_, summary_;
};

/// One port's; none: nobody hears.
struct Doorbell {
  Doorbells* bells = nullptr;
  uint32_t port = 0;

  void ring() const noexcept {
    if (bells != nullptr) bells->ring(port);
  }
};

}  // namespace rankwire
