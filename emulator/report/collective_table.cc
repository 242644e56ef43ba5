#include "emulator/report/collective_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/line_chart.h"

namespace rankwire {
namespace {

double microseconds_of(Duration time) {
  return static_cast<double>(time.ps) / 1e6;
}

std::string in_microseconds(std::optional<Duration> time) {
  return time ? four_digits(microseconds_of(*time)) : "-";
}

std::optional<Duration> mean_emulated(const CollectiveRow& row) {
  return row.emulated ? std::optional(row.emulated->mean) : std::nullopt;
}

std::optional<Duration> mean_reference(const CollectiveRow& row) {
  return row.reference ? std::optional(row.reference->mean) : std::nullopt;
}

std::optional<Duration> band_low(const CollectiveRow& row) {
  return row.band ? std::optional(row.band->low) : std::nullopt;
}

std::optional<Duration> band_high(const CollectiveRow& row) {
  return row.band ? std::optional(row.band->high) : std::nullopt;
}

std::string wrong_text(const CollectiveRow& row) {
  return row.wrong ? fmt::to_string(*row.wrong) : "N/A";
}

/// What the times are means of.
std::string averaged_text(const CollectiveTable& table) {
  static constexpr std::pair<const char*, const char*> kRanks[] = {
      {"rank0", "of rank 0"}, {"min", "of the fastest rank"}, {"max", "of the slowest rank"}};
  for (const auto& [average, ranks] : kRanks) {
    if (table.average == average) return fmt::format("over iterations, {}", ranks);
  }
  return "over iterations and ranks";
}

/// The columns of a row that are of its principal side: "-" where that did not come so far.
struct PrincipalCells {
  std::string time = "-", algorithm = "-", bus = "-", p50 = "-", p95 = "-", p99 = "-";
};

PrincipalCells principal_cells(const CollectiveTable& table, const CollectiveRow& row) {
  const CollectiveSide* const side = table.principal(row);
  if (side == nullptr) return {};
  return {.time = in_microseconds(side->mean),
          .algorithm = four_digits(side->bandwidth.algorithm),
          .bus = four_digits(side->bandwidth.bus),
          .p50 = in_microseconds(side->p50),
          .p95 = in_microseconds(side->p95),
          .p99 = in_microseconds(side->p99)};
}

int64_t cut_short(const CollectiveTable& table) {
  return std::ranges::count_if(table.rows, [&](const CollectiveRow& row) { return table.is_cut_short(row); });
}

std::string totals_text(const CollectiveTable& table) {
  std::string text;
  if (const auto count = cut_short(table); count != 0)
    text += fmt::format("# Sizes (*) of which not all calls ended : {} of {}\n", count, table.rows.size());
  if (table.wrong)
    text += fmt::format("# Wrong messages       : {} {}\n", *table.wrong, *table.wrong == 0 ? "OK" : "FAILED");
  if (const auto bus = table.average_bus()) text += fmt::format("# Avg bus bandwidth    : {}\n", four_digits(*bus));
  return text;
}

using TimeOf = std::optional<Duration> (*)(const CollectiveRow&);

struct Curve {
  const char* label;
  TimeOf time;
};

constexpr Curve kCurves[] = {
    {"emulated", mean_emulated}, {"reference", mean_reference}, {"band, 5 %", band_low}, {"band, 95 %", band_high}};

/// Over the sizes, of every curve that has points.
std::string size_chart(const CollectiveTable& table, const std::optional<ClusterComparison>& cluster, const char* title,
                       bool logarithmic, const std::function<double(Bytes, Duration)>& value) {
  LineChart chart{.title = title, .lines = {}, .logarithmic = logarithmic};
  for (const Curve& curve : kCurves) {
    LineChart::Line line{curve.label, {}};
    for (const CollectiveRow& row : table.rows) {
      if (const auto time = curve.time(row); time && *time > Duration())
        line.points.push_back({short_size(row.size), value(row.size, *time)});
    }
    if (!line.points.empty()) chart.lines.push_back(std::move(line));
  }
  if (cluster) {
    LineChart::Line line{"cluster", {}};
    for (const ClusterComparisonRow& row : cluster->rows)
      line.points.push_back({short_size(row.run.size), value(row.run.size, row.cluster)});
    chart.lines.push_back(std::move(line));
  }
  return fmt::format("<h3>{}</h3>\n{}", title, line_chart_svg(chart));
}

std::string size_charts(const CollectiveTable& table, const std::optional<ClusterComparison>& cluster) {
  const auto bus = [&](Bytes size, Duration time) {
    return measured_bandwidth(table.collective, table.ranks, size, time).bus;
  };
  return size_chart(table, cluster, "Bus bandwidth over size, GB/s", false, bus) +
         size_chart(table, cluster, "Time over size, us", true,
                    [](Bytes, Duration time) { return microseconds_of(time); });
}

}  // namespace

std::string collective_text(const CollectiveTable& table) {
  std::string text = fmt::format(
      "# {} out-of-place, {} ranks, warmup iters: {} iters: {}; times are means {}\n#\n"
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>8}  {:>9}  {:>9}  {:>6}  {:>9}  {:>7}  {:>8}  {:>8}  {:>8}  {:>8}  "
      "{:>8}\n"
      "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>8}  {:>9}  {:>9}  {:>6}  {:>9}  {:>7}  {:>8}  {:>8}  {:>8}  {:>8}  "
      "{:>8}\n",
      traits_of(table.collective).name, table.ranks, table.warmup, table.iterations,
      averaged_text(table) + (table.is_emulated ? "" : ", in the reference"), "size", "count", "type", "redop", "root",
      "time", "algbw", "busbw", "#wrong", "reference", "ratio", "low", "high", "P50", "P95", "P99", "(B)", "(elements)",
      "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "", "(us)", "(us)", "(us)", "(us)", "(us)");
  for (const CollectiveRow& row : table.rows) {
    const PrincipalCells cells = principal_cells(table, row);
    text += fmt::format(
        "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}  {:>8}  {:>9}  {:>9}  {:>6}  {:>9}  {:>7}  {:>8}  {:>8}  {:>8}  {:>8}  "
        "{:>8}{}\n",
        row.size.count, row.count, table.type, table.redop, table.root, cells.time, cells.algorithm, cells.bus,
        wrong_text(row), in_microseconds(mean_reference(row)), readable_ratio(row.ratio()),
        in_microseconds(band_low(row)), in_microseconds(band_high(row)), cells.p50, cells.p95, cells.p99,
        table.is_cut_short(row) ? "*" : "");
  }
  return text + totals_text(table);
}

nlohmann::ordered_json collective_json(const std::optional<CollectiveTable>& table) {
  using Json = nlohmann::ordered_json;
  if (!table) return nullptr;
  const auto time = [](std::optional<Duration> of) { return of ? Json(of->ps) : Json(nullptr); };
  const auto number = [](std::optional<double> of) { return of ? Json(*of) : Json(nullptr); };
  const auto side_json = [](const std::optional<CollectiveSide>& side) {
    if (!side) return Json(nullptr);
    return Json{{"calls", side->calls},
                {"time_ps", side->mean.ps},
                {"algbw_GBps", side->bandwidth.algorithm},
                {"busbw_GBps", side->bandwidth.bus},
                {"p50_ps", side->p50.ps},
                {"p95_ps", side->p95.ps},
                {"p99_ps", side->p99.ps}};
  };
  Json rows = Json::array();
  for (const CollectiveRow& row : table->rows) {
    rows.push_back({{"size", row.size.count},
                    {"count", row.count},
                    {"wrong_messages", row.wrong ? Json(*row.wrong) : Json(nullptr)},
                    {"emulated", side_json(row.emulated)},
                    {"reference", side_json(row.reference)},
                    {"ratio", number(row.ratio())},
                    {"band_low_ps", time(band_low(row))},
                    {"band_high_ps", time(band_high(row))}});
  }
  return {{"operation", traits_of(table->collective).name},
          {"ranks", table->ranks},
          {"type", table->type},
          {"redop", table->redop},
          {"root", table->root},
          {"warmup", table->warmup},
          {"iterations", table->iterations},
          {"in_place", false},
          {"average", table->average},
          {"wrong_messages", table->wrong ? Json(*table->wrong) : Json(nullptr)},
          {"average_busbw_GBps", number(table->average_bus())},
          {"sizes", rows}};
}

std::string collective_csv(const CollectiveTable& table) {
  std::string csv =
      "operation,ranks,size,count,type,redop,root,side,calls,time_ps,algbw_GBps,busbw_GBps,wrong,reference_ps,ratio,"
      "band_low_ps,band_high_ps,p50_ps,p95_ps,p99_ps,average\n";
  const auto time = [](std::optional<Duration> of) { return of ? fmt::to_string(of->ps) : std::string(); };
  for (const CollectiveRow& row : table.rows) {
    const CollectiveSide* const side = table.principal(row);
    const std::string means = side == nullptr ? "0,,,"
                                              : fmt::format("{},{},{},{}", side->calls, side->mean.ps,
                                                            side->bandwidth.algorithm, side->bandwidth.bus);
    const std::string quantiles =
        side == nullptr ? ",," : fmt::format("{},{},{}", side->p50.ps, side->p95.ps, side->p99.ps);
    const auto ratio = row.ratio();
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", traits_of(table.collective).name,
                       table.ranks, row.size.count, row.count, table.type, table.redop, table.root,
                       table.is_emulated ? "emulated" : "reference", means, row.wrong ? fmt::to_string(*row.wrong) : "",
                       time(mean_reference(row)), ratio ? fmt::to_string(*ratio) : "", time(band_low(row)),
                       time(band_high(row)), quantiles, table.average);
  }
  return csv;
}

