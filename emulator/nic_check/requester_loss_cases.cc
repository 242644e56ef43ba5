// The NIC as requester: packets and acknowledgements that are lost.
#include <fmt/format.h>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

constexpr uint32_t kPackets = 5;

double in_microseconds(Duration d) {
  return static_cast<double>(d.ps) / 1e6;
}

Duration patience(const NicBench& bench) {
  return ack_timeout(bench.limits().timeout_exponent) * 4 + bench.limits().answer * 2;
}

/// Loses packet `index` of a message of five once. All but the last show the loss themselves.
void lose_one(NicBench& bench, WorkKind kind, uint32_t index) {
  PeerEnd& end = bench.open();
  const uint32_t lost = psn_add(end.options.nic_psn, index);
  std::optional<size_t> lost_frame;
  end.on_request = [&](size_t frame) {
    if (lost_frame || bench.packet(frame).psn != lost) return Fate::kDelivered;
    lost_frame = frame;
    bench.log().mark(frame, "taken as lost");
    return Fate::kLost;
  };
  const Time posted = bench.now();
  const uint64_t id = bench.post(end, kind, kPackets * end.options.mtu);
  const auto again = [&]() -> std::optional<size_t> {
    if (!lost_frame) return std::nullopt;
    for (const size_t frame : bench.requests(end, *lost_frame + 1))
      if (bench.packet(frame).psn == lost) return frame;
    return std::nullopt;
  };
  const bool last = index + 1 == kPackets;
  std::optional<size_t> nak;
  if (!last) {
    bench.run_until([&] { return end.nak_outstanding; }, bench.limits().answer);
    for (size_t i = lost_frame.value_or(0); i < bench.log().size(); ++i)
      if (!bench.frame(i).from_nic && bench.packet(i).syndrome == static_cast<uint8_t>(Syndrome::kNakSequence)) nak = i;
    bench.require(nak.has_value(), lost_frame, "nothing was sent behind the packet that was lost");
    bench.log().mark(*nak, "NAK of the packet that was lost");
    bench.run_until([&] { return again().has_value(); }, bench.limits().answer);
    bench.require(again().has_value(), nak, "the NAK was answered by no retransmission within the limit");
    // What was under way when the NAK arrived has later PSNs; the repair begins with the one that is missing.
    bench.measure(measured("NAK reaction", in_microseconds(bench.frame(*again()).at - bench.frame(*nak).at), "us"));
  }
  bench.expect_completion(id, WorkStatus::kSuccess, patience(bench));
  const auto repaired = again();
  bench.require(repaired.has_value() && bench.packet(*repaired).psn == lost, repaired,
                fmt::format("PSN {} was not sent again", lost));
  bench.log().mark(*repaired, "sent again");
  if (last) {
    // The timer may run from a packet before the last one, and frames are stamped when they are looked at, which may be
    // late. It does not run before the work is posted, so that no load makes a NIC look too early.
    const Duration waited = bench.frame(*repaired).at - posted;
    const Duration timeout = ack_timeout(bench.limits().timeout_exponent);
    bench.measure(measured("time until it was sent again", in_microseconds(waited), "us",
                           in_microseconds(timeout) * 0.95, in_microseconds(timeout * 4 + bench.limits().answer)));
  }
  bench.require(end.received == NicBench::pattern_bytes(kPackets * end.options.mtu), {},
                "the payload that arrived is not the one that was sent");
}

void tell_repair(NicBench& bench) {
  constexpr uint32_t kLong = 16;
  PeerEnd& end = bench.open();
  const uint32_t lost = psn_add(end.options.nic_psn, 1);
  uint32_t came = 0;
  end.on_request = [&](size_t frame) {
    return bench.packet(frame).psn == lost && ++came == 1 ? Fate::kLost : Fate::kDelivered;
  };
  const uint64_t id = bench.post(end, WorkKind::kWrite, kLong * end.options.mtu);
  bench.run_until([&] { return came > 1; }, patience(bench));
  bench.run_for(bench.limits().quiet);
  const size_t again = bench.requests(end).size() - kLong;
  // Who repeats selectively takes what was sent behind the gap for kept, which this end then must say.
  const bool selective = again == 1 && bench.completion(id) == nullptr;
  if (selective) bench.send_acknowledgement(end, psn_add(end.options.nic_psn, kLong - 1), 0x1F, 1);
  bench.expect_completion(id, WorkStatus::kSuccess, patience(bench));
  bench.measure(measured("packets sent again", static_cast<double>(again), "packets", 1));
  bench.tell(selective ? "selective repeat: only what was lost was sent again"
                       : fmt::format("go-back-N: {} packets were sent again for one lost", again));
}

