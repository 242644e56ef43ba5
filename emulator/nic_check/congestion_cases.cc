// ECN, congestion notification packets (CNPs) and what the NIC does about them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "emulator/nic_check/nic_case.h"
#include "emulator/nic_check/steady_traffic.h"

namespace rankwire {
namespace {

void mark_data(NicBench& bench) {
  PeerEnd& end = bench.open();
  const uint64_t id = bench.post(end, WorkKind::kWrite, 5 * end.options.mtu);
  bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer);
  const uint32_t dscp = bench.options().traffic_class >> 2;
  for (const size_t i : bench.requests(end)) {
    const ParsedPacket& p = bench.packet(i);
    bench.require(p.dscp == dscp, i, fmt::format("data has DSCP {}, expected {}", p.dscp, dscp));
    bench.require(p.ecn == Ecn::kCapable0 || p.ecn == Ecn::kCapable1, i,
                  fmt::format("data has the ECN bits {}, so that no switch can mark it", static_cast<int>(p.ecn)));
  }
}

void mark_ack(NicBench& bench) {
  PeerEnd& end = bench.open();
  const size_t from = bench.log().size();
  bench.send(end, {.payload = NicBench::pattern_bytes(16)});
  const size_t ack = bench.expect_ack(end, from, end.options.peer_psn);
  const uint32_t dscp = bench.options().traffic_class >> 2;
  bench.require(bench.packet(ack).dscp == dscp, ack,
                fmt::format("the ACK has DSCP {}, expected {}", bench.packet(ack).dscp, dscp));
  bench.tell(fmt::format("ECN bits of the ACK: {}", static_cast<int>(bench.packet(ack).ecn)));
}

size_t send_marked(NicBench& bench, PeerEnd& end) {
  return bench.send(end, {.payload = NicBench::pattern_bytes(64), .ecn = Ecn::kCongestionExperienced});
}

void notify(NicBench& bench) {
  PeerEnd& end = bench.open();
  const size_t marked = send_marked(bench, end);
  bench.log().mark(marked, "marked CE");
  bench.run_until([&] { return !bench.notifications(end, marked).empty(); }, bench.limits().answer);
  const std::vector<size_t> found = bench.notifications(end, marked);
  bench.require(!found.empty(), marked, "no CNP came for a packet marked CE");
  const size_t cnp = found.front();
  const ParsedPacket& p = bench.packet(cnp);
  bench.log().mark(cnp, "CNP");
  bench.require(bench.frame(cnp).icrc_good, cnp, "the CNP has a wrong ICRC");
  bench.require((p.bth().congestion & Bth::kBackwardCongestion) != 0, cnp, "the CNP has no BECN bit");
  bench.require(std::all_of(p.head + p.icrc_offset - 16, p.head + p.icrc_offset, [](uint8_t b) { return b == 0; }), cnp,
                "the reserved bytes of the CNP are not 0");
  bench.measure(
      measured("until the CNP", static_cast<double>((bench.frame(cnp).at - bench.frame(marked).at).ps) / 1e6, "us"));
  bench.tell(fmt::format("the CNP has DSCP {}", p.dscp));
}

void notify_nobody(NicBench& bench) {
  PeerEnd& end = bench.open();
  const size_t from = bench.log().size();
  for (const Ecn ecn : {Ecn::kNotCapable, Ecn::kCapable0, Ecn::kCapable1})
    bench.send(end, {.payload = NicBench::pattern_bytes(64), .ecn = ecn});
  bench.run_for(bench.limits().quiet);
  const std::vector<size_t> found = bench.notifications(end, from);
  bench.require(found.empty(), found.empty() ? std::nullopt : std::optional(found.front()),
                "a CNP came, and no packet was marked CE");
}

void need_notifications(NicBench& bench, PeerEnd& end) {
  const size_t marked = send_marked(bench, end);
  if (!bench.run_until([&] { return !bench.notifications(end, marked).empty(); }, bench.limits().answer))
    bench.skip("the NIC sends no CNPs (congestion.cnp.sent)");
}

void pace_notifications(NicBench& bench) {
  // Factory setting of the shortest interval known (mlx5 min_time_between_cnps).
  constexpr Duration kShortest = microseconds(4);
  constexpr uint32_t kMarked = 200;
  PeerEnd& end = bench.open();
  need_notifications(bench, end);
  bench.run_for(bench.limits().quiet);
  const size_t from = bench.log().size();
  const Time began = bench.now();
  for (uint32_t i = 0; i < kMarked; ++i) {
    send_marked(bench, end);
    bench.run_for(microseconds(1));
  }
  const double lasted = static_cast<double>((bench.now() - began).ps);
  bench.run_for(bench.limits().quiet);
  const std::vector<size_t> found = bench.notifications(end, from);
  Duration shortest = Duration::max();
  for (size_t i = 1; i < found.size(); ++i)
    shortest = std::min(shortest, bench.frame(found[i]).at - bench.frame(found[i - 1]).at);
  bench.measure(measured("CNPs", static_cast<double>(found.size()), "", 1,
                         lasted / static_cast<double>(kShortest.ps) + 2,
                         fmt::format("{} marked packets in {:.0f} us", kMarked, lasted / 1e6)));
  if (found.size() > 1) bench.tell(fmt::format("shortest interval {:.1f} us", static_cast<double>(shortest.ps) / 1e6));
}

void scope_of_notifications(NicBench& bench) {
  PeerEnd& one = bench.open();
  PeerEnd& other = bench.open();
  need_notifications(bench, one);
  bench.run_for(bench.limits().quiet);
  const size_t from = bench.log().size();
  send_marked(bench, one);
  send_marked(bench, other);
  bench.run_for(bench.limits().quiet);
  const size_t first = bench.notifications(one, from).size(), second = bench.notifications(other, from).size();
  bench.measure(measured("CNPs", static_cast<double>(first + second), "", 1, 2, "two queue pairs marked at once"));
  bench.tell(first + second == 2 ? "the interval is kept for each queue pair"
                                 : "queue pairs of the same addresses share an interval");
}

void react(NicBench& bench) {
  PeerEnd& end = begin_traffic(bench, 24);
  // In real time long enough for the noise of a host.
  const Duration look = bench.limits().quiet < milliseconds(1) ? microseconds(25) : milliseconds(20);
  const double before = rate_for(bench, end, look);
  if (before <= 0) bench.undecided("nothing was sent before the first CNP");
  MeasuredCurve curve{"rate after CNPs", "CNPs", "", "rate", "Gbit/s", {{0, before / 1e9}}};
  double after = before;
  for (int n = 1; n <= 5; ++n) {
    bench.log().mark(bench.send_notification(end), fmt::format("CNP {}", n));
    after = rate_for(bench, end, look);
    curve.points.push_back({static_cast<double>(n), after / 1e9});
    // A CNP takes away half at most (alpha <= 1).
    bench.measure_within(look, measured("rate", after / before, "of that before", std::pow(0.5, n) * 0.8,
                                        n == 5 ? std::optional(0.7) : std::nullopt, fmt::format("{} CNPs", n)));
  }
  bench.add_curve(std::move(curve));
}

void recover(NicBench& bench) {
  PeerEnd& end = begin_traffic(bench, 48);
  const Duration look = microseconds(100);
  const double before = rate_for(bench, end, bench.limits().quiet < milliseconds(1) ? look : milliseconds(20));
  if (before <= 0) bench.undecided("nothing was sent before the first CNP");
  for (int n = 0; n < 5; ++n) {
    bench.send_notification(end);
    bench.run_for(microseconds(25));
  }
  const double cut = rate_for(bench, end, bench.limits().quiet < milliseconds(1) ? look : milliseconds(20));
  if (cut > before * 0.7) bench.skip("the NIC does not slow down after CNPs (congestion.reaction.cut)");
  MeasuredCurve curve{"rate after the last CNP", "time", "us", "rate", "Gbit/s", {}};
  double last = cut;
  const Time began = bench.now();
  for (int i = 0; i < 12; ++i) {
    last = rate_for(bench, end, look);
    curve.points.push_back({static_cast<double>((bench.now() - began).ps) / 1e6, last / 1e9});
  }
  bench.add_curve(std::move(curve));
  bench.measure_within(look, measured("rate 1.2 ms later", last / cut, "of that after the last CNP", 1.1));
}

void notify_stranger(NicBench& bench) {
  PeerEnd& end = bench.open();
  PeerPacket cnp{.opcode = Opcode::kCongestionNotification, .psn = 0, .ack_request = false};
  cnp.before_seal = [&](Frame& frame) {
    reinterpret_cast<Bth*>(frame.head + end.path.header_length - sizeof(Bth))->destination_qp = Be24(0xFEDCBA);
  };
  bench.send(end, cnp);
  bench.expect_alive(end);
}

}  // namespace

