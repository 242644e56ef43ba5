// Link-level flow control: whether the NIC obeys the pauses that its switch sends.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/wire/pause.h"
#include "emulator/nic_check/nic_case.h"
#include "emulator/nic_check/steady_traffic.h"

namespace rankwire {
namespace {

constexpr const char* kPriorityFlowControl = "IEEE 802.1Qbb; IEEE 802.3-2018, Annex 31D";

/// What a transmitter may take to obey, the longest frame that it has begun and what is on the wire included.
Duration reaction(const NicBench& bench) {
  return bench.limits().quiet < milliseconds(1) ? microseconds(2) : microseconds(50);
}

uint8_t data_priority(const NicBench& bench) {
  return static_cast<uint8_t>(bench.options().traffic_class >> 5);
}

double micro(Duration d) {
  return static_cast<double>(d.ps) / 1e6;
}

std::vector<size_t> sent_within(const NicBench& bench, const PeerEnd& end, size_t from, Time begin, Time until) {
  std::vector<size_t> found;
  for (const size_t frame : bench.requests(end, from))
    if (bench.frame(frame).at > begin && bench.frame(frame).at < until) found.push_back(frame);
  return found;
}

void expect_standstill(NicBench& bench, const PeerEnd& end, size_t pause, Duration time) {
  const Time at = bench.frame(pause).at, obeyed = at + reaction(bench);
  // Frames are stamped when they are looked at: what comes behind an absence may have been sent before the pause.
  const std::vector<size_t> found = sent_within(bench, end, pause, obeyed + bench.longest_absence(), at + time);
  if (found.empty() && !sent_within(bench, end, pause, obeyed, at + time).empty())
    bench.undecided("frames of the paused priority came within the pause, maybe sent before it");
  bench.require(
      found.empty(), found.empty() ? std::nullopt : std::optional(found.front()),
      fmt::format("{} frames of the paused priority came within the pause of {:.1f} us", found.size(), micro(time)));
}

void pause_priority(NicBench& bench) {
  PeerEnd& end = begin_traffic(bench, 24);
  const Duration time = pause_time(kMaxQuanta, bench.options().line);
  const size_t pause = bench.send_pause(priority_pause(priority_bit(data_priority(bench)), kMaxQuanta));
  bench.log().mark(pause, "PFC: stop");
  const auto resumed = [&] { return sent_within(bench, end, pause, bench.frame(pause).at + time, Time::never()); };
  bench.run_until([&] { return bench.now() > bench.frame(pause).at + time && !resumed().empty(); },
                  time + bench.limits().answer);
  expect_standstill(bench, end, pause, time);
  bench.require(!resumed().empty(), pause, "the NIC does not go on after the pause");
  bench.log().mark(resumed().front(), "goes on");
  bench.measure(measured("standstill", micro(bench.frame(resumed().front()).at - bench.frame(pause).at), "us",
                         micro(time), micro(time) * 1.1 + micro(reaction(bench))));
}

void resume_early(NicBench& bench) {
  PeerEnd& end = begin_traffic(bench, 24);
  const Duration time = pause_time(kMaxQuanta, bench.options().line);
  const size_t pause = bench.send_pause(priority_pause(priority_bit(data_priority(bench)), kMaxQuanta));
  bench.log().mark(pause, "PFC: stop");
  bench.run_for(Duration(time.ps / 4));
  const size_t resume = bench.send_pause(priority_pause(priority_bit(data_priority(bench)), 0));
  bench.log().mark(resume, "PFC: go on");
  expect_standstill(bench, end, pause, bench.frame(resume).at - bench.frame(pause).at);
  bench.run_for(Duration(time.ps / 4));
  const std::vector<size_t> found = bench.requests(end, resume);
  bench.require(!found.empty(), resume, "the NIC does not go on when it is told to");
  bench.measure(measured("until it goes on", micro(bench.frame(found.front()).at - bench.frame(resume).at), "us", {},
                         micro(reaction(bench))));
}

/// Looks so often, at most, whether the data goes on: many looks may meet a NIC, or a machine, that does something
/// else.
constexpr int kLooks = 64;

void pause_other(NicBench& bench) {
  PeerEnd& end = begin_traffic(bench, 24);
  const auto other = static_cast<PrioritySet>(~priority_bit(data_priority(bench)));
  const Duration look = Duration(pause_time(kMaxQuanta, bench.options().line).ps / 8);
  const size_t from = bench.log().size();
  const double before = rate_for(bench, end, look);
  constexpr size_t kEnough = 8;
  if (bench.requests(end, from).size() <= kEnough) bench.undecided("too little was sent before the pause");
  const size_t begin = bench.log().size();
  double after = 0;
  // Each look is within a pause of its own: who obeys sends in none of them.
  for (int i = 0; i < kLooks && after < before / 2; ++i) {
    const size_t pause = bench.send_pause(priority_pause(other, kMaxQuanta));
    if (i == 0) bench.log().mark(pause, "PFC: stop all priorities but that of the data");
    after = std::max(after, rate_for(bench, end, look));
  }
  bench.require(bench.requests(end, begin).size() > kEnough / 2, begin, "rate of nearly nothing: it stopped as well");
  bench.measure_within(look, measured("rate", after / before, "of that before", 0.5));
}

void pause_all(NicBench& bench) {
  PeerEnd& end = begin_traffic(bench, 24);
  const Duration time = pause_time(kMaxQuanta, bench.options().line);
  PauseFrame frame{.kind = PauseFrame::Kind::kGlobal};
  frame.quanta.fill(kMaxQuanta);
  const size_t pause = bench.send_pause(frame);
  bench.log().mark(pause, "PAUSE");
  bench.run_for(time);
  const size_t found =
      sent_within(bench, end, pause, bench.frame(pause).at + reaction(bench), bench.frame(pause).at + time).size();
  bench.measure(measured("frames within a PAUSE", static_cast<double>(found), "frames"));
  bench.tell(found == 0 ? "obeys PAUSE" : "does not obey PAUSE, as a port with PFC may");
}

void storm(NicBench& bench) {
  PeerEnd& end = begin_traffic(bench, 8);
  const Duration each = pause_time(kMaxQuanta, bench.options().line);
  // Long enough to be a storm, too short for the retry count to run out.
  const int pauses =
      static_cast<int>(std::clamp<int64_t>(ack_timeout(bench.limits().timeout_exponent).ps * 2 / each.ps, 4, 1000));
  size_t first = 0, last = 0;
  for (int i = 0; i < pauses; ++i) {
    last = bench.send_pause(priority_pause(priority_bit(data_priority(bench)), kMaxQuanta));
    if (i == 0) first = last;
    bench.run_for(Duration(each.ps / 2));
  }
  bench.log().mark(first, "the first PFC of the storm");
  bench.log().mark(last, "the last PFC of the storm");
  expect_standstill(bench, end, first, bench.frame(last).at - bench.frame(first).at);
  const size_t from = bench.log().size();
  bench.run_until([&] { return bench.requests(end, from).size() > 100; }, bench.limits().answer * 2 + each);
  bench.require(bench.requests(end, from).size() > 100, last, "the NIC does not go on after a storm of pauses");
}

/// A pause that the NIC has sent; absent: the frame is another.
std::optional<PauseFrame> pause_of(const WireFrame& frame) {
  if (!frame.from_nic) return std::nullopt;
  std::vector<uint8_t> bytes = frame.bytes;
  Frame read;
  read.head = bytes.data();
  read.head_length = static_cast<uint16_t>(bytes.size());
  return read_pause(read);
}

/// How many pauses of the data's priority the NIC's driver says that it has sent; absent: it does not say.
std::optional<uint64_t> pauses_counted(NicBench& bench) {
  const uint8_t priority = data_priority(bench);
  const std::string names[] = {fmt::format("ethtool.tx_prio{}_pause", priority),
                               fmt::format("ethtool.tx_pfc_ena_frames_pri{}", priority),
                               fmt::format("ethtool.tx_priority_{}_xoff.nic", priority)};
  for (const VerbsCounter& counter : bench.nic().counters())
    if (std::ranges::find(names, counter.name) != std::end(names)) return counter.value;
  return std::nullopt;
}

/// WRITEs of 64 bytes to 64 queue pairs in turn, as fast as the port takes them and the NIC's pauses let go.
class Flood {
 public:
  static constexpr uint32_t kEnds = 64, kFrames = 8192, kAtOnce = 32;

