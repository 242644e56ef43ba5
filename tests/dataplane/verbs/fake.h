// RDMA devices in memory: queue pairs that really move bytes, and can be held, made to fail, and looked at.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/spsc_ring.h"
#include "dataplane/verbs/api.h"

namespace rankwire::testing {

class FakeFabric;

class FakeCompletionQueue final : public VerbsCompletionQueue {
 public:
  FakeCompletionQueue(const FakeFabric& fabric, std::string device, uint32_t entries)
      : fabric_(fabric), device_(std::move(device)), entries_(entries), queue_(entries) {}
  std::optional<size_t> poll(std::span<WorkCompletion> completions) noexcept override;
  void push(const WorkCompletion& completion) {
    EXPECT_LT(queue_.size(), entries_) << "the completion queue overflows";
    queue_.push({&completion, 1});
  }

 private:
  const FakeFabric& fabric_;
  std::string device_;
  size_t entries_;
  SpscRing<WorkCompletion> queue_;
};

class FakeReceiveQueue final : public VerbsReceiveQueue {
 public:
  explicit FakeReceiveQueue(uint32_t receives) : room_(receives), queue_(receives) {}
  size_t post(std::span<const ReceiveWork> receives) noexcept override {
    const size_t room = std::min(room_, takes) - std::min({room_, takes, queue_.size()});
    return queue_.push(receives.first(std::min(receives.size(), room)));
  }
  SpscRing<ReceiveWork>& queue() { return queue_; }

  size_t takes = SIZE_MAX;  ///< refuses more than so many, though there is room

 private:
  size_t room_;
  SpscRing<ReceiveWork> queue_;
};

/// Executes its work in order when the fabric runs. A work request keeps its place in the queue until a completion that
/// covers it has been made.
class FakeQueuePair final : public VerbsQueuePair {
 public:
  struct Posted {
    SendWork work;
    std::array<uint8_t, 1024> value;  // of work by value
  };

  FakeQueuePair(FakeFabric& fabric, uint32_t number, const QueuePairSize& size, FakeCompletionQueue& completions,
                FakeReceiveQueue* shared)
      : fabric_(fabric),
        number_(number),
        size_(size),
        completions_(completions),
        own_receives_(std::max(size.receives, 1u)),
        receives_(shared != nullptr ? *shared : own_receives_),
        shared_(shared != nullptr),
        posted_(size.sends) {
    own_receives_.takes = fabric_takes();
  }
  ~FakeQueuePair() override;

  uint32_t number() const noexcept override { return number_; }
  ConnectOutcome connect(const QueuePairPath& path) override;
  bool fail() noexcept override {
    if (!refuses_to_end) enter_error();
    return !refuses_to_end;
  }
  size_t send(std::span<const SendWork> work) noexcept override;
  size_t post(std::span<const ReceiveWork> receives) noexcept override;

  /// One work request; false when there is none, or it must wait.
  bool execute();
  void enter_error();

  const QueuePairPath& path() const { return path_; }
  const QueuePairSize& size() const { return size_; }
  bool in_error() const { return error_; }
  FakeReceiveQueue& receives() { return receives_; }  ///< its own, or the shared ones

  bool held = false;                               ///< executes nothing
  WorkStatus next_status = WorkStatus::kSuccess;   ///< what its next work request ends with
  WorkStatus next_receive = WorkStatus::kSuccess;  ///< what the next receive that it takes ends with
  size_t refuses_from = SIZE_MAX;                  ///< work requests of a chain
  bool refuses_to_end = false;
  std::vector<std::vector<SendWork>> chains;  ///< as posted; only with FakeFabric::recording
  uint64_t doorbells = 0;
  uint64_t not_ready = 0;  ///< times that the peer had no receive

 private:
  friend class FakeFabric;
  size_t fabric_takes() const;
  void complete(const SendWork& work, WorkStatus status);
  void flush_receives();
  bool receive(const SendWork& work, const uint8_t* payload);

  FakeFabric& fabric_;
  uint32_t number_;
  QueuePairSize size_;
  FakeCompletionQueue& completions_;
  FakeReceiveQueue own_receives_;
  FakeReceiveQueue& receives_;
  bool shared_;
  QueuePairPath path_;
  bool connected_ = false, error_ = false;
  uint32_t occupied_ = 0, since_completion_ = 0;
  SpscRing<Posted> posted_;
};

class FakeFabric final : public VerbsApi {
 public:
  std::unique_ptr<VerbsContext> open(const VerbsDeviceInfo& device) override;
  std::vector<VerbsCounter> counters(const std::string& device, uint32_t) const override {
    const auto known = port_counters.find(device);
    return known == port_counters.end() ? std::vector<VerbsCounter>() : known->second;
  }

