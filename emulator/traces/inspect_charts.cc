#include "emulator/traces/inspect_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/page_data.h"
#include "emulator/report/time_axis.h"

namespace rankwire {
namespace {

constexpr size_t kMostMapRows = 40, kLongestMapLabel = 34, kMapTicks = 16;
constexpr int kMapLeft = 230, kMapWidth = 640, kMapTop = 22, kMapCell = 18, kMapRight = 110;
constexpr int kBarsLeft = 70, kBarsWidth = 850, kBar = 12, kBarStep = 16;

/// Neighbours that share a row or a column, and what they are called.
class DrawnRanks {
 public:
  explicit DrawnRanks(const Inspection& inspection)
      : ranks_(inspection.ranks), together_((ranks_.size() + kMostDrawnRanks - 1) / kMostDrawnRanks) {}

  size_t size() const { return (ranks_.size() + together_ - 1) / together_; }
  size_t first(size_t drawn) const { return drawn * together_; }
  size_t last(size_t drawn) const { return std::min((drawn + 1) * together_, ranks_.size()) - 1; }
  std::string name(size_t drawn) const {
    const uint32_t from = ranks_[first(drawn)].rank, to = ranks_[last(drawn)].rank;
    return from == to ? fmt::format("rank {}", from) : fmt::format("ranks {} to {}, mean", from, to);
  }

 private:
  const std::vector<RankInspection>& ranks_;
  size_t together_;
};

class SizeMap {
 public:
  explicit SizeMap(const Inspection& inspection) : inspection_(inspection), drawn_(inspection) {
    for (const auto& [key, tally] : inspection.communication.operations()) {
      if (tally.bytes > Bytes()) rows_.emplace_back(&key, tally.bytes);
    }
    std::ranges::stable_sort(rows_, std::greater<>(), [](const auto& row) { return row.second; });
    all_ = rows_.size();
    rows_.resize(std::min(rows_.size(), kMostMapRows));
  }

  std::string svg() const {
    if (rows_.empty()) return {};
    const int bottom = kMapTop + kMapCell * static_cast<int>(rows_.size());
    std::string body;
    const size_t step = (drawn_.size() + kMapTicks - 1) / kMapTicks;
    for (size_t d = 0; d < drawn_.size(); d += step) {
      body += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}</text>\n", x_of(d) + width() / 2, kMapTop - 6,
                          inspection_.ranks[drawn_.first(d)].rank);
    }
    for (size_t r = 0; r < rows_.size(); ++r) body += row_svg(r);
    return fmt::format(
        "<p class=\"note\">The fuller, the more of what the rank with most has, which stands behind the row.</p>\n"
        "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>Bytes by rank and communication</title>\n"
        "<text class=\"unit\" x=\"0\" y=\"{}\">rank</text>\n{}</svg></div>\n{}",
        kMapLeft + kMapWidth + kMapRight, bottom + 6, kMapTop - 6, body,
        all_ > rows_.size() ? fmt::format("<p class=\"note\">{} of {} rows.</p>\n", rows_.size(), all_) : "");
  }

 private:
  double width() const { return static_cast<double>(kMapWidth) / static_cast<double>(drawn_.size()); }
  double x_of(size_t drawn) const { return kMapLeft + width() * static_cast<double>(drawn); }

  Bytes mean(const OperationKey& key, size_t drawn) const {
    int64_t sum = 0;
    for (size_t place = drawn_.first(drawn); place <= drawn_.last(drawn); ++place) {
      const auto found = inspection_.ranks[place].communication.find(key);
      if (found != inspection_.ranks[place].communication.end()) sum += found->second.count;
    }
    return Bytes(sum / static_cast<int64_t>(drawn_.last(drawn) - drawn_.first(drawn) + 1));
  }

