// Slow peers, incasts and frames that are nobody's.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

void answer_late(NicBench& bench) {
  constexpr uint32_t kSent = 5;
  PeerEnd& end = bench.open();
  end.answers = false;
  const uint64_t id = bench.post(end, WorkKind::kWrite, kSent * end.options.mtu);
  // Less than a time-out, which is the least that a NIC waits.
  const Duration timeout = ack_timeout(bench.limits().timeout_exponent);
  bench.run_for(Duration(timeout.ps * 3 / 4));
  // A busy machine may not have looked at all of them by then.
  bench.run_until([&] { return end.expected == psn_add(end.options.nic_psn, kSent); }, bench.limits().answer);
  const size_t sent = bench.requests(end).size();
  bench.send_acknowledgement(end, psn_add(end.expected, kPsnMask));
  bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer);
  bench.measure_within(timeout,
                       measured("packets sent", static_cast<double>(sent), "", kSent, kSent, "five in the message"));
}

void incast(NicBench& bench) {
  constexpr uint32_t kEnds = 64, kBytes = 2048;
  std::vector<PeerEnd*> ends;
  for (uint32_t i = 0; i < kEnds; ++i) ends.push_back(&bench.open({.depth = 4}));
  const size_t from = bench.log().size();
  // Packet by packet in turn, as it comes out of a switch.
  for (uint32_t i = 0; i < 2; ++i)
    for (uint32_t k = 0; k < kEnds; ++k)
      bench.send(*ends[k], {.opcode = i == 0 ? Opcode::kWriteFirst : Opcode::kWriteLast,
                            .payload = NicBench::pattern_bytes(1024, k + i * 1024),
                            .ack_request = i == 1,
                            .address = bench.target(k * kBytes),
                            .dma_length = kBytes});
  for (uint32_t k = 0; k < kEnds; ++k) {
    bench.expect_ack(*ends[k], from, psn_add(ends[k]->options.peer_psn, 1), 1);
    bench.expect_memory(NicBench::kTarget + k * kBytes, NicBench::pattern_bytes(kBytes, k),
                        fmt::format("what queue pair {} was sent", k));
  }
}

std::vector<uint8_t> frame_of(const NicBench& bench, uint16_t ether_type, size_t bytes) {
  std::vector<uint8_t> frame(bytes);
  const MacAddress& to = bench.nic_mac();
  const MacAddress& from = bench.options().peer.mac;
  std::ranges::copy(to.bytes, frame.begin());
  std::ranges::copy(from.bytes, frame.begin() + 6);
  frame[12] = static_cast<uint8_t>(ether_type >> 8);
  frame[13] = static_cast<uint8_t>(ether_type);
  return frame;
}

void make_noise(NicBench& bench, const std::function<void(NicBench&, PeerEnd&)>& noise) {
  PeerEnd& end = bench.open();
  bench.expect_alive(end);
  for (int i = 0; i < 20; ++i) noise(bench, end);
  bench.run_for(bench.limits().quiet);
  bench.expect_alive(end);
}

void fragment(NicBench& bench, PeerEnd& end) {
  PeerPacket packet{.psn = end.next_psn, .payload = NicBench::pattern_bytes(64)};
  packet.before_seal = [&](Frame& frame) {
    if (end.path.ip_version == IpVersion::kIpv4)
      reinterpret_cast<Ipv4Header*>(frame.head + (end.path.ip() - end.path.header()))->flags_and_offset = Be16(0x2000);
    else
      frame.head[end.path.ip() - end.path.header() + 6] = 44;  // a fragment header is to follow
  };
  bench.send(end, packet);
}

}  // namespace

NicCases robustness_cases() {
  NicCases cases;
  cases.push_back({"robustness.slow_peer", "slow peer", "a WRITE is acknowledged after three quarters of a time-out",
                   "nothing is sent again, and it completes", kTimeOut, answer_late});
  cases.push_back({"robustness.incast", "incast of queue pairs",
                   "WRITEs of two packets arrive on 64 queue pairs, packet by packet in turn",
                   "all are acknowledged, and all bytes are in memory", kReliability, incast});
  const auto add = [&](const char* name, const char* title, const char* stimulus,
                       std::function<void(NicBench&, PeerEnd&)> noise) {
    cases.push_back({fmt::format("robustness.noise.{}", name), title, stimulus,
                     "a WRITE before and one afterwards are acknowledged", kValidation,
                     [noise](NicBench& bench) { make_noise(bench, noise); }});
  };
  add("garbage", "frames of an unknown protocol", "frames with EtherType 0x88B5 arrive",
      [](NicBench& bench, PeerEnd&) { bench.send_bytes(frame_of(bench, 0x88B5, 256)); });
  add("roce_v1", "RoCEv1", "frames with EtherType 0x8915 arrive",
      [](NicBench& bench, PeerEnd&) { bench.send_bytes(frame_of(bench, 0x8915, 128)); });
  add("arp", "ARP that is cut off", "ARP frames arrive that are too short",
      [](NicBench& bench, PeerEnd&) { bench.send_bytes(frame_of(bench, 0x0806, 60)); });
  add("fragment", "IP fragments", "first fragments of RoCEv2 packets arrive", fragment);
  add("truncated", "packet that is cut off", "frames arrive whose IP length is more than they have",
      [](NicBench& bench, PeerEnd& end) {
        PeerPacket packet{.psn = end.next_psn, .payload = NicBench::pattern_bytes(512)};
        packet.after_seal = [](Frame& frame) { frame.head_length = 100; };
        bench.send(end, packet);
      });
  return cases;
}

}  // namespace rankwire
