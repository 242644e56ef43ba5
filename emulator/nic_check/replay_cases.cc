// A rank of a recorded run, whose NIC is the one that is tested.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>

#include "emulator/nic_check/replay.h"

namespace rankwire {
namespace {

/// Messages of the NIC that are under way on a queue pair.
constexpr size_t kMostOnFlow = 32;
/// Packets of the peer that are under way: the last of them asks for an acknowledgement.
constexpr uint32_t kPeerWindow = 16;
/// Their bytes on all queue pairs, which have room in the capture behind kFramesOfReplay of 4 KiB.
constexpr uint64_t kMostBytesUnderWay = 16 << 20;
/// Frames after which the capture begins anew: of a long job it has the last part.
constexpr size_t kFramesOfReplay = 8192;

/// By what differs from message to message, so that none is taken for an earlier one.
std::vector<uint8_t> payload_to_nic(size_t message, uint32_t offset, uint32_t bytes) {
  return NicBench::pattern_bytes(bytes, uint64_t{message} * 4099 + offset);
}

Opcode opcode_at(uint32_t packet, uint32_t packets) {
  if (packets == 1) return Opcode::kWriteOnlyImmediate;
  if (packet == 0) return Opcode::kWriteFirst;
  return packet + 1 == packets ? Opcode::kWriteLastImmediate : Opcode::kWriteMiddle;
}

class Replay {
 public:
  Replay(NicBench& bench, const ReplayedJob& job) : bench_(bench), job_(job), flows_(job.flows) {}

  void run() {
    if (job_.mtu > bench_.options().mtu)
      bench_.skip(fmt::format("the recorded packets carry {} bytes, and the wire {}", job_.mtu, bench_.options().mtu));
    for (Flow& flow : flows_) open(flow);
    uint32_t largest = 0;
    for (const ReplayedMessage& message : job_.messages) largest = std::max(largest, message.bytes);
    if (largest > NicBench::kSpace) bench_.write_pattern(NicBench::kLarge, largest);
    for (size_t i = 0; i < job_.messages.size(); ++i) {
      finish_those_before(job_.messages[i].posted);
      Flow& flow = flows_[job_.messages[i].flow];
      job_.messages[i].sent ? begin(flow, i) : send_to_nic(flow, i);
    }
    finish_all();
    tell();
  }

 private:
  struct UnderWay {
    size_t message;
    uint64_t id;
  };
  struct Flow {
    PeerEnd* end = nullptr;
    uint32_t next_psn = 0;                                 ///< of the NIC's messages
    std::multimap<uint32_t, ReplayedAction> planned = {};  ///< by the PSN of the NIC's packet
    std::deque<UnderWay> under_way = {};                   ///< of the NIC's messages
  };

  uint32_t packets_in(const ReplayedMessage& message) const {
    return std::max(1u, (message.bytes + job_.mtu - 1) / job_.mtu);
  }
  /// Until the retry count of either end would have run out.
  Duration patience() const { return ack_timeout(bench_.limits().timeout_exponent) * 32 + bench_.limits().answer * 2; }

  void open(Flow& flow) {
    flow.end = &bench_.open({.mtu = job_.mtu});
    flow.next_psn = flow.end->options.nic_psn;
    flow.end->on_request = [this, &flow](size_t frame) { return meet(flow, frame); };
  }

  /// What becomes of a packet of the NIC where it arrives.
  Fate meet(Flow& flow, size_t frame) {
    flow.end->answers = true;
    const auto planned = flow.planned.find(bench_.packet(frame).psn);
    if (planned == flow.planned.end()) return Fate::kDelivered;
    const ReplayedAction action = planned->second;
    flow.planned.erase(planned);
    ++replayed_;
    switch (action) {
      // Who goes back to what is missing drops what comes too late.
      case ReplayedAction::kLose:
      case ReplayedAction::kCorrupt:
      case ReplayedAction::kDelay:
        bench_.log().mark(frame, "taken as lost, as in the recorded run");
        return Fate::kLost;
      case ReplayedAction::kDuplicate:
        bench_.log().mark(frame, "taken as having come twice, as in the recorded run");
        bench_.send_acknowledgement(*flow.end, psn_add(flow.end->expected, kPsnMask));
        return Fate::kDelivered;
      case ReplayedAction::kMark:
      case ReplayedAction::kNotify:
        bench_.log().mark(frame, "taken as marked, as in the recorded run");
        bench_.send_notification(*flow.end);
        return Fate::kDelivered;
      case ReplayedAction::kLoseAnswer:
        bench_.log().mark(frame, "not acknowledged, as in the recorded run");
        flow.end->answers = false;
        return Fate::kDelivered;
    }
    return Fate::kDelivered;
  }

