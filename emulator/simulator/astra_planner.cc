#include "emulator/simulator/astra_planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace rankwire {
namespace {

using Algorithm = AstraImplementation::Algorithm;

}  // namespace

AstraPlanner::AstraPlanner(const AstraModel& model) : model_(model) {
  const std::vector<AstraDimension>& network = model.network.dimensions;
  for (size_t c = 0; c < kAstraCollectives; ++c) {
    uint32_t stride = 1;
    for (size_t d = 0; d < model.system.implementations[c].size() && d < network.size(); ++d) {
      const AstraImplementation& implementation = model.system.implementations[c][d];
      if (implementation.one) {
        dimensions_[c].push_back({implementation, model.network.npus(), 1});
        break;
      }
      dimensions_[c].push_back({implementation, network[d].npus, stride});
      stride *= network[d].npus;
    }
  }
}

AstraTurns AstraPlanner::first_turns() const {
  AstraTurns turns;
  turns.levels.assign(model_.network.dimensions.size(), {.any = 0, .first = 0, .last = model_.queues / 2});
  for (size_t c = 0; c < kAstraCollectives; ++c) turns.second_tree[c].assign(dimensions_[c].size(), false);
  return turns;
}

AstraChunks AstraPlanner::chunks(AstraCollective collective, Bytes size) const {
  const int64_t splits = model_.system.splits, npus = model_.network.npus();
  AstraChunks chunks{.size = Bytes(size.count / splits)};
  if (collective != AstraCollective::kAllGather && chunks.size.count < npus) return {model_.system.splits, Bytes(npus)};
  if (chunks.size.count > 0)
    chunks.count = static_cast<uint64_t>((size.count + chunks.size.count - 1) / chunks.size.count);
  return chunks;
}

std::pair<uint32_t, bool> AstraPlanner::next_queue(uint32_t level, Turn turn, AstraTurns& turns) const {
  const uint32_t queues = model_.queues, half = queues / 2;
  AstraTurns::Level& at = turns.levels[level];
  const auto take = [&](uint32_t& next, uint32_t begin, uint32_t end) {
    const uint32_t taken = next++;
    if (next >= end) next = begin;
    return level * queues + taken;
  };
  switch (turn) {
    case Turn::kFirst:
      return {take(at.first, 0, half), false};
    case Turn::kLast:
      return {take(at.last, half, queues), true};
    case Turn::kAny:
      break;
  }
  const bool anticlockwise = queues > 1 && at.any >= half;
  return {take(at.any, 0, queues), anticlockwise};
}

void AstraPlanner::add(std::vector<AstraPlannedPhase>& phases, AstraCollective list, AstraCollective kind,
                       uint32_t dimension, Turn turn, AstraTurns& turns, Bytes& data) const {
  const Dimension& d = dimensions_[static_cast<size_t>(list)][dimension];
  const auto [queue, anticlockwise] = next_queue(dimension, turn, turns);
  AstraPlannedPhase planned{.phase = {.collective = kind,
                                      .implementation = d.implementation,
                                      .members = d.members,
                                      .data = data,
                                      .anticlockwise = anticlockwise},
                            .stride = d.stride,
                            .queue = queue};
  if (d.implementation.algorithm == Algorithm::kDoubleBinaryTree) {
    std::vector<bool>& second = turns.second_tree[static_cast<size_t>(list)];
    planned.phase.second_tree = second[dimension];
    second[dimension] = !second[dimension];
  }
  data = data_after(planned.phase);
  phases.push_back(planned);
}

std::vector<AstraPlannedPhase> AstraPlanner::plan(AstraCollective collective, Bytes chunk, uint32_t dimensions,
                                                  AstraTurns& turns) const {
  std::vector<uint32_t> order;
  const auto count = static_cast<uint32_t>(dimensions_[static_cast<size_t>(collective)].size());
  for (uint32_t d = 0; d < count; ++d) {
    if (dimensions >> d & 1) order.push_back(d);
  }
  std::vector<AstraPlannedPhase> phases;
  if (collective != AstraCollective::kAllReduce || !model_.system.local_bandwidth_aware) {
    if (collective == AstraCollective::kAllGather) std::ranges::reverse(order);
    for (const uint32_t d : order) add(phases, collective, collective, d, Turn::kAny, turns, chunk);
    return phases;
  }
  if (order.empty()) return phases;
  const uint32_t top = order.back();
  order.pop_back();
  for (const uint32_t d : order)
    add(phases, collective, AstraCollective::kReduceScatter, d, Turn::kFirst, turns, chunk);
  add(phases, collective, AstraCollective::kAllReduce, top, Turn::kFirst, turns, chunk);
  std::ranges::reverse(order);
  for (const uint32_t d : order) add(phases, collective, AstraCollective::kAllGather, d, Turn::kLast, turns, chunk);
  return phases;
}

std::vector<AstraPlannedPhase> AstraPlanner::plan_group(AstraCollective collective, Bytes chunk, uint32_t members,
                                                        AstraTurns& turns) const {
  if (members < 2) return {};
  const bool first = collective == AstraCollective::kAllReduce && model_.system.local_bandwidth_aware;
  const auto [queue, anticlockwise] = next_queue(0, first ? Turn::kFirst : Turn::kAny, turns);
  return {{.phase = {.collective = collective,
                     .implementation = {},
                     .members = members,
                     .data = chunk,
                     .anticlockwise = anticlockwise},
           .stride = 0,
           .queue = queue}};
}

std::string AstraPlanner::obstacle(AstraCollective collective) const {
  const size_t c = static_cast<size_t>(collective);
  if (dimensions_[c].empty()) return fmt::format("the system names no implementation of {}", to_string(collective));
  for (size_t d = 0; d < dimensions_[c].size(); ++d) {
    const Dimension& dimension = dimensions_[c][d];
    const Algorithm algorithm = dimension.implementation.algorithm;
    const bool halves = algorithm == Algorithm::kHalvingDoubling, tree = algorithm == Algorithm::kDoubleBinaryTree;
    const char* name = halves ? "halvingDoubling" : "doubleBinaryTree";
    if ((halves || tree) && !std::has_single_bit(dimension.members)) {
      return fmt::format("{} needs a power of 2 of NPUs, but dimension {} has {}", name, d, dimension.members);
    }
    if (halves && collective == AstraCollective::kAllToAll) return "halvingDoubling is no ALL_TO_ALL";
    if (algorithm == Algorithm::kCustom && model_.network.dimensions.size() > 1) {
      return fmt::format("a custom {} is for networks of one dimension, this one has {}", to_string(collective),
                         model_.network.dimensions.size());
    }
  }
  return "";
}

}  // namespace rankwire
