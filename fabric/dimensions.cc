#include "fabric/dimensions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace rankwire {
namespace {

/// All NPUs of a network, by their places in a mixed radix.
class Grid {
 public:
  explicit Grid(std::span<const Dimension> shape) : shape_(shape) {}

  uint64_t size() const { return stride(shape_.size()); }
  /// Places of NPUs that differ by 1 in coordinate d differ by so much.
  uint64_t stride(size_t d) const {
    uint64_t product = 1;
    for (const Dimension& dimension : shape_.first(d)) product *= dimension.extent;
    return product;
  }
  uint32_t coordinate(uint64_t place, size_t d) const {
    return static_cast<uint32_t>(place / stride(d) % shape_[d].extent);
  }
  /// ".3.0.1" without coordinate `skipped`; the first dot is left out.
  std::string name(uint64_t place, size_t skipped) const {
    std::string text;
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (d != skipped) text += fmt::format("{}{}", text.empty() ? "" : ".", coordinate(place, d));
    }
    return text;
  }

 private:
  std::span<const Dimension> shape_;
};

void check_shape(std::span<const Dimension> shape, size_t hosts) {
  constexpr uint64_t kMost = 1 << 20;
  if (shape.empty()) fail_input("a network needs a dimension");
  uint64_t npus = 1;
  std::string text;
  for (const Dimension& dimension : shape) {
    if (dimension.extent == 0 || dimension.extent > kMost) {
      fail_input("an extent is 1 .. {}, not {}", kMost, dimension.extent);
    }
    npus *= dimension.extent;
    text += fmt::format("{}{}", text.empty() ? "" : " x ", dimension.extent);
    if (npus > kMost) fail_input("{} are more than {} NPUs", text, kMost);
  }
  if (npus != hosts) fail_input("a network of {} has {} NPUs, not {}; every port is one", text, npus, hosts);
}

/// Joins the NPUs that differ in coordinate d alone from the one at `first`, whose coordinate is 0.
void join(Topology& topology, const Grid& grid, const Dimension& dimension, size_t d, uint64_t first, uint8_t order) {
  const uint32_t n = dimension.extent;
  const auto npu = [&](uint32_t i) { return SwitchId(static_cast<uint32_t>(first + i * grid.stride(d))); };
  const auto cable = [&](SwitchId a, SwitchId b) {
    topology.cables.push_back({.a = a, .b = b, .line = dimension.line, .order = order});
  };
  switch (dimension.kind) {
    case DimensionKind::kRing:
    case DimensionKind::kLine:
      for (uint32_t i = 0; i + 1 < n; ++i) cable(npu(i), npu(i + 1));
      if (dimension.kind == DimensionKind::kRing && n > 2) cable(npu(n - 1), npu(0));
      break;
    case DimensionKind::kFullyConnected:
      for (uint32_t i = 0; i < n; ++i) {
        for (uint32_t j = i + 1; j < n; ++j) cable(npu(i), npu(j));
      }
      break;
    case DimensionKind::kSwitch: {
      const SwitchId middle = topology.add_switch(fmt::format("dimension{}.switch{}", d, grid.name(first, d)));
      for (uint32_t i = 0; i < n; ++i) cable(npu(i), middle);
      break;
    }
  }
}

}  // namespace

Topology dimensions(std::span<const Dimension> shape, std::span<const Line> hosts, bool dimension_order) {
  check_shape(shape, hosts.size());
  const Grid grid(shape);
  Topology topology;
  for (uint64_t npu = 0; npu < grid.size(); ++npu) {
    const SwitchId router = topology.add_switch("npu" + grid.name(npu, shape.size()));
    topology.hosts.push_back({router, hosts[npu]});
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].extent == 1) continue;
    for (uint64_t npu = 0; npu < grid.size(); ++npu) {
      if (grid.coordinate(npu, d) != 0) continue;
      join(topology, grid, shape[d], d, npu, dimension_order ? static_cast<uint8_t>(d) : uint8_t{0});
    }
  }
  return topology;
}

uint32_t most_cables(std::span<const Dimension> shape) {
  uint32_t cables = 0;
  for (const Dimension& dimension : shape) {
    if (dimension.kind == DimensionKind::kSwitch) {
      cables += dimension.extent > 1 ? 1 : 0;
    } else if (dimension.kind == DimensionKind::kFullyConnected) {
      cables += dimension.extent - 1;
    } else {
      cables += std::min(dimension.extent - 1, 2u);
    }
  }
  return cables;
}

Bandwidth cable_rate_at(const Topology& topology, uint32_t host) {
  const SwitchId at = topology.hosts[host].at;
  Bandwidth rate;
  for (const Cable& cable : topology.cables) {
    if (cable.a == at || cable.b == at) rate.bits_per_second += cable.line.rate.bits_per_second;
  }
  return rate;
}

}  // namespace rankwire
