#include "emulator/report/losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/port_names.h"

namespace rankwire {
namespace {

constexpr size_t kListedPairs = 50;

}  // namespace

std::string losses_csv(const RunReader& record, const Losses& losses) {
  std::string csv = "fidelity,source_port,source_name,destination_port,destination_name,packets,lost\n";
  const RecordedRun* const run = record.emulated();
  if (run == nullptr) return csv;
  const std::map<PortId, std::string> names = port_names(record, *run);
  for (const PortLosses& row : losses.ports) {
    csv += fmt::format("{},{},{},{},{},{},{}\n", to_string(run->start.fidelity), row.source.value,
                       csv_field(name_of(names, row.source)), row.destination.value,
                       csv_field(name_of(names, row.destination)), row.packets, row.lost);
  }
  return csv;
}

std::string html_losses(const RunReader& record, const Losses& losses) {
  if (losses.lost == 0) return {};
  std::vector<PortLosses> rows = losses.ports;
  std::ranges::stable_sort(rows, std::ranges::greater(), &PortLosses::lost);
  rows.resize(std::min(rows.size(), kListedPairs));
  const std::map<PortId, std::string> names = port_names(record, *record.emulated());
  HtmlTable table("losses", {{"From port", HtmlColumn::kText},
                             {"To port", HtmlColumn::kText},
                             {"Data packets"},
                             {"Lost"},
                             {"Of its packets"},
                             {"Of all lost"}});
  for (const PortLosses& row : rows) {
    if (row.lost == 0) break;
    const double of_all = static_cast<double>(row.lost) / static_cast<double>(losses.lost);
    table.add({name_of(names, row.source), name_of(names, row.destination), row.packets, row.lost,
               fmt::format("{:.3g} %", 100 * static_cast<double>(row.lost) / static_cast<double>(row.packets)),
               HtmlCell::bar(fmt::format("{:.1f} %", 100 * of_all), of_all)});
  }
  return std::move(table).finish() + "<p class=\"note\">All pairs of ports are in losses.csv.</p>\n";
}

}  // namespace rankwire
