// The NIC as responder: READs of its memory.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

void need_answered_reads(NicBench& bench) {
  if (bench.nic().facts().reads == 0) bench.skip("the NIC offers no READs");
}

size_t ask(NicBench& bench, PeerEnd& end, uint32_t psn, uint32_t offset, uint32_t bytes) {
  return bench.send(end,
                    {.opcode = Opcode::kReadRequest, .psn = psn, .address = bench.target(offset), .dma_length = bytes});
}

/// How the first of several responses may be called.
enum class Beginning : uint8_t { kFirst, kFirstOrMiddle };

/// The responses to a READ of `bytes` from `offset` of the pattern in memory. Returns the opcode of the first.
Opcode expect_responses(NicBench& bench, PeerEnd& end, size_t from, uint32_t psn, uint32_t offset, uint32_t bytes,
                        Beginning beginning = Beginning::kFirst) {
  const uint32_t mtu = end.options.mtu, packets = packets_of(bytes, mtu);
  std::vector<size_t> found;
  bench.run_until(
      [&] {
        found = bench.answers(end, from);
        return found.size() >= packets;
      },
      bench.limits().answer);
  bench.require(found.size() >= packets, {}, fmt::format("{} of {} responses came", found.size(), packets));
  for (uint32_t i = 0; i < packets; ++i) {
    const ParsedPacket& p = bench.packet(found[i]);
    const bool first = i == 0, last = i + 1 == packets;
    const Opcode opcode = first ? (last ? Opcode::kReadResponseOnly : Opcode::kReadResponseFirst)
                                : (last ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle);
    const bool goes_on = beginning == Beginning::kFirstOrMiddle && first && p.opcode == Opcode::kReadResponseMiddle;
    bench.require(p.opcode == opcode || goes_on, found[i],
                  fmt::format("response {} has opcode 0x{:02X}, expected 0x{:02X}", i, static_cast<uint8_t>(p.opcode),
                              static_cast<uint8_t>(opcode)));
    bench.require(p.psn == psn_add(psn, i), found[i],
                  fmt::format("response {} has PSN {}, expected {}", i, p.psn, psn_add(psn, i)));
    bench.require(bench.frame(found[i]).icrc_good, found[i], fmt::format("the ICRC of response {} is wrong", i));
    const std::vector<uint8_t> expected = NicBench::pattern_bytes(std::min(mtu, bytes - i * mtu), offset + i * mtu);
    bench.require(p.payload_length == expected.size() && std::equal(expected.begin(), expected.end(), p.payload),
                  found[i], fmt::format("the payload of response {} is not what memory holds", i));
  }
  return bench.packet(found.front()).opcode;
}

void fill(NicBench& bench, uint32_t bytes) {
  if (bytes > 0) bench.nic().write_memory(NicBench::kTarget, NicBench::pattern_bytes(bytes));
}

void serve(NicBench& bench, uint32_t bytes) {
  need_answered_reads(bench);
  PeerEnd& end = bench.open();
  fill(bench, bytes);
  const size_t from = bench.log().size();
  ask(bench, end, end.options.peer_psn, 0, bytes);
  expect_responses(bench, end, from, end.options.peer_psn, 0, bytes);
  end.next_psn = psn_add(end.options.peer_psn, packets_of(bytes, end.options.mtu));
  bench.expect_alive(end);
}

void serve_again(NicBench& bench) {
  need_answered_reads(bench);
  PeerEnd& end = bench.open();
  const uint32_t mtu = end.options.mtu, bytes = 5 * mtu, psn = end.options.peer_psn;
  fill(bench, bytes);
  size_t from = bench.log().size();
  ask(bench, end, psn, 0, bytes);
  expect_responses(bench, end, from, psn, 0, bytes);
  from = bench.log().size();
  bench.log().mark(ask(bench, end, psn, 0, bytes), "the same READ again");
  expect_responses(bench, end, from, psn, 0, bytes);
  from = bench.log().size();
  bench.log().mark(ask(bench, end, psn_add(psn, 2), 2 * mtu, 3 * mtu), "its last three packets again");
  // A responder may begin anew or go on with the READ that it remembers.
  const Opcode first = expect_responses(bench, end, from, psn_add(psn, 2), 2 * mtu, 3 * mtu, Beginning::kFirstOrMiddle);
  bench.tell(first == Opcode::kReadResponseFirst ? "a part is answered as a READ of its own"
                                                 : "a part is answered as the rest of the READ, by MIDDLE and LAST");
}

void serve_many(NicBench& bench) {
  need_answered_reads(bench);
  constexpr uint32_t kReads = 4;
  PeerEnd& end = bench.open({.reads = kReads});
  const uint32_t bytes = 2 * end.options.mtu;
  fill(bench, kReads * bytes);
  size_t from = bench.log().size();
  for (uint32_t i = 0; i < kReads; ++i) ask(bench, end, psn_add(end.options.peer_psn, 2 * i), i * bytes, bytes);
  const auto done = [&] { return bench.answers(end, from).size() >= 2 * kReads; };
  bench.run_until(done, bench.limits().answer);
  const std::vector<size_t> answers = bench.answers(end, from);
  bench.require(answers.size() == 2 * kReads, {}, fmt::format("{} of 8 responses came", answers.size()));
  for (uint32_t i = 0; i < answers.size(); ++i)
    bench.require(bench.packet(answers[i]).psn == psn_add(end.options.peer_psn, i), answers[i],
                  "responses are not in the order of their requests");
}

}  // namespace

NicCases responder_read_cases() {
  NicCases cases;
  const uint32_t mtu = EndOptions().mtu;
  const struct {
    const char* name;
    uint32_t bytes;
  } sizes[] = {{"0", 0}, {"1", 1}, {"mtu", mtu}, {"many", 16 * mtu + 3}};
  for (const auto& size : sizes)
    cases.push_back({fmt::format("responder.read.{}", size.name), fmt::format("READ of {} bytes", size.bytes),
                     fmt::format("a READ of {} bytes arrives, then a WRITE", size.bytes),
                     "opcodes, PSNs, lengths, ICRC and payload of the responses are right; the WRITE is acknowledged",
                     kAcknowledgements, [size](NicBench& bench) { serve(bench, size.bytes); }});
  cases.push_back({"responder.read.repeated", "repeated READ",
                   "a READ of five packets arrives, arrives again, and then only for its last three",
                   "it is answered each time from where it asks", kAcknowledgements, serve_again});
  cases.push_back({"responder.read.outstanding", "several READs outstanding",
                   "four READs arrive at once, and as many are agreed", "all are answered in their order", kReliability,
                   serve_many});
  return cases;
}

}  // namespace rankwire
