// A requester and a responder with a channel between them that its owner drops from, repeats and reorders, and the
// rules that hold whatever happens to the packets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <type_traits>
#include <vector>

#include "dataplane/protocol/requester.h"
#include "dataplane/protocol/responder.h"

namespace rankwire {

struct RcChannelOptions {
  ReliableOptions requester;
  ResponderOptions responder;
  uint32_t remembered_reads = 4;
  uint32_t receives = ResponderResources::kUnlimited;
  bool grants_credits = false;
  uint32_t first_psn = 0;
  uint32_t messages = 64;  ///< the most that can be posted and not finished
};

/// The first rule that is broken stays in `violation`. Time is the owner's. Without forged packets all rules hold; with
/// them only those that concern one half.
class RcChannel {
 public:
  static constexpr MemoryRegion kRegion{.address = 0x7000'0000'0000, .bytes = 1 << 20, .rkey = 0x1234};

  explicit RcChannel(const RcChannelOptions& options)
      : options_(options),
        reads_(options.remembered_reads),
        pool_(options.requester, options.messages),
        requester_(options.first_psn),
        responder_(options.first_psn, kRegion,
                   {.reads = reads_, .receives = options.receives, .grants_credits = options.grants_credits}) {}
  RcChannel(const RcChannel&) = delete;
  RcChannel& operator=(const RcChannel&) = delete;

  /// The packets on their way, oldest first.
  std::deque<ParsedPacket> requests, answers;
  Time now;

  const char* violation() const { return violation_; }
  const Requester& requester() const { return requester_; }
  const Responder& responder() const { return responder_; }
  uint64_t delivered() const { return delivered_; }
  uint64_t finished() const { return finished_; }
  bool forged() const { return forged_; }
  bool failed() const { return requester_.state() == Requester::State::kError; }

  /// Packets that neither half sent are given to `receive` or `take_answer` from now on.
  void forge() { forged_ = true; }
  /// The responder's own failure.
  void fault() {
    forged_ = true;
    responder_.fault();
  }

  void post(Verb verb, uint32_t bytes) {
    const uint32_t slot = pool_.messages.take();
    if (slot == OutboundMessage::kNone) return;
    OutboundMessage& message = pool_.messages[slot];
    message.verb = verb;
    message.bytes = bytes;
    message.index = message.immediate = static_cast<uint32_t>(posted_.size());
    message.rkey = kRegion.rkey;
    message.remote_address = kRegion.address + message.index % 64 * 4096;
    posted_.push_back({verb, bytes, message.remote_address - kRegion.address});
    requester_.post(pool_, slot);
    collect_finished();
  }

  /// Puts at most `limit` packets into the channel.
  void send(uint32_t limit) {
    if (!requester_.can_send(options_.requester)) return;
    requester_.look_ahead(options_.requester);
    if (const uint32_t packets = requester_.new_packets(options_.requester, limit); packets > 0)
      return send_new(packets, limit);
    const uint32_t before = requester_.in_flight();
    const RequestRun run = requester_.next_run(pool_, limit);
    rule(run.count >= 1 && run.count <= limit, "a run is at least one packet and within its limit");
    for (uint32_t i = 0; i < run.count; ++i) requests.push_back(request_packet(run, i));
    requester_.sent(pool_, run, now);
    const bool read = run.opcode == Opcode::kReadRequest;
    rule(before < options_.requester.window, "nothing is sent beyond the window");
    rule(read || requester_.in_flight() <= options_.requester.window, "only a READ overshoots the window");
    check_requester();
  }

  /// Puts READ responses, at most `limit`, or else what is owed into the channel.
  void answer(uint32_t limit) {
    if (responder_.response_pending()) {
      const ResponseRun run = responder_.next_response(options_.responder, limit);
      rule(run.count >= 1 && run.count <= limit, "a run of responses is at least one packet and within its limit");
      for (uint32_t i = 0; i < run.count; ++i) answers.push_back(response_packet(run, i));
      responder_.responded(run);
    } else if (responder_.reply_owed()) {
      reply();
    }
  }

  void deliver_request(size_t index, bool keep) {
    if (index >= requests.size()) return;
    const ParsedPacket packet = requests[index];
    if (!keep) drop_request(index);
    receive(packet);
  }
  void deliver_answer(size_t index, bool keep) {
    if (index >= answers.size()) return;
    const ParsedPacket packet = answers[index];
    if (!keep) drop_answer(index);
    take_answer(packet);
  }

  void drop_request(size_t index) {
    if (index < requests.size()) requests.erase(requests.begin() + static_cast<ptrdiff_t>(index));
  }
  void drop_answer(size_t index) {
    if (index < answers.size()) answers.erase(answers.begin() + static_cast<ptrdiff_t>(index));
  }