void lose_acknowledgement(NicBench& bench) {
  PeerEnd& end = bench.open();
  end.answers = false;
  const uint64_t id = bench.post(end, WorkKind::kWrite, 100);
  bench.run_until([&] { return !bench.requests(end).empty(); }, bench.limits().answer);
  end.answers = true;
  bench.expect_completion(id, WorkStatus::kSuccess, patience(bench));
  const std::vector<size_t> sent = bench.requests(end);
  bench.require(sent.size() >= 2, {}, "the packet whose acknowledgement was lost was not sent again");
  bench.log().mark(sent[1], "sent again, because its acknowledgement was lost");
  bench.run_for(bench.limits().quiet);
  bench.require(bench.completions(id) == 1, {}, "the work completed more than once");
}

void lose_retransmission(NicBench& bench) {
  PeerEnd& end = bench.open();
  const uint32_t lost = psn_add(end.options.nic_psn, 1);
  uint32_t losses = 0;
  end.on_request = [&](size_t frame) {
    if (bench.packet(frame).psn != lost || losses == 2) return Fate::kDelivered;
    ++losses;
    return Fate::kLost;
  };
  const uint64_t id = bench.post(end, WorkKind::kWrite, kPackets * end.options.mtu);
  bench.expect_completion(id, WorkStatus::kSuccess, patience(bench));
  bench.require(losses == 2, {}, "the packet was not sent again");
  bench.require(end.received == NicBench::pattern_bytes(kPackets * end.options.mtu), {},
                "the payload that arrived is not the one that was sent");
}

}  // namespace

NicCases requester_loss_cases() {
  NicCases cases;
  const struct {
    const char* name;
    WorkKind kind;
  } kinds[] = {{"write", WorkKind::kWrite}, {"send", WorkKind::kSend}};
  const struct {
    const char* name;
    uint32_t index;
  } places[] = {{"first", 0}, {"middle", 2}, {"last", kPackets - 1}};
  for (const auto& kind : kinds) {
    for (const auto& place : places) {
      const bool last = place.index + 1 == kPackets;
      cases.push_back({fmt::format("requester.loss.{}.{}", kind.name, place.name),
                       fmt::format("{} packet of a {} lost", place.name, kind.name),
                       fmt::format("packet {} of a {} of five packets is taken as lost once{}", place.index + 1,
                                   kind.name, last ? "" : "; those behind it are answered by one sequence NAK"),
                       last ? "sent again after T to 4 T, T being the time-out; completes, all data arrives"
                            : "what the NAK names is sent again, before any time-out; completes, all data arrives",
                       last ? kTimeOut : kAcknowledgements,
                       [kind, place](NicBench& bench) { lose_one(bench, kind.kind, place.index); }});
    }
  }
  cases.push_back({"requester.loss.repair", "go-back-N or selective repeat",
                   "the second packet of a WRITE of 16 is taken as lost once",
                   "completes; how many packets were sent again says which it is", kReliability, tell_repair});
  cases.push_back({"requester.loss.ack", "acknowledgement lost", "the acknowledgement of a WRITE is not sent",
                   "the packet is sent again after a time-out, and the work completes once", kAcknowledgements,
                   lose_acknowledgement});
  cases.push_back({"requester.loss.twice", "retransmission lost",
                   "the second packet of a WRITE is taken as lost, and once more when it is sent again",
                   "a time-out repairs it; completes, all data arrives", kReliability, lose_retransmission});
  return cases;
}

}  // namespace rankwire
