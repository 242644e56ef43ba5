#include "emulator/serve/run_figures.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "emulator/serve/run_results.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

uint64_t count_of(const CsvRow& row, std::string_view column) {
  const auto found = row.find(column);
  return found == row.end() || found->second.empty() ? 0 : std::stoull(found->second);
}

/// A row without what is not known: what has not been measured is absent.
Json without_nulls(const Json& row) {
  Json known = Json::object();
  for (const auto& [name, value] : row.items())
    if (!value.is_null()) known[name] = value;
  return known;
}

/// What the queue pair of a flow has carried, and what became of its messages.
FlowFigures flow_figures(const Json& entry, const CsvRow& pair) {
  constexpr uint64_t kMillisecond = 1'000'000'000;  // in picoseconds
  const Json& emulated = entry.at("emulated");
  const auto number = [&](const char* field) {
    const Json value = emulated.value(field, Json());  // null where there is none
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  };
  const std::optional<double> delivered = number("delivered_bps"), sent = number("bytes_posted"),
                              received = number("bytes_delivered"), last = number("last_delivery_ps");
  const auto answers = [&](const char* name) {
    const auto found = pair.find(name);
    return found != pair.end() && !found->second.empty() ? Json(std::stoull(found->second)) : Json();
  };
  const auto timestamp = [&](const char* name) {
    const Json value = emulated.value(name, Json());
    return value.is_number_integer() ? Json(std::to_string(value.get<int64_t>() / 1000)) : Json();  // of picoseconds
  };
  const uint64_t packets = count_of(pair, "packets"), start = entry.value("start_ps", uint64_t{0});
  const auto column = pair.find("arrived");
  const bool counts_arrivals = column != pair.end() && !column->second.empty();
  // What was under way when the run ended is no loss; some of it may have arrived.
  const uint64_t arrived = count_of(pair, "arrived"), accounted = arrived + count_of(pair, "unacknowledged");
  return without_nulls(
      {{"src_qp", count_of(pair, "source_qp")},
       {"dest_qp", count_of(pair, "destination_qp")},
       {"data_frames_tx", packets},
       {"data_frames_rx", counts_arrivals ? Json(arrived) : Json()},
       // The network may have made two of one.
       {"frame_delta", counts_arrivals ? Json(packets - std::min(packets, accounted)) : Json()},
       {"data_frames_retransmitted", count_of(pair, "retransmitted")},
       {"frame_sequence_error", count_of(pair, "out_of_sequence")},
       {"tx_bytes", emulated.value("bytes_posted", Json())},
       {"rx_bytes", emulated.value("bytes_delivered", Json())},
       // Over the same time as that of what was delivered.
       {"data_tx_rate",
        delivered && sent && received.value_or(0) > 0 ? Json(*delivered / *received * *sent / 1e9) : Json()},
       {"data_rx_rate", delivered ? Json(*delivered / 1e9) : Json()},
       {"message_tx", emulated.value("messages_posted", Json())},
       {"message_complete_rx", emulated.value("messages_delivered", Json())},
       {"message_fail", emulated.value("messages_failed", Json())},
       {"flow_completion_time",
        last ? Json((static_cast<uint64_t>(*last) - std::min(static_cast<uint64_t>(*last), start)) / kMillisecond)
             : Json()},
       {"ecn_ce_rx", count_of(pair, "marks")},
       {"cnp_tx", count_of(pair, "np_cnp_sent")},
       {"cnp_rx", count_of(pair, "rp_cnp_handled") + count_of(pair, "rp_cnp_ignored")},
       {"ack_tx", answers("acks_tx")},
       {"ack_rx", answers("acks_rx")},
       {"nak_tx", answers("naks_tx")},
       {"first_timestamp", timestamp("first_arrival_ps")},
       {"last_timestamp", timestamp("last_delivery_ps")},
       {"nak_rx", count_of(pair, "naks") + count_of(pair, "rnr_naks")}});
}

/// Of an entry of a live run's background.
FlowFigures live_flow_figures(const Json& entry) {
  FlowFigures figures = Json::object();
  constexpr std::array<std::pair<const char*, const char*>, 7> kColumns{{{"data_frames_tx", "packets_sent"},
                                                                         {"data_frames_rx", "packets_arrived"},
                                                                         {"tx_bytes", "bytes_posted"},
                                                                         {"rx_bytes", "bytes_delivered"},
                                                                         {"message_tx", "messages_posted"},
                                                                         {"message_complete_rx", "messages_delivered"},
                                                                         {"message_fail", "messages_failed"}}};
  for (const auto& [column, field] : kColumns)
    if (const auto value = entry.find(field); value != entry.end()) figures[column] = *value;
  return figures;
}

/// Whether every rank came to its end, by a summary's reason (docs/metrics.md).
bool has_ended_well(const Json& summary) {
  constexpr std::array<std::string_view, 5> kEnded = {"completed", "degraded", "limit_exceeded", "below_resolution",
                                                      "wrong_delivery"};
  return std::find(kEnded.begin(), kEnded.end(), summary.value("reason_code", "")) != kEnded.end();
}

bool is_emulated(const CsvRow& row) {
  const auto fidelity = row.find("fidelity");
  return fidelity != row.end() && fidelity->second == "emulated";
}

}  // namespace

