// The far end of the transmit benchmark, in memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "dataplane/roce/request_writer.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/load_word.h"
#include "dataplane/wire/packet.h"

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
        headers_(pattern_icrc_.make_template(answers.front())) {
    owed_.reserve(answers.size());
    for (Buffer& buffer : buffers_) write_acknowledgement(pattern_icrc_, headers_, {}, place_in(buffer));
    for (const PacketPath& path : answers)
      answers_.push_back({.icrc = pattern_icrc_.make_template(path).icrc.behind_bth,
                          .source_port = std::bit_cast<uint16_t>(Be16(path.source_port)),
                          .destination = uint64_t{std::bit_cast<uint32_t>(Be32(path.destination_qp))} << 32});
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
    const size_t n = std::min({frames.size(), buffers_.size(), owed_.size() - answered_});
    const FrameShape shape = acknowledgement_shape(headers_);
    for (size_t i = 0; i < n; ++i) {
      write_answer(owed_[answered_ + i], place_in(buffers_[i]));
      frames[i].head = place_in(buffers_[i]) - shape.header_length;
      frames[i].head_length = shape.header_length;
      frames[i].payload_length = 0;
      frames[i].tail_length = 0;
      frames[i].arrival = now;
    }
    answered_ += n;
    if (answered_ == owed_.size()) {
      owed_.clear();
      answered_ = 0;
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
    uint32_t connection, psn;
  };
  using Buffer = std::array<uint8_t, 192>;
  /// What the acknowledgements of a queue pair have that others have not: so little, because the far end's memory is
  /// not to be measured.
  struct Answers {
    uint32_t icrc = 0;         ///< IcrcBase::behind_bth
    uint32_t messages = 0;     ///< completed
    uint64_t source_port = 0;  ///< as it stands in the first eight bytes of the UDP header
    uint64_t destination = 0;  ///< the queue pair, in those of BTH
  };

  void answer(const uint8_t* head) noexcept {
    // The second half of BTH: reserved, the queue pair, AckReq, and the PSN.
    const uint64_t half = byte_swapped(load_word<uint64_t>(head + kMinBaseHeaderBytes - sizeof(uint64_t)));
    const uint32_t connection = (static_cast<uint32_t>(half >> 32) & kPsnMask) - first_queue_pair_;
    if ((half & uint32_t{Bth::kAckRequest} << 24) == 0 || connection >= answers_.size()) return;
    __builtin_prefetch(&answers_[connection], 1);
    owed_.push_back({connection, static_cast<uint32_t>(half) & kPsnMask});
  }

  // The buffer holds an acknowledgement already: what differs is written over it.
  void write_answer(const Owed& owed, uint8_t* place) noexcept {
    Answers& own = answers_[owed.connection];
    own.messages = psn_add(own.messages, 1);
    const Be32 aeth(uint32_t{Acknowledgement().syndrome} << 24 | own.messages);
    uint8_t* const end = place - kIcrcBytes - sizeof(Aeth);
    auto* const transport = reinterpret_cast<TransportHeader*>(end - sizeof(TransportHeader));
    // In words as wide as those that a receiver reads: it would wait for narrower ones to leave the store buffer.
    replace(&transport->udp, uint64_t{0xFFFF}, own.source_port);
    replace(&transport->bth, uint64_t{0xFFFFFFFF} << 32, own.destination);
    const Be32 psn(owed.psn);
    std::memcpy(&transport->bth.ack_request, &psn, sizeof psn);
    std::memcpy(end, &aeth, sizeof aeth);
    const uint32_t icrc =
        pattern_icrc_.acknowledgement(own.icrc, headers_.ip_version, owed.psn, std::bit_cast<uint32_t>(aeth));
    std::memcpy(end + sizeof aeth, &icrc, sizeof icrc);
  }
  // The bits of `mask` in the eight bytes at `place`.
  static void replace(void* place, uint64_t mask, uint64_t bits) noexcept {
    uint64_t word;
    std::memcpy(&word, place, sizeof word);
    word = (word & ~mask) | bits;
    std::memcpy(place, &word, sizeof word);
  }
  static uint8_t* place_in(Buffer& buffer) noexcept { return buffer.data() + kHeaderRoom; }

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
  HeaderTemplate headers_;                      // of the first connection's acknowledgements
  std::vector<Answers> answers_;                // by connection
  std::vector<Owed> owed_;                      // in the order in which they were asked for
  size_t answered_ = 0;                         // of them
  alignas(64) std::array<Buffer, 64> buffers_;  // of the frames that are received
  uint64_t completed_ = 0, next_check_ = kFramesPerCheck, checked_ = 0, wrong_ = 0;
};

}  // namespace rankwire::bench