  std::string row_svg(size_t r) const {
    const OperationKey& key = *rows_[r].first;
    const std::string name = key.name.empty() ? key.kind : key.kind + ", " + key.name;
    const int y = kMapTop + kMapCell * static_cast<int>(r);
    std::vector<Bytes> cells;
    for (size_t d = 0; d < drawn_.size(); ++d) cells.push_back(mean(key, d));
    const Bytes most = std::ranges::max(cells);
    std::string svg = fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n<text x=\"{}\" y=\"{}\">{}</text>\n",
                                  y + kMapCell - 5, html_escaped(shortened_text(name, kLongestMapLabel)),
                                  kMapLeft + kMapWidth + 8, y + kMapCell - 5, readable(most));
    for (size_t d = 0; d < cells.size(); ++d) {
      const double part = most > Bytes() ? static_cast<double>(cells[d].count) / static_cast<double>(most.count) : 0;
      svg += fmt::format(
          "<rect class=\"heat\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" "
          "fill-opacity=\"{:.3f}\"><title>{}, {}: {}</title></rect>\n",
          x_of(d), y + 1, std::max(width() - 1, 1.0), kMapCell - 2, 0.06 + 0.94 * part, html_escaped(name),
          drawn_.name(d), readable(cells[d]));
    }
    return svg;
  }

  const Inspection& inspection_;
  DrawnRanks drawn_;
  std::vector<std::pair<const OperationKey*, Bytes>> rows_;
  size_t all_ = 0;
};

/// What a bar is made of, from left to right.
struct BarPart {
  const char *css, *name;
  Duration (*of)(const RankTimes& times);
};

constexpr std::array kBarParts = {
    BarPart{"ec", "computation", [](const RankTimes& times) { return times.compute; }},
    BarPart{"ex", "exposed communication", [](const RankTimes& times) { return times.exposed(); }},
    BarPart{"rc", "copies alone", [](const RankTimes& times) { return times.memory; }},
    BarPart{"idle", "idle", [](const RankTimes& times) { return times.idle.sum(); }}};

std::string bar_svg(const Inspection& inspection, const DrawnRanks& drawn, size_t row) {
  const auto ranks = static_cast<double>(drawn.last(row) - drawn.first(row) + 1);
  const double scale = kBarsWidth / static_cast<double>(inspection.timing.end.ps) / ranks;
  double x = 0;
  std::array<double, kBarParts.size()> sums{};
  for (size_t place = drawn.first(row); place <= drawn.last(row); ++place) {
    const auto& times = inspection.ranks[place].times;
    if (!times) continue;
    x += static_cast<double>(times->begin.ps) * scale;
    for (size_t p = 0; p < kBarParts.size(); ++p) sums[p] += static_cast<double>(kBarParts[p].of(*times).ps);
  }
  std::string svg = fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n", static_cast<int>(row) * kBarStep + kBar - 2,
                                inspection.ranks[drawn.first(row)].rank);
  for (size_t p = 0; p < kBarParts.size(); ++p) {
    if (sums[p] <= 0) continue;
    svg += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"><title>{}, {}: {}</title></rect>\n",
        kBarParts[p].css, kBarsLeft + x, static_cast<int>(row) * kBarStep, sums[p] * scale, kBar, drawn.name(row),
        kBarParts[p].name, readable(Duration(static_cast<int64_t>(sums[p] / ranks))));
    x += sums[p] * scale;
  }
  return svg;
}

}  // namespace

std::string size_map_svg(const Inspection& inspection) {
  return SizeMap(inspection).svg();
}

std::string time_bars_svg(const Inspection& inspection) {
  if (!inspection.sum_of_times() || inspection.timing.end <= Time(0)) return {};
  const DrawnRanks drawn(inspection);
  const int height = static_cast<int>(drawn.size()) * kBarStep;
  std::string body = time_axis_svg(inspection.timing.end, {kBarsLeft, kBarsWidth, height}), keys;
  for (size_t row = 0; row < drawn.size(); ++row) body += bar_svg(inspection, drawn, row);
  for (const BarPart& part : kBarParts) keys += fmt::format("<span class=\"key {}\"></span>{}", part.css, part.name);
  return fmt::format(
      "<p class=\"note\">From begin to end of each rank, how much, not when: {}</p>\n"
      "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>Time of the "
      "ranks</title>\n{}</svg></div>\n",
      keys, kBarsLeft + kBarsWidth + 60, height + 20, body);
}

}  // namespace rankwire
