// The NIC as requester: time-outs, retry counts, NAKs and receivers that are not ready.
#include <fmt/format.h>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

double milliseconds_of(Duration d) {
  return static_cast<double>(d.ps) / 1e9;
}

void lose_all(PeerEnd& end) {
  end.on_request = [](size_t) { return Fate::kLost; };
}

void time_out(NicBench& bench) {
  for (const uint32_t more : {0u, 1u, 2u}) {
    const uint32_t exponent = bench.limits().timeout_exponent + more;
    const Duration timeout = ack_timeout(exponent);
    PeerEnd& end = bench.open({.timeout_exponent = exponent});
    lose_all(end);
    const Time posted = bench.now();
    bench.post(end, WorkKind::kWrite, 64);
    const Duration limit = timeout * 4 + bench.limits().answer * 2;
    bench.run_until([&] { return bench.requests(end).size() >= 2; }, limit);
    const std::vector<size_t> sent = bench.requests(end);
    bench.require(sent.size() >= 2, {}, fmt::format("nothing was sent again after a time-out of 2^{}", exponent));
    bench.log().mark(sent[1], "sent again after the time-out");
    // Not from the first frame, whose stamp is late when the loop was.
    const Duration waited = bench.frame(sent[1]).at - posted;
    bench.measure(measured("time-out", milliseconds_of(waited), "ms", milliseconds_of(timeout) * 0.95,
                           milliseconds_of(timeout) * 4 + milliseconds_of(bench.limits().answer),
                           fmt::format("4.096 us x 2^{}", exponent)));
  }
}

void give_up(NicBench& bench, uint8_t retries) {
  PeerEnd& end = bench.open({.retry_count = retries});
  lose_all(end);
  const uint64_t id = bench.post(end, WorkKind::kWrite, 64);
  const uint64_t behind = bench.post(end, WorkKind::kWrite, 64);
  const Duration limit = ack_timeout(bench.limits().timeout_exponent) * (4 * (retries + 1)) + bench.limits().answer;
  bench.expect_completion(id, WorkStatus::kRetryExceeded, limit);
  bench.expect_completion(behind, WorkStatus::kFlushed, bench.limits().answer);
  uint32_t sent = 0;
  for (const size_t frame : bench.requests(end)) sent += bench.packet(frame).psn == end.options.nic_psn ? 1 : 0;
  bench.measure(measured("transmissions of the packet", sent, "", retries + 1, retries + 1));
}

void reset_count(NicBench& bench) {
  constexpr uint32_t kLosses = 2;
  PeerEnd& end = bench.open({.retry_count = kLosses});
  uint32_t lost = 0;
  // Twice each: more than the count in all, and never more at one place.
  end.on_request = [&](size_t frame) {
    if (bench.packet(frame).psn != end.expected || lost == kLosses) {
      if (bench.packet(frame).psn == end.expected) lost = 0;
      return Fate::kDelivered;
    }
    ++lost;
    return Fate::kLost;
  };
  for (int i = 0; i < 3; ++i) {
    const uint64_t id = bench.post(end, WorkKind::kWrite, 64);
    bench.expect_completion(id, WorkStatus::kSuccess, ack_timeout(bench.limits().timeout_exponent) * 12);
  }
}

void refuse(NicBench& bench, Syndrome syndrome, WorkStatus status) {
  PeerEnd& end = bench.open();
  lose_all(end);
  const uint64_t id = bench.post(end, WorkKind::kWrite, 64);
  const uint64_t behind = bench.post(end, WorkKind::kWrite, 64);
  bench.run_until([&] { return !bench.requests(end).empty(); }, bench.limits().answer);
  const size_t nak = bench.send_acknowledgement(end, end.options.nic_psn, static_cast<uint8_t>(syndrome));
  bench.log().mark(nak, "NAK");
  bench.expect_completion(id, status, bench.limits().answer);
  bench.expect_completion(behind, WorkStatus::kFlushed, bench.limits().answer);
}

uint8_t not_ready(uint32_t code) {
  return static_cast<uint8_t>(kSyndromeTypeNotReady | code);
}

void wait_for_receiver(NicBench& bench, uint32_t code) {
  PeerEnd& end = bench.open();
  std::optional<size_t> nak;
  end.on_request = [&](size_t) {
    if (nak) return Fate::kDelivered;
    nak = bench.send_acknowledgement(end, end.options.nic_psn, not_ready(code));
    return Fate::kLost;
  };
  const uint64_t id = bench.post(end, WorkKind::kSend, 64);
  const Duration timer = not_ready_wait(code);
  bench.expect_completion(id, WorkStatus::kSuccess, timer * 4 + bench.limits().answer * 2);
  const std::vector<size_t> again = bench.requests(end, *nak);
  bench.log().mark(*nak, "RNR NAK");
  bench.log().mark(again.front(), "sent again");
  const Duration waited = bench.frame(again.front()).at - bench.frame(*nak).at;
  bench.measure(measured("wait after the RNR NAK", milliseconds_of(waited), "ms", milliseconds_of(timer), {},
                         fmt::format("timer code {}, {} ms", code, milliseconds_of(timer))));
}

