// The sending side of one port: frames in hand, the line's schedule, and who wants to send.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/id.h"
#include "base/index_queue.h"
#include "base/units.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/ports/pacer.h"
#include "dataplane/roce/answer_queue.h"
#include "dataplane/wire/priority.h"

namespace rankwire {

/// The priorities by which a pause stops a lane's frames; `answers` leave in one order, so they stop as one.
struct LanePriorities {
  PrioritySet data = 0;
  PrioritySet answers = 0;        ///< ACKs and NAKs
  PrioritySet notifications = 0;  ///< CNPs
  PrioritySet discovery = priority_bit(0);
};

/// Which queue pairs are queued, of all lanes of a transport (see IndexQueue).
struct LaneMarks {
  std::span<uint8_t> senders, repliers;
  std::span<uint8_t> readers;  ///< empty: none may be read from
};

/// Owned by one transport and used by its thread. No allocation after construction. A frame that the port refuses stays
/// here and is offered again before any other, so order is kept and nothing is lost.
class alignas(64) TransmitLane {
 public:
  /// Frames of a turn of the loop, at most: two handfuls.
  static constexpr uint32_t kBurst = 128;
  /// As many are handed to the port at once: so few that what was written of them still is in the innermost cache when
  /// the port reads it, and that those taken next are the same buffers.
  static constexpr uint32_t kHandful = kBurst / 2;

  /// `queue_pairs` of those that have a place in `marks` are this lane's. `handful`: frames, 1 .. kHandful.
  TransmitLane(PortId id, FramePort& port, const Pacer& pacer, const LanePriorities& priorities, uint32_t queue_pairs,
               const LaneMarks& marks, uint32_t handful = kHandful)
      : senders(queue_pairs, marks.senders),
        repliers(queue_pairs, marks.repliers),
        readers(marks.readers.empty() ? 0 : queue_pairs, marks.readers),
        id_(id),
        port_(&port),
        priorities_(priorities),
        capabilities_(port.capabilities()),
        handful_(handful),
        pacer_(pacer) {}

  IndexQueue senders;                  ///< queue pairs that may send requests, in the order of their turns
  IndexQueue repliers;                 ///< queue pairs that owe an answer: what it says is decided when it is sent
  IndexQueue readers;                  ///< queue pairs that owe READ responses, in the order of their turns
  AnswerQueue answers;                 ///< answers that were decided before; sent before those of `repliers`
  Time discovery_due = Time::never();  ///< when neighbour discovery has something to send
  Time pause_due = Time::never();      ///< when the far end is to be paused, or to go on
  bool after_response = false;         ///< the turn before was one of `readers`
  bool owes_notification = false;      ///< CNPs are to be sent, before all that queue pairs send
  uint32_t run = 0;                    ///< packets that the first of `senders` has sent in this turn

  /// Fetches the memory that every transmission takes.
  [[gnu::always_inline]] void fetch() const noexcept {
    // Of the pacer its beginning.
    const auto* const begin = reinterpret_cast<const uint8_t*>(this);
    const auto* const end = reinterpret_cast<const uint8_t*>(&pacer_) + 64;
    for (const uint8_t* line = begin; line < end; line += 64) __builtin_prefetch(line, 1);
    __builtin_prefetch(&frames_[0], 1);
    __builtin_prefetch(&run_[0], 1);
  }

  PortId id() const noexcept { return id_; }
  FramePort& port() const noexcept { return *port_; }
  const FramePort::Capabilities& capabilities() const noexcept { return capabilities_; }
  const Pacer& pacer() const noexcept { return pacer_; }
  const LanePriorities& priorities() const noexcept { return priorities_; }

  /// `paused` must not be sent from now on, until the next call; the first of them ends at `until`.
  void hold(PrioritySet paused, Time until) noexcept {
    paused_ = paused;
    paused_until_ = until;
    open_data_ = (paused & priorities_.data) != 0 ? 0 : UINT32_MAX;
    open_answers_ = (paused & priorities_.answers) != 0 ? 0 : UINT32_MAX;
  }
  /// Those of the last `hold`.
  PrioritySet paused() const noexcept { return paused_; }
  bool may_send(PrioritySet priorities) const noexcept { return (paused_ & priorities) == 0; }
  /// Whether something that is not held is waiting; the same of answers. Without branches: no pause costs nothing.
  bool has_work() const noexcept {
    return (((senders.size() | readers.size()) & open_data_) | (owed_answers() & open_answers_)) != 0;
  }
  bool owes_answer() const noexcept { return (owed_answers() & open_answers_) != 0; }

