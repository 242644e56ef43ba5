#include "dataplane/protocol/responder.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "dataplane/protocol/step.h"

namespace rankwire {
namespace {

/// What a request is by its opcode (IBTA 9.2.1 table 38).
struct RequestForm {
  bool known = false, send = false, read = false, first = false, last = false, immediate = false;
};

constexpr RequestForm form_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSendFirst:
      return {.known = true, .send = true, .first = true};
    case Opcode::kSendMiddle:
      return {.known = true, .send = true};
    case Opcode::kSendLast:
      return {.known = true, .send = true, .last = true};
    case Opcode::kSendLastImmediate:
      return {.known = true, .send = true, .last = true, .immediate = true};
    case Opcode::kSendOnly:
      return {.known = true, .send = true, .first = true, .last = true};
    case Opcode::kSendOnlyImmediate:
      return {.known = true, .send = true, .first = true, .last = true, .immediate = true};
    case Opcode::kWriteFirst:
      return {.known = true, .first = true};
    case Opcode::kWriteMiddle:
      return {.known = true};
    case Opcode::kWriteLast:
      return {.known = true, .last = true};
    case Opcode::kWriteLastImmediate:
      return {.known = true, .last = true, .immediate = true};
    case Opcode::kWriteOnly:
      return {.known = true, .first = true, .last = true};
    case Opcode::kWriteOnlyImmediate:
      return {.known = true, .first = true, .last = true, .immediate = true};
    case Opcode::kReadRequest:
      return {.known = true, .read = true, .first = true, .last = true};
    default:
      return {};
  }
}

constexpr auto kForms = [] {
  std::array<RequestForm, 256> forms{};
  for (size_t i = 0; i < forms.size(); ++i) forms[i] = form_of(static_cast<Opcode>(i));
  return forms;
}();

constexpr Verb verb_of(const RequestForm& form) {
  if (form.read) return Verb::kRead;
  if (form.send) return form.immediate ? Verb::kSendImmediate : Verb::kSend;
  return form.immediate ? Verb::kWriteImmediate : Verb::kWrite;
}

// A SEND takes its receive with its first packet, a WRITE with immediate with its last (IBTA 9.7.7.2).
constexpr bool takes_receive(const RequestForm& form) {
  return form.send ? form.first : form.immediate;
}

// IBTA 9.7.4.1.6.
bool full_packet(const ParsedPacket& packet, uint32_t mtu) {
  return packet.payload_length == mtu && packet.pad == 0;
}

bool padded_as_needed(const ParsedPacket& packet) {
  return packet.pad == (-packet.payload_length & 3);
}

// For a packet of a WRITE in front of which `remaining` bytes of its message are missing.
bool write_length_is_valid(const RequestForm& form, const ParsedPacket& packet, uint32_t remaining, uint32_t mtu) {
  if (!form.last) return full_packet(packet, mtu) && remaining > mtu;
  return packet.payload_length == remaining && remaining <= mtu && padded_as_needed(packet);
}

// For a packet of a SEND in front of which `received` bytes of its message have arrived.
bool send_length_is_valid(const RequestForm& form, const ParsedPacket& packet, uint32_t received,
                          const ResponderOptions& options) {
  if (uint64_t{received} + packet.payload_length > options.receive_bytes) return false;
  if (!form.last) return full_packet(packet, options.mtu);
  const uint32_t least = form.first ? 0 : 1;
  return packet.payload_length >= least && packet.payload_length <= options.mtu && padded_as_needed(packet);
}

}  // namespace

Responder::Responder(uint32_t first_psn, const MemoryRegion& region, const ResponderResources& resources) noexcept
    : address_(region.address),
      region_bytes_(region.bytes),
      reads_(resources.reads.data()),
      rkey_(region.rkey),
      expected_(first_psn),
      receives_(resources.receives),
      read_capacity_(static_cast<uint8_t>(std::min<size_t>(resources.reads.size(), ResponderResources::kMaxReads))),
      progress_(Progress::kBetweenMessages),
      remote_write_(region.remote_write),
      remote_read_(region.remote_read),
      grants_credits_(resources.grants_credits) {}

