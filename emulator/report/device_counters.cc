#include "emulator/report/device_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>

#include "emulator/report/column_plots.h"
#include "emulator/report/device_statistics.h"
#include "emulator/report/format.h"
#include "emulator/report/html_table.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDrawnDevicePorts = 8, kListedDevicePorts = 64;

template <class Value>
Json count_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json device_ps(const std::optional<Duration>& duration) {
  return duration ? Json(duration->ps) : Json(nullptr);
}

HtmlCell count_cell(const std::optional<uint64_t>& value) {
  return value ? HtmlCell(*value) : HtmlCell("-");
}

Time device_end(const RecordedRun& run) {
  return Time() + std::max(run.end.completion, Duration(1));
}

/// "12.3 ms ahead", "4 us behind".
std::string ahead_text(const DeviceInfo& device) {
  if (!device.clock_ahead_ns) return "-";
  const int64_t ns = *device.clock_ahead_ns;
  // A device may count from its start: that is told in days.
  constexpr double kDay = 86'400e9;
  const auto size = std::abs(static_cast<double>(ns));
  const std::string text =
      size > kDay ? fmt::format("{:.1f} days", size / kDay) : readable(nanoseconds(static_cast<int64_t>(size)));
  return text + (ns < 0 ? " behind" : " ahead");
}

std::string clock_error_text(const DeviceCounters& counters, uint32_t device) {
  const std::optional<Duration> error = clock_error_of(counters, device);
  return error ? readable(*error) : "not known";
}

std::string devices_table(const DeviceCounters& counters) {
  HtmlTable table("devices", {{"Device", HtmlColumn::kText},
                              {"Asked by", HtmlColumn::kText},
                              {"Samples"},
                              {"Failed"},
                              {"Clock", HtmlColumn::kText},
                              {"Times within"},
                              {"Clock set"}});
  for (uint32_t d = 0; d < counters.devices.size(); ++d) {
    const DeviceInfo& device = counters.devices[d];
    table.add({device.name, device.kind, device.samples, device.failures, ahead_text(device),
               clock_error_text(counters, d), device.clock_steps});
  }
  return std::move(table).finish();
}

/// Most to look at first: drops, marks, pauses, the longest queue.
void sort_by_trouble(std::vector<DevicePortStatistics>& ports) {
  std::ranges::stable_sort(ports, std::ranges::greater(), [](const DevicePortStatistics& port) {
    return std::tuple(port.dropped.value_or(0), port.marked.value_or(0),
                      port.pfc_tx.value_or(0) + port.pfc_rx.value_or(0), port.longest_queue.value_or(0));
  });
}

std::string device_pictures(const std::vector<DevicePortStatistics>& ports, Time end) {
  double longest = 0;
  for (const DevicePortStatistics& port : ports)
    for (const double bytes : port.queue_column) longest = std::max(longest, bytes);
  std::vector<ColumnPlot> plots;
  for (size_t i = 0; i < std::min(ports.size(), kDrawnDevicePorts); ++i) {
    const DevicePortStatistics& port = ports[i];
    ColumnPlot& plot = plots.emplace_back(
        ColumnPlot{.name = port.port,
                   .unit = port.own_port.empty() ? port.device : fmt::format("{}, to {}", port.device, port.own_port),
                   .filled = {},
                   .line = {},
                   .bars = {{"rc", port.paused_column}, {"ex", port.marked_column}, {"lost", port.dropped_column}}});
    for (const double bytes : port.queue_column) plot.filled.push_back(longest > 0 ? bytes / longest : 0);
  }
  return fmt::format(
             "<p class=\"note\"><span class=\"key ec\"></span>bytes that wait, up to {} <span class=\"key "
             "rc\"></span>PFC frames <span class=\"key ex\"></span>marked CE <span class=\"key "
             "lost\"></span>dropped, in the sample that shows it</p>\n",
             readable(Bytes(std::llround(longest)))) +
         column_plots_svg("What devices counted over time", end, plots);
}

std::string device_ports_table(const RunReader& record, const RecordedRun& run,
                               const std::vector<DevicePortStatistics>& ports) {
  HtmlTable table("device ports", {{"Device", HtmlColumn::kText},
                                   {"Its port", HtmlColumn::kText},
                                   {"Our port", HtmlColumn::kText},
                                   {"Longest queue"},
                                   {"Marked by it"},
                                   {"Marked here"},
                                   {"PFC sent by it"},
                                   {"PFC received here"},
                                   {"PFC received by it"},
                                   {"PFC sent here"},
                                   {"Dropped by it"},
                                   {"Lost on the way here"}});
  const size_t listed = std::min(ports.size(), kListedDevicePorts);
  for (size_t i = 0; i < listed; ++i) {
    const DevicePortStatistics& port = ports[i];
    const std::optional<OwnPortView> own = own_port_view(record, run, port.own_port);
    const auto here = [&](uint64_t OwnPortView::*value) { return own ? HtmlCell((*own).*value) : HtmlCell("-"); };
    table.add({port.device, port.port, port.own_port.empty() ? "-" : port.own_port,
               port.longest_queue ? HtmlCell(Bytes(static_cast<int64_t>(*port.longest_queue))) : HtmlCell("-"),
               count_cell(port.marked), here(&OwnPortView::marks), count_cell(port.pfc_tx),
               here(&OwnPortView::pause_rx), count_cell(port.pfc_rx), here(&OwnPortView::pause_tx),
               count_cell(port.dropped), here(&OwnPortView::lost)});
  }
  return html_shown_of(listed, ports.size(), "device_counters.csv") + std::move(table).finish();
}

