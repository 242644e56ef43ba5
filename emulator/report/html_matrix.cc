#include "emulator/report/html_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "emulator/report/assessment.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/page_data.h"

namespace rankwire {
namespace {

constexpr size_t kPictureBlocks = 64, kPictureTicks = 16, kListedCells = 20;
constexpr size_t kLongestBlockLabel = 200, kLongestTick = 16;
constexpr int kMatrixLeft = 110, kMatrixTop = 110, kMatrixSide = 512;
constexpr int kLevels = 8;

Bytes bytes_of_cell(const TrafficMatrix::Cell& cell) {
  return Bytes(static_cast<int64_t>(cell.bytes()));
}

/// The matrix with several blocks in one, each as dense as the logarithm of what it has.
class CoarseMatrix {
 public:
  explicit CoarseMatrix(const TrafficMatrix& matrix)
      : merged_((matrix.blocks() + kPictureBlocks - 1) / kPictureBlocks),
        blocks_((matrix.blocks() + merged_ - 1) / merged_),
        bytes_(blocks_ * blocks_) {
    for (size_t s = 0; s < matrix.blocks(); ++s)
      for (size_t d = 0; d < matrix.blocks(); ++d)
        bytes_[s / merged_ * blocks_ + d / merged_] += matrix.at(s, d).bytes();
    for (const uint64_t bytes : bytes_) {
      if (bytes == 0) continue;
      least_ = least_ == 0 ? bytes : std::min(least_, bytes);
      most_ = std::max(most_, bytes);
    }
  }

  size_t merged() const { return merged_; }
  size_t blocks() const { return blocks_; }
  uint64_t least() const { return least_; }
  uint64_t most() const { return most_; }
  /// 1 .. kLevels; 0 where nothing was sent.
  int level(size_t source, size_t destination) const {
    const uint64_t bytes = bytes_[source * blocks_ + destination];
    if (bytes == 0) return 0;
    if (least_ == most_) return kLevels;
    const double part = std::log(static_cast<double>(bytes) / static_cast<double>(least_)) /
                        std::log(static_cast<double>(most_) / static_cast<double>(least_));
    return 1 + static_cast<int>(std::lround(part * (kLevels - 1)));
  }

