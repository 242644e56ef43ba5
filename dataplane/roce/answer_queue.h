// Answers that must be sent as they were when they were made.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>

#include "dataplane/wire/packet.h"

namespace rankwire {

/// First in, first out, of fixed capacity. No allocation after construction; one thread.
class AnswerQueue {
 public:
  static constexpr uint32_t kCapacity = 256;

  struct Answer {
    uint32_t queue_pair = 0;  ///< index
    Acknowledgement acknowledgement;
  };

  bool empty() const noexcept { return size_ == 0; }
  uint32_t size() const noexcept { return size_; }
  uint32_t room() const noexcept { return kCapacity - size_; }
  const Answer& front() const noexcept { return answers_[head_ % kCapacity]; }
  /// Fetches the memory of the first place.
  [[gnu::always_inline]] void fetch() const noexcept { __builtin_prefetch(&answers_[head_ % kCapacity], 1); }
  void push(const Answer& answer) noexcept {
    assert(room() > 0);
    answers_[(head_ + size_++) % kCapacity] = answer;
  }
  Answer pop() noexcept {
    assert(!empty());
    const Answer answer = answers_[head_ % kCapacity];
    head_ = --size_ == 0 ? 0 : head_ + 1;
    return answer;
  }

 private:
  uint32_t head_ = 0, size_ = 0;
  // Apart, so that whether there are any is known from memory that a lane looks at anyway.
  std::unique_ptr<Answer[]> answers_ = std::make_unique<Answer[]>(kCapacity);
};

}  // namespace rankwire
