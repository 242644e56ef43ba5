#include "dataplane/roce/congestion.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "dataplane/congestion/mixed_control.h"
#include "dataplane/roce/rate_series.h"

namespace rankwire {
namespace {

const CongestionOptions& congestion_options_of(const RoceOptions& options, const Connection& connection) {
  const auto holds = [&](const CongestionException& exception) {
    return (!exception.job.valid() || exception.job == connection.job) &&
           (!exception.group.valid() || exception.group == connection.group);
  };
  const auto exception = std::ranges::find_if(options.congestion_exceptions, holds);
  return exception == options.congestion_exceptions.end() ? options.congestion : exception->options;
}

// By queue pair: the number of what its interval between CNPs is kept for.
std::vector<uint32_t> notification_groups(NotificationScope scope, const QueuePairs& pairs, const Lanes& lanes) {
  std::map<std::tuple<uint32_t, IpAddress, IpAddress>, uint32_t> known;
  std::vector<uint32_t> groups;
  for (uint32_t i = 0; i < pairs.size(); ++i) {
    const QueuePairEnd& end = pairs.ends[i];
    std::tuple<uint32_t, IpAddress, IpAddress> key;
    if (scope == NotificationScope::kQueuePair) key = {i, {}, {}};
    if (scope == NotificationScope::kAddressPair) key = {0, pairs.nic_of(end).ip, pairs.peer_nic_of(end).ip};
    if (scope == NotificationScope::kPort) key = {lanes.binding(end.lane).id.value, {}, {}};
    groups.push_back(known.try_emplace(key, static_cast<uint32_t>(known.size())).first->second);
  }
  return groups;
}

}  // namespace

std::unique_ptr<PacedSenders> make_paced_senders(const RoceOptions& options, const ReliableOptions& reliable,
                                                 const TransportPlan& plan, const QueuePairs& pairs, const Lanes& lanes,
                                                 RateHolds* holds) {
  std::vector<Bandwidth> lines;
  std::vector<const CongestionOptions*> of_queue_pairs;
  for (const QueuePairEnd& end : pairs.ends) {
    lines.push_back(lanes.binding(end.lane).rate);
    of_queue_pairs.push_back(&congestion_options_of(options, plan.connections[end.connection.value]));
  }
  const WindowLimits limits{.packet = Bytes(options.mtu), .largest = Bytes(int64_t{reliable.window} * options.mtu)};
  auto control = make_congestion_control(of_queue_pairs, limits, lines);
  const bool has_series = control && options.rates != nullptr;
  if (!control && holds != nullptr) control = make_unhindered_control(lines);
  if (!control) return nullptr;
  return std::make_unique<PacedSenders>(std::move(control),
                                        PacingOptions{.mtu = options.mtu,
                                                      .burst = options.congestion.burst,
                                                      .catch_up = options.catch_up,
                                                      .series = has_series ? &options.rates->allowances : nullptr,
                                                      .holds = holds},
                                        lines, lanes.size());
}

std::unique_ptr<MarkResponder> make_mark_responder(const RoceOptions& options, const QueuePairs& pairs,
                                                   const Lanes& lanes) {
  if (!options.congestion.notifies) return nullptr;
  const NotificationOptions& notification = options.congestion.notification;
  return std::make_unique<MarkResponder>(notification.min_time_between_cnps,
                                         notification_groups(notification.scope, pairs, lanes),
                                         pairs.count_by_lane(lanes.size()));
}

}  // namespace rankwire
