#include "emulator/assembly/full_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "emulator/assembly/setup.h"

namespace rankwire {
namespace {

/// By port: bytes of data that may wait in front of it at once, where each rank is at one of its groups, or at what
/// comes from point to point. While the ports that send to it do so at their rates, it takes what its own rate lets
/// through.
std::vector<double> waiting_at_once(const Setup& setup) {
  const TransportConfig& transport = setup.config.transport;
  const std::vector<PortConfig>& ports = setup.config.ports;
  const Bytes window(int64_t{*transport.window} * *transport.mtu * transport.queue_pairs);
  std::map<std::pair<RankId, GroupId>, Bytes> to_rank;
  std::vector<std::set<uint32_t>> sources(ports.size());
  for (const Connection& c : setup.plan.transport.connections) {
    if (c.path != Path::kWire || c.control) continue;
    to_rank[{c.destination, c.group}] += std::min(window, c.bytes_per_iteration);
    sources[setup.placement.ranks[c.destination.value].port.value].insert(
        setup.placement.ranks[c.source.value].port.value);
  }
  std::vector<Bytes> of_rank(setup.placement.ranks.size());
  for (const auto& [end, bytes] : to_rank) of_rank[end.first.value] = std::max(of_rank[end.first.value], bytes);
  std::vector<double> waiting(ports.size());
  for (size_t rank = 0; rank < of_rank.size(); ++rank)
    waiting[setup.placement.ranks[rank].port.value] += static_cast<double>(of_rank[rank].count);
  for (size_t port = 0; port < ports.size(); ++port) {
    double arriving = 0;
    for (const uint32_t source : sources[port]) arriving += static_cast<double>(ports[source].rate.bits_per_second);
    const double leaving = static_cast<double>(ports[port].rate.bits_per_second);
    waiting[port] *= arriving > leaving ? 1 - leaving / arriving : 0;
  }
  return waiting;
}

}  // namespace

std::optional<std::string> full_buffer_finding(const Setup& setup) {
  const RunConfig& config = setup.config;
  if (!config.ports.front().embedded() || config.fabric ||
      config.transport.congestion.algorithm != AlgorithmName::kNone)
    return std::nullopt;
  const std::vector<double> waiting = waiting_at_once(setup);
  const auto fullest = std::ranges::max_element(waiting);
  if (*fullest <= static_cast<double>(config.embedded_switch.buffer.count)) return std::nullopt;
  return fmt::format(
      "{:.1f} MiB may wait in front of port '{}' at once, of which switch.buffer holds {:.1f}: what is lost then is "
      "repeated, until retries run out; give transport.congestion_control and switch.ecn_threshold, pauses by "
      "fabric.lossless, or a smaller transport.window",
      *fullest / (1 << 20), config.ports[static_cast<size_t>(fullest - waiting.begin())].name,
      static_cast<double>(config.embedded_switch.buffer.count) / (1 << 20));
}

}  // namespace rankwire
