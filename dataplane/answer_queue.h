// Answers that must be sent as they were when they were made.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "dataplane/packet.h"

namespace rankwire {

/// First in, first out, of fixed capacity. One thread.
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
  std::array<Answer, kCapacity> answers_;
};

}  // namespace rankwire