RunFigures live_figures(const Json& state) {
  RunFigures figures;
  figures.has_begun = true;
  const auto run = state.find("run");
  if (run == state.end() || !run->is_object()) return figures;
  figures.is_transmitting = true;
  figures.seconds = run->value("time_s", 0.0);
  for (const Json& port : run->value("ports", Json::array()))
    figures.ports[port.value("name", "")] = {port.value("tx_packets", uint64_t{0}),
                                             port.value("rx_packets", uint64_t{0}), port.value("tx_bytes", uint64_t{0}),
                                             port.value("rx_bytes", uint64_t{0})};
  for (const Json& entry : run->value("background", Json::array()))
    figures.flows[entry.value("name", "")] = live_flow_figures(entry);
  for (const Json& job : run->value("jobs", Json::array())) {
    Json row = Json::object();
    for (const char* field : {"name", "iterations", "iterations_planned", "bytes"})
      row[field] = job.value(field, Json());
    figures.jobs.push_back(without_nulls(row));
  }
  return figures;
}

RunFigures final_figures(const std::filesystem::path& results) {
  RunFigures figures;
  figures.has_begun = true;
  const Json summary = summary_of_run(results);
  if (summary.is_null()) return figures;
  for (const CsvRow& row : read_csv(results / "ports.csv")) {
    const std::string& name = row.at("name");
    if (!is_emulated(row) || name.starts_with("switch.")) continue;
    PortFigures& port = figures.ports[name];
    port.frames_tx += count_of(row, "tx_frames"), port.frames_rx += count_of(row, "rx_frames");
    port.bytes_tx += count_of(row, "tx_bytes"), port.bytes_rx += count_of(row, "rx_bytes");
  }
  const std::vector<CsvRow> pairs = read_csv(results / "flows.csv");
  for (const Json& entry : summary.value("background", Json::array())) {
    const std::string job = std::to_string(entry.value("job", uint64_t{0}));
    const auto pair = std::find_if(pairs.begin(), pairs.end(),
                                   [&](const CsvRow& row) { return is_emulated(row) && row.at("job") == job; });
    if (pair != pairs.end() && entry.value("emulated", Json()).is_object())
      figures.flows[entry.value("name", "")] = flow_figures(entry, *pair);
  }
  constexpr uint64_t kNanosecond = 1'000;  // in picoseconds
  for (const CsvRow& row : read_csv(results / "latency.csv"))
    if (is_emulated(row) && row.at("kind") == "one_way" && !row.at("port").empty())
      figures.latencies[count_of(row, "port")] = {count_of(row, "min_ps") / kNanosecond,
                                                  count_of(row, "mean_ps") / kNanosecond,
                                                  count_of(row, "max_ps") / kNanosecond};
  const auto add_job = [&](const std::string& name, const Json& side) {
    Json completion = side.is_object() ? side.value("completion_time_ps", Json()) : Json();
    if (completion == 0) completion = nullptr;  // of a job that did not come to its end
    figures.jobs.push_back(without_nulls({{"name", name}, {"completion_time_ps", completion}}));
  };
  const Json jobs = summary.value("jobs", Json::array());
  for (const Json& job : jobs) add_job(job.value("name", ""), job.value("emulated", Json()));
  // How far a run came that did not come to its end is no completion time.
  if (jobs.empty())
    add_job(summary["config"].value("name", ""), has_ended_well(summary) ? summary.value("emulated", Json()) : Json());
  return figures;
}

std::optional<Json> collective_figures(const std::filesystem::path& results) {
  constexpr uintmax_t kMostBytes = 64 << 20;
  constexpr size_t kMostRows = 1000;
  const std::filesystem::path file = results / "operations.csv";
  std::error_code absent;
  if (const uintmax_t size = std::filesystem::file_size(file, absent); !absent && size > kMostBytes)
    return std::nullopt;
  struct Sum {
    uint64_t executions = 0, time = 0, least = UINT64_MAX, most = 0;  // picoseconds
    double busbw = 0;
  };
  using Key = std::array<std::string, 4>;
  constexpr std::array<std::string_view, 4> kKey = {"job", "kind", "group", "bytes"};
  std::map<Key, Sum> sums;
  for_each_csv_row(file, [&](std::span<const std::string> heading, std::span<const std::string> fields) {
    const auto field = [&](std::string_view name) {
      const auto column = static_cast<size_t>(std::find(heading.begin(), heading.end(), name) - heading.begin());
      return column < fields.size() ? fields[column] : std::string();
    };
    constexpr std::array<std::string_view, 5> kOthers = {"compute", "host", "memory", "send", "receive"};
    const std::string start = field("emulated_start_ps"), end = field("emulated_end_ps");
    if (std::find(kOthers.begin(), kOthers.end(), field("kind")) != kOthers.end() || start.empty() || end.empty())
      return;
    Key key;
    for (size_t i = 0; i < key.size(); ++i) key[i] = field(kKey[i]);
    if (sums.size() >= kMostRows && !sums.contains(key)) return;
    Sum& sum = sums[key];
    const uint64_t time = std::stoull(end) - std::stoull(start);
    const std::string busbw = field("busbw_gbps");
    ++sum.executions, sum.time += time;
    sum.least = std::min(sum.least, time), sum.most = std::max(sum.most, time);
    sum.busbw += busbw.empty() ? 0 : std::stod(busbw);
  });
  Json rows = Json::array();
  for (const auto& [key, sum] : sums) {
    Json row{{"kind", key[1]},
             {"group", key[2]},
             {"executions", sum.executions},
             {"avg_time_ps", sum.time / sum.executions},
             {"min_time_ps", sum.least},
             {"max_time_ps", sum.most}};
    if (!key[0].empty()) row["job"] = std::stoull(key[0]);
    if (!key[3].empty()) row["bytes"] = std::stoull(key[3]);
    if (sum.busbw > 0) row["busbw_gbps"] = sum.busbw / static_cast<double>(sum.executions);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rankwire