Reception Responder::receive_other(const ResponderOptions& options, const ParsedPacket& packet) noexcept {
  const StateStep step(*this, packet);
  if (progress_ == Progress::kError) return {};
  if (const int32_t ahead = psn_distance(expected_, packet.psn); ahead != 0)
    return ahead < 0 ? repeated(options, packet) : early();

  const RequestForm& form = kForms[static_cast<size_t>(packet.opcode)];
  const Progress continued = form.send ? Progress::kInSend : Progress::kInWrite;
  if (progress_ != (form.first ? Progress::kBetweenMessages : continued)) return refuse(Syndrome::kNakInvalidRequest);
  if (!form.known || !permits(verb_of(form))) return refuse(Syndrome::kNakInvalidRequest);
  if (faulty_) return refuse(Syndrome::kNakRemoteOperational);
  if (form.read) return accept_read(options, packet);
  if (takes_receive(form) && receives_ == 0) return not_ready(options);

  const uint32_t received = form.first ? 0 : received_;
  const uint32_t remaining = form.first ? packet.dma_length : remaining_;
  const bool length_is_valid = form.send ? send_length_is_valid(form, packet, received, options)
                                         : write_length_is_valid(form, packet, remaining, options.mtu);
  if (!length_is_valid) return refuse(Syndrome::kNakInvalidRequest);
  if (form.first && !form.send) {
    if (!reaches(packet)) return refuse(Syndrome::kNakRemoteAccess);
    region_offset_ = packet.dma_length == 0 ? 0 : packet.address - address_;
  }

  if (takes_receive(form) && receives_ != ResponderResources::kUnlimited) --receives_;
  received_ = received + packet.payload_length;
  remaining_ = remaining - packet.payload_length;
  progress_ = form.last ? Progress::kBetweenMessages : continued;
  if (form.last) msn_ = psn_add(msn_, 1);
  take(packet);
  return {.arrival = Arrival::kAccepted,
          .verb = verb_of(form),
          .first = form.first,
          .last = form.last,
          .offset = received,
          .message_bytes = form.send ? (form.last ? received_ : 0) : received_ + remaining_,
          .immediate = packet.immediate,
          .region_offset = form.send ? 0 : region_offset_};
}

bool Responder::permits(Verb verb) const noexcept {
  switch (verb) {
    case Verb::kRead:
      return remote_read_ && read_capacity_ > 0;
    case Verb::kWrite:
    case Verb::kWriteImmediate:
      return remote_write_;
    default:
      return true;
  }
}

// IBTA 9.7.4.1.5: an empty message touches no memory and needs no valid key.
bool Responder::reaches(const ParsedPacket& packet) const noexcept {
  if (packet.dma_length == 0) return true;
  if (packet.rkey != rkey_ || packet.address < address_) return false;
  const uint64_t offset = packet.address - address_;
  return offset <= region_bytes_ && packet.dma_length <= region_bytes_ - offset;
}

Reception Responder::accept_read(const ResponderOptions& options, const ParsedPacket& packet) noexcept {
  const uint32_t packets = packets_of(packet.dma_length, options.mtu);
  if (packets > kMaxReadPackets) return refuse(Syndrome::kNakInvalidRequest);
  if (!reaches(packet)) return refuse(Syndrome::kNakRemoteAccess);
  // More READs outstanding than were agreed. One that is only answered again is no longer outstanding.
  const uint8_t slot = stored_ == 0 ? 0 : static_cast<uint8_t>((newest_ + 1) % read_capacity_);
  if (stored_ == read_capacity_ && reads_[slot].pending && !reads_[slot].answered)
    return refuse(Syndrome::kNakInvalidRequest);

  msn_ = psn_add(msn_, 1);
  reads_[slot] = {.region_offset = packet.dma_length == 0 ? 0 : packet.address - address_,
                  .first_psn = packet.psn,
                  .bytes = packet.dma_length,
                  .msn = msn_,
                  .end = packet.dma_length,
                  .pending = 1};
  newest_ = slot;
  if (stored_ < read_capacity_) ++stored_;
  activate_oldest_read();
  expected_ = psn_add(expected_, packets);
  nak_outstanding_ = false;
  // The response acknowledges everything before it.
  owed_ = kNothing;
  merged_ = 0;
  return {.arrival = Arrival::kAccepted,
          .verb = Verb::kRead,
          .first = true,
          .last = true,
          .message_bytes = packet.dma_length,
          .region_offset = reads_[slot].region_offset};
}

Reception Responder::early() noexcept {
  if (nak_outstanding_) return {.arrival = Arrival::kAhead};
  nak_outstanding_ = true;
  owe_nak(static_cast<uint8_t>(Syndrome::kNakSequence));
  return {.arrival = Arrival::kGap};
}

Reception Responder::repeated(const ResponderOptions& options, const ParsedPacket& packet) noexcept {
  if (packet.opcode == Opcode::kReadRequest) {
    repeat_read(options, packet);
  } else if (!owes_nak()) {
    owe_ack();
  }
  return {.arrival = Arrival::kDuplicate};
}

