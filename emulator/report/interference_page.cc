// The page of an interference matrix.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_page.h"
#include "emulator/report/html_table.h"
#include "emulator/report/interference.h"

namespace rankwire {
namespace {

constexpr int kHeatWidth = 1000, kHeatTop = 8, kWidestCell = 90, kHighestCell = 34, kLetter = 7;
constexpr size_t kMostCellRows = 500, kLongestLabel = 24;

std::string shortened(const std::string& name) {
  return name.size() <= kLongestLabel ? name : name.substr(0, kLongestLabel - 3) + "...";
}

/// One matrix as rectangles, the darker the larger the factor. 1 and less are blank, `most` is the darkest.
class HeatMap {
 public:
  HeatMap(const Interference& interference, const InterferenceMatrix& matrix, double most)
      : interference_(interference), matrix_(matrix), most_(most) {
    if (matrix.has_pairs()) labels_ = interference.jobs;
    if (matrix.has_all()) labels_.push_back("all others");
    size_t longest = 0;
    for (const std::string& name : interference.jobs) longest = std::max(longest, shortened(name).size());
    left_ = static_cast<int>(longest) * kLetter + 16;
    size_t longest_label = 0;
    for (const std::string& label : labels_) longest_label = std::max(longest_label, shortened(label).size());
    // Labels of columns rise to the right by half a right angle.
    top_ = kHeatTop + static_cast<int>(longest_label) * kLetter * 7 / 10 + 12;
    const int room = kHeatWidth - left_ - static_cast<int>(longest_label) * kLetter * 7 / 10;
    width_ = std::min(kWidestCell, std::max(6, room / static_cast<int>(labels_.size())));
    height_ = std::min(kHighestCell, width_);
  }

  std::string svg() const {
    const auto jobs = static_cast<uint32_t>(interference_.jobs.size());
    std::string body;
    for (size_t column = 0; column < labels_.size(); ++column) {
      const int x = left_ + static_cast<int>(column) * width_ + width_ / 2;
      body += fmt::format("<text x=\"{0}\" y=\"{1}\" transform=\"rotate(-45 {0} {1})\">{2}</text>\n", x, top_ - 6,
                          html_escaped(shortened(labels_[column])));
    }
    for (uint32_t victim = 0; victim < jobs; ++victim) {
      body += fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n", y_of(victim) + height_ / 2 + 4,
                          html_escaped(shortened(interference_.jobs[victim])));
      for (uint32_t column = 0; column < labels_.size(); ++column) {
        if (column == victim && matrix_.has_pairs()) continue;
        body += cell(victim, column);
      }
    }
    return fmt::format(
        "<div class=\"wide\"><svg role=\"img\" viewBox=\"0 0 {} {}\">\n<title>Interference factors, {}</title>\n{}"
        "</svg></div>\n",
        kHeatWidth, y_of(jobs) + 4, html_escaped(matrix_.side()), body);
  }

 private:
  int y_of(uint32_t row) const { return top_ + static_cast<int>(row) * height_; }

  std::string cell(uint32_t victim, uint32_t column) const {
    const bool is_pair = matrix_.has_pairs() && column < interference_.jobs.size();
    const InterferenceCell cell = is_pair ? matrix_.beside(victim, column) : matrix_.beside_all(victim);
    const int x = left_ + static_cast<int>(column) * width_, y = y_of(victim);
    std::string title = fmt::format("{} beside {}: ", interference_.jobs[victim], labels_[column]);
    title += cell.factor
                 ? fmt::format("{} times {}, its time alone", readable_ratio(cell.factor), readable(*cell.alone))
                 : cell.missing;
    std::string html = fmt::format(
        "<g><title>{}</title><rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.3f}\"/>",
        html_escaped(title), cell.factor ? "heat" : "heat absent", x + 1, y + 1, width_ - 2, height_ - 2,
        cell.factor ? 0.85 * std::clamp((*cell.factor - 1) / (most_ - 1), 0.0, 1.0) : 0.0);
    if (width_ >= 40)
      html += fmt::format("<text class=\"factor\" x=\"{}\" y=\"{}\">{}</text>", x + width_ / 2, y + height_ / 2 + 4,
                          cell.factor ? readable_ratio(cell.factor) : "?");
    return html + "</g>\n";
  }

