#include "emulator/serve/otg_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "emulator/serve/run_results.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

uint64_t count_of(const CsvRow& row, std::string_view column) {
  const auto found = row.find(column);
  return found == row.end() || found->second.empty() ? 0 : std::stoull(found->second);
}

/// A row's fields with those alone that were asked for; all where none was. `fixed` cannot be left out.
Json with_columns(Json row, const std::vector<std::string>& columns, std::string_view fixed) {
  if (columns.empty()) return row;
  Json asked = Json::object();
  for (const auto& [name, value] : row.items())
    if (name == fixed || std::find(columns.begin(), columns.end(), name) != columns.end()) asked[name] = value;
  return asked;
}

/// Column names of a request; each is among `served`.
std::vector<std::string> columns_of(JsonReader& request, const char* field, std::span<const std::string_view> served) {
  std::vector<std::string> columns = request.texts(field);
  for (size_t i = 0; i < columns.size(); ++i)
    if (std::find(served.begin(), served.end(), columns[i]) == served.end())
      request.fail(fmt::format("{}[{}]", field, i), fmt::format("'{}' is not served", columns[i]));
  return columns;
}

/// A row without what is not known: what has not been measured is absent.
Json without_nulls(const Json& row) {
  Json known = Json::object();
  for (const auto& [name, value] : row.items())
    if (!value.is_null()) known[name] = value;
  return known;
}