 private:
  size_t merged_, blocks_;
  std::vector<uint64_t> bytes_;
  uint64_t least_ = 0, most_ = 0;
};

double opacity_of(int level) {
  return 0.18 + 0.82 * (level - 1) / (kLevels - 1);
}

/// A path for each level; neighbours of one row and level are one rectangle of it.
std::string cells_svg(const CoarseMatrix& matrix, double cell) {
  std::array<std::string, kLevels + 1> paths;
  for (size_t s = 0; s < matrix.blocks(); ++s) {
    for (size_t d = 0; d < matrix.blocks();) {
      const int level = matrix.level(s, d);
      size_t stop = d + 1;
      while (stop < matrix.blocks() && matrix.level(s, stop) == level) ++stop;
      if (level > 0)
        paths[static_cast<size_t>(level)] +=
            fmt::format("M{:g} {:g}h{:g}v{:g}h{:g}z", kMatrixLeft + static_cast<double>(d) * cell,
                        kMatrixTop + static_cast<double>(s) * cell, static_cast<double>(stop - d) * cell, cell,
                        -static_cast<double>(stop - d) * cell);
      d = stop;
    }
  }
  std::string svg;
  for (int level = 1; level <= kLevels; ++level) {
    const std::string& path = paths[static_cast<size_t>(level)];
    if (!path.empty())
      svg += fmt::format("<path class=\"heat\" fill-opacity=\"{:.2f}\" d=\"{}\"/>\n", opacity_of(level), path);
  }
  return svg;
}

std::string labels_svg(const TrafficMatrix& matrix, const CoarseMatrix& coarse, double cell) {
  std::string svg = fmt::format(
      "<text class=\"unit\" x=\"0\" y=\"{}\">from</text>\n<text class=\"unit\" x=\"{}\" y=\"10\">to</text>\n",
      kMatrixTop - 4, kMatrixLeft);
  const size_t step = (coarse.blocks() + kPictureTicks - 1) / kPictureTicks;
  for (size_t b = 0; b < coarse.blocks(); b += step) {
    const std::string label = html_escaped(shortened_text(matrix.labels()[b * coarse.merged()], kLongestTick));
    const double middle = (static_cast<double>(b) + 0.5) * cell;
    svg += fmt::format(
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n<text transform=\"translate({:.1f} "
        "{})rotate(-90)\">{}</text>\n",
        kMatrixLeft - 6, kMatrixTop + middle + 4, label, kMatrixLeft + middle + 4, kMatrixTop - 6, label);
  }
  return svg;
}

std::string scale_svg(const CoarseMatrix& coarse, int top) {
  std::string svg;
  for (int level = 1; level <= kLevels; ++level)
    svg += fmt::format("<rect class=\"heat\" fill-opacity=\"{:.2f}\" x=\"{}\" y=\"{}\" width=\"14\" height=\"12\"/>\n",
                       opacity_of(level), kMatrixLeft + 14 * (level - 1), top);
  const auto text = [](uint64_t bytes) { return readable(Bytes(static_cast<int64_t>(bytes))); };
  return svg + fmt::format("<text x=\"{}\" y=\"{}\">{} to {}, logarithmic</text>\n", kMatrixLeft + 14 * kLevels + 8,
                           top + 10, text(coarse.least()), text(coarse.most()));
}

/// How blocks were made where there are more ranks than cells.
std::string blocks_text(const TrafficMatrix& matrix) {
  switch (matrix.block()) {
    case TrafficMatrix::Block::kRank:
      return {};
    case TrafficMatrix::Block::kHost:
      return fmt::format(" The {} ranks are put together by host.", matrix.ranks());
    case TrafficMatrix::Block::kRanks:
      return fmt::format(" Of the {} ranks {} that follow each other are put together.", matrix.ranks(),
                         matrix.ranks_in_block());
  }
  return {};
}

std::string largest_cells(const TrafficMatrix& matrix) {
  std::vector<size_t> order(matrix.cells().size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto size = [&](size_t i) { return matrix.cells()[i].bytes(); };
  const auto sent = static_cast<size_t>(std::ranges::count_if(order, [&](size_t i) { return size(i) > 0; }));
  const size_t listed = std::min(kListedCells, sent);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(listed),
                            [&](size_t a, size_t b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
  const auto total = static_cast<double>(matrix.total().bytes());
  HtmlTable table("traffic",
                  {{"From", HtmlColumn::kText}, {"To", HtmlColumn::kText}, {"Payload"}, {"Local"}, {"Of all"}});
  for (const size_t i : std::span(order).first(listed)) {
    const double part = static_cast<double>(size(i)) / total;
    table.add({matrix.labels()[i / matrix.blocks()], matrix.labels()[i % matrix.blocks()],
               bytes_of_cell(matrix.cells()[i]), Bytes(static_cast<int64_t>(matrix.cells()[i].local)),
               HtmlCell::bar(fmt::format("{:.2f} %", 100 * part), part)});
  }
  return html_shown_of(listed, sent, "traffic.csv") + std::move(table).finish();
}

}  // namespace

std::string matrix_svg(const TrafficMatrix& matrix) {
  if (matrix.total().bytes() == 0) return {};
  const CoarseMatrix coarse(matrix);
  const double cell = static_cast<double>(kMatrixSide) / static_cast<double>(coarse.blocks());
  const int bottom = kMatrixTop + kMatrixSide;
  return fmt::format(
             "<svg class=\"matrix\" role=\"img\" viewBox=\"0 0 {} {}\">\n<title>Who sent how much to whom</title>\n"
             "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
             kMatrixLeft + kMatrixSide + 10, bottom + 30, kMatrixLeft, kMatrixTop, kMatrixSide, kMatrixSide) +
         cells_svg(coarse, cell) + labels_svg(matrix, coarse, cell) + scale_svg(coarse, bottom + 10) + "</svg>\n";
}

std::string matrix_json(const TrafficMatrix& matrix) {
  std::vector<int64_t> places, wire, local;
  for (size_t i = 0; i < matrix.cells().size(); ++i) {
    const TrafficMatrix::Cell& cell = matrix.cells()[i];
    if (cell.bytes() == 0) continue;
    places.push_back(static_cast<int64_t>(i));
    wire.push_back(static_cast<int64_t>(cell.wire));
    local.push_back(static_cast<int64_t>(cell.local));
  }
  nlohmann::ordered_json labels = nlohmann::ordered_json::array();
  for (const std::string& label : matrix.labels()) labels.push_back(shortened_text(label, kLongestBlockLabel));
  return json_in_attribute({{"labels", std::move(labels)},
                            {"cells", places.size()},
                            {"place", vlq_differences(places)},
                            {"wire", vlq_differences(wire)},
                            {"local", vlq_differences(local)}});
}

std::string html_traffic_matrix(const RunReader& record) {
  const RecordedRun* const run = principal_run(record);
  if (run == nullptr) return {};
  const TrafficMatrix matrix(record, *run);
  const std::string svg = matrix_svg(matrix);
  if (svg.empty()) return {};
  const TrafficMatrix::Cell total = matrix.total();
  return fmt::format(
      "<p class=\"note\">Payload from each rank to each other one, {}: {}, of it {} local. What was sent again counts "
      "once; without control messages and background.{} All pairs are in traffic.csv.</p>\n"
      "<div id=\"traffic\" data-matrix=\"{}\">\n<div class=\"still\">{}</div>\n</div>\n{}",
      to_string(run->start.fidelity), readable(bytes_of_cell(total)),
      readable(Bytes(static_cast<int64_t>(total.local))), blocks_text(matrix), matrix_json(matrix), svg,
      largest_cells(matrix));
}

}  // namespace rankwire