// IBTA 9.7.5: executed again when it asks for a part of a READ that is remembered, else dropped.
void Responder::repeat_read(const ResponderOptions& options, const ParsedPacket& packet) noexcept {
  for (uint8_t age = 0; age < stored_; ++age) {
    ReadResource& read = reads_[read_index(age)];
    const int32_t position = psn_distance(read.first_psn, packet.psn);
    if (position < 0) continue;
    const uint32_t skipped = static_cast<uint32_t>(position) * options.mtu;
    const bool within = static_cast<uint32_t>(position) < packets_of(read.bytes, options.mtu);
    if (!within || packet.dma_length > read.bytes - skipped) return;
    if (packet.dma_length == 0 && read.bytes > 0) return;
    if (packet.dma_length > 0 && (packet.rkey != rkey_ || packet.address != address_ + read.region_offset + skipped))
      return;
    read.begin = static_cast<uint32_t>(position);
    read.next = read.begin;
    read.end = skipped + packet.dma_length;
    read.pending = 1;
    return activate_oldest_read();
  }
}

uint8_t Responder::read_index(uint32_t age) const noexcept {
  return static_cast<uint8_t>((newest_ + read_capacity_ - age) % read_capacity_);
}

void Responder::activate_oldest_read() noexcept {
  active_ = kNoRead;
  for (uint8_t age = stored_; age > 0 && active_ == kNoRead; --age)
    if (const uint8_t index = read_index(age - 1u); reads_[index].pending) active_ = index;
}

ResponseRun Responder::next_response(const ResponderOptions& options, uint32_t limit) const noexcept {
  assert(response_pending());
  const ReadResource& read = reads_[active_];
  const uint32_t last = packets_of(read.end, options.mtu) - 1;
  ResponseRun run;
  run.psn = psn_add(read.first_psn, read.next);
  run.region_offset = read.region_offset;
  run.offset = read.next * options.mtu;
  if (read.next != read.begin && read.next != last) {
    run.opcode = Opcode::kReadResponseMiddle;
    run.length = options.mtu;
    run.count = std::min(limit, last - read.next);
    return run;
  }
  run.syndrome = ack_syndrome();
  run.msn = read.msn;
  if (read.next == last) {
    run.opcode = read.next == read.begin ? Opcode::kReadResponseOnly : Opcode::kReadResponseLast;
    run.length = read.end - run.offset;
  } else {
    run.opcode = Opcode::kReadResponseFirst;
    run.length = options.mtu;
  }
  return run;
}

void Responder::responded(const ResponseRun& run) noexcept {
  const StateStep step(*this, run);
  ReadResource& read = reads_[active_];
  read.next += run.count;
  if (run.opcode != Opcode::kReadResponseLast && run.opcode != Opcode::kReadResponseOnly) return;
  read.pending = 0;
  read.answered = 1;
  activate_oldest_read();
}

Reception Responder::not_ready(const ResponderOptions& options) noexcept {
  nak_outstanding_ = true;
  owe_nak(static_cast<uint8_t>(kSyndromeTypeNotReady | options.not_ready_code));
  return {.arrival = Arrival::kNotReady};
}

Reception Responder::refuse(Syndrome syndrome) noexcept {
  progress_ = Progress::kError;
  owe_nak(static_cast<uint8_t>(syndrome));
  return {.arrival = Arrival::kRefused};
}

void Responder::owe_nak(uint8_t syndrome) noexcept {
  owed_ = syndrome;
  merged_ = 1;
}

void Responder::post_receives(uint32_t count) noexcept {
  if (receives_ != ResponderResources::kUnlimited) receives_ += count;
}

// A SEND in progress has its receive, and MSN does not count it yet.
uint8_t Responder::ack_syndrome() const noexcept {
  if (!grants_credits_ || receives_ == ResponderResources::kUnlimited) return kCreditsInvalid;
  return credit_code(receives_ + (progress_ == Progress::kInSend ? 1 : 0));
}

Acknowledgement Responder::take_reply() noexcept {
  assert(reply_owed());
  const StateStep step(*this, StateStep::Reply{});
  const bool nak = owes_nak();
  const uint8_t syndrome = nak ? owed_ : ack_syndrome();
  owed_ = kNothing;
  merged_ = 0;
  // An ACK names the newest packet in order, a NAK the packet that is expected.
  return {.psn = nak ? expected_ : psn_add(expected_, kPsnMask), .msn = msn_, .syndrome = syndrome};
}

}  // namespace rankwire
