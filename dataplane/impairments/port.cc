#include "dataplane/impairments/port.h"

#include <algorithm>
#include <array>

#include "dataplane/impairments/packets.h"
#include "dataplane/ports/frame_view.h"
#include "dataplane/wire/pause.h"

namespace rankwire {
namespace {

/// After which a port that took no frame is asked again.
constexpr Duration kRetry = microseconds(1);

bool is_held(ImpairmentAction action) noexcept {
  return action == ImpairmentAction::kDelay || action == ImpairmentAction::kReorder;
}

}  // namespace

ImpairmentPort::ImpairmentPort(FramePort& inner, PortId id, PauseSender pauses, Impairments& impairments)
    : ForwardingPort(inner), id_(id), impairments_(impairments), capabilities_(inner.capabilities()) {
  completed_.reserve(kCompleted);
  if (pauses == PauseSender::kAnotherQueue) return;
  const std::vector<ImpairmentRule>& rules = impairments.rules();
  for (uint32_t i = 0; i < rules.size(); ++i)
    if (rules[i].action == ImpairmentAction::kPause && rules[i].port.value_or(id) == id)
      pauses_.push_back({i, rules[i].from});
}

ImpairmentPort::~ImpairmentPort() {
  out_.clear(inner_);
  in_.clear(inner_);
}

void ImpairmentPort::complete(std::span<const FrameBuffer> buffers, std::span<const FrameRun> runs) noexcept {
  inner_.complete(buffers, runs);
  for (const FrameRun& run : runs) {
    for (const FrameBuffer buffer : buffers.first(run.count))
      if (completed_.size() < kCompleted) completed_.push_back({.buffer = buffer, .shape = run.shape});
    buffers = buffers.subspan(run.count);
  }
}

void ImpairmentPort::discard(std::span<const FrameBuffer> buffers) noexcept {
  forget(buffers);
  inner_.discard(buffers);
}

ImpairmentPort::Completed* ImpairmentPort::find(FrameBuffer buffer) noexcept {
  const auto entry = std::ranges::find(completed_, buffer, &Completed::buffer);
  return entry == completed_.end() ? nullptr : &*entry;
}

// As a rule the oldest, in their order.
void ImpairmentPort::forget(std::span<const FrameBuffer> buffers) noexcept {
  size_t oldest = 0;
  const size_t most = std::min(buffers.size(), completed_.size());
  while (oldest < most && completed_[oldest].buffer == buffers[oldest]) ++oldest;
  completed_.erase(completed_.begin(), completed_.begin() + static_cast<ptrdiff_t>(oldest));
  for (const FrameBuffer buffer : buffers.subspan(oldest))
    if (Completed* const entry = find(buffer)) completed_.erase(completed_.begin() + (entry - completed_.data()));
}

void ImpairmentPort::see(Completed& completed, Time now) noexcept {
  if (completed.seen) return;
  completed.seen = true;
  const ParsedPacket packet = parse(frame_in(completed.buffer, completed.shape, capabilities_));
  if (packet.reject != Reject::kNone) return;
  completed.place = impairments_.flows().place(packet, PortSide::kTransmit);
  if (completed.place) completed.rule = impairments_.choose(*completed.place, id_, PortSide::kTransmit, now);
}

// Frames that pass go in runs; one that is impaired, or that another waits for, ends the run in front of it.
size_t ImpairmentPort::send(Time now, std::span<FrameBuffer> buffers) noexcept {
  last_now_ = now;
  if (!flush(now)) return 0;
  size_t sent = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    Completed* frame = find(buffers[i]);
    if (frame == nullptr) continue;
    see(*frame, now);
    if (!frame->rule && !(frame->place && out_.waits_for(frame->place->to))) continue;
    sent += send_run(now, buffers.subspan(sent, i - sent));
    if (sent < i || !send_one(now, buffers[i])) return sent;
    ++sent;
    if (!flush(now)) return sent;
  }
  return sent + send_run(now, buffers.subspan(sent));
}

