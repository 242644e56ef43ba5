// What can be judged of a NIC that does nothing but send the data streams of stock perftest.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

constexpr uint32_t kFew = 5;             // the least that perftest sends
constexpr uint32_t kMessagePackets = 5;  // of a message in which one is lost

double us_between(const PerftestBench& bench, size_t from, size_t to) {
  return static_cast<double>((bench.frame(to).at - bench.frame(from).at).ps) / 1e6;
}

/// What a queue pair of the NIC, known by the one that it sends to, is to send next.
struct ExpectedPacket {
  uint32_t psn = 0, sent = 0;  ///< `sent`: bytes of its message
};

/// Opcode, PSN, length and ICRC of every request, where none was lost.
void expect_order(PerftestBench& bench, Verb verb, uint32_t message) {
  const uint32_t mtu = bench.mtu();
  const VerbOpcodes& opcodes = opcodes_of(verb);
  std::map<uint32_t, ExpectedPacket> expected;
  for (const size_t i : bench.requests()) {
    const ParsedPacket& p = bench.packet(i);
    ExpectedPacket& next = expected.try_emplace(p.destination_qp, ExpectedPacket{.psn = p.psn}).first->second;
    bench.require(bench.frame(i).icrc_good, i, "the ICRC is wrong");
    bench.require(p.psn == next.psn, i, fmt::format("PSN {} came, expected {}", p.psn, next.psn));
    if (verb == Verb::kRead) {
      bench.require(p.opcode == Opcode::kReadRequest && p.dma_length == message, i,
                    fmt::format("a READ of {} bytes is expected", message));
      next.psn = psn_add(next.psn, packets_of(message, mtu));
      continue;
    }
    const uint32_t length = std::min(mtu, message - next.sent);
    const bool first = next.sent == 0, last = next.sent + length == message;
    const Opcode opcode = first ? (last ? opcodes.only : opcodes.first) : (last ? opcodes.last : opcodes.middle);
    bench.require(p.opcode == opcode, i,
                  fmt::format("opcode 0x{:02X} came, expected 0x{:02X}", static_cast<uint8_t>(p.opcode),
                              static_cast<uint8_t>(opcode)));
    bench.require(p.payload_length == length, i,
                  fmt::format("{} bytes of payload came, expected {}", p.payload_length, length));
    next = {psn_add(next.psn, 1), last ? 0 : next.sent + length};
  }
}

PerftestRun stream(const PerftestBench& bench, Verb verb, uint32_t packets, uint32_t messages) {
  const char* const program = verb == Verb::kRead ? "ib_read_bw" : verb == Verb::kSend ? "ib_send_bw" : "ib_write_bw";
  // What is under way has room in the port's queue, however slowly the wire is looked at.
  return {.program = program,
          .options = fmt::format("-s {} -n {} {}", packets * bench.mtu(), messages,
                                 verb == Verb::kRead ? "-o 1 -t 8" : "-t 8"),
          .messages = messages};
}

/// One message at a time, so that nothing behind it shows what was lost at its end.
PerftestRun one_by_one(const PerftestBench& bench, Verb verb, uint32_t packets) {
  PerftestRun run = stream(bench, verb, packets, kFew);
  run.options = fmt::format("-s {} -n {} -t 1{}", packets * bench.mtu(), kFew, verb == Verb::kRead ? " -o 1" : "");
  return run;
}

void send_stream(PerftestBench& bench, Verb verb) {
  constexpr uint32_t kMany = 50, kLarge = 16;
  const PerftestResult result = bench.run(stream(bench, verb, kLarge, kMany));
  expect_order(bench, verb, kLarge * bench.mtu());
  bench.measure(measured("rate while the wire is kept", result.throughputs.at(0).bits_per_second() / 1e9, "Gbit/s"));
  if (result.report) bench.measure(measured("perftest's own", result.report->bandwidth() * 8 / 1e9, "Gbit/s"));
}