/// Sixteen times the usual, of queue pairs whose transmissions are counted: a late NAK is not to be overtaken by a
/// time-out.
uint32_t long_timeout(const NicBench& bench) {
  return bench.limits().timeout_exponent + 4;
}

void exhaust_receiver(NicBench& bench, uint8_t retries) {
  constexpr uint32_t kCode = 1;  // 10 us
  PeerEnd& end = bench.open({.timeout_exponent = long_timeout(bench), .not_ready_retry_count = retries});
  end.on_request = [&](size_t frame) {
    bench.send_acknowledgement(end, bench.packet(frame).psn, not_ready(kCode));
    return Fate::kLost;
  };
  const uint64_t id = bench.post(end, WorkKind::kSend, 64);
  bench.expect_completion(id, WorkStatus::kNotReadyExceeded, ack_timeout(long_timeout(bench)));
  bench.measure(measured("transmissions of the packet", static_cast<double>(bench.requests(end).size()), "",
                         retries + 1, retries + 1));
}

void endless_receiver(NicBench& bench) {
  constexpr uint32_t kCode = 1, kNaks = 20;
  PeerEnd& end = bench.open({.timeout_exponent = long_timeout(bench), .not_ready_retry_count = 7});
  uint32_t naks = 0;
  end.on_request = [&](size_t frame) {
    if (naks == kNaks) return Fate::kDelivered;
    ++naks;
    bench.send_acknowledgement(end, bench.packet(frame).psn, not_ready(kCode));
    return Fate::kLost;
  };
  const uint64_t id = bench.post(end, WorkKind::kSend, 64);
  bench.expect_completion(id, WorkStatus::kSuccess, ack_timeout(long_timeout(bench)));
}

}  // namespace

NicCases requester_retry_cases() {
  NicCases cases;
  cases.push_back({"requester.timeout.law", "time-out of 4.096 us x 2^n",
                   "nothing is answered, at three local ACK time-outs one behind the other",
                   "the packet is sent again after T to 4 T", kTimeOut, time_out});
  for (const uint8_t retries : {0, 1, 3, 7})
    cases.push_back(
        {fmt::format("requester.retry.count_{}", retries), fmt::format("retry count {}", retries),
         fmt::format("nothing is answered, with a retry count of {}", retries),
         fmt::format("sent {} times, then 'transport retry counter exceeded', and what is behind is flushed",
                     retries + 1),
         kRequesterFaults, [retries](NicBench& bench) { give_up(bench, retries); }});
  cases.push_back({"requester.retry.reset", "progress resets the retry count",
                   "of three WRITEs each is taken as lost twice, with a retry count of 2", "all three complete",
                   kReliability, reset_count});
  const struct {
    const char* name;
    const char* title;
    Syndrome syndrome;
    WorkStatus status;
  } naks[] = {
      {"invalid_request", "NAK: invalid request", Syndrome::kNakInvalidRequest, WorkStatus::kRemoteInvalid},
      {"remote_access", "NAK: remote access error", Syndrome::kNakRemoteAccess, WorkStatus::kRemoteAccess},
      {"remote_operational", "NAK: remote operational error", Syndrome::kNakRemoteOperational,
       WorkStatus::kRemoteOperation},
  };
  for (const auto& nak : naks)
    cases.push_back(
        {fmt::format("requester.nak.{}", nak.name), nak.title,
         fmt::format("a WRITE is answered by NAK 0x{:02X}", static_cast<uint8_t>(nak.syndrome)),
         fmt::format("the work completes with '{}', and what is behind it is flushed", to_string(nak.status)),
         kRequesterFaults, [nak](NicBench& bench) { refuse(bench, nak.syndrome, nak.status); }});
  cases.push_back({"requester.rnr.timer", "RNR timer", "a SEND is answered by an RNR NAK with timer code 14",
                   "sent again, no sooner than after 1.28 ms", "IBTA Vol. 1, 9.7.5.2.8 (RNR NAK)",
                   [](NicBench& bench) { wait_for_receiver(bench, 14); }});
  cases.push_back({"requester.rnr.timer_long", "RNR timer, longer", "the same with timer code 18",
                   "sent again, no sooner than after 5.12 ms", "IBTA Vol. 1, 9.7.5.2.8 (RNR NAK)",
                   [](NicBench& bench) { wait_for_receiver(bench, 18); }});
  for (const uint8_t retries : {0, 2})
    cases.push_back({fmt::format("requester.rnr.retry_{}", retries), fmt::format("RNR retry count {}", retries),
                     "every transmission of a SEND is answered by an RNR NAK",
                     fmt::format("sent {} times, then 'RNR retry counter exceeded'", retries + 1), kRequesterFaults,
                     [retries](NicBench& bench) { exhaust_receiver(bench, retries); }});
  cases.push_back({"requester.rnr.retry_7", "RNR retry count 7 is without end",
                   "twenty transmissions of a SEND are answered by RNR NAKs, the next by an ACK", "completes",
                   "IBTA Vol. 1, 9.7.5.2.8 (RNR NAK)", endless_receiver});
  return cases;
}

}  // namespace rankwire
