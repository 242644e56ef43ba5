// Machines that are threads of a test.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/machines/links.h"
#include "emulator/machines/machine_post.h"

namespace rankwire::testing {

/// For tests, which have no time to wait for what will not come.
inline constexpr MachinePatience kShortPatience{.silence = std::chrono::milliseconds(300),
                                                .presence = std::chrono::milliseconds(20),
                                                .goodbye = std::chrono::minutes(1),
                                                .parting = std::chrono::milliseconds(300)};

/// Their mailboxes. Outlives the links.
class FakeNetwork {
 public:
  explicit FakeNetwork(uint32_t count) : boxes_(count), cut_off_(count) {}

  uint32_t count() const { return static_cast<uint32_t>(boxes_.size()); }
  void put(uint32_t to, MachineMessage message) {
    const std::lock_guard lock(mutex_);
    if (!cut_off_[to] && !cut_off_[message.from]) boxes_[to].push_back(std::move(message));
  }
  std::optional<MachineMessage> take(uint32_t machine) {
    const std::lock_guard lock(mutex_);
    if (boxes_[machine].empty()) return std::nullopt;
    MachineMessage message = std::move(boxes_[machine].front());
    boxes_[machine].pop_front();
    return message;
  }
  /// From now on nothing reaches it, and nothing that it sends arrives.
  void cut_off(uint32_t machine) {
    const std::lock_guard lock(mutex_);
    cut_off_[machine] = true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::deque<MachineMessage>> boxes_;
  std::vector<bool> cut_off_;
};

class FakeLinks final : public MachineLinks {
 public:
  FakeLinks(FakeNetwork& network, uint32_t own, std::string name, bool* orderly = nullptr)
      : network_(network), own_(own), name_(std::move(name)), orderly_(orderly) {}

  uint32_t own() const override { return own_; }
  uint32_t count() const override { return network_.count(); }
  std::string system_name() const override { return name_; }
  void send(uint32_t to, MachineTag tag, std::string_view bytes) override {
    network_.put(to, {own_, tag, std::string(bytes)});
  }
  std::optional<MachineMessage> receive() override { return network_.take(own_); }
  void leave(bool orderly) override {
    if (orderly_ != nullptr) *orderly_ = orderly;
  }

 private:
  FakeNetwork& network_;
  const uint32_t own_;
  const std::string name_;
  bool* const orderly_;
};

}  // namespace rankwire::testing
