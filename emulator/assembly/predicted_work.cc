#include "emulator/assembly/predicted_work.h"

#include <algorithm>

namespace rankwire {

PredictedWork::PredictedWork(const Setup& setup) {
  const RunConfig& config = setup.config;
  if (config.ports.empty()) return;
  for (const PortConfig& port : config.ports) wire_rate_ += static_cast<double>(port.rate.bits_per_second);
  wire_rate_ /= static_cast<double>(config.ports.size());
  local_rate_ = static_cast<double>(config.hosts.local_bandwidth.bits_per_second);
  double computed = 0;
  for (const RankTrace& trace : setup.workload.ranks) {
    if (setup.workload.is_idle(trace.job)) continue;
    if (trace.streamed) return;
    double of_rank = 0;
    for (const Node& node : trace.nodes) of_rank += static_cast<double>(node.duration.ps) / 1e12;
    computed += of_rank * setup.workload.iterations_of(trace.job, config.workload.iterations);
  }
  const PlannedTraffic traffic = planned_traffic(setup.workload, setup.plan, config.workload.iterations);
  total_ = computed + time_of({.computed = {}, .wire = traffic.wire, .local = traffic.local});
}

double PredictedWork::time_of(const WorkDone& work) const noexcept {
  return static_cast<double>(work.computed.ps) / 1e12 + 8 * static_cast<double>(work.wire.count) / wire_rate_ +
         8 * static_cast<double>(work.local.count) / local_rate_;
}

double PredictedWork::share_of(const WorkDone& done) const noexcept {
  return total_ > 0 ? std::min(1.0, time_of(done) / total_) : 0;
}

}  // namespace rankwire
