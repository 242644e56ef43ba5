// A frame port that impairs what passes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "dataplane/impairments/impairments.h"
#include "dataplane/impairments/queue.h"
#include "dataplane/ports/forwarding_port.h"
#include "dataplane/ports/frame_port.h"

namespace rankwire {

/// Which of a port's queues sends what the rules send without a packet.
enum class PauseSender : uint8_t { kThisQueue, kAnotherQueue };

/// Stands between a transport and any port, and does to the RoCEv2 packets of `impairments` what its rules say; other
/// frames pass. A packet to be sent is impaired when it is completed and given to `send`, one that was received before
/// `receive` returns it; frames given to `transmit` pass. What a rule sends counts at `inner`, beside the transport's
/// pacing. What is dropped on the way out never reaches `inner`.
///
/// A packet that is changed, repeated or held back on its way out is copied to a frame of `inner`'s pool, of which each
/// side holds at most ImpairmentQueue::kHeld.
class ImpairmentPort final : public ForwardingPort {
 public:
  /// Both must outlive it.
  ImpairmentPort(FramePort& inner, PortId id, PauseSender pauses, Impairments& impairments);
  ~ImpairmentPort() override;
  ImpairmentPort(const ImpairmentPort&) = delete;
  ImpairmentPort& operator=(const ImpairmentPort&) = delete;

  void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override;
  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override;
  void discard(std::span<const FrameBuffer> buffers) noexcept override;
  size_t receive(Time now, std::span<Frame> frames) noexcept override;
  Time next_event() const noexcept override;
  /// The pauses that rules have sent count as the port's.
  PortCounters counters() const override;
  uint64_t pauses_sent() const noexcept { return pauses_sent_; }

 private:
  static constexpr size_t kBurst = 32;
  /// More than a transport has completed and not sent; those beyond pass unseen.
  static constexpr size_t kCompleted = 1024;

  /// A frame that is complete and not sent. What was decided about it stays when the port refuses it.
  struct Completed {
    FrameBuffer buffer = nullptr;
    FrameShape shape;
    bool seen = false;
    std::optional<PacketPlace> place;
    std::optional<uint32_t> rule;
  };
  struct PauseSchedule {
    uint32_t rule = 0;
    Time next;
  };
  /// A packet that a rule acts on.
  struct Target {
    const ParsedPacket& packet;
    const PacketPlace& place;
    uint32_t rule;
    PortSide side;
    Time now;
  };

  Completed* find(FrameBuffer buffer) noexcept;
  void forget(std::span<const FrameBuffer> buffers) noexcept;
  void see(Completed& completed, Time now) noexcept;
  size_t send_run(Time now, std::span<FrameBuffer> buffers) noexcept;
  bool send_one(Time now, FrameBuffer buffer) noexcept;
  bool flush(Time now) noexcept;
  void admit(const Frame& frame, Time now) noexcept;

  bool impair(const Frame& frame, const Target& target) noexcept;
  bool replace(const Frame& frame, const Target& target, ImpairmentQueue& queue) noexcept;
  bool hold_or_change(const ImpairmentRule& rule, const Target& target, Frame& copy, ImpairmentQueue& queue) noexcept;
  bool forge(const Target& target, ImpairmentQueue& queue) noexcept;
  void enqueue(const Frame& frame, ImpairmentQueue& queue) noexcept;
  void send_pauses(Time now) noexcept;
  void send_pause(uint32_t rule, Time now) noexcept;

  const PortId id_;
  Impairments& impairments_;
  const Capabilities capabilities_;
  std::vector<PauseSchedule> pauses_;
  std::vector<Completed> completed_;  // oldest first
  ImpairmentQueue out_, in_;
  uint64_t pauses_sent_ = 0;
  Time last_now_ = Time::long_ago();
};

}  // namespace rankwire
