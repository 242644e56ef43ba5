#include "dataplane/congestion/mixed_control.h"

#include <algorithm>

namespace rankwire {
namespace {

bool has_algorithm(const CongestionOptions* options) {
  return options->algorithm != CongestionAlgorithm::kNone;
}

/// Without an algorithm a queue pair has the rate of its line.
CongestionOptions unhindered(std::span<const Bandwidth> lines) {
  return {.algorithm = CongestionAlgorithm::kStatic, .rate = lines.empty() ? Bandwidth() : std::ranges::max(lines)};
}

}  // namespace

std::unique_ptr<CongestionControl> make_congestion_control(std::span<const CongestionOptions* const> options,
                                                           const WindowLimits& limits,
                                                           std::span<const Bandwidth> lines) {
  if (std::ranges::none_of(options, has_algorithm)) return nullptr;
  std::vector<const CongestionOptions*> distinct;
  std::vector<std::vector<Bandwidth>> lines_of;
  std::vector<MixedControl::Place> places;
  for (size_t i = 0; i < options.size(); ++i) {
    const auto known = std::ranges::find(distinct, options[i]);
    const auto part = static_cast<uint32_t>(known - distinct.begin());
    if (known == distinct.end()) {
      distinct.push_back(options[i]);
      lines_of.emplace_back();
    }
    places.push_back({part, static_cast<uint32_t>(lines_of[part].size())});
    lines_of[part].push_back(lines[i]);
  }
  std::vector<std::unique_ptr<CongestionControl>> parts;
  for (size_t part = 0; part < distinct.size(); ++part) {
    const CongestionOptions& own = has_algorithm(distinct[part]) ? *distinct[part] : unhindered(lines_of[part]);
    parts.push_back(make_congestion_control(own, limits, lines_of[part]));
  }
  if (parts.size() == 1) return std::move(parts.front());
  return std::make_unique<MixedControl>(std::move(parts), std::move(places));
}

std::unique_ptr<CongestionControl> make_unhindered_control(std::span<const Bandwidth> lines) {
  return make_congestion_control(unhindered(lines), {}, lines);
}

}  // namespace rankwire
