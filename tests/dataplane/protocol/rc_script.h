// A requester in tests written as event - expect: what happens to it, and what it then sends.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "dataplane/protocol/requester.h"

namespace rankwire {

constexpr uint32_t kScriptMtu = 1024;

/// The packet that was sent, and what is still to be said of it. What is not said is expected as in a packet sent for
/// the first time in the middle of nothing: no retransmission, not solicited. AckReq matters only where it is named.
class ExpectedPacket {
 public:
  ExpectedPacket(const RequestRun& run, std::string where) : run_(run), where_(std::move(where)) {}
  ExpectedPacket(const ExpectedPacket&) = delete;
  ExpectedPacket& operator=(const ExpectedPacket&) = delete;
  ~ExpectedPacket() {
    EXPECT_EQ(run_.retransmission, retransmission_) << where_;
    EXPECT_EQ(run_.solicited, solicited_) << where_;
  }

  ExpectedPacket& retransmission() { return retransmission_ = true, *this; }
  ExpectedPacket& solicited() { return solicited_ = true, *this; }
  ExpectedPacket& asks_for_ack() {
    EXPECT_TRUE(run_.ack_request) << where_;
    return *this;
  }
  ExpectedPacket& asks_for_no_ack() {
    EXPECT_FALSE(run_.ack_request) << where_;
    return *this;
  }
  ExpectedPacket& carries(uint32_t offset, uint32_t length) {
    EXPECT_EQ(run_.offset, offset) << where_;
    EXPECT_EQ(run_.length, length) << where_;
    return *this;
  }
  /// Of a RETH: the DMA length, and where in the message the address points.
  ExpectedPacket& names(uint32_t offset, uint32_t dma_length) {
    EXPECT_EQ(run_.offset, offset) << where_;
    EXPECT_EQ(run_.dma_length, dma_length) << where_;
    return *this;
  }

 private:
  const RequestRun run_;
  const std::string where_;
  bool retransmission_ = false, solicited_ = false;
};

class RequesterScript : public ::testing::Test {
 protected:
  static constexpr uint32_t mtu = kScriptMtu;
  static constexpr Duration kTimeout = ack_timeout(1);

  static ReliableOptions defaults() {
    return {.mtu = mtu, .window = 16, .ack_every = 16, .retry_count = 2, .timeout = kTimeout, .max_reads = 2};
  }

  RequesterScript() { begin(defaults()); }

  void begin(const ReliableOptions& options, uint32_t first_psn = 100) {
    pool_ = std::make_unique<RequesterPool>(options, 64);
    requester_ = Requester(first_psn);
    first_psn_ = first_psn;
    now_ = Time();
  }

  /// The n-th PSN from the first.
  uint32_t psn(uint32_t n) const { return psn_add(first_psn_, n); }
  Requester& requester() { return requester_; }
  RequesterPool& pool() { return *pool_; }
  Time now() const { return now_; }

  // Events.
  uint32_t post(Verb verb, uint32_t bytes, bool solicited = false) {
    const uint32_t slot = pool_->messages.take();
    OutboundMessage& message = pool_->messages[slot];
    message.verb = verb;
    message.bytes = bytes;
    message.solicited = solicited;
    requester_.post(*pool_, slot);
    return slot;
  }
  void pass(Duration duration) { now_ += duration; }
  AckOutcome acknowledgement(uint32_t psn, uint8_t syndrome, uint32_t msn = 0) {
    return requester_.acknowledge(*pool_, now_, {.psn = psn, .msn = msn, .syndrome = syndrome}).outcome;
  }
  AckOutcome ack(uint32_t psn) { return acknowledgement(psn, 0x1F); }
  AckOutcome ack_granting(uint8_t credit_code, uint32_t psn, uint32_t msn) {
    return acknowledgement(psn, credit_code, msn);
  }
  AckOutcome nak(uint32_t psn) { return acknowledgement(psn, 0x60); }
  AckOutcome not_ready(uint32_t psn, uint8_t code = 1) { return acknowledgement(psn, 0x20 | code); }
  ReadReception response(Opcode opcode, uint32_t psn, uint32_t bytes, uint8_t syndrome = 0x1F) {
    ParsedPacket packet;
    packet.opcode = opcode;
    packet.psn = psn;
    packet.payload_length = bytes;
    packet.pad = -bytes & 3;
    packet.syndrome = syndrome;
    return requester_.respond(*pool_, now_, packet);
  }
  /// Lets the time pass until the requester's deadline.
  AckOutcome time_out() {
    EXPECT_NE(requester_.deadline(), Time::never());
    now_ = std::max(now_, requester_.deadline());
    return requester_.expire(*pool_);
  }

  // Expectations.
  ExpectedPacket expect_sent(Opcode opcode, uint32_t psn) {
    const std::string where = "PSN " + std::to_string(psn);
    if (!requester_.can_send(pool_->options)) {
      ADD_FAILURE() << where << " is not sent";
      return ExpectedPacket({}, where);
    }
    const RequestRun run = requester_.next_run(*pool_, 1);
    requester_.sent(*pool_, run, now_);
    EXPECT_EQ(run.opcode, opcode) << where;
    EXPECT_EQ(run.psn, psn) << where;
    EXPECT_EQ(run.count, 1u) << where;
    return ExpectedPacket(run, where);
  }
  void expect_silence() { EXPECT_FALSE(requester_.can_send(pool_->options)); }
  /// Sends whatever may be sent, and returns how many packets that were.
  uint32_t send_all() {
    uint32_t packets = 0;
    for (; requester_.can_send(pool_->options); ++packets) {
      const RequestRun run = requester_.next_run(*pool_, 1);
      requester_.sent(*pool_, run, now_);
    }
    return packets;
  }
  void expect_done(uint32_t slot) { expect_failed(slot, Failure::kNone); }
  void expect_failed(uint32_t slot, Failure failure) {
    ASSERT_FALSE(pool_->finished.empty()) << "message " << slot;
    EXPECT_EQ(pool_->finished.pop_front(pool_->messages), slot);
    EXPECT_STREQ(to_string(pool_->messages[slot].failure), to_string(failure));
    pool_->messages.give_back(slot);
  }
  void expect_none_done() { EXPECT_TRUE(pool_->finished.empty()); }

 private:
  std::unique_ptr<RequesterPool> pool_;
  Requester requester_;
  uint32_t first_psn_ = 0;
  Time now_;
};

}  // namespace rankwire