void take_turns(PerftestBench& bench) {
  constexpr uint32_t kTurns = 100;
  const PerftestResult result =
      bench.run({.program = "ib_write_lat", .options = fmt::format("-s 2 -n {}", kTurns), .messages = kTurns});
  bench.require(result.turns.size() == 1, {}, "no turn was taken");
  const TurnAround& turns = result.turns.front();
  const auto in_us = [](Duration d) { return static_cast<double>(d.ps) / 1e6; };
  bench.measure(measured("half a round trip, median", in_us(turns.half_round_trip.quantile(0.5)), "us"));
  bench.measure(measured("half a round trip, P99", in_us(turns.half_round_trip.quantile(0.99)), "us"));
}

void send_all_sizes(PerftestBench& bench) {
  constexpr uint32_t kSizes = 23;  // 2 B to 8 MiB
  const PerftestResult result = bench.run(
      {.program = "ib_write_bw", .options = fmt::format("-a -n {} -t 8", kFew), .messages = uint64_t{kFew} * kSizes});
  MeasuredCurve curve{"rate while the wire is kept", "message", "B", "rate", "Gbit/s", {}};
  for (const Throughput& t : result.throughputs) {
    bench.require(t.messages == kFew, {}, fmt::format("{} messages of {} bytes came", t.messages, t.message.count));
    curve.points.push_back({static_cast<double>(t.message.count), t.bits_per_second() / 1e9});
  }
  bench.require(result.throughputs.size() == kSizes, {}, fmt::format("{} sizes came", result.throughputs.size()));
  bench.add_curve(std::move(curve));
}

void use_queue_pairs(PerftestBench& bench) {
  PerftestRun run = stream(bench, Verb::kWrite, 2, kFew);
  run.options += fmt::format(" -q {}", PerftestBench::kQueuePairs);
  run.messages *= PerftestBench::kQueuePairs;
  const PerftestResult result = bench.run(run);
  bench.require(result.queue_pairs == PerftestBench::kQueuePairs, {},
                fmt::format("{} queue pairs came", result.queue_pairs));
  expect_order(bench, Verb::kWrite, 2 * bench.mtu());
}

void fill_packets(PerftestBench& bench, uint32_t mtu) {
  PerftestRun run = stream(bench, Verb::kWrite, 1, kFew);
  run.options = fmt::format("-s {} -n {} -t 8", 3 * mtu, kFew);
  run.mtu = mtu;
  bench.run(run);
  for (const size_t i : bench.requests())
    bench.require(bench.packet(i).payload_length == mtu, i,
                  fmt::format("{} bytes of payload came, expected {}", bench.packet(i).payload_length, mtu));
}

void mark_stream(PerftestBench& bench) {
  bench.run(stream(bench, Verb::kWrite, kMessagePackets, kFew));
  constexpr uint32_t kDscp = PerftestBench::kTrafficClass >> 2;
  for (const size_t i : bench.requests()) {
    const ParsedPacket& p = bench.packet(i);
    bench.require(p.dscp == kDscp, i, fmt::format("data has DSCP {}, expected {}", p.dscp, kDscp));
    bench.require(p.ecn == Ecn::kCapable0 || p.ecn == Ecn::kCapable1, i,
                  fmt::format("data has the ECN bits {}, so that no switch can mark it", static_cast<int>(p.ecn)));
  }
}

/// The packet that a script takes as lost: number and PSN, once it has come.
struct LostPacket {
  std::optional<size_t> frame;
  uint32_t psn = 0;
};

/// Loses packet `index` of the NIC's first message once.
WireScript lose_packet(PerftestBench& bench, uint32_t index, LostPacket& lost) {
  auto seen = std::make_shared<uint32_t>(0);
  return {.arrives = [&bench, &lost, index, seen](size_t frame) {
    if (lost.frame || (*seen)++ != index) return Passage::kDelivered;
    lost = {frame, bench.packet(frame).psn};
    bench.log().mark(frame, "taken as lost");
    return Passage::kLost;
  }};
}