  void begin(Flow& flow, size_t index) {
    const ReplayedMessage& message = job_.messages[index];
    while (flow.under_way.size() >= kMostOnFlow) finish_oldest(flow);
    while (bytes_under_way_ > 0 && bytes_under_way_ + message.bytes > kMostBytesUnderWay) finish_oldest(*slowest());
    for (const auto& [packet, action] : message.packets) flow.planned.emplace(psn_add(flow.next_psn, packet), action);
    flow.next_psn = psn_add(flow.next_psn, packets_in(message));
    const uint64_t id = bench_.post(*flow.end, WorkKind::kWriteImmediate, message.bytes, static_cast<uint32_t>(index));
    flow.under_way.push_back({index, id});
    bytes_under_way_ += message.bytes;
  }

  /// The flow whose oldest message was posted first, of those that have any.
  Flow* slowest() {
    Flow* found = nullptr;
    for (Flow& flow : flows_)
      if (!flow.under_way.empty() && (!found || flow.under_way.front().message < found->under_way.front().message))
        found = &flow;
    return found;
  }

  /// Nobody looks back beyond what a message waits for.
  void make_room_in_capture() {
    if (bench_.log().size() > kFramesOfReplay) bench_.log().clear();
  }

  void finish_oldest(Flow& flow) {
    const UnderWay oldest = flow.under_way.front();
    bench_.run_until(
        [&] {
          make_room_in_capture();
          return bench_.completion(oldest.id) != nullptr;
        },
        patience());
    bench_.expect_completion(oldest.id, WorkStatus::kSuccess, Duration());
    const std::vector<uint8_t> wanted = NicBench::pattern_bytes(job_.messages[oldest.message].bytes);
    std::vector<uint8_t>& received = flow.end->received;
    bench_.require(
        received.size() >= wanted.size() && std::ranges::equal(wanted, std::span(received).first(wanted.size())), {},
        fmt::format("message {} completed, and what arrived is not what was sent", oldest.message));
    received.erase(received.begin(), received.begin() + static_cast<std::ptrdiff_t>(wanted.size()));
    flow.under_way.pop_front();
    bytes_under_way_ -= job_.messages[oldest.message].bytes;
    ++sent_;
  }

  void finish_all() {
    for (Flow& flow : flows_)
      while (!flow.under_way.empty()) finish_oldest(flow);
  }

  void finish_those_before(Time posted) {
    for (Flow& flow : flows_)
      while (!flow.under_way.empty() && job_.messages[flow.under_way.front().message].delivered <= posted)
        finish_oldest(flow);
  }

  void send_packet(Flow& flow, size_t index, uint32_t first_psn, uint32_t packet, bool asks, bool corrupt, Ecn ecn) {
    const ReplayedMessage& message = job_.messages[index];
    const uint32_t offset = packet * job_.mtu;
    PeerPacket sent{.opcode = opcode_at(packet, packets_in(message)),
                    .psn = psn_add(first_psn, packet),
                    .payload = payload_to_nic(index, offset, std::min(job_.mtu, message.bytes - offset)),
                    .ack_request = asks,
                    .address = bench_.nic().region().address + place_of(message),
                    .dma_length = message.bytes,
                    .immediate = static_cast<uint32_t>(index),
                    .ecn = ecn};
    // In front of ICRC and padding, so that who takes it has wrong data.
    if (corrupt) sent.after_seal = [](Frame& frame) { frame.head[frame.head_length - 8] ^= 1; };
    bench_.send(*flow.end, sent);
  }

  static uint32_t place_of(const ReplayedMessage& message) {
    return message.bytes > NicBench::kSpace ? NicBench::kLarge : NicBench::kTarget;
  }

  /// The peer's packets from `next` to `end`, with what was done to each of them, once.
  void send_window(Flow& flow, size_t index, uint32_t first_psn, uint32_t next, uint32_t end,
                   std::multimap<uint32_t, ReplayedAction>& planned) {
    std::deque<uint32_t> late;
    for (uint32_t packet = next; packet < end; ++packet) {
      bool lost = false, corrupt = false, twice = false, delayed = false;
      Ecn ecn = Ecn::kCapable0;
      const auto [begin, behind] = planned.equal_range(packet);
      for (auto i = begin; i != behind; ++i) {
        lost |= i->second == ReplayedAction::kLose;
        corrupt |= i->second == ReplayedAction::kCorrupt;
        twice |= i->second == ReplayedAction::kDuplicate;
        delayed |= i->second == ReplayedAction::kDelay;
        if (i->second == ReplayedAction::kMark) ecn = Ecn::kCongestionExperienced;
        ++replayed_;
      }
      planned.erase(begin, behind);
      const bool asks = packet + 1 == end;
      if (delayed) {
        late.push_back(packet);
        continue;
      }
      for (int copy = 0; !lost && copy < (twice ? 2 : 1); ++copy)
        send_packet(flow, index, first_psn, packet, asks, corrupt, ecn);
      for (; !late.empty(); late.pop_front()) send_packet(flow, index, first_psn, late.front(), false, false, ecn);
    }
    for (; !late.empty(); late.pop_front())
      send_packet(flow, index, first_psn, late.front(), true, false, Ecn::kCapable0);
  }