Json device_json(const DeviceCounters& counters, uint32_t number) {
  const DeviceInfo& device = counters.devices[number];
  return {{"device", device.name},
          {"kind", device.kind},
          {"samples", device.samples},
          {"failures", device.failures},
          {"samples_together", device.samples_together},
          {"rows_lost", device.lost},
          {"stamped", device.stamped},
          {"clock_ahead_ns", count_json(device.clock_ahead_ns)},
          {"clock_error_ps", device_ps(clock_error_of(counters, number))},
          {"round_trip_ps", device_ps(device.round_trip)},
          {"clock_steps", device.clock_steps}};
}

Json device_port_json(const RunReader& record, const RecordedRun& run, const DevicePortStatistics& port) {
  const std::optional<OwnPortView> own = own_port_view(record, run, port.own_port);
  const auto here = [&](uint64_t OwnPortView::*value) { return own ? Json((*own).*value) : Json(nullptr); };
  return {{"device", port.device},
          {"port", port.port},
          {"own_port", port.own_port.empty() ? Json(nullptr) : Json(port.own_port)},
          {"longest_queue_bytes", count_json(port.longest_queue)},
          {"marked", count_json(port.marked)},
          {"marked_here", here(&OwnPortView::marks)},
          {"pfc_tx", count_json(port.pfc_tx)},
          {"pause_rx_here", here(&OwnPortView::pause_rx)},
          {"pfc_rx", count_json(port.pfc_rx)},
          {"pause_tx_here", here(&OwnPortView::pause_tx)},
          {"dropped", count_json(port.dropped)},
          {"lost_here", here(&OwnPortView::lost)}};
}

/// Of ports of one device together.
std::string device_totals(const std::vector<DevicePortStatistics>& ports, const std::string& device) {
  std::string text;
  const auto add = [&](std::optional<uint64_t> DevicePortStatistics::*value, const char* what) {
    std::optional<uint64_t> sum;
    for (const DevicePortStatistics& port : ports)
      if (port.device == device && port.*value) sum = sum.value_or(0) + *(port.*value);
    if (sum) text += fmt::format(", {} {}", *sum, what);
  };
  add(&DevicePortStatistics::marked, "marked");
  add(&DevicePortStatistics::pfc_tx, "PFC frames sent");
  add(&DevicePortStatistics::pfc_rx, "PFC frames received");
  add(&DevicePortStatistics::dropped, "dropped");
  return text;
}

}  // namespace

std::string device_counters_csv(const RunReader& record) {
  std::string csv = "fidelity,device,port,own_port,queue,name,metric,time_ps,error_ps,value\n";
  for (const RecordedRun& run : record.runs()) {
    const DeviceCounters counters = record.device_counters(run);
    for (const DeviceCounterRows& counter : counters.counters) {
      const std::string of = fmt::format("{},{},{},{},{},{},{}", to_string(run.start.fidelity),
                                         csv_field(counters.devices[counter.device].name), csv_field(counter.port),
                                         csv_field(counter.own_port), csv_field(counter.queue), csv_field(counter.name),
                                         to_string(counter.metric));
      for (const DeviceValueRow& row : counter.values)
        fmt::format_to(std::back_inserter(csv), "{},{},{},{}\n", of, row.time.ps,
                       row.error ? fmt::to_string(row.error->ps) : "", row.value);
    }
  }
  return csv;
}

nlohmann::ordered_json device_counters_json(const RunReader& record) {
  const RecordedRun* const run = record.emulated();
  if (run == nullptr) return nullptr;
  const DeviceCounters counters = record.device_counters(*run);
  if (counters.devices.empty()) return nullptr;
  Json devices = Json::array(), ports = Json::array();
  for (uint32_t d = 0; d < counters.devices.size(); ++d) devices.push_back(device_json(counters, d));
  for (const DevicePortStatistics& port : device_port_statistics(counters, device_end(*run)))
    ports.push_back(device_port_json(record, *run, port));
  return {
      {"devices", std::move(devices)}, {"ports", std::move(ports)}, {"disagreements", device_disagreements(record)}};
}

std::string html_device_counters(const RunReader& record) {
  const RecordedRun* const run = record.emulated();
  if (run == nullptr) return {};
  const DeviceCounters counters = record.device_counters(*run);
  if (counters.devices.empty()) return {};
  const Time end = device_end(*run);
  std::vector<DevicePortStatistics> ports = device_port_statistics(counters, end);
  sort_by_trouble(ports);
  std::string html;
  for (const std::string& sentence : device_disagreements(record))
    html += fmt::format("<p>{}.</p>\n", html_escaped(sentence));
  html +=
      "<p class=\"note\">Counters of the devices under test, by their own names in device_counters.csv; what they "
      "counted from the beginning of the run on, and what was seen at our end of the cable.</p>\n";
  html += devices_table(counters);
  if (ports.empty()) return html;
  return html + device_pictures(ports, end) + device_ports_table(record, *run, ports);
}

std::vector<std::string> device_lines(const RunReader& record) {
  std::vector<std::string> lines;
  const RecordedRun* const run = record.emulated();
  if (run == nullptr) return lines;
  const DeviceCounters counters = record.device_counters(*run);
  const std::vector<DevicePortStatistics> ports = device_port_statistics(counters, device_end(*run));
  for (uint32_t d = 0; d < counters.devices.size(); ++d) {
    const DeviceInfo& device = counters.devices[d];
    lines.push_back(fmt::format("{}: {}, times within {}{}", device.name, counted(device.samples, "sample"),
                                clock_error_text(counters, d), device_totals(ports, device.name)));
  }
  return lines;
}

}  // namespace rankwire