/// The frames in which the NIC sent that PSN again.
std::vector<size_t> sent_again(const PerftestBench& bench, const LostPacket& lost) {
  std::vector<size_t> found;
  for (const size_t i : bench.requests())
    if (i > *lost.frame && bench.packet(i).psn == lost.psn) found.push_back(i);
  return found;
}

void expect_timeout(PerftestBench& bench, size_t from, size_t to) {
  const double timeout = static_cast<double>(ack_timeout(bench.limits().timeout_exponent).ps) / 1e6;
  const double answer = static_cast<double>(bench.limits().answer.ps) / 1e6;
  // The timer may run from a packet before, and how long ago that came is not known.
  bench.measure(measured("time until it was sent again", us_between(bench, from, to), "us", timeout * 0.95 - answer,
                         timeout * 4 + answer));
}

void lose_from_stream(PerftestBench& bench, Verb verb, uint32_t index) {
  LostPacket lost;
  PerftestRun run = one_by_one(bench, verb, kMessagePackets);
  run.script = lose_packet(bench, index, lost);
  const PerftestResult result = bench.run(run);
  const std::vector<size_t> again = sent_again(bench, lost);
  bench.require(!again.empty(), lost.frame, fmt::format("PSN {} was not sent again", lost.psn));
  bench.log().mark(again.front(), "sent again");
  if (index + 1 == kMessagePackets) return expect_timeout(bench, *lost.frame, again.front());
  std::optional<size_t> nak;
  for (size_t i = *lost.frame; i < again.front() && !nak; ++i)
    if (!bench.frame(i).from_nic && bench.packet(i).opcode == Opcode::kAcknowledge &&
        bench.packet(i).syndrome == static_cast<uint8_t>(Syndrome::kNakSequence))
      nak = i;
  bench.require(nak.has_value(), lost.frame, "nothing was sent behind the packet that was lost");
  bench.log().mark(*nak, "NAK of the packet that was lost");
  bench.measure(measured("NAK reaction", us_between(bench, *nak, again.front()), "us", {},
                         static_cast<double>(bench.limits().answer.ps) / 1e6));
  bench.require(result.counters.naks_tx == 1, *nak, fmt::format("{} NAKs were needed", result.counters.naks_tx));
}

void lose_first_acknowledgement(PerftestBench& bench) {
  std::optional<size_t> lost;
  PerftestRun run = one_by_one(bench, Verb::kWrite, 1);
  run.script.leaves = [&](size_t frame) {
    if (lost || bench.packet(frame).opcode != Opcode::kAcknowledge) return Passage::kDelivered;
    lost = frame;
    bench.log().mark(frame, "not sent");
    return Passage::kLost;
  };
  bench.run(run);
  bench.require(lost.has_value(), {}, "no acknowledgement was sent");
  const std::vector<size_t> sent = bench.requests();
  const auto again = std::ranges::find_if(sent, [&](size_t i) { return i > *lost; });
  bench.require(again != sent.end() && bench.packet(*again).psn == bench.packet(*lost).psn, lost,
                "what was not acknowledged was not sent again");
  bench.log().mark(*again, "sent again");
  expect_timeout(bench, *lost, *again);
}

void lose_read_response(PerftestBench& bench) {
  std::optional<size_t> lost;
  PerftestRun run = one_by_one(bench, Verb::kRead, kMessagePackets);
  run.script.leaves = [&](size_t frame) {
    if (lost || bench.packet(frame).opcode != Opcode::kReadResponseMiddle) return Passage::kDelivered;
    lost = frame;
    bench.log().mark(frame, "not sent");
    return Passage::kLost;
  };
  bench.run(run);
  bench.require(lost.has_value(), {}, "no response was sent");
  const std::vector<size_t> sent = bench.requests();
  const auto again = std::ranges::find_if(sent, [&](size_t i) { return i > *lost; });
  bench.require(again != sent.end() && psn_distance(bench.packet(*again).psn, bench.packet(*lost).psn) >= 0, lost,
                "what was lost was not asked for again");
  bench.log().mark(*again, "asked for again");
  bench.measure(measured("until it was asked for again", us_between(bench, *lost, *again), "us", {},
                         static_cast<double>(ack_timeout(bench.limits().timeout_exponent).ps) / 1e6 * 0.95));
}