std::string html_collective(const std::optional<CollectiveTable>& table,
                            const std::optional<ClusterComparison>& cluster) {
  if (!table || table->rows.empty()) return {};
  using enum HtmlColumn;
  HtmlTable html("collective", {{"Size B"},
                                {"Elements"},
                                {"Type", kText},
                                {"Redop", kText},
                                {"Root"},
                                {"Time us"},
                                {"algbw GB/s"},
                                {"busbw GB/s"},
                                {"#wrong"},
                                {"Reference us"},
                                {"Ratio"},
                                {"Band low us"},
                                {"Band high us"},
                                {"P50 us"},
                                {"P95 us"},
                                {"P99 us"}});
  for (const CollectiveRow& row : table->rows) {
    const PrincipalCells cells = principal_cells(*table, row);
    html.add({fmt::to_string(row.size.count), fmt::to_string(row.count), table->type, table->redop,
              fmt::to_string(table->root), cells.time + (table->is_cut_short(row) ? "*" : ""), cells.algorithm,
              cells.bus, wrong_text(row), in_microseconds(mean_reference(row)), readable_ratio(row.ratio()),
              in_microseconds(band_low(row)), in_microseconds(band_high(row)), cells.p50, cells.p95, cells.p99});
  }
  const auto bus = table->average_bus();
  return fmt::format(
             "<p class=\"note\">{} on {} ranks, out-of-place, as nccl-tests measures it: {} calls of each size after "
             "{} that warm up; times are means {}{}. Average bus bandwidth {} GB/s.{}</p>\n",
             traits_of(table->collective).name, table->ranks, table->iterations, table->warmup, averaged_text(*table),
             table->is_emulated ? "" : ", in the reference, since nothing was emulated", bus ? four_digits(*bus) : "-",
             cut_short(*table) == 0 ? "" : " Not all calls of sizes with * have ended.") +
         size_charts(*table, cluster) + std::move(html).finish() + (cluster ? html_cluster(*cluster) : "");
}

}  // namespace rankwire
