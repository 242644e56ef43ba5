// The NIC as requester: READs.
#include <fmt/format.h>

#include <set>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

void need_reads(NicBench& bench) {
  if (bench.nic().facts().reads == 0) bench.skip("the NIC offers no READs");
}

std::vector<size_t> read_requests(const NicBench& bench, const PeerEnd& end) {
  std::vector<size_t> found;
  for (const size_t frame : bench.requests(end))
    if (bench.packet(frame).opcode == Opcode::kReadRequest) found.push_back(frame);
  return found;
}

void expect_read(NicBench& bench, uint64_t id, uint32_t bytes) {
  bench.expect_completion(id, WorkStatus::kSuccess,
                          ack_timeout(bench.limits().timeout_exponent) * 4 + bench.limits().answer * 2);
  bench.expect_memory(NicBench::kTarget, NicBench::pattern_bytes(bytes, NicBench::kPeerAddress), "what was read");
}

void read_bytes(NicBench& bench, uint32_t bytes) {
  need_reads(bench);
  PeerEnd& end = bench.open();
  const uint64_t id = bench.post(end, WorkKind::kRead, bytes);
  expect_read(bench, id, bytes);
  const std::vector<size_t> asked = read_requests(bench, end);
  bench.require(asked.size() == 1, {}, fmt::format("{} READ requests were sent, expected one", asked.size()));
  const ParsedPacket& p = bench.packet(asked.front());
  bench.require(p.dma_length == bytes, asked.front(),
                fmt::format("the request asks for {} bytes, expected {}", p.dma_length, bytes));
  // What is behind a READ has the PSN behind the last of its responses.
  const uint64_t next = bench.post(end, WorkKind::kWrite, 16);
  bench.expect_completion(next, WorkStatus::kSuccess, bench.limits().answer);
  const size_t behind = bench.requests(end).back();
  const uint32_t expected = psn_add(end.options.nic_psn, packets_of(bytes, end.options.mtu));
  bench.require(bench.packet(behind).psn == expected, behind,
                fmt::format("the request behind the READ has PSN {}, expected {}", bench.packet(behind).psn, expected));
}

void lose_response(NicBench& bench, uint32_t index) {
  need_reads(bench);
  constexpr uint32_t kResponses = 5;
  PeerEnd& end = bench.open();
  const uint32_t bytes = kResponses * end.options.mtu, lost = psn_add(end.options.nic_psn, index);
  bool once = false;
  end.on_response = [&](uint32_t psn) {
    if (once || psn != lost) return Fate::kDelivered;
    once = true;
    return Fate::kLost;
  };
  const uint64_t id = bench.post(end, WorkKind::kRead, bytes);
  expect_read(bench, id, bytes);
  const std::vector<size_t> asked = read_requests(bench, end);
  bench.require(asked.size() >= 2, {}, "the READ completed although a response is missing");
  const ParsedPacket& again = bench.packet(asked[1]);
  bench.log().mark(asked[1], "asked for again");
  const auto skipped = static_cast<uint32_t>(psn_distance(end.options.nic_psn, again.psn)) * end.options.mtu;
  bench.require(again.address == NicBench::kPeerAddress + skipped && again.dma_length == bytes - skipped, asked[1],
                "address and length of the repeated READ do not fit its PSN");
  bench.require(psn_distance(again.psn, lost) >= 0, asked[1], "the repeated READ begins behind what was lost");
}

void reorder_responses(NicBench& bench) {
  need_reads(bench);
  PeerEnd& end = bench.open();
  const uint32_t mtu = end.options.mtu, bytes = 4 * mtu;
  end.answers = false;
  const uint64_t id = bench.post(end, WorkKind::kRead, bytes);
  bench.run_until([&] { return !read_requests(bench, end).empty(); }, bench.limits().answer);
  const Opcode opcodes[] = {Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle, Opcode::kReadResponseMiddle,
                            Opcode::kReadResponseLast};
  for (const uint32_t i : {0u, 2u, 1u, 3u})
    bench.log().mark(bench.send(end, {.opcode = opcodes[i],
                                      .psn = psn_add(end.options.nic_psn, i),
                                      .payload = NicBench::pattern_bytes(mtu, NicBench::kPeerAddress + i * mtu),
                                      .ack_request = false,
                                      .msn = 1}),
                     fmt::format("response {}", i));
  end.answers = true;
  expect_read(bench, id, bytes);
}

void limit_reads(NicBench& bench) {
  need_reads(bench);
  constexpr uint32_t kReads = 2;
  PeerEnd& end = bench.open({.reads = kReads});
  end.answers = false;
  std::vector<uint64_t> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(bench.post(end, WorkKind::kRead, 64));
  bench.run_for(bench.limits().quiet);
  // Those that a time-out repeats are no further ones.
  std::set<uint32_t> asked;
  for (const size_t frame : read_requests(bench, end)) asked.insert(bench.packet(frame).psn);
  end.answers = true;
  bench.measure(measured("READs outstanding", static_cast<double>(asked.size()), "", 1, kReads));
  for (const uint64_t id : ids)
    bench.expect_completion(id, WorkStatus::kSuccess,
                            ack_timeout(bench.limits().timeout_exponent) * 4 + bench.limits().answer);
}

}  // namespace

NicCases requester_read_cases() {
  NicCases cases;
  const uint32_t mtu = EndOptions().mtu;
  const struct {
    const char* name;
    uint32_t bytes;
  } sizes[] = {{"0", 0}, {"1", 1}, {"mtu", mtu}, {"many", 16 * mtu + 3}};
  for (const auto& size : sizes)
    cases.push_back({fmt::format("requester.read.{}", size.name), fmt::format("READ of {} bytes", size.bytes),
                     fmt::format("the NIC reads {} bytes from the peer, then writes", size.bytes),
                     "one request, the right data in memory, and the next PSN is behind the last response",
                     kReliability, [size](NicBench& bench) { read_bytes(bench, size.bytes); }});
  const struct {
    const char* name;
    uint32_t index;
  } places[] = {{"first", 0}, {"middle", 2}, {"last", 4}};
  for (const auto& place : places)
    cases.push_back({fmt::format("requester.read.lost_{}", place.name),
                     fmt::format("{} response of a READ lost", place.name),
                     fmt::format("response {} of five to a READ is lost once", place.index + 1),
                     "asked for again from there or before, with address and length to match; the right data arrives",
                     kAcknowledgements, [place](NicBench& bench) { lose_response(bench, place.index); }});
  cases.push_back({"requester.read.reordered", "responses of a READ in another order",
                   "the second and third response of four change places", "the right data arrives", kAcknowledgements,
                   reorder_responses});
  cases.push_back({"requester.read.limit", "READs outstanding",
                   "four READs are posted, two may be outstanding, and none is answered",
                   "at most two are sent before an answer; all complete when they are answered", kReliability,
                   limit_reads});
  return cases;
}

}  // namespace rankwire