void count_repair(PerftestBench& bench) {
  constexpr uint32_t kLong = 16;
  LostPacket lost;
  PerftestRun run = one_by_one(bench, Verb::kWrite, kLong);
  run.script = lose_packet(bench, 1, lost);
  bench.run(run);
  const size_t again = bench.requests().size() - size_t{kFew} * kLong;
  bench.measure(measured("packets sent again", static_cast<double>(again), "packets", 1));
  bench.tell(fmt::format("{} packets were sent again for one lost, to a receiver that goes back", again));
}

/// Bits a second of payload between two of the packets.
double rate_between(const PerftestBench& bench, const std::vector<size_t>& sent, size_t from, size_t to) {
  double bits = 0;
  for (size_t i = from + 1; i <= to; ++i) bits += 8.0 * bench.packet(sent[i]).payload_length;
  const double seconds = us_between(bench, sent[from], sent[to]) / 1e6;
  return seconds > 0 ? bits / seconds : 0;
}

void obey_notifications(PerftestBench& bench) {
  constexpr uint32_t kMany = 200, kLarge = 16, kAll = kMany * kLarge;
  uint32_t arrived = 0;
  PerftestRun run = stream(bench, Verb::kWrite, kLarge, kMany);
  run.script.arrives = [&](size_t frame) {
    if (++arrived <= kAll / 2) return Passage::kDelivered;
    if (arrived == kAll / 2 + 1) bench.log().mark(frame, "from here on taken as marked CE, and answered by CNPs");
    return Passage::kMarked;
  };
  const PerftestResult result = bench.run(run);
  const std::vector<size_t> sent = bench.requests();
  if (sent.size() < kAll) bench.undecided("the capture had no room for all packets");
  const size_t half = sent.size() / 2, late = sent.size() * 3 / 4;
  const double before = rate_between(bench, sent, sent.size() / 10, half);
  const double after = rate_between(bench, sent, late, sent.size() - 1);
  const auto window = Duration(static_cast<int64_t>(us_between(bench, sent[0], sent[half]) * 1e6));
  if (before <= 0) bench.undecided("all came at once");
  bench.measure_within(window, measured("rate", after / before, "of that before", {}, 0.7));
  bench.measure(measured("rate before the first CNP", before / 1e9, "Gbit/s"));
  bench.tell(fmt::format("{} packets were sent again", result.counters.duplicate_packets));
}

void send_notifications(PerftestBench& bench) {
  PerftestRun run = one_by_one(bench, Verb::kRead, kMessagePackets);
  run.ecn = Ecn::kCongestionExperienced;
  bench.run(run);
  const std::vector<size_t> cnps = bench.notifications();
  bench.require(!cnps.empty(), {}, "no CNP came, and all READ responses were marked CE");
  bench.log().mark(cnps.front(), "CNP");
  bench.require(bench.frame(cnps.front()).icrc_good, cnps.front(), "the CNP has a wrong ICRC");
  bench.require((bench.packet(cnps.front()).bth().congestion & Bth::kBackwardCongestion) != 0, cnps.front(),
                "the CNP has no BECN bit");
  bench.measure(measured("CNPs", static_cast<double>(cnps.size()), ""));
}

}  // namespace

