#include "emulator/report/replay.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/input_file.h"
#include "base/measured_collective.h"
#include "emulator/report/bandwidth.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

constexpr std::string_view kReplayColumns =
    "kernel,size,ranks,calls,duration_ps,busbw_GBps,base_duration_ps,base_busbw_GBps,ratio";

/// Of the executions with this input.
std::optional<double> bus_of_kernel(const std::string& kind, Bytes input, uint32_t ranks, Duration mean) {
  const auto bandwidth = operation_bandwidth({.kind = kind, .group_size = ranks, .bytes = input}, mean);
  return bandwidth ? std::optional(bandwidth->bus / 8) : std::nullopt;
}

bool is_collective(const NodeInfo& node) {
  return node.kind == "barrier" || (bus_factor(node.kind, 2) > 0 && node.kind != "send" && node.kind != "receive");
}

const ReplayFigure* figure_of(const ReplayFigures& figures, const ReplayKernel& kernel) {
  const auto found = figures.find(kernel);
  return found == figures.end() ? nullptr : &found->second;
}

std::optional<double> ratio_to(const ReplayFigure& figure, const ReplayFigure* base) {
  return base == nullptr ? std::nullopt : ratio_of(figure.mean, base->mean);
}

std::string bus_text(const std::optional<double>& bus) {
  return bus ? four_digits(*bus) : "-";
}

std::vector<std::string_view> replay_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

template <class T>
bool read_field(std::string_view field, T& value) {
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size();
}

ReplayFigures read_replay_csv(const std::filesystem::path& file) {
  std::ifstream stream = open_input(file, "a replay.csv");
  std::string line;
  if (!std::getline(stream, line)) fail_input("{}: is empty", file.string());
  if (line != kReplayColumns)
    fail_input("{}:1: is not a replay.csv, whose first line is {}", file.string(), kReplayColumns);
  ReplayFigures figures;
  for (size_t number = 2; std::getline(stream, line); ++number) {
    const std::vector<std::string_view> fields = replay_fields(line);
    ReplayKernel kernel;
    ReplayFigure figure;
    double bus = 0;
    const bool is_whole = fields.size() == replay_fields(kReplayColumns).size() &&
                          read_field(fields[1], kernel.size.count) && read_field(fields[2], kernel.ranks) &&
                          read_field(fields[3], figure.calls) && read_field(fields[4], figure.mean.ps) &&
                          (fields[5].empty() || read_field(fields[5], bus));
    if (!is_whole) fail_input("{}:{}: is not a line of a replay.csv", file.string(), number);
    kernel.name = fields[0];
    if (!fields[5].empty()) figure.bus = bus;
    figures[kernel] = figure;
  }
  return figures;
}

}  // namespace

ReplayFigures replay_figures(const RunReader& record) {
  struct Sum {
    __int128 picoseconds = 0;
    Bytes input;
  };
  ReplayFigures figures;
  std::map<ReplayKernel, Sum> sums;
  record.for_each_operation([&](const OperationRow& row) {
    if (!is_collective(row.node)) return;
    if (const auto call = measured_call(row.node.name); call && call->is_warm_up) return;
    const std::optional<OperationTimes>& times = record.emulated() != nullptr ? row.emulated : row.reference;
    if (!times) return;
    const ReplayKernel kernel{row.node.kind, bandwidth_basis(row.node), row.node.group_size};
    ++figures[kernel].calls;
    Sum& sum = sums[kernel];
    sum.picoseconds += times->duration().ps;
    sum.input = row.node.bytes;
  });
  for (auto& [kernel, figure] : figures) {
    const Sum& sum = sums[kernel];
    figure.mean = Duration(static_cast<int64_t>(sum.picoseconds / static_cast<__int128>(figure.calls)));
    figure.bus = bus_of_kernel(kernel.name, sum.input, kernel.ranks, figure.mean);
  }
  return figures;
}

ReplayFigures read_replay(const std::filesystem::path& base) {
  return std::filesystem::is_regular_file(base) ? read_replay_csv(base) : replay_figures(RunReader(base));
}

std::string replay_text(const ReplayFigures& figures, const ReplayFigures& base) {
  std::string text =
      fmt::format("{:<22} {:>14} {:>6} {:>8} {:>12} {:>22} {:>8}\n{:<22} {:>14} {:>6} {:>8} {:>12} {:>22}\n", "kernel",
                  "size", "ranks", "calls", "duration", "busbw (base)", "ratio", "", "B", "", "", "us", "GB/s");
  for (const auto& [kernel, figure] : figures) {
    const ReplayFigure* const other = figure_of(base, kernel);
    text += fmt::format("{:<22} {:>14} {:>6} {:>8} {:>12} {:>22} {:>8}\n", kernel.name, kernel.size.count, kernel.ranks,
                        figure.calls, four_digits(static_cast<double>(figure.mean.ps) / 1e6),
                        fmt::format("{} ({})", bus_text(figure.bus), other == nullptr ? "-" : bus_text(other->bus)),
                        readable_ratio(ratio_to(figure, other)));
  }
  return text;
}

std::string replay_csv(const ReplayFigures& figures, const ReplayFigures& base) {
  const auto number = [](const std::optional<double>& value) { return value ? fmt::to_string(*value) : std::string(); };
  std::string csv(kReplayColumns);
  csv += '\n';
  for (const auto& [kernel, figure] : figures) {
    const ReplayFigure* const other = figure_of(base, kernel);
    csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", kernel.name, kernel.size.count, kernel.ranks, figure.calls,
                       figure.mean.ps, number(figure.bus), other == nullptr ? "" : fmt::to_string(other->mean.ps),
                       other == nullptr ? "" : number(other->bus), number(ratio_to(figure, other)));
  }
  return csv;
}

}  // namespace rankwire