size_t ImpairmentPort::send_run(Time now, std::span<FrameBuffer> buffers) noexcept {
  size_t sent = 0;
  while (sent < buffers.size()) {
    // What the port takes is no longer in its place.
    std::array<FrameBuffer, kBurst> offered;
    const size_t n = std::min(kBurst, buffers.size() - sent);
    std::copy_n(buffers.begin() + static_cast<ptrdiff_t>(sent), n, offered.begin());
    const size_t taken = inner_.send(now, buffers.subspan(sent, n));
    forget({offered.data(), taken});
    sent += taken;
    if (taken < n) break;
  }
  return sent;
}

// A frame that is impaired, or that another waits for. False when the port has refused it.
bool ImpairmentPort::send_one(Time now, FrameBuffer buffer) noexcept {
  Completed& frame = *find(buffer);
  const PacketPlace place = *frame.place;
  if (frame.rule) {
    const Frame original = frame_in(frame.buffer, frame.shape, capabilities_);
    const ParsedPacket packet = parse(original);
    const bool replaced = impair(original, {packet, place, *frame.rule, PortSide::kTransmit, now});
    frame.rule.reset();
    if (replaced) {
      discard({&buffer, 1});
      return true;
    }
  }
  if (send_run(now, {&buffer, 1}) == 0) return false;
  out_.passed(place.to, now);
  return true;
}

// Hands what is ready to the port. False while it takes no more.
bool ImpairmentPort::flush(Time now) noexcept {
  out_.release(now);
  if (out_.ready().empty()) return true;
  out_.pop(inner_.transmit(now, out_.ready()));
  return out_.ready().empty();
}

size_t ImpairmentPort::receive(Time now, std::span<Frame> frames) noexcept {
  last_now_ = now;
  send_pauses(now);
  in_.release(now);
  size_t done = 0;
  const auto take = [&] {
    const size_t n = std::min(in_.ready().size(), frames.size() - done);
    std::ranges::copy(in_.ready().first(n), frames.begin() + static_cast<ptrdiff_t>(done));
    in_.pop(n);
    done += n;
  };
  take();
  while (done < frames.size()) {
    std::array<Frame, kBurst> arrived;
    const size_t n = inner_.receive(now, std::span(arrived).first(std::min(kBurst, frames.size() - done)));
    if (n == 0) break;
    for (const Frame& frame : std::span(arrived).first(n)) admit(frame, now);
    take();
  }
  flush(now);
  return done;
}

void ImpairmentPort::admit(const Frame& frame, Time now) noexcept {
  const ParsedPacket packet = parse(frame);
  std::optional<PacketPlace> place;
  if (packet.reject == Reject::kNone) place = impairments_.flows().place(packet, PortSide::kReceive);
  if (!place) return enqueue(frame, in_);
  if (const auto rule = impairments_.choose(*place, id_, PortSide::kReceive, now)) {
    if (impair(frame, {packet, *place, *rule, PortSide::kReceive, now})) return inner_.release({&frame, 1});
  }
  enqueue(frame, in_);
  in_.passed(place->to, now);
}

// True when the frame itself is to go no further: nothing, or copies, take its place.
bool ImpairmentPort::impair(const Frame& frame, const Target& target) noexcept {
  const ImpairmentAction action = impairments_.rules()[target.rule].action;
  const bool sent = target.side == PortSide::kTransmit;
  bool done = action == ImpairmentAction::kDrop;
  if (is_forged(action)) {
    done = forge(target, sent ? in_ : out_);
  } else if (!done) {
    done = replace(frame, target, sent ? out_ : in_);
  }
  if (!done) {
    impairments_.note_not_done(target.rule);
    return false;
  }
  impairments_.note_done({.time = target.now,
                          .rule = target.rule,
                          .port = id_,
                          .connection = target.place.connection,
                          .message = target.place.message,
                          .packet = target.place.packet,
                          .psn = target.packet.psn,
                          .opcode = target.packet.opcode,
                          .side = target.side});
  return !is_forged(action);
}