  const Interference& interference_;
  const InterferenceMatrix& matrix_;
  const double most_;
  std::vector<std::string> labels_;  // of the columns
  int left_ = 0, top_ = 0, width_ = 0, height_ = 0;
};

/// A factor for which a cell is darkest: the largest on the page, at least 1.5 so that noise stays pale.
double darkest(const Interference& interference, const std::vector<InterferenceMatrix>& matrices) {
  double most = 1.5;
  const auto jobs = static_cast<uint32_t>(interference.jobs.size());
  for (const InterferenceMatrix& matrix : matrices) {
    for (uint32_t victim = 0; victim < jobs; ++victim) {
      most = std::max(most, matrix.beside_all(victim).factor.value_or(1));
      for (uint32_t aggressor = 0; matrix.has_pairs() && aggressor < jobs; ++aggressor)
        if (aggressor != victim) most = std::max(most, matrix.beside(victim, aggressor).factor.value_or(1));
    }
  }
  return most;
}

std::string cells_table(const Interference& interference, const std::vector<InterferenceMatrix>& matrices) {
  using HtmlColumn::kText;
  HtmlTable table("interference", {{"Job", kText},
                                   {"Beside", kText},
                                   {"Side", kText},
                                   {"Alone"},
                                   {"Here"},
                                   {"Times alone"},
                                   {"Run folder", kText},
                                   {"Missing because", kText}});
  size_t shown = 0, all = 0;
  const auto add = [&](const InterferenceMatrix& matrix, uint32_t victim, const std::string& beside,
                       const InterferenceCell& cell) {
    if (all++ >= kMostCellRows) return;
    ++shown;
    table.add({interference.jobs[victim], beside, matrix.side(), cell.alone, cell.completion,
               readable_ratio(cell.factor), cell.run != nullptr ? cell.run->point.folder : "-", cell.missing});
  };
  const auto jobs = static_cast<uint32_t>(interference.jobs.size());
  for (uint32_t victim = 0; victim < jobs; ++victim) {
    for (uint32_t aggressor = 0; aggressor < jobs; ++aggressor) {
      for (const InterferenceMatrix& matrix : matrices)
        if (matrix.has_pairs() && aggressor != victim)
          add(matrix, victim, interference.jobs[aggressor], matrix.beside(victim, aggressor));
    }
    for (const InterferenceMatrix& matrix : matrices)
      if (matrix.has_all()) add(matrix, victim, "all others", matrix.beside_all(victim));
  }
  std::string html = std::move(table).finish();
  return html_shown_of(shown, all, "interference.csv") + html;
}

}  // namespace

std::string interference_html(const Interference& interference) {
  const std::vector<InterferenceMatrix> matrices = interference_matrices(interference);
  const double most = darkest(interference, matrices);
  std::string html = html_head(interference.name + ": interference",
                               ".heat { fill: var(--bad); stroke: var(--line); } .absent { stroke-dasharray: 3; }\n"
                               "svg .factor { text-anchor: middle; }") +
                     fmt::format(
                         "<h1>{}: interference of its jobs</h1>\n"
                         "<p class=\"note\">Completion time of the job of the row beside the job of the column, over "
                         "its completion time "
                         "alone, at the same places and over the same paths. Blank is 1 or less, darkest {}; ? was not "
                         "measured.</p>\n",
                         html_escaped(interference.name), readable_ratio(most));
  const std::vector<std::string> doubtful = doubtful_runs(interference);
  if (!doubtful.empty()) {
    html += "<div class=\"reason doubtful\"><b>Not all runs are to be relied on</b><ul>\n";
    for (const std::string& line : doubtful) html += fmt::format("<li>{}</li>\n", html_escaped(line));
    html += "</ul></div>\n";
  }
  for (const std::string& line : jobs_without_factors(interference))
    html += fmt::format("<p class=\"note\">{}</p>\n", html_escaped(line));
  for (const InterferenceMatrix& matrix : matrices) {
    html += fmt::format("<section><h2>Interference factors, {}</h2>\n{}</section>\n", html_escaped(matrix.side()),
                        HeatMap(interference, matrix, most).svg());
  }
  html += "<section><h2>Completion times</h2>\n" + cells_table(interference, matrices) + "</section>\n";
  return html + "</body></html>\n";
}

}  // namespace rankwire
