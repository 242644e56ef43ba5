// One RoCE transport with both ends of a plan, on two impaired ports that a link joins, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/impairments/transport.h"
#include "dataplane/ports/memory_port.h"
#include "tests/dataplane/roce/pair.h"
#include "tests/dataplane/wire/wire_bytes.h"

namespace rankwire::testing {

/// Connection 0 leads from port 0 to port 1, connection 1 back; kMessages messages an iteration.
class ImpairmentPair {
 public:
  static constexpr uint32_t kMessages = 4;
  static constexpr uint32_t kMtu = 1024;

  explicit ImpairmentPair(std::vector<ImpairmentRule> rules, RoceOptions options = default_options(), uint64_t seed = 1)
      : plan_(plan()),
        links_(make_memory_link(pool_, 1024, "link")),
        ports_{ImpairedPort(*links_.first, {}), ImpairedPort(*links_.second, {})},
        impairments_(std::move(rules), {.flows = flow_options(options), .markings = options.markings, .seed = seed}),
        transport_(std::make_unique<ImpairmentTransport>(options, bindings(), impairments_)) {
    for (ImpairedPort& port : ports_) port.capture();
    const std::vector<EndPoint> ends = transport_->prepare(plan_);
    first_psn_ = ends[0].psn;
    EXPECT_TRUE(transport_->connect(ends).empty());
    now_ = Time() - seconds(1);
    run();
    now_ = Time();
    run();
    for (size_t side : {0, 1}) announced_[side] = ports_[side].sent().size();
  }

  static RoceOptions default_options() {
    RoceOptions options;
    options.mtu = kMtu;
    options.profile.timeout_exponent = 6;  // 262 us
    options.payload = PayloadMode::kChecking;
    return options;
  }

  /// Posts a message of so many whole packets, and runs until nothing is left to do.
  void send(uint32_t packets, uint32_t connection = 0) {
    post(packets, connection);
    run();
  }
  void post(uint32_t packets, uint32_t connection = 0) {
    const Message message = RocePair::message(connection, posted_[connection]++, int64_t{packets} * kMtu);
    ASSERT_EQ(transport_->post(now_, {&message, 1}), 1u);
  }
  void run() {
    for (uint32_t turns = 0; turns < 1'000'000; ++turns) {
      std::array<Event, 16> batch;
      const size_t n = transport_->poll(now_, batch);
      events_.insert(events_.end(), batch.begin(), batch.begin() + static_cast<ptrdiff_t>(n));
      const Time next = transport_->next_event();
      if (next == Time::never()) return;
      now_ = std::max(now_, next);
    }
    FAIL() << "never at rest";
  }
  void run_to(Time time) { now_ = time; }

  size_t count(EventKind kind) const { return static_cast<size_t>(std::ranges::count(events_, kind, &Event::kind)); }
  const std::vector<Event>& events() const { return events_; }
  TransportCounters counters() const { return transport_->counters(); }
  const rankwire::Impairments& impairments() const { return impairments_; }
  /// Frames that have left a port since it was connected.
  std::vector<FrameBytes> sent(size_t side) const {
    const auto& frames = ports_[side].sent();
    return {frames.begin() + static_cast<ptrdiff_t>(announced_[side]), frames.end()};
  }
  ImpairedPort& port(size_t side) { return ports_[side]; }
  uint32_t first_psn() const { return first_psn_; }
  /// All frames are free again when the transport and its ports are gone.
  size_t frames_missing() {
    transport_.reset();
    return pool_.size() - pool_.available();
  }

 private:
  static TransportPlan plan() {
    TransportPlan plan = pair_plan();
    for (Connection& c : plan.connections) c.messages_per_iteration = kMessages;
    return plan;
  }
  std::vector<PortBinding> bindings() {
    const Bandwidth rate = testing::Impairments().rate;
    return {{.id = PortId(0), .port = &ports_[0], .rate = rate}, {.id = PortId(1), .port = &ports_[1], .rate = rate}};
  }

  TransportPlan plan_;
  FramePool pool_{4096};
  std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> links_;
  std::array<ImpairedPort, 2> ports_;
  rankwire::Impairments impairments_;
  std::unique_ptr<ImpairmentTransport> transport_;
  std::vector<Event> events_;
  std::array<uint32_t, 2> posted_{};
  std::array<size_t, 2> announced_{};
  uint32_t first_psn_ = 0;
  Time now_;
};

/// Byte `at` and further ones of a frame, most significant first.
inline uint32_t field(const FrameBytes& frame, size_t at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | frame.at(at + i);
  return value;
}

// Offsets in an untagged RoCEv2 frame over IPv4: Ethernet 14, IPv4 20, UDP 8, BTH 12 (IBTA 9.2, Annex A17).
constexpr size_t kIpAt = 14, kBthAt = 42, kAfterBth = 54;
inline uint32_t opcode_of(const FrameBytes& frame) {
  return field(frame, kBthAt, 1);
}
inline uint32_t psn_of(const FrameBytes& frame) {
  return field(frame, kBthAt + 9, 3);
}

/// Whether ICRC and IPv4 checksum of such a frame are right, computed bit by bit from Annex A17.3.3 and RFC 1071.
inline bool is_sealed(const FrameBytes& frame) {
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) sum += field(frame, kIpAt + i, 2);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  if (sum != 0xFFFF) return false;
  FrameBytes covered(frame.begin() + kIpAt - 8, frame.end() - 4);
  std::fill_n(covered.begin(), 8, 0xFF);
  // Type of service, time to live, checksum; UDP checksum; the reserved byte of BTH.
  for (const size_t masked : {1, 8, 10, 11, 26, 27, 32}) covered[8 + masked] = 0xFF;
  uint32_t crc = 0xFFFFFFFF;
  for (const uint8_t byte : covered) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  crc = ~crc;
  const size_t at = frame.size() - 4;
  return crc ==
         (frame[at] | uint32_t{frame[at + 1]} << 8 | uint32_t{frame[at + 2]} << 16 | uint32_t{frame[at + 3]} << 24);
}

}  // namespace rankwire::testing
