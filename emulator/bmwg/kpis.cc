#include "emulator/bmwg/kpis.h"

#include <algorithm>
#include <array>

#include "emulator/suite/suite.h"
#include "emulator/suite/suite_gates.h"

namespace rankwire {
namespace {

constexpr const char* kFabric = "T5.* T7.scale I.bursts I.kv_concurrency I.contention";
constexpr const char* kServing =
    "of the software that serves requests: `rankwire run` with requests (docs/inference.md)";

constexpr std::array kAll = std::to_array<BmwgKpi>({
    {"Job Completion Time (JCT)", "JCT", "T6.jct T7.link_failure"},
    {"JCT Ratio", "JCT ratio", "T6.jct T8.soak"},
    {"Bus Bandwidth (BusBW)", "BusBW", "T5.* T7.scale T8.soak"},
    {"Aggregate Throughput", "aggregate throughput", "T1.throughput"},
    {"Packet Drop Rate", "packet drop rate", "T5.* T7.scale I.contention"},
    {"Tail Latency (P99/P99.9)", "P99.9", "T1.latency"},
    {"Burst Absorption", "burst absorption", "T1.burst"},
    {"ECN Marking Ratio", "ECN marking ratio", kFabric},
    {"ECN Accuracy", "packets marked below the threshold", "T3.ecn"},
    {"PFC Pause Count", "PFC pause count", kFabric},
    {"PFC Pause Duration", "PFC pause duration", kFabric},
    {"PFC Behavior", "PFC PAUSE", "T3.pfc_incast T3.storm T3.deadlock"},
    {"PFC Deadlock", "PFC deadlocks", "T3.deadlock"},
    {"RDMA Retransmission Rate", "retransmission rate", "T4.* T5.* T7.scale I.bursts I.kv_concurrency I.contention"},
    {"ECMP Imbalance (MMR)", "MMR", "T4.*"},
    {"Jain Fairness Index (JFI)", "JFI", "T4.* I.kv_concurrency"},
    {"Queue Depth (P95/Max)", "queue depth", "T5.* I.bursts"},
    {"Congestion Control Convergence", "convergence time", "T3.dcqcn"},
    {"Out-of-Order Packet Rate", "out-of-order rate", "T4.* T5.* T7.scale I.bursts I.kv_concurrency I.contention"},
    {"Fabric-Visible Data Volume", "fabric-visible data volume", "T5.*"},
    {"Overlap Fraction", "overlap fraction", "T6.jct"},
    {"JCT Interference Factor", "JCT interference factor", "T6.interference"},
    {"Failover Time", "JCT overhead of the failure", "T7.link_failure"},
    {"CTS/ACK Delay", "", "in the `latency` of each run's summary.json"},
    {"MLPerf JCT", "", "takes accelerators: a trace of the workload runs by `rankwire run`"},
    {"Fabric Health Indicators", "", "of the device's own: the hook `counters`, in T8.soak"},
    {"TTFT", "TTFT", "I.disaggregated"},
    {"ITL", "inter-token latency", "I.disaggregated"},
    {"KV_xfer_latency", "KV transfer time", "I.kv_transfer I.kv_latency I.kv_concurrency I.contention I.bursts"},
    {"KV_xfer_bandwidth", "KV transfer throughput", "I.kv_transfer"},
    {"KV_BW", "aggregate KV throughput", "I.kv_concurrency"},
    {"EP_alltoall_latency", "dispatch time", "I.moe_dispatch"},
    {"EP_alltoall_latency, contended", "EP dispatch time", "I.contention"},
    {"contention penalty", "contention penalty", "I.contention"},
    {"TPS, Goodput, Request_Rate", "", kServing},
    {"Prefix Cache Hit Rate", "", kServing},
});

}  // namespace

std::span<const BmwgKpi> bmwg_kpis() {
  return kAll;
}

std::vector<const BmwgKpi*> kpis_of(std::string_view test) {
  std::vector<const BmwgKpi*> found;
  for (const BmwgKpi& kpi : kAll) {
    if (*kpi.measured == 0) continue;
    std::string_view rest = kpi.tests;
    while (!rest.empty()) {
      const size_t blank = std::min(rest.find(' '), rest.size());
      if (selects(rest.substr(0, blank), test)) {
        found.push_back(&kpi);
        break;
      }
      rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
  }
  return found;
}

std::vector<std::string> measured_names_of(std::string_view test) {
  std::vector<std::string> names;
  for (const BmwgKpi* kpi : kpis_of(test)) names.push_back(gate_name(kpi->measured));
  return names;
}

}  // namespace rankwire
