#include "emulator/report/collective_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "base/name_pattern.h"
#include "emulator/report/format.h"
#include "emulator/report/heat_map.h"
#include "emulator/report/rank_names.h"

namespace rankwire {
namespace {

constexpr size_t kMostKinds = 1'000, kRows = 24, kCells = 256;
constexpr int kTicks = 16;

/// Bytes of a kind of collectives, by rank.
struct SizedKind {
  std::string name;
  std::vector<int64_t> bytes;

  int64_t sum() const { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }
};

/// Kinds beyond kMostKinds are left out.
std::vector<SizedKind> kinds_of(const RunReader& record) {
  std::map<std::tuple<JobId, std::string, std::string>, size_t> places;
  std::vector<SizedKind> kinds;
  record.for_each_node([&](const NodeInfo& node) {
    if (node.group.empty() || node.bytes <= Bytes()) return;
    std::string pattern;
    append_pattern(pattern, node.name);
    const auto [place, is_new] = places.try_emplace({node.job, node.kind, pattern}, kinds.size());
    if (is_new && kinds.size() == kMostKinds) {
      places.erase(place);
      return;
    }
    if (is_new) kinds.push_back({fmt::format("{}, {}", node.kind, pattern), {}});
    std::vector<int64_t>& bytes = kinds[place->second].bytes;
    bytes.resize(std::max<size_t>(bytes.size(), node.rank.value + 1));
    bytes[node.rank.value] += node.bytes.count;
  });
  std::ranges::stable_sort(kinds, std::ranges::greater(), &SizedKind::sum);
  return kinds;
}

/// Means of so many ranks that follow each other.
std::vector<double> cells_of(const SizedKind& kind, size_t ranks, size_t merged) {
  std::vector<double> cells((ranks + merged - 1) / merged);
  for (size_t r = 0; r < kind.bytes.size(); ++r) cells[r / merged] += static_cast<double>(kind.bytes[r]);
  for (size_t c = 0; c < cells.size(); ++c) cells[c] /= static_cast<double>(std::min(merged, ranks - c * merged));
  return cells;
}

std::string rank_axis(const RankNames& names, size_t ranks, size_t merged, const PlotArea& area) {
  std::string svg;
  const size_t cells = (ranks + merged - 1) / merged, step = (cells + kTicks - 1) / kTicks;
  for (size_t c = 0; c < cells; c += step)
    svg += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}</text>\n",
                       area.left + (static_cast<double>(c) + 0.5) * area.width / static_cast<double>(cells),
                       area.height + 14, html_escaped(names(c * merged)));
  return svg;
}

}  // namespace

std::string html_collective_sizes(const RunReader& record) {
  const std::vector<SizedKind> kinds = kinds_of(record);
  size_t ranks = 0;
  for (const SizedKind& kind : kinds) ranks = std::max(ranks, kind.bytes.size());
  if (ranks < 2) return {};
  const size_t merged = (ranks + kCells - 1) / kCells;
  std::vector<HeatRow> rows;
  for (size_t k = 0; k < std::min(kinds.size(), kRows); ++k) {
    std::vector<double> cells = cells_of(kinds[k], ranks, merged);
    const double most = std::ranges::max(cells);
    for (double& cell : cells) cell /= most;
    rows.push_back({.name = kinds[k].name, .note = readable(Bytes(static_cast<int64_t>(most))), .parts = cells});
  }
  std::string html = fmt::format(
      "<p class=\"note\">Input of a rank in one iteration: the fuller, the more of what the rank with most has, which "
      "stands behind the row. {} of {} kinds of collectives{}.</p>\n",
      rows.size(), kinds.size(),
      merged > 1 ? fmt::format("; {} ranks that follow each other are one cell", merged) : "");
  return html + heat_map_svg("Sizes of collectives by rank", rows,
                             rank_axis(RankNames(record), ranks, merged, heat_map_area(rows.size())));
}

}  // namespace rankwire
