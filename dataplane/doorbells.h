// Which of many ports have something, without asking each.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace rankwire {

/// A bit a port, set by whoever gives the port something and cleared by the one thread that looks.
class Doorbells {
 public:
  explicit Doorbells(uint32_t ports)
      : count_((ports + 63) / 64), words_(std::make_unique<std::atomic<uint64_t>[]>(count_)) {}

  /// Any thread, after what it announces.
  void ring(uint32_t port) noexcept {
    words_[port / 64].fetch_or(uint64_t{1} << port % 64, std::memory_order_release);
    any_.store(true, std::memory_order_release);
  }

  /// Clears all bits and calls `answer(port)` for each that was set, in the order of ports. `answer` may ring again.
  template <class Answer>
  void answer_all(Answer answer) noexcept {
    if (!any_.exchange(false, std::memory_order_acquire)) return;
    for (uint32_t w = 0; w < count_; ++w) {
      if (words_[w].load(std::memory_order_relaxed) == 0) continue;
      for (uint64_t bits = words_[w].exchange(0, std::memory_order_acquire); bits != 0; bits &= bits - 1) {
        answer(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      }
    }
  }

  /// Calls `see(port)` for each bit that is set.
  template <class See>
  void look(See see) const noexcept {
    if (!any_.load(std::memory_order_acquire)) return;
    for (uint32_t w = 0; w < count_; ++w) {
      for (uint64_t bits = words_[w].load(std::memory_order_acquire); bits != 0; bits &= bits - 1) {
        see(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      }
    }
  }

 private:
  uint32_t count_;
  std::unique_ptr<std::atomic<uint64_t>[]> words_;
  std::atomic<bool> any_{false};
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
