#include "dataplane/roce/lanes.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>
#include <utility>

namespace rankwire {
namespace {

constexpr uint32_t kFewAnswers = 4096;  // bytes

LanePriorities priorities_of(const RoceOptions& options, std::span<const Nic> nics, PortId port) {
  const auto nic = std::ranges::find(nics, port, &Nic::port);
  const bool tagged = nic != nics.end() && nic->vlan.has_value();
  const auto of = [&](const Marking& marking) { return priority_of(marking, tagged, options.classes); };
  const Markings& markings = options.markings;
  return {.data = of(markings.data),
          .answers = static_cast<PrioritySet>(of(markings.ack) | of(markings.nak)),
          .notifications = of(markings.cnp)};
}

// Of all its queues together.
Bandwidth line_rate_of(std::span<const PortBinding> bindings, PortId port) {
  Bandwidth rate;
  for (const PortBinding& binding : bindings)
    if (binding.id == port) rate.bits_per_second += binding.rate.bits_per_second;
  return rate;
}

uint32_t count_next_hops(const RoceOptions& options, const QueuePairs& pairs, PortId port) {
  if (options.neighbours == NeighbourMode::kStatic) return 0;
  std::set<std::pair<uint16_t, IpAddress>> hops;
  for (const QueuePairEnd& end : pairs.ends) {
    const Nic& nic = pairs.nic_of(end);
    if (nic.port != port) continue;
    if (const auto hop = next_hop_of(nic, pairs.peer_nic_of(end).ip)) hops.insert({nic.vlan.value_or(0), *hop});
  }
  return static_cast<uint32_t>(hops.size());
}

}  // namespace

uint32_t handful_of(uint32_t mtu, size_t lanes, FarEnd far_end) {
  if (far_end == FarEnd::kVirtual) return TransmitLane::kHandful;
  const uint64_t turn_bytes = (far_end == FarEnd::kSwitch ? 128 : 512) * uint64_t{1024};
  constexpr uint64_t kFewest = 16;
  const uint64_t frames = turn_bytes / std::max<uint64_t>(1, uint64_t{mtu} * lanes);
  return static_cast<uint32_t>(std::clamp<uint64_t>(frames / 2, kFewest, TransmitLane::kHandful));
}

Lanes::Lanes(const RoceOptions& options, std::span<const PortBinding> bindings, const QueuePairs& pairs, FarEnd far_end)
    : bindings_(bindings) {
  make_lanes(options, pairs, handful_of(options.mtu, bindings.size(), far_end));
  // In virtual time nobody else is there to ask.
  make_ports(options, pairs, far_end == FarEnd::kVirtual && options.neighbours == NeighbourMode::kStatic);
}

void Lanes::make_lanes(const RoceOptions& options, const QueuePairs& pairs, uint32_t handful) {
  const std::vector<uint32_t> queue_pairs = pairs.count_by_lane(bindings_.size());
  const uint32_t all = pairs.size();
  queue_marks_.assign(size_t{pairs.any_readable() ? 3u : 2u} * all, 0);
  const std::span<uint8_t> marks = queue_marks_;
  const LaneMarks of_lanes{marks.first(all), marks.subspan(all, all), marks.subspan(size_t{2} * all)};
  for (size_t lane = 0; lane < bindings_.size(); ++lane) {
    const PortBinding& binding = bindings_[lane];
    lanes_.emplace_back(binding.id, *binding.port, Pacer(binding.rate, options.catch_up, options.lead),
                        priorities_of(options, pairs.nics(), binding.id), queue_pairs[lane], of_lanes, handful);
  }
}

void Lanes::make_ports(const RoceOptions& options, const QueuePairs& pairs, bool answers_few) {
  for (uint32_t lane = 0; lane < bindings_.size(); ++lane) {
    const PortId id = bindings_[lane].id;
    const auto known = std::ranges::find(ports_, id, [](const auto& port) { return port->id; });
    port_of_.push_back(static_cast<uint32_t>(known - ports_.begin()));
    if (known != ports_.end()) continue;
    std::vector<Nic> nics;
    std::ranges::copy_if(pairs.nics(), std::back_inserter(nics), [id](const Nic& nic) { return nic.port == id; });
    NeighbourOptions neighbours{.interval = options.resolve_interval,
                                .deadline = options.resolve_deadline,
                                .next_hops = count_next_hops(options, pairs, id),
                                .frame_capacity = bindings_[lane].port->capabilities().frame_capacity,
                                .announcements = options.announcements};
    if (answers_few) neighbours.answer_bytes = kFewAnswers;
    ports_.push_back(std::make_unique<RocePort>(bindings_[lane], lane, line_rate_of(bindings_, id), neighbours, nics));
  }
}

Duration Lanes::time_paused(uint32_t lane, Time now) const noexcept {
  const auto priority = static_cast<uint32_t>(std::countr_zero(lanes_[lane].priorities().data));
  return port_of(lane).pauses.time_paused(priority, now);
}

void Lanes::close() noexcept {
  for (TransmitLane& lane : lanes_) lane.close();
}

size_t Lanes::bytes() const noexcept {
  size_t bytes = queue_marks_.size();
  for (const TransmitLane& lane : lanes_) bytes += lane.senders.bytes() + lane.repliers.bytes() + lane.readers.bytes();
  return bytes;
}

}  // namespace rankwire
