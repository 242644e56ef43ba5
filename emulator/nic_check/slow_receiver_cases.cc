// Receivers that take what is sent only when they come to it: the peer's and the NIC's own.
#include <fmt/format.h>

#include <vector>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

constexpr uint32_t kSlowSends = 8, kSlowBytes = 256;
constexpr uint8_t kSlowCode = 1;  // 10 us

/// Each SEND is refused once, as by who posts its receive when it has found out. Fewer in a row than the retry count,
/// which counts anew for each message.
void receive_slowly(NicBench& bench) {
  PeerEnd& end = bench.open({.not_ready_retry_count = 3});
  uint32_t refused = 0;
  end.on_request = [&](size_t frame) {
    const uint32_t psn = bench.packet(frame).psn;
    // What comes behind a refused one is not looked at.
    if (psn != end.expected) return psn_distance(end.expected, psn) > 0 ? Fate::kLost : Fate::kDelivered;
    if (psn != psn_add(end.options.nic_psn, refused)) return Fate::kDelivered;
    ++refused;
    bench.log().mark(bench.send_acknowledgement(end, psn, kSyndromeTypeNotReady | kSlowCode), "RNR NAK");
    return Fate::kLost;
  };
  std::vector<uint64_t> ids;
  for (uint32_t i = 0; i < kSlowSends; ++i) ids.push_back(bench.post(end, WorkKind::kSend, kSlowBytes));
  for (const uint64_t id : ids)
    bench.expect_completion(id, WorkStatus::kSuccess,
                            ack_timeout(bench.limits().timeout_exponent) + bench.limits().answer);
  end.on_request = {};
  for (const uint64_t id : ids) bench.require(bench.completions(id) == 1, {}, "a SEND completed more than once");
  bench.require(
      end.arrived == kSlowSends * kSlowBytes, {},
      fmt::format("{} bytes of {} SENDs arrived, expected {}", end.arrived, kSlowSends, kSlowSends * kSlowBytes));
}

/// The NIC's application posts each receive only after the SEND for it was refused.
void let_receive_slowly(NicBench& bench) {
  PeerEnd& end = bench.open({.not_ready_code = kSlowCode});
  for (uint32_t i = 0; i < kSlowSends; ++i) {
    const uint32_t psn = psn_add(end.options.peer_psn, i);
    const PeerPacket send{.opcode = Opcode::kSendOnly, .psn = psn, .payload = NicBench::pattern_bytes(kSlowBytes, i)};
    // Another one is behind it, of a requester that has not been told yet.
    const PeerPacket behind{
        .opcode = Opcode::kSendOnly, .psn = psn_add(psn, 1), .payload = NicBench::pattern_bytes(kSlowBytes, i + 1)};
    size_t from = bench.log().size();
    bench.send(end, send);
    bench.send(end, behind);
    bench.expect_nak(end, from, Syndrome::kNakNotReady, psn);
    bench.run_for(not_ready_wait(kSlowCode));
    const uint64_t id = bench.post_receive(end, kSlowBytes, i);
    from = bench.log().size();
    bench.send(end, send);
    bench.expect_ack(end, from, psn, i + 1);
    bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer);
    bench.expect_memory(NicBench::kReceive + i * 65536, NicBench::pattern_bytes(kSlowBytes, i),
                        fmt::format("SEND {} of {}", i + 1, kSlowSends));
  }
}

}  // namespace

NicCases slow_receiver_cases() {
  return {
      {"robustness.slow_receiver.peer", "slow receiver at the peer",
       "the first transmission of each of eight SENDs is answered by an RNR NAK; the retry count is 3",
       "each completes once, and all bytes arrive: the count begins anew with each message",
       "IBTA Vol. 1, 9.7.5.2.8 (RNR NAK)", receive_slowly},
      {"robustness.slow_receiver.nic", "slow receiver at the NIC",
       "eight SENDs arrive, each with another behind it; each receive is posted only after its RNR NAK",
       "an RNR NAK for each, and each is taken once, in order, when it comes again", "IBTA Vol. 1, 9.7.5.2.8 (RNR NAK)",
       let_receive_slowly},
  };
}

}  // namespace rankwire
