// The far end of the transmit benchmark, in memory.
#pragma once

#include <algorithm>
#include <array>
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
        headers_(pattern_icrc_.make_template(answers.front())),
        owed_(1 << 16) {
    for (const PacketPath& path : answers)
      answers_.push_back({.icrc = pattern_icrc_.make_template(path).icrc.behind_bth,
                          .source_port = Be16(path.source_port),
                          .destination_qp = Be24(path.destination_qp)});
  }

  size_t allocate(std::span<Frame> frames) noexcept override { return port_.allocate(frames); }
  size_t transmit(Time now, std::span<const Frame> frames) noexcept override { return port_.transmit(now, frames); }
  size_t reserve(std::span<FrameBuffer> buffers) noexcept override { return port_.reserve(buffers); }
  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override { return port_.send(now, buffers); }
  void cancel(std::span<const FrameBuffer> buffers) noexcept override { port_.cancel(buffers); }
  void discard(std::span<const FrameBuffer> buffers) noexcept override { port_.discard(buffers); }
  uint32_t length(FrameBuffer buffer) const noexcept override { return port_.length(buffer); }
  Time next_event() const noexcept override { return Time::never(); }
  Capabilities capabilities() const noexcept override { return capabilities_; }
  PortCounters counters() const override { return port_.counters(); }

  void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override {
    port_.complete(buffers, runs);
    const FrameBuffer* buffer = buffers.data();
    for (const FrameRun& run : runs) {
      // Only the last packet of a message, which has an immediate, asks for an acknowledgement.
      if (run.shape.header_length == kMinBaseHeaderBytes + sizeof(ImmediateHeader))
        for (uint32_t i = 0; i < run.count; ++i) answer(capabilities_.place(buffer[i]) - run.shape.header_length);
      buffer += run.count;
    }
    completed_ += buffers.size();
    if (completed_ >= next_check_) check(capabilities_.place(buffers.back()), runs.back().shape);
  }

  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    const size_t n = owed_.pop(std::span(taken_).first(std::min(frames.size(), taken_.size())));
    for (size_t i = 0; i < n; ++i) {
      write_answer(taken_[i], buffers_[i]);
      frames[i].head = buffers_[i].data() + kHeaderRoom - acknowledgement_shape(headers_).header_length;
      frames[i].head_length = acknowledgement_shape(headers_).header_length;
      frames[i].payload_length = 0;
      frames[i].tail_length = 0;
      frames[i].arrival = now;
    }
    return n;
  }
  /// They are this port's own, and free by the next `receive`.
  void release(std::span<const Frame>) noexcept override {}

  uint64_t checked() const { return checked_; }
  uint64_t wrong() const { return wrong_; }

 private:
  static constexpr uint64_t kFramesPerCheck = 1'000'000;
  struct Owed {
    uint32_t connection, psn, msn;
  };
  using Buffer = std::array<uint8_t, 192>;
  /// What the acknowledgements of a queue pair have that others have not: so little, because the far end's memory is
  /// not to be measured.
  struct Answers {
    uint32_t icrc = 0;      ///< IcrcBase::behind_bth
    uint32_t messages = 0;  ///< completed
    Be16 source_port;
    Be24 destination_qp;
  };

  void answer(const uint8_t* head) noexcept {
    const Bth& bth =
        reinterpret_cast<const TransportHeader*>(head + kMinBaseHeaderBytes - sizeof(TransportHeader))->bth;
    if ((bth.ack_request & Bth::kAckRequest) == 0) return;
    const uint32_t connection = bth.destination_qp.value() - first_queue_pair_;
    if (connection >= answers_.size()) return;
    const uint32_t msn = psn_add(answers_[connection].messages, 1);
    answers_[connection].messages = msn;
    const Owed owed{connection, bth.psn.value(), msn};
    owed_.push({&owed, 1});
  }

  void write_answer(const Owed& owed, Buffer& buffer) noexcept {
    const Answers& own = answers_[owed.connection];
    headers_.icrc.behind_bth = own.icrc;
    uint8_t* const place = buffer.data() + kHeaderRoom;
    write_acknowledgement(pattern_icrc_, headers_, {.psn = owed.psn, .msn = owed.msn}, place);
    auto* const transport =
        reinterpret_cast<TransportHeader*>(place - kIcrcBytes - sizeof(Aeth) - sizeof(TransportHeader));
    transport->udp.source_port = own.source_port;
    transport->bth.destination_qp = own.destination_qp;
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
  HeaderTemplate headers_;        // of the first connection's acknowledgements
  std::vector<Answers> answers_;  // by connection
  SpscRing<Owed> owed_;
  std::array<Owed, 64> taken_;
  alignas(64) std::array<Buffer, 64> buffers_;  // of the frames that are received
  uint64_t completed_ = 0, next_check_ = kFramesPerCheck, checked_ = 0, wrong_ = 0;
};

}  // namespace rankwire::bench