  /// Begins the transmissions of `now`. False when frames from before still wait for the port.
  bool begin(Time now) noexcept;
  /// Buffers for frames, at most `limit`, that may start by now when none is longer than `length` bytes: to be filled
  /// and given to `stage`. None: no slot is due, the burst is full or the pool is empty.
  std::span<const FrameBuffer> next_frames(Time now, uint32_t length, uint32_t limit) noexcept {
    if (!pacer_.due(now) || (staged_end_ == usable_end_ && !refill(now))) return {};
    limit = std::min(limit, usable_end_ - staged_end_);
    return {&frames_[staged_end_], limit == 1 ? 1 : pacer_.slots(now, pacer_.line_time(length), limit)};
  }
  /// The next `count` frames from `next_frames` are complete and take their slots.
  void stage(uint32_t count, FrameShape shape) noexcept {
    if (std::bit_cast<uint64_t>(shape) != open_shape_) {
      begin_run(shape, count);
    } else {
      run_[runs_ - 1].count += count;
    }
    pacer_.start(slot_, count);
    staged_end_ += count;
  }
  /// The same of the frames of a message of three shapes, which follow from `kind`: `make_runs` is asked for them when
  /// it is not that of the message before. Returns their bytes.
  template <class MakeRuns>
  uint64_t stage_message(uint64_t kind, MakeRuns make_runs) noexcept {
    if (kind != message_.kind) [[unlikely]]
      message_ = describe(kind, make_runs());
    std::memcpy(static_cast<void*>(&run_[runs_]), &message_.runs, sizeof message_.runs);
    runs_ += kMessageRuns;
    open_shape_ = std::bit_cast<uint64_t>(message_.runs.back().shape);
    slot_ = message_.last_slot;
    pacer_.start(message_.time, 1);
    staged_end_ += message_.frames;
    return message_.bytes;
  }
  /// Hands what is staged to the port.
  void finish(Time now) noexcept;

  /// When there is something to do here: never() without work; after `now` once `finish(now)` has done what was due,
  /// unless the burst was full.
  Time wake() const noexcept;
  /// Gives all frames back to the port.
  void close() noexcept;

 private:
  uint32_t owed_answers() const noexcept { return answers.size() | repliers.size(); }
  bool is_idle(Time now) const noexcept { return !has_work() && control_due() > now; }
  Time control_due() const noexcept;
  void begin_run(FrameShape shape, uint32_t count) noexcept {
    open_shape_ = std::bit_cast<uint64_t>(shape);
    // As a word: a shape that is copied is taken apart.
    FrameRun& opened = run_[runs_++];
    std::memcpy(static_cast<void*>(&opened.shape), &open_shape_, sizeof opened.shape);
    opened.count = count;
    slot_ = pacer_.line_time(shape.length());
  }
  static constexpr uint32_t kMessageRuns = 3;
  using MessageRuns = std::array<FrameRun, kMessageRuns>;
  /// What is staged of a message.
  struct MessageFrames {
    uint64_t kind = 0;
    uint64_t bytes = 0;
    Duration time, last_slot;  ///< on the line; of the last frame
    uint32_t frames = 0;
    MessageRuns runs;
  };
  MessageFrames describe(uint64_t kind, const MessageRuns& runs) noexcept;
  void complete() noexcept;
  bool refill(Time now) noexcept;
  bool flush(Time now) noexcept;
  void recycle() noexcept;
  Duration line_time_of(std::span<const FrameBuffer> frames) noexcept;
  void block(Time now, uint32_t length) noexcept;

  PortId id_;
  FramePort* port_;
  LanePriorities priorities_;
  PrioritySet paused_ = 0;
  uint32_t open_data_ = UINT32_MAX, open_answers_ = UINT32_MAX;  // 0 while held
  Time paused_until_ = Time::never();
  FramePort::Capabilities capabilities_;
  bool was_busy_ = false;  // there was work when the last transmissions ended, and the port took frames
  bool refused_ = false;   // the port left frames in staged_
  Time blocked_until_ = Time::long_ago();
  uint32_t handful_;     // frames that are handed to the port at once
  uint32_t handed_ = 0;  // frames of this burst that the port has taken
  // Buffers are taken from the port as many at a time as the burst before had frames: what is in hand leaves the
  // caches.
  static constexpr uint32_t kFew = 4;
  uint32_t at_once_ = kFew, sent_ = 0;  // how many that is, at least; frames of this burst so far
  // frames_[staged_begin_ .. staged_end_) are complete and not yet taken by the port, those up to spare_end_ are
  // allocated and empty. Those up to usable_end_ fit into this handful.
  uint32_t staged_begin_ = 0, staged_end_ = 0, usable_end_ = 0, spare_end_ = 0;
  // The last of them, from complete_end_ on, are these runs, and the port does not know yet that they are complete.
  uint32_t complete_end_ = 0;
  uint32_t runs_ = 0;
  uint64_t open_shape_ = 0;  // of the last run, as one word; 0: there is none
  Duration slot_;            // of each of its frames
  Pacer pacer_;
  std::array<FrameBuffer, 2 * kHandful> frames_;
  std::array<FrameRun, kHandful> run_;
  MessageFrames message_;  // of the last that was staged in whole
};

}  // namespace rankwire