  /// A message of the peer's, repaired as a requester that goes back does, until the NIC has acknowledged it.
  void send_to_nic(Flow& flow, size_t index) {
    const ReplayedMessage& message = job_.messages[index];
    const uint32_t packets = packets_in(message), first_psn = flow.end->next_psn;
    // Large ones go where the NIC's own come from.
    const bool is_large = message.bytes > NicBench::kSpace;
    if (is_large) finish_all();
    std::multimap<uint32_t, ReplayedAction> planned(message.packets.begin(), message.packets.end());
    const uint64_t received = bench_.post_receive(*flow.end);
    const Time until = bench_.now() + patience();
    uint32_t acknowledged = 0, next = 0;
    while (acknowledged < packets) {
      make_room_in_capture();
      const size_t seen = bench_.log().size();
      bench_.require(bench_.now() < until, {},
                     fmt::format("message {} was not acknowledged in time: {} of its {} packets were", index,
                                 acknowledged, packets));
      const uint32_t end = std::min(packets, acknowledged + kPeerWindow);
      send_window(flow, index, first_psn, next, end, planned);
      next = std::max(next, end);
      if (!bench_.answer(*flow.end, seen, bench_.limits().answer)) next = acknowledged;  // a time-out
      for (const size_t frame : bench_.answers(*flow.end, seen)) {
        const ParsedPacket& answer = bench_.packet(frame);
        const int32_t at = psn_distance(first_psn, answer.psn);
        const uint8_t kind = answer.syndrome & kSyndromeTypeMask;
        const bool gap = answer.syndrome == static_cast<uint8_t>(Syndrome::kNakSequence);
        bench_.require(kind == kSyndromeTypeAck || kind == kSyndromeTypeNotReady || gap, frame,
                       fmt::format("message {} was answered by syndrome 0x{:02X}", index, answer.syndrome));
        // A NAK acknowledges what is before it.
        const int32_t through = kind == kSyndromeTypeAck ? at + 1 : at;
        if (through > static_cast<int32_t>(acknowledged)) acknowledged = static_cast<uint32_t>(through);
        if (kind != kSyndromeTypeAck) next = acknowledged;
      }
      next = std::max(next, acknowledged);
    }
    flow.end->next_psn = psn_add(first_psn, packets);
    bench_.expect_completion(received, WorkStatus::kSuccess, bench_.limits().answer);
    const WorkCompletion& completion = *bench_.completion(received);
    bench_.require(completion.has_immediate && completion.immediate == static_cast<uint32_t>(index), {},
                   fmt::format("message {} came with the immediate data of another", index));
    bench_.expect_memory(place_of(message), payload_to_nic(index, 0, message.bytes), fmt::format("message {}", index));
    if (is_large) bench_.write_pattern(NicBench::kLarge, message.bytes);
    ++received_;
  }

  void tell() {
    bench_.measure(measured("messages that the NIC sent", sent_, ""));
    bench_.measure(measured("messages that it received", received_, ""));
    bench_.measure(measured("impairments", replayed_, ""));
    if (job_.not_replayed > 0)
      bench_.outcome().anomalies.push_back(
          fmt::format("{} recorded impairments were not repeated: forged answers, and those of answers of the NIC",
                      job_.not_replayed));
    if (job_.left_out > 0)
      bench_.outcome().anomalies.push_back(fmt::format("the last {} messages were left out", job_.left_out));
  }

  NicBench& bench_;
  const ReplayedJob& job_;
  std::deque<Flow> flows_;
  uint64_t bytes_under_way_ = 0;
  uint32_t sent_ = 0, received_ = 0, replayed_ = 0;
};

}  // namespace

NicCases replay_cases(const ReplayedJob& job) {
  const auto kept = std::make_shared<const ReplayedJob>(job);
  return {
      {"job.replay", "a recorded job",
       fmt::format("the {} messages of rank {} of a recorded run, in their order, with what was done to their packets",
                   job.messages.size(), job.rank),
       "all complete, and all data arrives", kReliability, [kept](NicBench& bench) { Replay(bench, *kept).run(); }}};
}

}  // namespace rankwire