  /// Until nothing can be executed any more.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [number, queue_pair] : queue_pairs)
        while (queue_pair->execute()) moved = true;
    }
  }
  FakeQueuePair& queue_pair(uint32_t number) { return *queue_pairs.at(number); }
  /// Null unless the key is that of a region that holds all of the bytes.
  uint8_t* memory(uint32_t key, uint64_t address, uint32_t bytes) const {
    const auto region = regions.find(key);
    if (region == regions.end()) return nullptr;
    const auto begin = reinterpret_cast<uint64_t>(region->second.data());
    if (address < begin || address + bytes > begin + region->second.size()) return nullptr;
    return region->second.data() + (address - begin);
  }

  std::map<uint32_t, FakeQueuePair*> queue_pairs;  ///< by number
  std::map<uint32_t, std::span<uint8_t>> regions;  ///< by either key
  std::set<IpAddress> silent;                      ///< whose link addresses are not found
  std::map<std::string, std::vector<VerbsCounter>> port_counters;
  std::map<std::string, std::deque<DeviceEvent>> events;  ///< by device: what it has to say
  std::set<std::string> unpollable;                       ///< devices whose completion queues cannot be read
  uint64_t looks = 0;                                     ///< for events
  std::vector<uint32_t> completion_queues;                ///< entries of each that was made
  uint64_t connects = 0;
  std::function<void()> on_connect = [] {};
  bool recording = false;
  size_t takes_receives = SIZE_MAX;  ///< of new queue pairs' own
  uint32_t next_number = 0x11;
  uint32_t next_key = 0x100;
};

class FakeRegion final : public VerbsRegion {
 public:
  FakeRegion(FakeFabric& fabric, std::span<uint8_t> memory) : fabric_(fabric), key_(fabric.next_key += 2) {
    fabric_.regions[key_] = fabric_.regions[key_ + 1] = memory;
  }
  ~FakeRegion() override {
    fabric_.regions.erase(key_);
    fabric_.regions.erase(key_ + 1);
  }
  uint32_t local_key() const noexcept override { return key_; }
  uint32_t remote_key() const noexcept override { return key_ + 1; }

 private:
  FakeFabric& fabric_;
  uint32_t key_;
};

class FakeContext final : public VerbsContext {
 public:
  FakeContext(FakeFabric& fabric, std::string device) : fabric_(fabric), device_(std::move(device)) {}
  std::unique_ptr<VerbsRegion> register_memory(std::span<uint8_t> memory) override {
    return std::make_unique<FakeRegion>(fabric_, memory);
  }
  std::unique_ptr<VerbsCompletionQueue> make_completion_queue(uint32_t entries) override {
    fabric_.completion_queues.push_back(entries);
    return std::make_unique<FakeCompletionQueue>(fabric_, device_, entries);
  }
  std::unique_ptr<VerbsReceiveQueue> make_shared_receive_queue(uint32_t receives) override {
    return std::make_unique<FakeReceiveQueue>(receives);
  }
  std::unique_ptr<VerbsQueuePair> make_queue_pair(uint32_t, const QueuePairSize& size,
                                                  VerbsCompletionQueue& completions,
                                                  VerbsReceiveQueue* shared) override {
    const uint32_t number = fabric_.next_number++;
    auto made = std::make_unique<FakeQueuePair>(fabric_, number, size, static_cast<FakeCompletionQueue&>(completions),
                                                static_cast<FakeReceiveQueue*>(shared));
    fabric_.queue_pairs[number] = made.get();
    return made;
  }
  std::optional<DeviceEvent> next_event() noexcept override {
    ++fabric_.looks;
    std::deque<DeviceEvent>& events = fabric_.events[device_];
    if (events.empty()) return std::nullopt;
    const DeviceEvent event = events.front();
    events.pop_front();
    return event;
  }

 private:
  FakeFabric& fabric_;
  std::string device_;
};

inline std::optional<size_t> FakeCompletionQueue::poll(std::span<WorkCompletion> completions) noexcept {
  if (fabric_.unpollable.contains(device_)) return std::nullopt;
  return queue_.pop(completions);
}

inline std::unique_ptr<VerbsContext> FakeFabric::open(const VerbsDeviceInfo& device) {
  return std::make_unique<FakeContext>(*this, device.name);
}

inline size_t FakeQueuePair::fabric_takes() const {
  return fabric_.takes_receives;
}

inline FakeQueuePair::~FakeQueuePair() {
  fabric_.queue_pairs.erase(number_);
}

inline ConnectOutcome FakeQueuePair::connect(const QueuePairPath& path) {
  ++fabric_.connects;
  fabric_.on_connect();
  if (fabric_.silent.contains(path.remote_gid)) return {ConnectOutcome::Kind::kNoNeighbour, "nobody answers"};
  path_ = path;
  connected_ = true;
  return {};
}

