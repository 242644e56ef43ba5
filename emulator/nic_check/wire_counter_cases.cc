// Frames, bytes and pauses as the NIC's interface and port count them, against what was on its wire.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/wire/pause.h"
#include "emulator/nic_check/nic_case.h"

namespace rankwire {
namespace {

constexpr const char* kEthtoolNames = "Linux, networking/device_drivers/ethernet/mellanox/mlx5/counters.rst";
constexpr const char* kNetdevNames = "Linux, ABI/testing/sysfs-class-net-statistics";
constexpr const char* kPortNames = "Linux, ABI/stable/sysfs-class-infiniband (port counters)";

constexpr uint32_t kFrameCheckBytes = 4, kTagBytes = 4;

/// What was on the wire since: of RoCEv2 alone, and with neighbours' frames and whatever else there was.
struct OnWire {
  double least = 0, most = 0;
};

OnWire on_wire(NicBench& bench, size_t from, bool from_nic, bool counts_bytes) {
  OnWire sum;
  for (size_t i = from; i < bench.log().size(); ++i) {
    const WireFrame& frame = bench.frame(i);
    if (frame.from_nic != from_nic) continue;
    const auto bytes = static_cast<double>(frame.bytes.size());
    // With or without the frame check sequence and, as interfaces that are software count, the Ethernet header.
    sum.most += counts_bytes ? bytes + kFrameCheckBytes : 1;
    if (frame.packet.reject == Reject::kNone)
      sum.least += counts_bytes ? bytes - sizeof(EthernetHeader) - kTagBytes : 1;
  }
  return sum;
}

std::string place_of(const std::string& group) {
  return group == "ethtool"  ? "ethtool, which asks the driver of the NIC's interface,"
         : group == "netdev" ? "sysfs of the NIC's network interface (statistics)"
                             : "sysfs of the NIC's RDMA port (counters)";
}

/// The first of these that the NIC has, with its value.
std::pair<std::string, uint64_t> first_counter(NicBench& bench, const std::string& group,
                                               std::span<const std::string> names) {
  const std::vector<VerbsCounter> counters = bench.nic().counters();
  for (const std::string& name : names) {
    const auto found = std::ranges::find(counters, group + "." + name, &VerbsCounter::name);
    if (found != counters.end()) return {name, found->value};
  }
  const bool has_group = std::ranges::any_of(counters, [&](const auto& c) { return c.name.starts_with(group + "."); });
  bench.skip(has_group ? fmt::format("{} has none of {}", place_of(group), fmt::join(names, ", "))
                       : fmt::format("{} shows nothing", place_of(group)));
}

double growth_of(NicBench& bench, const std::string& group, const std::pair<std::string, uint64_t>& before) {
  bench.run_for(bench.limits().quiet);
  const std::string names[] = {before.first};
  return static_cast<double>(first_counter(bench, group, names).second - before.second);
}

/// 20 WRITEs either way, of three packets each.
void exchange(NicBench& bench) {
  constexpr uint32_t kWrites = 20;
  PeerEnd& end = bench.open();
  std::vector<uint64_t> ids;
  for (uint32_t i = 0; i < kWrites; ++i) ids.push_back(bench.post(end, WorkKind::kWrite, 3 * end.options.mtu));
  for (const uint64_t id : ids) bench.expect_completion(id, WorkStatus::kSuccess, bench.limits().answer * 4);
  for (uint32_t i = 0; i < kWrites; ++i) {
    const size_t from = bench.log().size();
    for (const Opcode opcode : {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLast})
      bench.send(end, {.opcode = opcode,
                       .payload = NicBench::pattern_bytes(end.options.mtu),
                       .ack_request = opcode == Opcode::kWriteLast,
                       .dma_length = 3 * end.options.mtu});
    bench.expect_ack(end, from, psn_add(end.next_psn, kPsnMask));
  }
}

/// A counter of frames or bytes, by its names, the one that says most first.
struct TrafficCounter {
  std::string group;
  std::vector<std::string> names;
  bool from_nic = false, counts_bytes = false;
  bool counts_roce = true;  ///< whatever hardware it is; else some keep RoCE away from it
  double unit = 1;          ///< bytes that it counts as one
};

void expect_traffic(NicBench& bench, const TrafficCounter& counter) {
  bench.run_for(bench.limits().quiet);
  const std::pair<std::string, uint64_t> before = first_counter(bench, counter.group, counter.names);
  const size_t from = bench.log().size();
  exchange(bench);
  const double grown = growth_of(bench, counter.group, before) * counter.unit;
  const OnWire wire = on_wire(bench, from, counter.from_nic, counter.counts_bytes);
  if (!counter.counts_roce && grown <= wire.most - wire.least)
    bench.skip(
        fmt::format("{} counts no RoCEv2 packets, which this NIC keeps away from its network interface", before.first));
  bench.tell(fmt::format("{} of {}", before.first, counter.group));
  bench.measure(measured(before.first, grown, counter.counts_bytes ? "B" : "frames", wire.least, wire.most));
}

void expect_pauses(NicBench& bench) {
  constexpr int kPauses = 3;
  const auto priority = static_cast<uint8_t>(bench.options().traffic_class >> 5);
  const std::string names[] = {fmt::format("rx_prio{}_pause", priority),
                               fmt::format("rx_pfc_ena_frames_pri{}", priority),
                               fmt::format("rx_priority_{}_xoff.nic", priority)};
  const std::pair<std::string, uint64_t> before = first_counter(bench, "ethtool", names);
  for (int i = 0; i < kPauses; ++i) {
    bench.log().mark(bench.send_pause(priority_pause(priority_bit(priority), 100)), "PFC: stop");
    bench.run_for(pause_time(100, bench.options().line) * 2);
  }
  bench.measure(measured(before.first, growth_of(bench, "ethtool", before), "frames", kPauses, kPauses));
}

}  // namespace

NicCases wire_counter_cases() {
  NicCases cases;
  const auto add = [&](const char* name, const char* title, const char* source, TrafficCounter counter) {
    cases.push_back({fmt::format("counters.{}", name), title, "20 WRITEs of three packets each pass either way",
                     counter.counts_bytes
                         ? "the counter grows by the bytes that were on the wire, with or without Ethernet headers and "
                           "frame check sequences; "
                           "skipped where there is none"
                         : "the counter grows by as many frames as were on the wire; skipped where there is none",
                     source, [counter = std::move(counter)](NicBench& bench) { expect_traffic(bench, counter); }});
  };
  add("ethtool.rx_frames", "frames received, by ethtool", kEthtoolNames,
      {"ethtool", {"rx_vport_rdma_unicast_packets", "rx_packets_phy", "rx_ucast_frames", "rx_unicast.nic"}});
  add("ethtool.tx_frames", "frames sent, by ethtool", kEthtoolNames,
      {"ethtool", {"tx_vport_rdma_unicast_packets", "tx_packets_phy", "tx_ucast_frames", "tx_unicast.nic"}, true});
  add("ethtool.rx_bytes", "bytes received, by ethtool", kEthtoolNames,
      {"ethtool", {"rx_vport_rdma_unicast_bytes", "rx_bytes_phy", "rx_bytes.nic"}, false, true});
  add("ethtool.tx_bytes", "bytes sent, by ethtool", kEthtoolNames,
      {"ethtool", {"tx_vport_rdma_unicast_bytes", "tx_bytes_phy", "tx_bytes.nic"}, true, true});
  cases.push_back({"counters.ethtool.rx_pauses", "pauses received, by ethtool",
                   "three PFC frames arrive that pause the priority of the data",
                   "the counter of the priority grows by three; skipped where there is none", kEthtoolNames,
                   expect_pauses});
  add("netdev.rx_packets", "frames received, by the interface", kNetdevNames,
      {"netdev", {"rx_packets"}, false, false, false});
  add("netdev.tx_packets", "frames sent, by the interface", kNetdevNames,
      {"netdev", {"tx_packets"}, true, false, false});
  add("netdev.rx_bytes", "bytes received, by the interface", kNetdevNames,
      {"netdev", {"rx_bytes"}, false, true, false});
  add("netdev.tx_bytes", "bytes sent, by the interface", kNetdevNames, {"netdev", {"tx_bytes"}, true, true, false});
  add("port_rcv_packets", "frames received, by the RDMA port", kPortNames, {"counters", {"port_rcv_packets"}});
  add("port_xmit_packets", "frames sent, by the RDMA port", kPortNames, {"counters", {"port_xmit_packets"}, true});
  return cases;
}

}  // namespace rankwire
