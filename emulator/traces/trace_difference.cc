#include "emulator/traces/trace_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>

#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr size_t kMostRows = 20;

TraceDifference::Side side_of(const Inspection& inspection) {
  TraceDifference::Side side{.ranks = inspection.ranks.size(), .nodes = inspection.nodes};
  side.end = inspection.timing.end - Time(0);
  if (const std::optional<RankTimes> sum = inspection.sum_of_times()) {
    const auto mean = [&](Duration time) { return Duration(time.ps / static_cast<int64_t>(side.ranks)); };
    side.compute = mean(sum->compute);
    side.communication = mean(sum->communication);
    side.exposed = mean(sum->exposed());
    side.idle = mean(sum->idle.sum());
  }
  return side;
}

void join(OperationTable here, OperationTable there, bool communicates, std::vector<OperationDifference>& list) {
  if (here.has_patterns() || there.has_patterns()) {
    here.use_patterns();
    there.use_patterns();
  }
  std::map<OperationKey, std::pair<OperationTally, OperationTally>> joined;
  for (const auto& [key, tally] : here.operations()) joined[key].first = tally;
  for (const auto& [key, tally] : there.operations()) joined[key].second = tally;
  for (auto& [key, sides] : joined)
    list.push_back({key, communicates, std::move(sides.first), std::move(sides.second)});
}

nlohmann::ordered_json side_json(const TraceDifference::Side& side) {
  return {{"ranks", side.ranks},
          {"nodes", side.nodes},
          {"end_ps", side.end.ps},
          {"compute_ps", side.compute.ps},
          {"communication_ps", side.communication.ps},
          {"exposed_ps", side.exposed.ps},
          {"idle_ps", side.idle.ps}};
}

}  // namespace

const char* OperationDifference::change() const {
  if (there.count == 0) return "added";
  if (here.count == 0) return "missing";
  if (here.count != there.count) return here.count > there.count ? "more" : "fewer";
  return here.bytes != there.bytes || here.total != there.total ? "changed" : "same";
}

TraceDifference trace_difference(const Inspection& here, const Inspection& there) {
  TraceDifference result{.name = there.name, .here = side_of(here), .there = side_of(there)};
  join(here.communication, there.communication, true, result.operations);
  join(here.operations, there.operations, false, result.operations);
  const auto weight = [](const OperationDifference& of) {
    return std::tuple(std::abs(of.here.total.ps - of.there.total.ps),
                      std::abs(of.here.bytes.count - of.there.bytes.count),
                      std::max(of.here.count, of.there.count) - std::min(of.here.count, of.there.count));
  };
  std::ranges::stable_sort(result.operations, std::greater<>(), weight);
  return result;
}

nlohmann::ordered_json to_json(const TraceDifference& difference) {
  nlohmann::ordered_json operations = nlohmann::ordered_json::array();
  for (const OperationDifference& of : difference.operations) {
    operations.push_back({{"kind", of.key.kind},
                          {of.communicates ? "group" : "name", of.key.name},
                          {"change", of.change()},
                          {"count", of.here.count},
                          {"bytes", of.here.bytes.count},
                          {"total_ps", of.here.total.ps},
                          {"against_count", of.there.count},
                          {"against_bytes", of.there.bytes.count},
                          {"against_total_ps", of.there.total.ps}});
  }
  return {{"set", difference.name},
          {"here", side_json(difference.here)},
          {"against", side_json(difference.there)},
          {"operations", std::move(operations)}};
}

std::string to_text(const TraceDifference& difference) {
  std::string text = fmt::format("against {}: end {} and {}, {} and {} nodes, {} and {} ranks\n", difference.name,
                                 readable(difference.here.end), readable(difference.there.end), difference.here.nodes,
                                 difference.there.nodes, difference.here.ranks, difference.there.ranks);
  size_t shown = 0, differ = 0;
  for (const OperationDifference& of : difference.operations) {
    if (of.change() == std::string_view("same")) continue;
    if (differ++ == 0)
      text += fmt::format("{:<8} {:<16} {:>9} {:>9} {:>12} {:>12} {:>12} {:>12}\n", "", "kind", "count", "against",
                          "bytes", "against", "total", "against");
    if (shown == kMostRows) continue;
    ++shown;
    text += fmt::format("{:<8} {:<16} {:>9} {:>9} {:>12} {:>12} {:>12} {:>12}  {:.60}\n", of.change(), of.key.kind,
                        of.here.count, of.there.count, readable(of.here.bytes), readable(of.there.bytes),
                        readable(of.here.total), readable(of.there.total), of.key.name);
  }
  if (differ > shown) text += fmt::format("and {} more that differ\n", differ - shown);
  return differ == 0 ? text + "no operation differs in number, bytes or time\n" : text;
}

}  // namespace rankwire