std::vector<CaseOn<PerftestBench>> perftest_cases() {
  constexpr const char* kInOrder =
      "opcodes, PSNs, lengths and ICRCs of all packets are right, and each message arrives";
  constexpr const char* kPerftest = "linux-rdma/perftest, README (bandwidth and latency tests)";
  std::vector<CaseOn<PerftestBench>> cases;
  for (const auto& [verb, name] : {std::pair(Verb::kWrite, "write"), {Verb::kSend, "send"}, {Verb::kRead, "read"}})
    cases.push_back({fmt::format("perftest.{}_bw", name), fmt::format("ib_{}_bw", name),
                     fmt::format("ib_{}_bw of 50 messages of 16 packets", name), kInOrder, kSegmentation,
                     [verb = verb](PerftestBench& bench) { send_stream(bench, verb); }});
  cases.push_back({"perftest.write_lat", "ib_write_lat", "ib_write_lat of 100 turns of 2 bytes",
                   "each turn is taken; half the round trip is reported", kPerftest, take_turns});
  cases.push_back({"perftest.sizes", "all sizes", "ib_write_bw -a: 5 messages of 2 B, 4 B, ... 8 MiB each",
                   "each message arrives; the rates are drawn", kPerftest, send_all_sizes});
  cases.push_back(
      {"perftest.queue_pairs", "16 queue pairs", "ib_write_bw -q 16", kInOrder, kSegmentation, use_queue_pairs});
  for (const uint32_t mtu : {256, 512, 1024, 2048, 4096})
    cases.push_back({fmt::format("perftest.mtu.{}", mtu), fmt::format("path MTU {}", mtu),
                     fmt::format("ib_write_bw -m {} of 5 messages of 3 packets", mtu), "all packets are full",
                     kSegmentation, [mtu](PerftestBench& bench) { fill_packets(bench, mtu); }});
  cases.push_back({"perftest.marking", "DSCP and ECN of data", "ib_write_bw --tclass 106: DSCP 26, ECT(0)",
                   "every packet has DSCP 26 and is ECN-capable", kDcqcnPaper, mark_stream});
  for (const auto& [verb, name] : {std::pair(Verb::kWrite, "write"), {Verb::kSend, "send"}})
    for (const auto& [index, place] : {std::pair(0u, "first"), {2u, "middle"}, {kMessagePackets - 1, "last"}}) {
      const bool last = index + 1 == kMessagePackets;
      cases.push_back(
          {fmt::format("perftest.loss.{}.{}", name, place), fmt::format("{} packet lost", place),
           fmt::format("ib_{}_bw, one message at a time; packet {} of the first five is taken as lost once{}", name,
                       index + 1, last ? "" : "; those behind it are answered by one sequence NAK"),
           last ? "sent again after T to 4 T, T being the time-out; all messages arrive"
                : "what the NAK names is sent again, before any time-out; all messages arrive",
           last ? kTimeOut : kAcknowledgements,
           [verb = verb, index = index](PerftestBench& bench) { lose_from_stream(bench, verb, index); }});
    }
  cases.push_back({"perftest.loss.repair", "go-back-N or selective repeat",
                   "ib_write_bw; the second packet of a message of 16 is taken as lost once",
                   "all messages arrive; how many packets were sent again is reported", kReliability, count_repair});
  cases.push_back({"perftest.loss.ack", "acknowledgement lost", "ib_write_bw; the first acknowledgement is not sent",
                   "the message is sent again after T to 4 T; all messages arrive", kTimeOut,
                   lose_first_acknowledgement});
  cases.push_back({"perftest.loss.response", "READ response lost", "ib_read_bw; the second READ response is not sent",
                   "asked for again, before any time-out; all messages arrive", kAcknowledgements, lose_read_response});
  cases.push_back({"perftest.cnp.obeyed", "rate after CNPs",
                   "ib_write_bw of 200 messages of 16 packets; CNPs answer the second half, one in 50 us",
                   "the last quarter comes at no more than 70 % of the rate before", kDcqcnPaper, obey_notifications});
  cases.push_back({"perftest.cnp.sent", "CNPs for marked packets", "ib_read_bw, all of whose responses are marked CE",
                   "CNPs come, with BECN and a right ICRC", kNotification, send_notifications});
  return cases;
}

}  // namespace rankwire
