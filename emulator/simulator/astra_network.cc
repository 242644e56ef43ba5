#include "emulator/simulator/astra_network.h"

#include <algorithm>

namespace rankwire {
namespace {

double bytes_per_nanosecond(double bandwidth) {
  return bandwidth * (1 << 30) / 1'000'000'000;
}

/// Steps clockwise from one place of a ring to another.
uint32_t clockwise(uint32_t from, uint32_t to, uint32_t places) {
  return to >= from ? to - from : to + places - from;
}

uint32_t hops(AstraBlock block, uint32_t from, uint32_t to, uint32_t places) {
  switch (block) {
    case AstraBlock::kRing: {
      const uint32_t way = clockwise(from, to, places);
      return std::min(way, places - way);
    }
    case AstraBlock::kSwitch:
      return 2;
    case AstraBlock::kFullyConnected:
      return 1;
  }
  return 1;
}

size_t link_count(const AstraDimension& dimension) {
  const size_t n = dimension.npus;
  return dimension.block == AstraBlock::kFullyConnected ? n * n : 2 * n;
}

}  // namespace

const char* to_string(AstraCollective collective) {
  switch (collective) {
    case AstraCollective::kAllReduce:
      return "ALL_REDUCE";
    case AstraCollective::kAllGather:
      return "ALL_GATHER";
    case AstraCollective::kReduceScatter:
      return "REDUCE_SCATTER";
    case AstraCollective::kAllToAll:
      return "ALL_TO_ALL";
  }
  return "unknown";
}

AstraDelays::AstraDelays(const AstraNetwork& network) {
  uint32_t stride = 1;
  for (const AstraDimension& d : network.dimensions) {
    dimensions_.push_back({d.block, d.npus, stride, d.latency, bytes_per_nanosecond(d.bandwidth)});
    stride *= d.npus;
  }
}

Duration AstraDelays::delay(uint32_t source, uint32_t destination, Bytes bytes) const noexcept {
  for (const Dimension& d : dimensions_) {
    const uint32_t from = source / d.stride % d.npus, to = destination / d.stride % d.npus;
    if (from == to) continue;
    return whole_nanoseconds(hops(d.block, from, to, d.npus) * d.latency +
                             static_cast<double>(bytes.count) / d.bytes_per_ns);
  }
  return Duration();
}

AstraLinks::AstraLinks(const AstraDimension& dimension)
    : dimension_(dimension),
      bytes_per_ns_(bytes_per_nanosecond(dimension.bandwidth)),
      free_at_(link_count(dimension)) {}

AstraLinks::Step AstraLinks::step(uint32_t device, uint32_t destination) const noexcept {
  const uint32_t n = dimension_.npus;
  switch (dimension_.block) {
    case AstraBlock::kRing: {
      const uint32_t way = clockwise(device, destination, n);
      // Of two ways of one length the clockwise one is taken.
      return n - way < way ? Step{2 * device + 1, (device + n - 1) % n} : Step{2 * device, (device + 1) % n};
    }
    case AstraBlock::kSwitch:
      return device == n ? Step{n + destination, destination} : Step{device, n};
    case AstraBlock::kFullyConnected:
      return {device * n + destination, destination};
  }
  return {};
}

AstraLinks::Hop AstraLinks::forward(uint32_t device, uint32_t destination, Bytes bytes, Time now) noexcept {
  const Step next = step(device, destination);
  Time& free_at = free_at_[next.link];
  const Time start = std::max(now, free_at);
  const double serialization = static_cast<double>(bytes.count) / bytes_per_ns_;
  free_at = start + whole_nanoseconds(serialization);
  return {next.device, start + whole_nanoseconds(dimension_.latency + serialization)};
}

}  // namespace rankwire
