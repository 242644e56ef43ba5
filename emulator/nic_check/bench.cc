#include "emulator/nic_check/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <utility>

#include "base/error.h"
#include "dataplane/wire/source_port.h"

namespace rankwire {
namespace {

// A driver in another process is asked no more often than this.
constexpr Duration kPollInterval = milliseconds(1);
// Shorter ones are the loop's own work.
constexpr Duration kAbsence = milliseconds(1);
// How long frames that are still to be looked at put off an end.
constexpr Duration kBusiest = milliseconds(200);

// A machine on which each look takes long would else wait without end.
constexpr Duration kLongestExcuse = seconds(5);

}  // namespace

NicBench::NicBench(NicUnderTest& nic, FramePort& port, Clock& clock, const BenchOptions& options)
    : nic_(nic),
      port_(port),
      clock_(clock),
      options_(options),
      neighbours_({.announcements = clock.runs_by_itself() ? Announcements::kSent : Announcements::kOmitted},
                  std::span(&options.peer, 1)),
      nic_mac_(nic.facts().mac) {}

NicBench::~NicBench() = default;

void NicBench::begin(const std::atomic<bool>& interrupted) {
  interrupted_ = &interrupted;
  clear();
  nic_.poll();
  // What is still on its way of the case before.
  const Time end = clock_.now() + kBusiest;
  while (step()) {
    if (interrupted) skip("interrupted");
    if (clock_.now() > end) undecided("frames keep coming from the wire, which must be silent before a case begins");
  }
  completions_.clear();
  clear();
  absent_altogether_ = {};
  forgive_absence();
}

void NicBench::end() {
  // What a case gave its ends refers to what it had, also when the driver fails here.
  const std::deque<PeerEnd> ends = std::exchange(ends_, {});
  interrupted_ = nullptr;
  for (const PeerEnd& end : ends) nic_.destroy(end.nic_number);
}

PeerEnd& NicBench::open(const EndOptions& options) {
  if (options.mtu > nic_.facts().mtu)
    skip(fmt::format("the largest path MTU of the NIC here is {} bytes", nic_.facts().mtu));
  // There is no end whose queue pair could not be made.
  const uint32_t nic_number = nic_.make_queue_pair(options.depth);
  PeerEnd& end = ends_.emplace_back();
  end.options = options;
  end.number = next_number_++;
  end.nic_number = nic_number;
  end.expected = options.nic_psn;
  end.next_psn = options.peer_psn;
  QueuePairPath path;
  path.remote_gid = options_.peer.ip;
  path.remote_queue_pair = end.number;
  path.remote_psn = options.peer_psn;
  path.local_psn = options.nic_psn;
  path.mtu = options.mtu;
  path.traffic_class = options_.traffic_class;
  path.hop_limit = 64;
  path.timeout_exponent = static_cast<uint8_t>(options.timeout_exponent.value_or(limits().timeout_exponent));
  path.retry_count = options.retry_count;
  path.not_ready_retry_count = options.not_ready_retry_count;
  path.not_ready_code = options.not_ready_code;
  path.initiated_reads = path.answered_reads =
      static_cast<uint8_t>(std::min<uint32_t>(options.reads, nic_.facts().reads));
  connect(end.nic_number, path);

  const auto dscp = static_cast<uint8_t>(options_.traffic_class >> 2);
  const Marking marking{dscp, Ecn::kCapable0, 0};
  end.path = make_template({.source_mac = options_.peer.mac,
                            .destination_mac = nic_mac_,
                            .source_ip = options_.peer.ip,
                            .destination_ip = nic_.facts().ip,
                            .vlan = options_.peer.vlan,
                            .source_port = linux_source_port(end.number, end.nic_number),
                            .destination_qp = end.nic_number,
                            .markings = {marking, marking, marking, {48, Ecn::kNotCapable, 0}}});
  return end;
}

// A driver that looks for its neighbour waits until the peer has answered.
void NicBench::connect(uint32_t queue_pair, const QueuePairPath& path) {
  if (!clock_.runs_by_itself()) return nic_.connect(queue_pair, path);
  std::future<void> connected = std::async(std::launch::async, [&] { nic_.connect(queue_pair, path); });
  while (connected.wait_for(std::chrono::microseconds(100)) != std::future_status::ready) serve_wire(clock_.now());
  connected.get();
}

void NicBench::note_look(Time now) {
  if (clock_.runs_by_itself()) {
    const Duration absence = now - looked_;
    longest_absence_ = std::max(longest_absence_, absence);
    if (absence >= kAbsence) absent_altogether_ += absence;
  }
  looked_ = now;
}

bool NicBench::serve_wire(Time now) {
  note_look(now);
  bool active = false;
  std::array<Frame, 32> frames;
  // A wire that never falls silent has no end of them.
  constexpr int kMostBatches = 256;
  for (int batch = 0; batch < kMostBatches; ++batch) {
    // What comes after an answer to the batch before must not be stamped as if it had been there before that.
    if (batch > 0) now = clock_.now();
    const size_t n = port_.receive(now, frames);
    if (n == 0) break;
    active = true;
    for (const Frame& frame : std::span(frames).first(n)) receive(frame, clock_.runs_by_itself() ? frame.arrival : now);
    port_.release(std::span(frames).first(n));
  }
  if (neighbours_.next_event() <= now) {
    Frame frame = allocate();
    if (neighbours_.write(now, {&frame, 1}) == 1) {
      transmit(frame);
      active = true;
    } else {
      port_.release({&frame, 1});
    }
  }
  return active;
}

bool NicBench::step() {
  const Time now = clock_.now();
  nic_.turn(now);
  bool active = serve_wire(now);
  if (!clock_.runs_by_itself() || now - polled_ >= kPollInterval) {
    polled_ = now;
    for (const WorkCompletion& completion : nic_.poll()) {
      completions_.push_back(completion);
      active = true;
    }
  }
  return active;
}

bool NicBench::run_until(const std::function<bool()>& done, Duration limit) {
  const Time end = clock_.now() + limit;
  const Duration absent_before = absent_altogether_;
  while (true) {
    const bool active = step();
    if (done && done()) {
      // Whatever kept this turn from the wire is part of what it has seen.
      if (clock_.runs_by_itself()) longest_absence_ = std::max(longest_absence_, clock_.now() - looked_);
      return true;
    }
    if (interrupted_ != nullptr && *interrupted_) skip("interrupted");
    // What was not looked for cannot have been missed.
    const Duration absent =
        done ? std::min(absent_altogether_ - absent_before, limit * 10 + kLongestExcuse) : Duration();
    if (active && looked_ < end + absent + kBusiest) continue;
    if (looked_ >= end + absent) {
      if (!done || polled_ == looked_) return false;
      // The NIC's driver is asked in the last look, too.
      polled_ = Time::long_ago();
      continue;
    }
    // What the NIC has at its own end of the wire it sees in its next turn.
    const Time next = nic_.next_event();
    if (next > clock_.now()) clock_.idle_until(std::min(end, next));
  }
}

uint64_t NicBench::post(PeerEnd& end, WorkKind kind, uint32_t bytes, uint32_t immediate) {
  const uint64_t id = next_id_++;
  const bool read = kind == WorkKind::kRead, large = bytes > kSpace;
  if (!read && !large && bytes > source_filled_) {
    nic_.write_memory(kSource, pattern_bytes(bytes));
    source_filled_ = bytes;
    forgive_absence();
  }
  nic_.post(end.nic_number, {.id = id,
                             .kind = kind,
                             .offset = large  ? kLarge
                                       : read ? kTarget
                                              : kSource,
                             .bytes = bytes,
                             .remote_address = kPeerAddress,
                             .remote_key = kPeerKey,
                             .immediate = immediate});
  return id;
}

uint64_t NicBench::post_receive(PeerEnd& end, uint32_t bytes, uint32_t slot) {
  const uint64_t id = next_id_++;
  nic_.post_receive(end.nic_number, id, kReceive + slot * 65536, bytes);
  return id;
}

const WorkCompletion* NicBench::completion(uint64_t id) const {
  const auto found = std::ranges::find(completions_, id, &WorkCompletion::id);
  return found == completions_.end() ? nullptr : &*found;
}

size_t NicBench::completions(uint64_t id) const {
  return static_cast<size_t>(std::ranges::count(completions_, id, &WorkCompletion::id));
}

std::vector<uint8_t> NicBench::pattern_bytes(uint32_t bytes, uint64_t from) {
  std::vector<uint8_t> out(bytes);
  for (uint32_t i = 0; i < bytes; ++i) out[i] = pattern(from + i);
  return out;
}

std::vector<size_t> NicBench::select(size_t from, const std::function<bool(const WireFrame&)>& wanted) const {
  std::vector<size_t> found;
  for (size_t i = from; i < log_.size(); ++i)
    if (frame(i).from_nic && frame(i).packet.reject == Reject::kNone && wanted(frame(i))) found.push_back(i);
  return found;
}

std::vector<size_t> NicBench::answers(const PeerEnd& end, size_t from) const {
  return select(
      from, [&](const WireFrame& f) { return f.packet.destination_qp == end.number && is_response(f.packet.opcode); });
}

std::vector<size_t> NicBench::requests(const PeerEnd& end, size_t from) const {
  return select(from, [&](const WireFrame& f) {
    return f.packet.destination_qp == end.number && !is_response(f.packet.opcode) &&
           f.packet.opcode != Opcode::kCongestionNotification;
  });
}

std::vector<size_t> NicBench::notifications(const PeerEnd& end, size_t from) const {
  return select(from, [&](const WireFrame& f) {
    return f.packet.destination_qp == end.number && f.packet.opcode == Opcode::kCongestionNotification;
  });
}

std::optional<uint64_t> NicBench::counter(const std::string& name) {
  for (const VerbsCounter& counter : nic_.counters())
    if (counter.name == "hw_counters." + name) return counter.value;
  return std::nullopt;
}

}  // namespace rankwire