NicCases congestion_cases() {
  return {
      {"congestion.marking.data", "DSCP and ECN of data", "the NIC sends a WRITE; its queue pair has DSCP 26, ECT(0)",
       "every packet has DSCP 26 and is ECN-capable", kDcqcnPaper, mark_data},
      {"congestion.marking.ack", "DSCP of acknowledgements", "a WRITE arrives; its queue pair has DSCP 26",
       "the ACK has DSCP 26, so that it stays in the lossless class; its ECN bits are reported",
       "IBTA Vol. 1, chapter 9 (a queue pair's packets follow its address vector)", mark_ack},
      {"congestion.cnp.sent", "CNP for a marked packet", "a packet marked CE arrives",
       "a CNP to the queue pair that sent it, with BECN, 16 zero bytes and a right ICRC; its DSCP is reported",
       kNotification, notify},
      {"congestion.cnp.unmarked", "no CNP for other packets", "packets arrive with the other ECN values", "no CNP",
       kNotification, notify_nobody},
      {"congestion.cnp.interval", "interval of CNPs", "200 packets marked CE arrive one microsecond apart",
       "no more CNPs than one every 4 us, the shortest interval that NICs have; the interval is reported", kDcqcnPaper,
       pace_notifications},
      {"congestion.cnp.scope", "scope of the interval", "packets of two queue pairs arrive at once, marked CE",
       "one or two CNPs, which says what the interval is kept for", "Wei et al., Lumina, SIGCOMM 2023",
       scope_of_notifications},
      {"congestion.cnp.stranger", "CNP for nobody", "a CNP arrives for a queue pair that there is not",
       "nothing happens to others", kNotification, notify_stranger},
      {"congestion.reaction.cut", "rate after CNPs", "five CNPs arrive one behind the other while the NIC sends",
       "after n CNPs no less than 2^-n of the rate, and after five no more than 70 %", kDcqcnPaper, react},
      {"congestion.reaction.recovery", "rate after the last CNP", "CNPs stop",
       "the rate has grown by 10 % or more 1.2 ms later; the curve is drawn", kDcqcnPaper, recover},
  };
}

}  // namespace rankwire
