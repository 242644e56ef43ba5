// A port that delays, loses, repeats, reorders, corrupts and marks what it receives, the same way for the same seed.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/wire/headers.h"
#include "dataplane/wire/packet.h"
#include "dataplane/wire/payload.h"
#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire::testing {

struct Impairments {
  Bandwidth rate = Bandwidth(100'000'000'000);  ///< of the line in front of the port
  Duration latency = nanoseconds(500);
  uint32_t loss_ppm = 0, duplicate_ppm = 0, corrupt_ppm = 0, reorder_ppm = 0, mark_ppm = 0;
  Duration reorder_delay = microseconds(2);  ///< added to a reordered frame
  uint64_t seed = 1;
};

/// Decorates the receiving side of a port without latency: a frame sent at t arrives at t + its line time + latency.
class ImpairedPort final : public FramePort {
 public:
  ImpairedPort(FramePort& inner, const Impairments& impairments)
      : inner_(inner), impairments_(impairments), random_(impairments.seed) {}

  size_t allocate(std::span<Frame> frames) noexcept override { return inner_.allocate(frames); }
  size_t transmit(Time now, std::span<const Frame> frames) noexcept override {
    if (refuse_every_ > 0 && ++transmits_ % refuse_every_ == 0) frames = frames.first(frames.size() / 2);
    // A frame that is taken is no longer ours to read.
    const size_t kept = sent_.size();
    if (capturing_)
      for (const Frame& frame : frames) sent_.push_back(linear(frame));
    const size_t taken = inner_.transmit(now, frames);
    if (capturing_) sent_.resize(kept + taken);
    return taken;
  }
  size_t reserve(std::span<FrameBuffer> buffers) noexcept override { return inner_.reserve(buffers); }
  void complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept override {
    inner_.complete(buffers, runs);
    if (!capturing_) return;
    for (const FrameRun& run : runs) {
      for (const FrameBuffer buffer : buffers.first(run.count)) completed_[buffer] = bytes_of(buffer, run.shape);
      buffers = buffers.subspan(run.count);
    }
  }
  size_t send(Time now, std::span<FrameBuffer> buffers) noexcept override {
    if (refuse_every_ > 0 && ++transmits_ % refuse_every_ == 0) buffers = buffers.first(buffers.size() / 2);
    const size_t kept = sent_.size();
    if (capturing_)
      for (const FrameBuffer buffer : buffers) sent_.push_back(completed_[buffer]);
    const size_t taken = inner_.send(now, buffers);
    if (capturing_) sent_.resize(kept + taken);
    return taken;
  }
  void cancel(std::span<const FrameBuffer> buffers) noexcept override { inner_.cancel(buffers); }
  void discard(std::span<const FrameBuffer> buffers) noexcept override { inner_.discard(buffers); }
  uint32_t length(FrameBuffer buffer) const noexcept override { return inner_.length(buffer); }
  size_t receive(Time now, std::span<Frame> frames) noexcept override {
    Frame arrived[32];
    for (size_t n; (n = inner_.receive(now, arrived)) > 0;)
      for (size_t i = 0; i < n; ++i) admit(arrived[i]);
    size_t n = 0;
    for (; n < frames.size() && !waiting_.empty() && waiting_.front().arrival <= now; ++n) {
      frames[n] = waiting_.front();
      waiting_.erase(waiting_.begin());
    }
    return n;
  }
  void release(std::span<const Frame> frames) noexcept override { inner_.release(frames); }
  Time next_event() const noexcept override {
    return waiting_.empty() ? inner_.next_event() : std::min(waiting_.front().arrival, inner_.next_event());
  }
  Capabilities capabilities() const noexcept override { return inner_.capabilities(); }
  PortCounters counters() const override { return inner_.counters(); }