bool ImpairmentPort::replace(const Frame& frame, const Target& target, ImpairmentQueue& queue) noexcept {
  const ImpairmentRule& rule = impairments_.rules()[target.rule];
  std::array<Frame, 2> copies;
  const size_t wanted = rule.action == ImpairmentAction::kDuplicate ? 2 : 1;
  const size_t n = inner_.allocate(std::span(copies).first(wanted));
  const auto all = std::span(copies).first(n);
  bool done = n == wanted;
  if (done) {
    for (Frame& copy : all) copy_whole(frame, copy);
    done = hold_or_change(rule, target, copies[0], queue);
  }
  if (!done) {
    inner_.release(all);
  } else if (!is_held(rule.action)) {
    for (const Frame& copy : all) enqueue(copy, queue);
    queue.passed(target.place.to, target.now);
  }
  return done;
}

// Changes the copy or holds it back, or does nothing to it, as the rule says. False when that cannot be done.
bool ImpairmentPort::hold_or_change(const ImpairmentRule& rule, const Target& target, Frame& copy,
                                    ImpairmentQueue& queue) noexcept {
  switch (rule.action) {
    case ImpairmentAction::kDuplicate:
      return true;
    case ImpairmentAction::kDelay:
      return queue.hold_until((target.side == PortSide::kReceive ? copy.arrival : target.now) + rule.delay, copy);
    case ImpairmentAction::kReorder:
      return queue.hold_behind(target.place.to, rule.behind, copy);
    default:
      return change_packet(rule.action, target.packet, impairments_.random(target.rule), copy);
  }
}

// What seems to come from the packet's receiver, for the one who sent the packet.
bool ImpairmentPort::forge(const Target& target, ImpairmentQueue& queue) noexcept {
  Frame frame;
  if (inner_.allocate({&frame, 1}) == 0) return false;
  const ForgedAnswer answer{.action = impairments_.rules()[target.rule].action,
                            .queue_pair = impairments_.flows().end(target.place.flow).queue_pair,
                            .msn = target.place.msn,
                            .markings = impairments_.options().markings,
                            .hop_limit = impairments_.options().hop_limit};
  write_forged(answer, target.packet, frame);
  frame.arrival = target.now;
  enqueue(frame, queue);
  return true;
}

void ImpairmentPort::enqueue(const Frame& frame, ImpairmentQueue& queue) noexcept {
  if (!queue.push(frame)) inner_.release({&frame, 1});
}

void ImpairmentPort::send_pauses(Time now) noexcept {
  for (PauseSchedule& schedule : pauses_) {
    if (schedule.next > now) continue;
    const ImpairmentRule& rule = impairments_.rules()[schedule.rule];
    const bool wanted = now < rule.until && impairments_.choose_pause(schedule.rule);
    while (wanted && rule.interval && schedule.next <= now) schedule.next += *rule.interval;
    if (!wanted || !rule.interval) schedule.next = Time::never();
    if (wanted) send_pause(schedule.rule, now);
  }
}

void ImpairmentPort::send_pause(uint32_t rule, Time now) noexcept {
  Frame frame;
  if (inner_.allocate({&frame, 1}) == 0) return impairments_.note_not_done(rule);
  write_pause(impairments_.address_of(id_), impairments_.rules()[rule].pause, frame);
  enqueue(frame, out_);
  ++pauses_sent_;
  impairments_.note_done({.time = now, .rule = rule, .port = id_});
}

PortCounters ImpairmentPort::counters() const {
  PortCounters counters = inner_.counters();
  counters.pause_tx += pauses_sent_;
  return counters;
}

Time ImpairmentPort::next_event() const noexcept {
  Time next = std::min(inner_.next_event(), in_.next_event(last_now_));
  next = std::min(next, out_.next_event(last_now_ + kRetry));
  for (const PauseSchedule& schedule : pauses_) next = std::min(next, schedule.next);
  return next;
}

}  // namespace rankwire
