#include "emulator/report/hardware.h"

#include <map>
#include <vector>

#include "emulator/report/format.h"
#include "emulator/report/html_table.h"
#include "emulator/report/port_names.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string hardware_csv(const RunReader& record) {
  std::string csv = "fidelity,port,port_name,name,before,after,change\n";
  for (const RecordedRun& run : record.runs()) {
    const auto names = port_names(record, run);
    for (const HardwareCounterRow& c : record.hardware_counters(run)) {
      csv += fmt::format("{},{},{},{},{},{},{}\n", to_string(run.start.fidelity), c.port.value,
                         csv_field(name_of(names, c.port)), csv_field(c.name), c.before, c.after, c.change());
    }
  }
  return csv;
}

Json hardware_json(const RunReader& record) {
  Json list = Json::array();
  const RecordedRun* run = record.emulated();
  if (run == nullptr) return list;
  const auto names = port_names(record, *run);
  std::map<PortId, Json> ports;
  const auto of_port = [&](PortId port) -> Json& {
    const auto [entry, added] = ports.try_emplace(port);
    if (added) {
      entry->second = {{"port", name_of(names, port)}, {"settings", Json::object()}, {"counters", Json::object()}};
    }
    return entry->second;
  };
  for (const PortSettingRow& s : record.port_settings(*run)) {
    of_port(s.port)["settings"][s.name] = s.before == s.after ? Json(s.after) : Json::array({s.before, s.after});
  }
  for (const HardwareCounterRow& c : record.hardware_counters(*run)) of_port(c.port)["counters"][c.name] = c.change();
  for (auto& [port, json] : ports) list.push_back(std::move(json));
  return list;
}

std::string html_hardware(const RunReader& record) {
  const RecordedRun* run = record.emulated();
  if (run == nullptr) return {};
  const auto names = port_names(record, *run);
  using HtmlColumn::kText;
  std::string html;
  if (const std::vector<PortSettingRow> settings = record.port_settings(*run); !settings.empty()) {
    HtmlTable table("hardware", {{"Port", kText}, {"Setting", kText}, {"Before the run", kText}, {"After it", kText}});
    for (const PortSettingRow& s : settings) {
      table.add({name_of(names, s.port), s.name, s.before, s.before == s.after ? "the same" : s.after});
    }
    html += std::move(table).finish();
  }
  const std::vector<HardwareCounterRow> counters = record.hardware_counters(*run);
  HtmlTable table("hardware", {{"Port", kText}, {"Counter", kText}, {"Before the run"}, {"After it"}, {"Change"}});
  size_t changed = 0;
  for (const HardwareCounterRow& c : counters) {
    if (c.before == c.after) continue;
    table.add({name_of(names, c.port), c.name, c.before, c.after, c.change()});
    ++changed;
  }
  if (changed > 0) html += std::move(table).finish();
  if (counters.size() > changed) {
    html += fmt::format("<p class=\"note\">{} of {} counters did not change; all are in hardware.csv.</p>\n",
                        counters.size() - changed, counters.size());
  }
  return html;
}

}  // namespace rankwire
