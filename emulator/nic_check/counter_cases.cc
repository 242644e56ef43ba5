// What the NIC has counted, against what was on its wire.
#include <fmt/format.h>

#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

constexpr const char* kCounterNames = "Linux, hw_counters of RDMA devices (drivers/infiniband/hw/mlx5)";

/// The counter must grow by what `cause` returns.
void expect_counted(NicBench& bench, const std::string& name, const std::function<double(NicBench&)>& cause) {
  const std::optional<uint64_t> before = bench.counter(name);
  if (!before) bench.skip(fmt::format("the NIC has no counter {}", name));
  const double expected = cause(bench);
  // Drivers keep what sysfs shows for a while: soft-RoCE's is up to 12 ms old.
  constexpr int kCounterLooks = 5;
  double counted = 0;
  for (int look = 0; look < kCounterLooks && counted < expected; ++look) {
    bench.run_for(bench.limits().quiet);
    counted = static_cast<double>(bench.counter(name).value_or(0) - *before);
  }
  bench.measure(measured(name, counted, "", expected, expected));
}

double break_icrc(NicBench& bench) {
  PeerEnd& end = bench.open();
  for (int i = 0; i < 3; ++i) {
    PeerPacket packet{.psn = end.next_psn, .payload = NicBench::pattern_bytes(64)};
    packet.after_seal = [](Frame& frame) { frame.head[frame.head_length - 1] ^= 1; };
    bench.send(end, packet);
  }
  return 3;
}

double repeat_requests(NicBench& bench) {
  PeerEnd& end = bench.open();
  bench.expect_alive(end);
  for (int i = 0; i < 4; ++i) bench.send(end, {.psn = end.options.peer_psn, .payload = NicBench::pattern_bytes(64)});
  return 4;
}

double leave_gaps(NicBench& bench) {
  PeerEnd& end = bench.open();
  bench.send(end, {.psn = psn_add(end.options.peer_psn, 1), .payload = NicBench::pattern_bytes(64)});
  return 1;
}

double send_nak(NicBench& bench) {
  PeerEnd& end = bench.open();
  bool once = false;
  end.on_request = [&](size_t frame) {
    if (once || bench.packet(frame).psn != psn_add(end.options.nic_psn, 1)) return Fate::kDelivered;
    once = true;
    return Fate::kLost;
  };
  const uint64_t id = bench.post(end, WorkKind::kWrite, 5 * end.options.mtu);
  bench.expect_completion(id, WorkStatus::kSuccess,
                          ack_timeout(bench.limits().timeout_exponent) * 4 + bench.limits().answer);
  end.on_request = {};
  return 1;
}

double let_time_out(NicBench& bench) {
  PeerEnd& end = bench.open();
  end.answers = false;
  const uint64_t id = bench.post(end, WorkKind::kWrite, 64);
  bench.run_until([&] { return !bench.requests(end).empty(); }, bench.limits().answer);
  end.answers = true;
  bench.expect_completion(id, WorkStatus::kSuccess,
                          ack_timeout(bench.limits().timeout_exponent) * 4 + bench.limits().answer);
  return static_cast<double>(bench.requests(end).size()) - 1;
}

double count_notifications(NicBench& bench) {
  PeerEnd& end = bench.open();
  const size_t from = bench.log().size();
  for (int i = 0; i < 10; ++i) {
    bench.send(end, {.payload = NicBench::pattern_bytes(64), .ecn = Ecn::kCongestionExperienced});
    bench.run_for(microseconds(30));
  }
  bench.run_for(bench.limits().quiet);
  return static_cast<double>(bench.notifications(end, from).size());
}

double count_marked(NicBench& bench) {
  count_notifications(bench);
  return 10;
}

double handle_notifications(NicBench& bench) {
  PeerEnd& end = bench.open();
  for (int i = 0; i < 5; ++i) {
    bench.send_notification(end);
    bench.run_for(microseconds(100));
  }
  return 5;
}

}  // namespace

NicCases counter_cases() {
  NicCases cases;
  const auto add = [&](const char* name, const char* stimulus, std::function<double(NicBench&)> cause) {
    cases.push_back({fmt::format("counters.{}", name), fmt::format("counter {}", name), stimulus,
                     "the counter grows by as many as were on the wire; skipped where there is none", kCounterNames,
                     [name, cause](NicBench& bench) { expect_counted(bench, name, cause); }});
  };
  add("rx_icrc_encapsulated", "three packets arrive whose ICRC is wrong", break_icrc);
  add("duplicate_request", "a WRITE arrives four times more", repeat_requests);
  add("out_of_sequence", "a packet arrives ahead of its time", leave_gaps);
  add("packet_seq_err", "a sequence NAK arrives", send_nak);
  add("local_ack_timeout_err", "an acknowledgement is lost", let_time_out);
  add("np_cnp_sent", "ten packets marked CE arrive", count_notifications);
  add("np_ecn_marked_roce_packets", "ten packets marked CE arrive", count_marked);
  add("rp_cnp_handled", "five CNPs arrive", handle_notifications);
  return cases;
}

}  // namespace rankwire