  explicit Flood(NicBench& bench) : bench_(bench), timers_(bench.options().line) {
    for (uint32_t i = 0; i < kEnds; ++i) ends_.push_back(&bench.open({.depth = 4}));
  }

  void run() {
    for (uint32_t sent = 0; sent < kFrames; sent += kAtOnce) {
      for (uint32_t i = sent; i < sent + kAtOnce; ++i)
        last_sent_[i % kEnds] = bench_.send(*ends_[i % kEnds], {.payload = NicBench::pattern_bytes(64)});
      bench_.run_for(Duration());
      wait_while_paused();
    }
    bench_.run_for(bench_.limits().answer);
    bench_.run_for(bench_.limits().quiet);
    look();
  }

  const std::vector<size_t>& pauses() const { return pauses_; }
  Duration longest() const { return longest_; }  ///< that the NIC kept the flood back for
  /// The frame that shows that not all has arrived: an answer that is no ACK, or the last one sent to a queue pair
  /// that has not acknowledged it.
  std::optional<size_t> refused() const {
    for (size_t i = 0; i < ends_.size(); ++i) {
      bool is_whole = false;
      for (const size_t answer : bench_.answers(*ends_[i])) {
        if ((bench_.packet(answer).syndrome & kSyndromeTypeMask) != kSyndromeTypeAck) return answer;
        is_whole |= bench_.packet(answer).psn == psn_add(ends_[i]->next_psn, kPsnMask);
      }
      if (!is_whole) return last_sent_[i];
    }
    return std::nullopt;
  }