  /// Every n-th `transmit` or `send` takes only half of what it is given (none of a single frame).
  void refuse_every(uint32_t n) { refuse_every_ = n; }
  /// What may stand beside a frame that is received, or instead of it: the second is empty, in front of the first where
  /// both remain. Says which of the two do.
  enum class Kept : uint8_t { kFirst, kBoth, kSecond };
  void forge(std::function<Kept(const Frame&, Frame&)> forge) { forge_ = std::move(forge); }
  /// Takes memory for so many frames on the way, so that none is taken later.
  void reserve(size_t frames) { waiting_.reserve(frames); }
  /// From now on keeps a copy of every frame that is transmitted.
  void capture() { capturing_ = true; }
  const std::vector<FrameBytes>& sent() const { return sent_; }
  /// Loses the n-th frame from now that is received, counted from 0.
  void lose(uint64_t n) { losses_.push_back(received_ + n); }
  /// The same, and all that follow.
  void lose_all_from(uint64_t n) { lost_from_ = received_ + n; }

 private:
  FrameBytes bytes_of(FrameBuffer buffer, FrameShape shape) const {
    const Capabilities port = inner_.capabilities();
    uint8_t* const place = port.place(buffer);
    const bool pattern = shape.trailer_length > 0;
    const uint8_t* const payload = pattern ? payload_pattern().data() : place;
    const uint8_t* const trailer = port.trailer_place(place, shape.payload_length);
    FrameBytes bytes(place - shape.header_length, place);
    bytes.insert(bytes.end(), payload, payload + shape.payload_length);
    bytes.insert(bytes.end(), trailer, trailer + shape.trailer_length);
    return bytes;
  }
  void admit(Frame frame) {
    if (forge_) pass_forger(frame);
    const uint64_t number = received_++;
    if (number >= lost_from_ || std::ranges::count(losses_, number) > 0 || random_.chance(impairments_.loss_ppm))
      return inner_.release({&frame, 1});
    frame.arrival += serialization_time(line_bytes(frame.length()), impairments_.rate) + impairments_.latency;
    if (random_.chance(impairments_.duplicate_ppm)) duplicate(frame);
    // What has no ICRC is protected by the FCS, which is not seen here.
    if (random_.chance(impairments_.corrupt_ppm) && !is_foreign(parse(frame).reject)) {
      const uint64_t bit = random_.below(uint64_t{frame.head_length} * 8);
      frame.head[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    }
    if (random_.chance(impairments_.mark_ppm)) mark(frame);
    if (random_.chance(impairments_.reorder_ppm)) frame.arrival += impairments_.reorder_delay;
    insert(frame);
  }
  void pass_forger(Frame& frame) {
    Frame forged;
    if (inner_.allocate({&forged, 1}) == 0) return;
    forged.arrival = frame.arrival;
    const Kept kept = forge_(frame, forged);
    if (kept == Kept::kSecond) std::swap(frame, forged);
    if (kept == Kept::kBoth) return insert(forged);
    inner_.release({&forged, 1});
  }
  void duplicate(const Frame& frame) {
    Frame copy;
    if (inner_.allocate({&copy, 1}) == 0) return;
    uint8_t* end = std::copy_n(frame.head, frame.head_length, copy.head);
    end = std::copy_n(frame.payload, frame.payload_length, end);
    end = std::copy_n(frame.tail, frame.tail_length, end);
    copy.head_length = static_cast<uint16_t>(end - copy.head);
    copy.arrival = frame.arrival + Duration(static_cast<int64_t>(random_.below(4'000'000)));
    insert(copy);
  }
  // As a router does under congestion (RFC 3168): CE, and the header checksum made right.
  static void mark(const Frame& frame) {
    auto& ip = reinterpret_cast<UntaggedIpv4*>(frame.head)->ip;
    ip.type_of_service |= static_cast<uint8_t>(Ecn::kCongestionExperienced);
    ip.checksum = ipv4_checksum(ip);
  }
  void insert(const Frame& frame) {
    const auto later = [](Time t, const Frame& f) { return t < f.arrival; };
    waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), frame.arrival, later), frame);
  }

  FramePort& inner_;
  const Impairments impairments_;
  Random random_;
  std::vector<Frame> waiting_;  // by arrival
  std::function<Kept(const Frame&, Frame&)> forge_;
  std::vector<uint64_t> losses_;
  uint64_t lost_from_ = UINT64_MAX;
  uint64_t received_ = 0;
  std::vector<FrameBytes> sent_;
  std::map<FrameBuffer, FrameBytes> completed_;  // while capturing
  bool capturing_ = false;
  uint32_t refuse_every_ = 0, transmits_ = 0;
};

}  // namespace rankwire::testing