/// Names that were asked for, each of which `known` has; empty: all.
bool is_asked(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(JsonReader& request, const char* field, const std::vector<std::string>& names,
                 const std::vector<std::string>& known) {
  for (size_t i = 0; i < names.size(); ++i)
    if (std::find(known.begin(), known.end(), names[i]) == known.end())
      request.fail(fmt::format("{}[{}]", field, i), fmt::format("nothing is called '{}'", names[i]));
}

constexpr std::array<std::string_view, 12> kPortColumns = {
    "transmit", "location", "link",           "capture",        "frames_tx",     "frames_rx",
    "bytes_tx", "bytes_rx", "frames_tx_rate", "frames_rx_rate", "bytes_tx_rate", "bytes_rx_rate"};
constexpr std::array<std::string_view, 27> kQueuePairColumns = {"flow_name",
                                                                "port_tx",
                                                                "port_rx",
                                                                "src_qp",
                                                                "dest_qp",
                                                                "src_ipv4",
                                                                "dest_ipv4",
                                                                "data_frames_tx",
                                                                "data_frames_rx",
                                                                "frame_delta",
                                                                "data_frames_retransmitted",
                                                                "frame_sequence_error",
                                                                "tx_bytes",
                                                                "rx_bytes",
                                                                "data_tx_rate",
                                                                "data_rx_rate",
                                                                "message_tx",
                                                                "message_complete_rx",
                                                                "message_fail",
                                                                "flow_completion_time",
                                                                "avg_latency",
                                                                "min_latency",
                                                                "max_latency",
                                                                "ecn_ce_rx",
                                                                "cnp_tx",
                                                                "cnp_rx",
                                                                "nak_rx"};
constexpr std::array<std::string_view, 3> kPeerColumns = {"qp_configured", "qp_up", "qp_down"};
constexpr std::array<std::string_view, 2> kFlowColumns = {"transmit", "frames_tx"};

const char* transmit_of(const RunFigures& figures) {
  return figures.is_transmitting ? "started" : "stopped";
}

class Answerer {
 public:
  Answerer(const OtgConfig& config, const RunFigures& now, const RunFigures* before, RequestErrors& errors)
      : config_(config), now_(now), before_(before), errors_(errors) {}

  Json answer(const Json& request) {
    JsonReader root(request, "", errors_);
    const std::string choice =
        root.choice("choice", {"port", "flow", "rocev2_ipv4", "rocev2_ipv6", "rocev2_flow", "job"}).value_or("port");
    const Json nothing = Json::object();
    std::optional<JsonReader> of_choice = root.object(choice.c_str());
    JsonReader detail = of_choice ? *of_choice : JsonReader(nothing, choice, errors_);
    Json answer;
    if (choice == "port") {
      answer = {{"choice", "port_metrics"}, {"port_metrics", ports(detail)}};
    } else if (choice == "flow") {
      answer = {{"choice", "flow_metrics"}, {"flow_metrics", flows(detail)}};
    } else if (choice == "rocev2_ipv4" || choice == "rocev2_ipv6") {
      const std::string rows = choice + "_per_peer_metrics";
      answer = {{"choice", rows}, {rows, peers(detail, choice == "rocev2_ipv6")}};
    } else if (choice == "rocev2_flow") {
      answer = {{"choice", "rocev2_flow_per_qp_metrics"}, {"rocev2_flow_per_qp_metrics", queue_pairs(detail)}};
    } else {
      answer = {{"choice", "job_metrics"}, {"job_metrics", now_.jobs}};
    }
    detail.end();
    root.end();
    return answer;
  }

 private:
  Json ports(JsonReader& request) {
    const std::vector<std::string> names = request.texts("port_names");
    const std::vector<std::string> columns = columns_of(request, "column_names", kPortColumns);
    std::vector<OtgPort> known = config_.ports;
    if (config_.ai_workload)
      for (const auto& [name, figures] : now_.ports) known.push_back({.name = name});
    std::vector<std::string> known_names;
    for (const OtgPort& port : known) known_names.push_back(port.name);
    check_names(request, "port_names", names, known_names);
    Json rows = Json::array();
    for (const OtgPort& port : known)
      if (is_asked(names, port.name)) rows.push_back(with_columns(port_row(port), columns, "name"));
    return rows;
  }

  Json port_row(const OtgPort& port) const {
    Json row{{"name", port.name}, {"link", "up"}, {"transmit", transmit_of(now_)}};
    if (!port.location.empty()) row["location"] = port.location;
    if (port.capture) row["capture"] = now_.capturing.contains(port.name) ? "started" : "stopped";
    const auto found = now_.ports.find(port.name);
    const PortFigures now = found == now_.ports.end() ? PortFigures() : found->second;
    row.update({{"frames_tx", now.frames_tx},
                {"frames_rx", now.frames_rx},
                {"bytes_tx", now.bytes_tx},
                {"bytes_rx", now.bytes_rx}});
    if (!now_.is_transmitting) {
      row.update({{"frames_tx_rate", 0}, {"frames_rx_rate", 0}, {"bytes_tx_rate", 0}, {"bytes_rx_rate", 0}});
    } else if (before_ != nullptr && before_->seconds < now_.seconds) {
      const auto earlier = before_->ports.find(port.name);
      const PortFigures before = earlier == before_->ports.end() ? PortFigures() : earlier->second;
      const auto rate = [&](uint64_t PortFigures::*count) {
        return static_cast<double>(now.*count - before.*count) / (now_.seconds - before_->seconds);
      };
      row.update({{"frames_tx_rate", rate(&PortFigures::frames_tx)},
                  {"frames_rx_rate", rate(&PortFigures::frames_rx)},
                  {"bytes_tx_rate", rate(&PortFigures::bytes_tx)},
                  {"bytes_rx_rate", rate(&PortFigures::bytes_rx)}});
    }
    return row;
  }

  Json flows(JsonReader& request) {
    const std::vector<std::string> names = request.texts("flow_names");
    const std::vector<std::string> columns = columns_of(request, "metric_names", kFlowColumns);
    check_names(request, "flow_names", names, flow_names());
    Json rows = Json::array();
    for (const OtgFlow& flow : config_.flows) {
      if (!is_asked(names, flow.name)) continue;
      Json row{{"name", flow.name},
               {"port_tx", config_.ports[flow.from].name},
               {"port_rx", config_.ports[flow.to].name},
               {"transmit", now_.is_paused ? "paused" : transmit_of(now_)}};
      if (const auto known = now_.flows.find(flow.name); known != now_.flows.end())
        row["frames_tx"] = known->second["data_frames_tx"];
      const Json with_all = row;
      row = with_columns(std::move(row), columns, "name");
      for (const char* fixed : {"port_tx", "port_rx"}) row[fixed] = with_all[fixed];
      rows.push_back(std::move(row));
    }
    return rows;
  }

  Json peers(JsonReader& request, bool of_ipv6) {
    request.only("choice", "per_peer");
    std::vector<std::string> names, columns;
    if (std::optional<JsonReader> detail = request.object("per_peer")) {
      std::vector<std::string> known;
      for (const OtgPeer& peer : config_.peers)
        if (peer.is_ipv6 == of_ipv6) known.push_back(peer.name);
      names = detail->texts("peer_names");
      check_names(*detail, "peer_names", names, known);
      columns = columns_of(*detail, "column_names", kPeerColumns);
      detail->end();
    }
    Json rows = Json::array();
    for (const OtgPeer& peer : config_.peers) {
      if (peer.is_ipv6 != of_ipv6 || !is_asked(names, peer.name)) continue;
      // A queue pair without a flow is never made.
      const auto is_used = [&](const std::string& pair) {
        return std::any_of(config_.flows.begin(), config_.flows.end(),
                           [&](const OtgFlow& flow) { return flow.queue_pair == pair; });
      };
      const size_t used = static_cast<size_t>(std::count_if(peer.queue_pairs.begin(), peer.queue_pairs.end(), is_used));
      const size_t up = now_.is_transmitting ? used : 0;
      const Json row{{"name", peer.name},
                     {"qp_configured", peer.queue_pairs.size()},
                     {"qp_up", up},
                     {"qp_down", peer.queue_pairs.size() - up}};
      rows.push_back(with_columns(row, columns, "name"));
    }
    return rows;
  }

  Json queue_pairs(JsonReader& request) {
    request.only("choice", "per_qp");
    std::vector<std::string> columns;
    if (std::optional<JsonReader> detail = request.object("per_qp")) {
      columns = columns_of(*detail, "column_names", kQueuePairColumns);
      detail->end();
    }
    Json rows = Json::array();
    for (const OtgFlow& flow : config_.flows) {
      const OtgPort &from = config_.ports[flow.from], &to = config_.ports[flow.to];
      Json row{{"flow_name", flow.name}, {"port_tx", from.name}, {"port_rx", to.name}};
      // The model has no columns for addresses of IPv6.
      if (!config_.is_ipv6) row.update({{"src_ipv4", from.address}, {"dest_ipv4", to.address}});
      if (const auto known = now_.flows.find(flow.name); known != now_.flows.end()) row.update(known->second);
      if (const LatencyFigures* latency = latency_of(flow))
        row.update({{"avg_latency", latency->mean}, {"min_latency", latency->least}, {"max_latency", latency->most}});
      rows.push_back(with_columns(std::move(row), columns, "flow_name"));
    }
    return rows;
  }

  /// Latencies are measured by destination port: they are a flow's where no other comes there. What a READ fetches is
  /// not among them. Null: not known.
  const LatencyFigures* latency_of(const OtgFlow& flow) const {
    const auto to_port = std::count_if(config_.flows.begin(), config_.flows.end(),
                                       [&](const OtgFlow& other) { return other.to == flow.to; });
    const auto found = now_.latencies.find(flow.to);
    return to_port > 1 || config_.verb == "read" || found == now_.latencies.end() ? nullptr : &found->second;
  }

  std::vector<std::string> flow_names() const {
    std::vector<std::string> names;
    for (const OtgFlow& flow : config_.flows) names.push_back(flow.name);
    return names;
  }

  const OtgConfig& config_;
  const RunFigures& now_;
  const RunFigures* before_;
  RequestErrors& errors_;
};

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
  const uint64_t packets = count_of(pair, "packets"), start = entry.value("start_ps", uint64_t{0});
  const auto column = pair.find("arrived");
  const bool counts_arrivals = column != pair.end() && !column->second.empty();
  const uint64_t arrived = count_of(pair, "arrived");
  return without_nulls(
      {{"src_qp", count_of(pair, "source_qp")},
       {"dest_qp", count_of(pair, "destination_qp")},
       {"data_frames_tx", packets},
       {"data_frames_rx", counts_arrivals ? Json(arrived) : Json()},
       // The network may have made two of one.
       {"frame_delta", counts_arrivals ? Json(packets - std::min(packets, arrived)) : Json()},
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
       {"nak_rx", count_of(pair, "naks") + count_of(pair, "rnr_naks")}});
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
  const auto run = state.find("run");
  if (run == state.end() || !run->is_object()) return figures;
  figures.is_transmitting = true;
  figures.seconds = run->value("time_s", 0.0);
  for (const Json& port : run->value("ports", Json::array()))
    figures.ports[port.value("name", "")] = {port.value("tx_packets", uint64_t{0}),
                                             port.value("rx_packets", uint64_t{0}), port.value("tx_bytes", uint64_t{0}),
                                             port.value("rx_bytes", uint64_t{0})};
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

Json otg_metrics(const Json& request, const OtgConfig& config, const RunFigures& now, const RunFigures* before,
                 RequestErrors& errors) {
  return Answerer(config, now, before, errors).answer(request);
}

Json otg_states(const Json& request, const OtgConfig& config, RequestErrors& errors) {
  JsonReader root(request, "", errors);
  const std::string choice = root.choice("choice", {"ipv4_neighbors", "ipv6_neighbors"}).value_or("ipv4_neighbors");
  const bool of_ipv6 = choice == "ipv6_neighbors";
  std::vector<std::string> names;
  if (std::optional<JsonReader> neighbours = root.object(choice.c_str())) {
    std::vector<std::string> known;
    for (const OtgPort& port : config.ports) known.push_back(port.ethernet);
    names = neighbours->texts("ethernet_names");
    check_names(*neighbours, "ethernet_names", names, known);
    neighbours->end();
  }
  root.end();
  Json rows = Json::array();
  for (size_t port = 0; port < config.ports.size() && config.is_ipv6 == of_ipv6; ++port) {
    if (!is_asked(names, config.ports[port].ethernet)) continue;
    std::vector<size_t> partners;  // a queue pair has two ends
    for (const OtgFlow& flow : config.flows) {
      if (flow.from == port) partners.push_back(flow.to);
      if (flow.to == port) partners.push_back(flow.from);
    }
    std::sort(partners.begin(), partners.end());
    partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
    for (const size_t partner : partners)
      rows.push_back({{"ethernet_name", config.ports[port].ethernet},
                      {of_ipv6 ? "ipv6_address" : "ipv4_address", config.ports[partner].address},
                      {"link_layer_address", mac_of(config, partner)}});
  }
  return {{"choice", choice}, {choice, rows}};
}

}  // namespace rankwire