  void receive(const ParsedPacket& packet) {
    const uint32_t msn = responder_.msn(), expected = responder_.expected_psn();
    const Reception reception = responder_.receive(options_.responder, packet);
    const bool completes = reception.arrival == Arrival::kAccepted && reception.last;
    rule(responder_.msn() == psn_add(msn, completes ? 1 : 0), "MSN counts messages completed");
    rule((psn_distance(expected, responder_.expected_psn()) > 0) == (reception.arrival == Arrival::kAccepted),
         "the expected PSN grows with what is accepted and with nothing else");
    if (completes) deliver(reception);
    if (responder_.reply_due(options_.responder)) reply();
  }

  void take_answer(const ParsedPacket& packet) {
    if (is_read_response(packet.opcode)) {
      take_response(packet);
    } else {
      requester_.acknowledge(pool_, now, {.psn = packet.psn, .msn = packet.msn, .syndrome = packet.syndrome});
    }
    collect_finished();
    check_requester();
  }

  /// Passes the time to the requester's deadline and beyond it.
  void expire() {
    if (requester_.deadline() == Time::never()) return;
    now = std::max(now, requester_.deadline());
    requester_.expire(pool_);
    collect_finished();
    check_requester();
  }

  void post_receives(uint32_t count) { responder_.post_receives(count); }

  /// Without loss from now on, everything posted finishes.
  void drain() {
    for (uint64_t steps = 0; !requester_.idle() && violation_ == nullptr; ++steps) {
      if (steps > 1'000'000) return rule(false, "what was posted finishes when nothing is lost any more");
      now += nanoseconds(100);
      if (responder_.receives() == 0) responder_.post_receives(1);
      if (!requests.empty()) {
        deliver_request(0, false);
      } else if (!answers.empty()) {
        deliver_answer(0, false);
      } else if (responder_.response_pending() || responder_.reply_owed()) {
        answer(16);
      } else if (requester_.can_send(options_.requester)) {
        send(16);
      } else {
        if (requester_.deadline() == Time::never()) return rule(false, "a requester that waits has a deadline");
        expire();
      }
    }
    if (failed() || forged_) return;
    rule(delivered_ == posted_.size() && finished_ == posted_.size(), "every message is delivered and finished");
    rule(requester_.in_flight() == 0, "nothing is unacknowledged in the end");
    rule(requester_.deadline() == Time::never(), "an idle requester waits for nothing");
    rule(requester_.next_psn() == responder_.expected_psn(), "both halves end at the same PSN");
  }

 private:
  struct Posted {
    Verb verb;
    uint32_t bytes;
    uint64_t region_offset;
  };

  void rule(bool holds, const char* text) {
    if (!holds && violation_ == nullptr) violation_ = text;
  }

  ParsedPacket request_packet(const RequestRun& run, uint32_t i) const {
    const OutboundMessage& message = pool_.messages[run.message];
    ParsedPacket packet;
    packet.opcode = run.opcode;
    packet.psn = psn_add(run.psn, i);
    packet.ack_request = run.ack_request;
    packet.payload_length = run.length;
    packet.pad = -run.length & 3;
    packet.rkey = message.rkey;
    packet.address = message.remote_address + run.offset;
    packet.dma_length = run.dma_length;
    packet.immediate = message.immediate;
    return packet;
  }

  static ParsedPacket response_packet(const ResponseRun& run, uint32_t i) {
    ParsedPacket packet;
    packet.opcode = run.opcode;
    packet.psn = psn_add(run.psn, i);
    packet.payload_length = run.length;
    packet.pad = -run.length & 3;
    packet.syndrome = run.syndrome;
    packet.msn = run.msn;
    // What the payload would be: which bytes of the region.
    packet.address = run.region_offset + run.offset + uint64_t{i} * run.length;
    return packet;
  }

  void reply() {
    const Acknowledgement reply = responder_.take_reply();
    ParsedPacket packet;
    packet.opcode = Opcode::kAcknowledge;
    packet.psn = reply.psn;
    packet.msn = reply.msn;
    packet.syndrome = reply.syndrome;
    answers.push_back(packet);
  }

  void deliver(const Reception& reception) {
    if (forged_) return;
    if (delivered_ >= posted_.size()) return rule(false, "nothing is delivered that was not posted");
    const Posted& posted = posted_[delivered_];
    rule(reception.verb == posted.verb && reception.message_bytes == posted.bytes,
         "messages are delivered once, in the order of posting");
    rule(!has_immediate(posted.verb) || reception.immediate == delivered_, "the immediate is the message's");
    const bool placed = (posted.verb == Verb::kRead || posted.verb == Verb::kWrite) && posted.bytes > 0;
    rule(!placed || reception.region_offset == posted.region_offset, "WRITE and READ go where they were sent");
    ++delivered_;
  }

