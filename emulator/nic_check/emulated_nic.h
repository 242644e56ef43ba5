// A NIC of our own to be tested: the state machines of `dataplane/protocol` with memory, queues, a line and DCQCN.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/congestion/dcqcn.h"
#include "dataplane/congestion/notification_point.h"
#include "dataplane/ports/frame_port.h"
#include "dataplane/protocol/requester.h"
#include "dataplane/protocol/responder.h"
#include "dataplane/wire/header_template.h"
#include "dataplane/wire/pause.h"
#include "emulator/nic_check/mutants.h"
#include "emulator/nic_check/nic_under_test.h"

namespace rankwire {

struct EmulatedNicOptions {
  NicFacts facts;
  MacAddress peer_mac;  ///< where its frames go
  Bandwidth line;       ///< > 0
  uint32_t region_bytes = 4 << 20;
  Duration notification_interval = microseconds(50);
  uint32_t queue_pairs = 1024;        ///< at a time
  uint32_t contexts = kContexts;      ///< of queue pairs that stay on the chip, > 0
  Duration fetch = nanoseconds(200);  ///< of a context that is not there, in which the line stands still
  NicMutant mutant = NicMutant::kNone;

  /// About as many as the chips have room for: 2 MB at 375 B each (Kalia et al., Datacenter RPCs can be General and
  /// Fast, NSDI 2019).
  static constexpr uint32_t kContexts = 4096;
};

/// Frames leave one at a time at the rate of the line, a fetch later where the context of their queue pair has made
/// room for another's: each has one place, by its number. Numbers of queue pairs are used again when all have been.
class EmulatedNic final : public NicUnderTest {
 public:
  static constexpr uint32_t kGuardBytes = 64 << 10;
  /// Whose pauses are counted.
  static constexpr uint8_t kCountedPriority = 3;

  /// `port` outlives it.
  EmulatedNic(FramePort& port, const EmulatedNicOptions& options);
  ~EmulatedNic() override;

  const NicFacts& facts() const override { return options_.facts; }
  const NicRegion& region() const override { return region_; }
  uint32_t make_queue_pair(uint32_t depth) override;
  void connect(uint32_t queue_pair, const QueuePairPath& path) override;
  void destroy(uint32_t queue_pair) override;
  void post_receive(uint32_t queue_pair, uint64_t id, uint32_t offset, uint32_t bytes) override;
  void post(uint32_t queue_pair, const NicWork& work) override;
  std::vector<WorkCompletion> poll() override;
  void write_memory(uint32_t offset, std::span<const uint8_t> bytes) override;
  std::vector<uint8_t> read_memory(uint32_t offset, uint32_t bytes) override;
  std::vector<uint8_t> read_guard() override;
  std::vector<VerbsCounter> counters() override;
  void turn(Time now) override;
  Time next_event() const override { return next_event_; }

 private:
  struct End;
  struct Receive {
    uint64_t id;
    uint32_t offset, bytes;
  };
  /// Of the mutant whose data comes late.
  struct LateWrite {
    Time at;
    uint64_t offset;
    std::vector<uint8_t> bytes;
  };

  bool is(NicMutant mutant) const { return options_.mutant == mutant; }
  /// Of mutants in which the trouble of one queue pair is that of all.
  void stall(Time now) { line_free_ = std::max(line_free_, now) + microseconds(20); }
  void for_each_other(const End& end, const std::function<void(End& other)>& visit);
  End& end_of(uint32_t queue_pair);
  void store(Time now, uint64_t offset, const uint8_t* bytes, uint32_t length);
  void complete(End& end, uint64_t id, WorkStatus status, uint32_t bytes = 0, std::optional<uint32_t> immediate = {});
  void count(const char* counter) { ++counters_[counter]; }

  void receive(Time now, const Frame& frame);
  /// Takes a frame into the buffer, and pauses the line where that is full. Whether it had room.
  bool admit(Time now, const Frame& frame);
  void send_pause(Time now, uint16_t quanta);
  void release_line(Time now);
  void receive_request(Time now, End& end, const ParsedPacket& packet);
  void deliver(Time now, End& end, const ParsedPacket& packet, const Reception& reception);
  void receive_answer(Time now, End& end, const ParsedPacket& packet);
  void suffer_not_ready(End& end);
  void count_outcome(AckOutcome outcome);
  void report_finished(End& end);
  void break_down(End& end);

  /// Something has changed for the queue pair: it may have something to send, and another deadline.
  void touch(End& end);
  void watch_deadline(End& end);
  void expire_deadlines(Time now);
  /// Whether the context of the queue pair was not on the chip, where it is now.
  bool fetches(const End& end);

  bool transmit_one(Time now);
  bool transmit_answer(Time now, End& end);
  bool transmit_request(Time now, End& end);
  bool begin_frame(Frame& frame);
  void end_frame(Time now, const End& end, Frame& frame);
  void add_payload(Frame& frame, uint64_t offset, uint32_t length);

  FramePort& port_;
  const EmulatedNicOptions options_;
  NicRegion region_;
  std::vector<uint8_t> memory_;
  std::vector<std::unique_ptr<End>> ends_;
  std::deque<uint32_t> destroyed_;  ///< numbers of those in `ends_`
  std::set<size_t> busy_;           ///< of `ends_`: all that may have something to send
  using Deadline = std::pair<Time, size_t>;
  /// Of `ends_`; one that has another in the meantime is left in it.
  std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_;
  std::vector<size_t> contexts_;  ///< by place, whose it is
  size_t turn_of_ = 0;
  std::vector<WorkCompletion> completions_;
  std::map<std::string, uint64_t> counters_;  ///< hw_counters
  /// RoCEv2 frames as its port, its interface and their driver count them.
  struct Traffic {
    uint64_t packets = 0, bytes = 0;

    void add(uint64_t more) {
      ++packets;
      bytes += more;
    }
  };
  Traffic received_, sent_;
  uint64_t pauses_received_ = 0, pauses_sent_ = 0;  ///< of kCountedPriority
  /// When what has arrived will have been worked off. Each frame is done at once; this is what there would be room for.
  Time worked_off_ = Time::long_ago();
  bool pauses_others_ = false;            ///< whoever sends to it
  Time pauses_again_ = Time::long_ago();  ///< of the mutant that never lets go
  Dcqcn dcqcn_;
  NotificationPoint notifications_;
  PauseTimers pauses_;
  std::deque<LateWrite> late_;
  Time line_free_ = Time::long_ago();
  Time next_event_ = Time::never();
};

}  // namespace rankwire
