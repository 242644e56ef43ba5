// The far end of the transmit benchmark, in memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/spsc_ring.h"
#include "dataplane/packet.h"
#include "dataplane/request_writer.h"

namespace rankwire::bench {

/// Stands between a transport and a port that drops what it sends: acknowledges every packet with AckReq, which only
/// the last packet of a message has, by a frame that the next `receive` returns. Copies one frame in a million, and
/// decodes and checks the copy in whole.
class AcknowledgingPort final : public FramePort {
 public:
  /// `answers[i]` is the path of the acknowledgements from queue pair `first_queue_pair` + i.
  AcknowledgingPort(FramePort& port, uint32_t mtu, uint32_t first_queue_pair, std::span<const PacketPath> answers)
      : port_(port),
        capabilities_(port.capabilities()),
        first_queue_pair_(first_queue_pair),
        pattern_icrc_(mtu),
        messages_(answers.size()),
        owed_(1 << 16) {
    for (const PacketPath& path : answers) answers_.push_back(pattern_icrc_.make_template(path));
  }

  size_t allocate(std::span<Frame> frames) noexcept override { return port_.allocate(frames); }
  size_t transmit(Time now, std::span<const Frame> frames) noexcept override { return port_.transmit(now, frames); }
  size_t reserve(std::span<FrameBuffer> buffers) noexcept override { return port_.reserve(buffers); }
  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override { return port_.send(now, buffers); }
  void cancel(std::span<const FrameBuffer> buffers) noexcept override { port_.cancel(buffers); }
  void discard(std::span<const FrameBuffer> buffers) noexcept override { port_.discard(buffers); }
  uint32_t length(FrameBuffer buffer) const noexcept override { return port_.length(buffer); }
  void release(std::span<const Frame> frames) noexcept override { port_.release(frames); }
  Time next_event() const noexcept override { return Time::never(); }
  Capabilities capabilities() const noexcept override { return capabilities_; }
  PortCounters counters() const override { return port_.counters(); }

  void complete(std::span<const FrameBuffer> buffers, FrameShape shape) noexcept override {
    port_.complete(buffers, shape);
    // Of the packets that a stream sends only those without extended headers never ask for an acknowledgement.
    if (shape.header_length != kMinBaseHeaderBytes)
      for (const FrameBuffer buffer : buffers) answer(capabilities_.place(buffer) - shape.header_length);
    completed_ += buffers.size();
    if (completed_ >= next_check_) check(capabilities_.place(buffers.back()), shape);
  }

  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    const size_t n = port_.allocate(frames.first(std::min(frames.size(), owed_.size())));
    for (Frame& frame : frames.first(n)) {
      Owed owed{};
      owed_.pop({&owed, 1});
      uint8_t* const place = frame.head + kHeaderRoom;
      const HeaderTemplate& path = answers_[owed.connection];
      write_acknowledgement(pattern_icrc_, path, {.psn = owed.psn, .msn = owed.msn}, place);
      frame.head_length = acknowledgement_shape(path).header_length;
      frame.head = place - frame.head_length;
      frame.arrival = now;
    }
    return n;
  }

  uint64_t checked() const { return checked_; }
  uint64_t wrong() const { return wrong_; }

 private:
  static constexpr uint64_t kFramesPerCheck = 1'000'000;
  struct Owed {
    uint32_t connection, psn, msn;
  };

  void answer(const uint8_t* head) noexcept {
    const Bth& bth =
        reinterpret_cast<const TransportHeader*>(head + kMinBaseHeaderBytes - sizeof(TransportHeader))->bth;
    if ((bth.ack_request & Bth::kAckRequest) == 0) return;
    const uint32_t connection = bth.destination_qp.value() - first_queue_pair_;
    if (connection >= answers_.size()) return;
    __builtin_prefetch(&answers_[connection]);
    __builtin_prefetch(answers_[connection].header_end() - 1);
    const uint32_t msn = psn_add(messages_[connection], 1);
    messages_[connection] = msn;
    const Owed owed{connection, bth.psn.value(), msn};
    owed_.push({&owed, 1});
  }

  void check(const uint8_t* place, FrameShape shape) noexcept {
    next_check_ = completed_ + kFramesPerCheck;
    std::vector<uint8_t> copy(place - shape.header_length, place - shape.header_length + shape.length());
    Frame whole;
    whole.head = copy.data();
    whole.head_length = static_cast<uint16_t>(copy.size());
    const ParsedPacket packet = parse(whole);
    const bool good = packet.reject == Reject::kNone && icrc_matches(whole, packet) &&
                      std::memcmp(packet.payload, payload_pattern().data(), packet.payload_length) == 0 &&
                      packet.destination_qp - first_queue_pair_ < answers_.size();
    ++checked_;
    if (!good) ++wrong_;
  }

  FramePort& port_;
  const Capabilities capabilities_;
  const uint32_t first_queue_pair_;
  const PatternIcrc pattern_icrc_;
  std::vector<HeaderTemplate> answers_;  // by connection
  std::vector<uint32_t> messages_;       // completed, by connection
  SpscRing<Owed> owed_;
  uint64_t completed_ = 0, next_check_ = kFramesPerCheck, checked_ = 0, wrong_ = 0;
};

}  // namespace rankwire::bench