 private:
  void look() {
    for (; seen_ < bench_.log().size(); ++seen_)
      if (const std::optional<PauseFrame> pause = pause_of(bench_.frame(seen_))) {
        pauses_.push_back(seen_);
        timers_.receive(*pause, bench_.frame(seen_).at);
      }
  }

  bool is_paused() {
    look();
    return (timers_.paused(bench_.now()) & priority_bit(data_priority(bench_))) != 0;
  }

  void wait_while_paused() {
    const Time began = bench_.now();
    // One that never lets go is a storm of the NIC's own.
    const Duration limit = pause_time(kMaxQuanta, bench_.options().line) * 2 + bench_.limits().answer;
    bench_.run_until([&] { return !is_paused(); }, limit);
    longest_ = std::max(longest_, bench_.now() - began);
    bench_.require(!is_paused(), pauses_.empty() ? std::nullopt : std::optional(pauses_.back()),
                   fmt::format("the NIC pauses its port without end: for {:.1f} us by now", micro(longest_)));
  }

  NicBench& bench_;
  PauseTimers timers_;
  std::vector<PeerEnd*> ends_;
  std::vector<size_t> last_sent_ = std::vector<size_t>(kEnds);
  std::vector<size_t> pauses_;
  size_t seen_ = 0;
  Duration longest_;
};

/// The NIC as a slow receiver: it is to pause rather than to lose, and no more than it has to.
void be_paused(NicBench& bench) {
  const std::optional<uint64_t> before = pauses_counted(bench);
  Flood flood(bench);
  flood.run();
  const std::optional<size_t> refused = flood.refused();
  const uint64_t counted = before ? pauses_counted(bench).value_or(0) - *before : 0;
  if (flood.pauses().empty()) {
    if (counted > 0)
      bench.undecided(fmt::format(
          "the NIC's counter says that it sent {} pauses, and none was seen: the wire's port keeps MAC control frames "
          "from software",
          counted));
    if (refused && before)
      bench.fail(refused, "packets were lost, and the NIC sent no pause, as its counter says as well");
    if (refused) bench.undecided("packets were lost, and no pause was seen: PFC is off, or the wire's port hides it");
    bench.skip("the NIC kept up with all that the wire's port can send, so that there was nothing to pause");
  }
  bench.log().mark(flood.pauses().front(), "PFC of the NIC");
  for (const size_t frame : flood.pauses()) {
    const PauseFrame pause = *pause_of(bench.frame(frame));
    bench.require(pause.kind == PauseFrame::Kind::kGlobal || pause.priorities == priority_bit(data_priority(bench)),
                  frame,
                  fmt::format("the NIC pauses the priorities 0x{:02X}, and the data has priority {}", pause.priorities,
                              data_priority(bench)));
  }
  bench.require(!refused, refused, "packets were lost though the pauses of the NIC were obeyed");
  bench.measure(measured("pauses", static_cast<double>(flood.pauses().size()), "frames"));
  bench.measure(measured("longest wait", micro(flood.longest()), "us"));
  if (before) bench.measure(measured("pauses that the NIC counted", static_cast<double>(counted), "frames"));
}

}  // namespace

NicCases flow_control_cases() {
  return {
      {"flow.pfc.pause", "PFC", "the priority of the data is paused for 65535 quanta while the NIC sends",
       "nothing of it within the pause, but for what had begun; then it goes on", kPriorityFlowControl, pause_priority},
      {"flow.pfc.resume", "PFC with 0 quanta", "the pause is ended after a quarter of its time",
       "nothing until then, and it goes on at once", kPriorityFlowControl, resume_early},
      {"flow.pfc.other", "PFC of other priorities", "all priorities but that of the data are paused",
       "the data goes on at half its rate or more", kPriorityFlowControl, pause_other},
      {"flow.pfc.storm", "pause storm", "pauses arrive without a gap for two time-outs",
       "nothing within, and it goes on afterwards", kPriorityFlowControl, storm},
      {"flow.pfc.sent", "PFC of the NIC itself",
       "8192 WRITEs of 64 bytes arrive on 64 queue pairs, as fast as the port sends and the NIC's pauses let go",
       "pauses of the priority of the data alone, which end; nothing is lost. Inconclusive where the port shows no MAC "
       "control frames, skipped where the NIC keeps up",
       kPriorityFlowControl, be_paused},
      {"flow.pause", "PAUSE", "the whole line is paused for 65535 quanta while the NIC sends",
       "whether it obeys is reported: a port has either PFC or PAUSE", "IEEE 802.3-2018, Annex 31B", pause_all},
  };
}

}  // namespace rankwire
