// RoceTransport's part in congestion control: it answers marks, and holds its senders to what they may send.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "dataplane/congestion/mixed_control.h"
#include "dataplane/roce/transport.h"

namespace rankwire {
const CongestionOptions& RoceTransport::congestion_options_of(const Connection& connection) const {
  const auto holds = [&](const CongestionException& exception) {
    return (!exception.job.valid() || exception.job == connection.job) &&
           (!exception.group.valid() || exception.group == connection.group);
  };
  const auto exception = std::ranges::find_if(options_.congestion_exceptions, holds);
  return exception == options_.congestion_exceptions.end() ? options_.congestion : exception->options;
}

void RoceTransport::make_congestion_control(const TransportPlan& plan) {
  std::vector<Bandwidth> lines;
  std::vector<const CongestionOptions*> options;
  for (const QueuePairEnd& end : pairs_->ends) {
    lines.push_back(bindings_[end.lane].rate);
    options.push_back(&congestion_options_of(plan.connections[end.connection.value]));
  }
  const WindowLimits limits{.packet = Bytes(options_.mtu), .largest = Bytes(int64_t{reliable_.window} * options_.mtu)};
  paced_.reset();
  if (auto control = rankwire::make_congestion_control(options, limits, lines))
    paced_ = std::make_unique<PacedSenders>(
        std::move(control),
        PacingOptions{.mtu = options_.mtu, .burst = options_.congestion.burst, .catch_up = options_.catch_up}, lines,
        static_cast<uint32_t>(lanes_->size()));
  marks_.reset();
  if (options_.congestion.notifies)
    marks_.emplace(options_.congestion.notification.min_time_between_cnps, notification_groups(),
                   pairs_->count_by_lane(bindings_.size()));
}

// By queue pair: the number of what its interval between CNPs is kept for.
std::vector<uint32_t> RoceTransport::notification_groups() const {
  const NotificationScope scope = options_.congestion.notification.scope;
  std::map<std::tuple<uint32_t, IpAddress, IpAddress>, uint32_t> known;
  std::vector<uint32_t> groups;
  for (uint32_t i = 0; i < pairs_->size(); ++i) {
    const QueuePairEnd& end = pairs_->ends[i];
    std::tuple<uint32_t, IpAddress, IpAddress> key;
    if (scope == NotificationScope::kQueuePair) key = {i, {}, {}};
    if (scope == NotificationScope::kAddressPair) key = {0, pairs_->nic_of(end).ip, pairs_->peer_nic_of(end).ip};
    if (scope == NotificationScope::kPort) key = {bindings_[end.lane].id.value, {}, {}};
    groups.push_back(known.try_emplace(key, static_cast<uint32_t>(known.size())).first->second);
  }
  return groups;
}

// Empty where nothing is held back.
std::string RoceTransport::describe_control(uint32_t queue_pair) const {
  if (!paced_) return {};
  std::string text;
  const Allowance& allowance = paced_->allowance(queue_pair);
  if (paced_->is_paced(queue_pair) && allowance.rate > Bandwidth())
    text += fmt::format(", paced at {:.3f} Gb/s, next packet from {:.6f} ms",
                        static_cast<double>(allowance.rate.bits_per_second) / 1e9,
                        static_cast<double>((paced_->schedule(queue_pair) - Time()).ps) / 1e9);
  if (allowance.window != Allowance::kUnlimited)
    text += fmt::format(", congestion window {} bytes", allowance.window.count);
  return text;
}

}  // namespace rankwire
