#include "emulator/report/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "emulator/report/column_plots.h"
#include "emulator/report/format.h"
#include "emulator/report/heat_map.h"
#include "emulator/report/html_table.h"
#include "emulator/report/port_names.h"
#include "emulator/report/rank_names.h"
#include "emulator/report/rate_statistics.h"

namespace rankwire {
namespace {

constexpr size_t kDrawnRates = 8, kListedRates = 64, kMappedPorts = 64;

std::string gbps(double bits_per_second) {
  return readable_gbps(bits_per_second / 1e9);
}

HtmlCell gbps_cell(double bits_per_second) {
  return HtmlCell::valued(gbps(bits_per_second), std::llround(bits_per_second));
}

std::vector<double> shares_of(std::vector<double> values, double scale) {
  for (double& value : values) value /= scale;
  return values;
}

/// Of the first kDrawnRates, at least 1.
template <class Of>
double highest(const std::vector<Of>& all, std::vector<double> Of::*columns) {
  double highest = 1;
  for (size_t i = 0; i < std::min(all.size(), kDrawnRates); ++i)
    highest = std::max(highest, std::ranges::max(all[i].*columns));
  return highest;
}

/// How much of what the busiest moment of any port has each sends over time, in the order of ports.
std::string use_of_ports(std::vector<PortRateStatistics> ports, const std::map<PortId, std::string>& names, Time end) {
  ports.resize(std::min(ports.size(), kMappedPorts));
  double scale = 1;
  for (const PortRateStatistics& port : ports) scale = std::max(scale, std::ranges::max(port.tx_column));
  std::ranges::sort(ports, {}, &PortRateStatistics::port);
  std::vector<HeatRow> rows;
  for (const PortRateStatistics& port : ports)
    rows.push_back({.name = name_of(names, port.port),
                    .note = gbps(std::ranges::max(port.tx_column)) + " Gbit/s",
                    .parts = shares_of(port.tx_column, scale)});
  return fmt::format("<p class=\"note\">What ports send: the fuller, the more of {} Gbit/s.</p>\n", gbps(scale)) +
         heat_map_svg("Use of ports over time", rows, time_axis_svg(end, heat_map_area(rows.size())));
}

std::string ports_html(const RateSampling& rates, const std::map<PortId, std::string>& names, Time end) {
  const std::vector<PortRateStatistics> ports = port_rate_statistics(rates, end);
  if (ports.empty()) return {};
  const double scale =
      std::max(highest(ports, &PortRateStatistics::tx_column), highest(ports, &PortRateStatistics::rx_column));
  std::vector<ColumnPlot> plots;
  HtmlTable table("rates", {{"Port", HtmlColumn::kText},
                            {"Sent"},
                            {"Received"},
                            {"Sent Gbit/s"},
                            {"Highest sent Gbit/s"},
                            {"Highest received Gbit/s"}});
  const size_t listed = std::min(ports.size(), kListedRates);
  for (size_t i = 0; i < listed; ++i) {
    const PortRateStatistics& port = ports[i];
    const std::string name = name_of(names, port.port);
    table.add({name, port.tx, port.rx,
               gbps_cell(static_cast<double>(port.tx.count) * 8e12 / static_cast<double>(end.ps)),
               gbps_cell(port.highest_tx), gbps_cell(port.highest_rx)});
    if (plots.size() < kDrawnRates)
      plots.push_back({.name = name,
                       .unit = {},
                       .filled = shares_of(port.tx_column, scale),
                       .line = shares_of(port.rx_column, scale),
                       .bars = {}});
  }
  return fmt::format(
             "<p class=\"note\">Ports every {}; the one that sent most first. <span class=\"key ec\"></span>sent, up "
             "to "
             "{} Gbit/s <span class=\"key ex\"></span>received</p>\n",
             readable(rates.port_interval), gbps(scale)) +
         column_plots_svg("Rates of ports over time", end, plots) + use_of_ports(ports, names, end) +
         html_shown_of(listed, ports.size(), "port_rates.csv") + std::move(table).finish();
}

std::string allowances_html(const RateSampling& rates, const RankNames& names, Time end) {
  const std::vector<AllowanceStatistics> queue_pairs = allowance_statistics(rates, end);
  if (queue_pairs.empty()) return {};
  const double rate = highest(queue_pairs, &AllowanceStatistics::rate_column);
  const double window = highest(queue_pairs, &AllowanceStatistics::window_column);
  std::vector<ColumnPlot> plots;
  HtmlTable table("allowances", {{"From rank", HtmlColumn::kText},
                                 {"To rank", HtmlColumn::kText},
                                 {"Queue pair"},
                                 {"Mean rate Gbit/s"},
                                 {"Lowest rate Gbit/s"},
                                 {"Mean window"},
                                 {"Smallest window"},
                                 {"Samples"}});
  const size_t listed = std::min(queue_pairs.size(), kListedRates);
  for (size_t i = 0; i < listed; ++i) {
    const AllowanceStatistics& of = queue_pairs[i];
    const std::string source = names(of.source), destination = names(of.destination);
    table.add({source, destination, uint32_t{of.member}, gbps_cell(of.mean_rate),
               gbps_cell(static_cast<double>(of.lowest_rate.bits_per_second)),
               of.mean_window ? HtmlCell(Bytes(std::llround(*of.mean_window))) : HtmlCell("-"),
               of.smallest_window ? HtmlCell(*of.smallest_window) : HtmlCell("-"), of.samples});
    if (plots.size() < kDrawnRates)
      plots.push_back({.name = fmt::format("{} to {}", names.label(of.source.value), names.label(of.destination.value)),
                       .unit = fmt::format("queue pair {}", of.member),
                       .filled = shares_of(of.rate_column, rate),
                       .line = of.mean_window ? shares_of(of.window_column, window) : std::vector<double>(),
                       .bars = {}});
  }
  std::string html = fmt::format(
      "<p class=\"note\">What congestion control allowed queue pairs, every {}, where it changed; the one that was "
      "held "
      "back most first. <span class=\"key ec\"></span>rate, up to {} Gbit/s",
      readable(rates.allowance_interval), gbps(rate));
  if (window > 1)
    html += fmt::format(" <span class=\"key ex\"></span>window, up to {}", readable(Bytes(std::llround(window))));
  return html + "</p>\n" + column_plots_svg("What queue pairs might send over time", end, plots) +
         html_shown_of(listed, queue_pairs.size(), "allowances.csv") + std::move(table).finish();
}

std::string window_text(const std::optional<Bytes>& window) {
  return window ? fmt::to_string(window->count) : std::string();
}

}  // namespace

std::string port_rates_csv(const RunReader& record) {
  std::string csv = "fidelity,time_ps,interval_ps,port,name,tx_bytes,rx_bytes\n";
  for (const RecordedRun& run : record.runs()) {
    const std::optional<RateSampling> rates = record.rates(run);
    if (!rates) continue;
    const std::map<PortId, std::string> names = port_names(record, run);
    for (const PortRateRow& row : rates->ports)
      fmt::format_to(std::back_inserter(csv), "{},{},{},{},{},{},{}\n", to_string(run.start.fidelity), row.time.ps,
                     rates->port_interval.ps, row.port.value, csv_field(name_of(names, row.port)), row.tx.count,
                     row.rx.count);
  }
  return csv;
}

std::string allowances_csv(const RunReader& record) {
  std::string csv =
      "fidelity,time_ps,connection,member,source,destination,rate_bps,lowest_rate_bps,window_bytes,"
      "smallest_window_bytes\n";
  for (const RecordedRun& run : record.runs()) {
    const std::optional<RateSampling> rates = record.rates(run);
    if (!rates) continue;
    for (const AllowanceRow& row : rates->allowances)
      fmt::format_to(std::back_inserter(csv), "{},{},{},{},{},{},{},{},{},{}\n", to_string(run.start.fidelity),
                     row.time.ps, row.connection.value, row.member, row.source.value, row.destination.value,
                     row.rate.bits_per_second, row.lowest_rate.bits_per_second, window_text(row.window),
                     window_text(row.smallest_window));
  }
  return csv;
}

nlohmann::ordered_json rates_json(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto rates = run == nullptr ? std::nullopt : record.rates(*run);
  if (!rates) return nullptr;
  return {{"port_interval_ps", rates->port_interval.ps},
          {"port_rows", rates->ports.size()},
          {"allowance_interval_ps", rates->allowance_interval.ps},
          {"allowance_rows", rates->allowances.size()},
          {"rows_lost", rates->lost}};
}

std::string html_rates(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  const auto rates = run == nullptr ? std::nullopt : record.rates(*run);
  if (!rates) return {};
  Time end = Time() + run->end.completion;
  if (end <= Time() && !rates->ports.empty()) end = rates->ports.back().time;  // of a run that ended no operation
  if (end <= Time()) return {};
  std::string html = ports_html(*rates, port_names(record, *run), end);
  html += allowances_html(*rates, RankNames(record), end);
  if (rates->lost > 0) html += fmt::format("<p class=\"note\">{} samples are missing.</p>\n", rates->lost);
  return html;
}

}  // namespace rankwire