  void take_response(const ParsedPacket& packet) {
    const ReadReception reception = requester_.respond(pool_, now, packet);
    if (reception.outcome != ResponseOutcome::kAccepted) return;
    const OutboundMessage message = pool_.messages[reception.message];
    collect_finished();
    rule(message.verb == Verb::kRead && message.index + (reception.last ? 1 : 0) == finished_,
         "a response is of the oldest READ");
    rule(reception.offset == read_bytes_, "the payload of a READ arrives in order and once");
    if (!forged_ && message.bytes > 0)
      rule(packet.address == message.remote_address - kRegion.address + reception.offset, "it is what was asked for");
    read_bytes_ = reception.last ? 0 : read_bytes_ + packet.payload_length;
    rule(!reception.last || reception.offset + packet.payload_length == message.bytes, "a READ ends with its bytes");
  }

  void collect_finished() {
    while (!pool_.finished.empty()) {
      const uint32_t slot = pool_.finished.pop_front(pool_.messages);
      const OutboundMessage& message = pool_.messages[slot];
      rule(message.index == finished_, "messages finish once, in the order of posting");
      rule(forged_ || message.failure != Failure::kNone || message.index < delivered_,
           "what is finished has been delivered");
      ++finished_;
      pool_.messages.give_back(slot);
    }
  }

  // The packets that could go out by the short way, by the long one; both must leave the requester alike.
  void send_new(uint32_t packets, uint32_t limit) {
    static_assert(std::is_trivially_copyable_v<Requester>);
    rule(packets <= limit, "new packets are within their limit");
    Requester twin = requester_, whole = requester_;
    const bool is_whole = packets == whole.whole_message(options_.requester);
    rule(!is_whole || (whole.at_first() && packets > 2 && packets == whole.packets_left()),
         "what is sent at once is a whole message");
    const uint32_t message = twin.next_message();
    for (uint32_t sent = 0; sent < packets;) {
      const bool can_send = requester_.can_send(options_.requester);
      rule(can_send, "all new packets can be sent");
      if (!can_send) return;
      const RequestRun run = requester_.next_run(pool_, packets - sent);
      sent += run.count;
      const bool last = sent == packets && packets == twin.packets_left();
      rule(run.message == message && !run.retransmission,
           "new packets are of one message, and go out for the first time");
      rule(run.ack_request == last, "only the last packet of a message asks for an acknowledgement");
      for (uint32_t i = 0; i < run.count; ++i) requests.push_back(request_packet(run, i));
      requester_.sent(pool_, run, now);
    }
    twin.new_packets_sent(pool_, packets, now);
    rule(std::memcmp(&twin, &requester_, sizeof twin) == 0, "the short way leaves the requester as the long one does");
    if (is_whole) {
      whole.message_sent(pool_, now);
      rule(std::memcmp(&whole, &requester_, sizeof whole) == 0, "a message sent at once leaves it alike, too");
    }
    rule(requester_.in_flight() <= options_.requester.window, "nothing is sent beyond the window");
    check_requester();
  }

  void check_requester() {
    const uint32_t unacknowledged = requester_.oldest_unacknowledged();
    rule(psn_distance(unacknowledged, requester_.next_psn()) >= 0, "the next packet is not acknowledged");
    rule(psn_distance(requester_.next_psn(), requester_.end_psn()) >= 0, "the next packet is not behind the last");
    rule(requester_.plain_packets() <= requester_.new_middles(options_.requester, UINT32_MAX),
         "what was found to be plain packets can still be sent as such");
    rule(requester_.reads_outstanding() <= options_.requester.max_reads, "READs outstanding are within their limit");
    rule(pool_.messages.free_count() + (posted_.size() - finished_) == options_.messages, "no message is lost");
    const bool waits = requester_.state() == Requester::State::kReady && !requester_.idle() &&
                       !requester_.can_send(options_.requester);
    rule(!waits || requester_.deadline() != Time::never() || options_.requester.timeout == Duration::max(),
         "a requester that waits has a deadline");
  }

  const RcChannelOptions options_;
  std::vector<ReadResource> reads_;
  RequesterPool pool_;
  Requester requester_;
  Responder responder_;
  std::vector<Posted> posted_;
  uint64_t delivered_ = 0, finished_ = 0;
  uint32_t read_bytes_ = 0;  // of the READ that is being answered
  bool forged_ = false;
  const char* violation_ = nullptr;
};

}  // namespace rankwire