inline size_t FakeQueuePair::send(std::span<const SendWork> work) noexcept {
  ++doorbells;
  if (fabric_.recording) chains.emplace_back(work.begin(), work.end());
  size_t taken = 0;
  for (const SendWork& item : work) {
    if (occupied_ == size_.sends || taken == refuses_from) break;
    Posted posted{item, {}};
    if (item.by_value) {
      EXPECT_LE(item.bytes, size_.inline_bytes);
      EXPECT_NE(fabric_.memory(item.local_key, item.address, item.bytes), nullptr);
      std::memcpy(posted.value.data(), reinterpret_cast<const void*>(item.address), item.bytes);
    }
    posted_.push({&posted, 1});
    ++occupied_;
    ++taken;
  }
  if (error_) enter_error();
  return taken;
}

inline size_t FakeQueuePair::post(std::span<const ReceiveWork> receives) noexcept {
  const size_t taken = own_receives_.post(receives);
  if (error_) flush_receives();
  return taken;
}

inline void FakeQueuePair::complete(const SendWork& work, WorkStatus status) {
  ++since_completion_;
  if (!work.signalled && status == WorkStatus::kSuccess) return;
  occupied_ -= std::exchange(since_completion_, 0);
  const bool blame = status != WorkStatus::kSuccess && status != WorkStatus::kFlushed;
  completions_.push({.id = work.id, .queue_pair = number_, .vendor_error = blame ? 0x81u : 0u, .status = status});
}

inline void FakeQueuePair::flush_receives() {
  for (ReceiveWork receive; !shared_ && own_receives_.queue().pop({&receive, 1}) == 1;)
    completions_.push({.id = receive.id, .queue_pair = number_, .status = WorkStatus::kFlushed});
}

inline void FakeQueuePair::enter_error() {
  error_ = true;
  for (Posted posted; posted_.pop({&posted, 1}) == 1;) complete(posted.work, WorkStatus::kFlushed);
  flush_receives();
}

// At the peer: takes a receive if the operation needs one. False when there is none.
inline bool FakeQueuePair::receive(const SendWork& work, const uint8_t* payload) {
  const bool immediate = work.kind == WorkKind::kWriteImmediate || work.kind == WorkKind::kSendImmediate;
  const bool message = work.kind == WorkKind::kSend || work.kind == WorkKind::kSendImmediate;
  ReceiveWork receive;
  if (receives_.queue().pop({&receive, 1}) == 0) return false;
  if (next_receive != WorkStatus::kSuccess) {
    completions_.push({.id = receive.id, .queue_pair = number_, .status = next_receive});
    enter_error();
    return true;
  }
  if (message) {
    EXPECT_LE(work.bytes, receive.bytes) << "a SEND is longer than the receive";
    uint8_t* to = fabric_.memory(receive.local_key, receive.address, receive.bytes);
    EXPECT_NE(to, nullptr);
    if (to != nullptr) std::memmove(to, payload, std::min(work.bytes, receive.bytes));
  }
  completions_.push({.id = receive.id,
                     .queue_pair = number_,
                     .bytes = work.bytes,
                     .immediate = immediate ? work.immediate : 0xDEAD,
                     .has_immediate = immediate});
  return true;
}

inline bool FakeQueuePair::execute() {
  const Posted* first = held || error_ || !connected_ ? nullptr : posted_.front();
  if (first == nullptr) return false;
  const SendWork work = first->work;
  const auto peer = fabric_.queue_pairs.find(path_.remote_queue_pair);
  WorkStatus status = std::exchange(next_status, WorkStatus::kSuccess);
  if (status == WorkStatus::kSuccess && (peer == fabric_.queue_pairs.end() || peer->second->error_))
    status = WorkStatus::kRetryExceeded;
  if (status == WorkStatus::kSuccess) {
    uint8_t* local = work.by_value ? const_cast<uint8_t*>(first->value.data())
                                   : fabric_.memory(work.local_key, work.address, work.bytes);
    const bool sends = work.kind == WorkKind::kSend || work.kind == WorkKind::kSendImmediate;
    uint8_t* remote =
        sends || work.bytes == 0 ? nullptr : fabric_.memory(work.remote_key, work.remote_address, work.bytes);
    if (local == nullptr && work.bytes > 0) {
      status = WorkStatus::kLocalProtection;
    } else if (!sends && work.bytes > 0 && remote == nullptr) {
      status = WorkStatus::kRemoteAccess;
    } else {
      if (!sends && work.bytes > 0) {
        const bool reads = work.kind == WorkKind::kRead;
        std::memmove(reads ? local : remote, reads ? remote : local, work.bytes);
      }
      const bool needs_receive = work.kind != WorkKind::kWrite && work.kind != WorkKind::kRead;
      if (needs_receive && !peer->second->receive(work, local)) {
        ++not_ready;
        if (path_.not_ready_retry_count == 7) return false;
        status = WorkStatus::kNotReadyExceeded;
      } else if (peer->second->error_) {
        status = WorkStatus::kRemoteOperation;
      }
    }
  }
  Posted done;
  posted_.pop({&done, 1});
  complete(work, status);
  if (status != WorkStatus::kSuccess) enter_error();
  return true;
}

}  // namespace rankwire::testing
