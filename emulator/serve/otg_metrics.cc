#include "emulator/serve/otg_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "emulator/serve/port_link.h"
#include "emulator/serve/run_configuration.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

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
constexpr std::array<std::string_view, 32> kQueuePairColumns = {"flow_name",
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
                                                                "ack_tx",
                                                                "ack_rx",
                                                                "nak_tx",
                                                                "nak_rx",
                                                                "first_timestamp",
                                                                "last_timestamp"};
constexpr std::array<std::string_view, 3> kPeerColumns = {"qp_configured", "qp_up", "qp_down"};
constexpr std::array<std::string_view, 5> kFlowColumns = {"transmit", "frames_tx", "frames_rx", "frames_tx_rate",
                                                          "frames_rx_rate"};

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
        root.choice("choice", {"port", "flow", "rocev2_ipv4", "rocev2_ipv6", "rocev2_flow", "collective", "job"})
            .value_or("port");
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
    } else if (choice == "collective") {
      answer = {{"choice", "collective_metrics"}, {"collective_metrics", now_.collectives}};
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
    Json row{{"name", port.name}, {"transmit", transmit_of(now_)}};
    if (const std::optional<bool> is_up = link_of(port)) row["link"] = *is_up ? "up" : "down";
    if (!port.location.empty()) row["location"] = port.location;
    if (port.capture) row["capture"] = now_.capturing.contains(port.name) ? "started" : "stopped";
    const auto found = now_.ports.find(port.name);
    const bool is_known = found != now_.ports.end();
    const PortFigures now = is_known ? found->second : PortFigures();
    // Before any run nothing was sent; of one that left no figures, such as one that was killed, nobody knows.
    if (is_known || !now_.has_begun)
      row.update({{"frames_tx", now.frames_tx},
                  {"frames_rx", now.frames_rx},
                  {"bytes_tx", now.bytes_tx},
                  {"bytes_rx", now.bytes_rx}});
    if (!now_.is_transmitting) {
      row.update({{"frames_tx_rate", 0}, {"frames_rx_rate", 0}, {"bytes_tx_rate", 0}, {"bytes_rx_rate", 0}});
    } else if (is_known && before_ != nullptr && before_->seconds < now_.seconds) {
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

  /// Which device is which port's of a workload of the client's own is not looked for, unless it has none.
  std::optional<bool> link_of(const OtgPort& port) const {
    if (!config_.ai_workload) return is_link_up(port.location);
    if (devices_of(config_.ai_workload->configuration).empty()) return true;
    return std::nullopt;
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
      add_frames(row, flow.name);
      add_times(row, flow);
      const Json with_all = row;
      row = with_columns(std::move(row), columns, "name");
      for (const char* fixed : {"port_tx", "port_rx"}) row[fixed] = with_all[fixed];
      rows.push_back(std::move(row));
    }
    return rows;
  }

  void add_frames(Json& row, const std::string& flow) const {
    const Json& pair = figures_of(now_, flow);
    for (const auto& [frames, packets] :
         {std::pair("frames_tx", "data_frames_tx"), std::pair("frames_rx", "data_frames_rx")}) {
      const auto count = pair.find(packets);
      if (count == pair.end()) continue;
      row[frames] = *count;
      const std::optional<double> rate = now_.is_transmitting ? rate_of(flow, packets) : 0;
      if (rate) row[std::string(frames) + "_rate"] = *rate;
    }
    if (!pair.contains("frame_delta")) return;
    const auto sent = pair["data_frames_tx"].get<double>();
    row["loss"] = sent > 0 ? 100 * pair["frame_delta"].get<double>() / sent : 0;
  }

  /// What is known of a flow once its run has ended.
  void add_times(Json& row, const OtgFlow& flow) const {
    const Json& pair = figures_of(now_, flow.name);
    if (pair.contains("first_timestamp"))
      row["timestamps"] = {{"first_timestamp_ns", std::stod(pair["first_timestamp"].get<std::string>())},
                           {"last_timestamp_ns", std::stod(pair["last_timestamp"].get<std::string>())}};
    if (const LatencyFigures* latency = latency_of(flow))
      row["latency"] = {{"minimum_ns", latency->least}, {"maximum_ns", latency->most}, {"average_ns", latency->mean}};
  }

  static const Json& figures_of(const RunFigures& figures, const std::string& flow) {
    static const Json nothing = Json::object();
    const auto known = figures.flows.find(flow);
    return known == figures.flows.end() ? nothing : known->second;
  }

  /// Of a count of a flow, a second, since the look before; absent where there was none.
  std::optional<double> rate_of(const std::string& flow, const char* column) const {
    if (before_ == nullptr || before_->seconds >= now_.seconds) return std::nullopt;
    const Json &now = figures_of(now_, flow), &before = figures_of(*before_, flow);
    if (!now.contains(column)) return std::nullopt;
    return (now[column].get<double>() - before.value(column, 0.0)) / (now_.seconds - before_->seconds);
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
      row.update(figures_of(now_, flow.name));
      if (now_.is_transmitting)
        for (const auto& [column, bytes] :
             {std::pair("data_tx_rate", "tx_bytes"), std::pair("data_rx_rate", "rx_bytes")})
          if (const std::optional<double> rate = rate_of(flow.name, bytes)) row[column] = *rate * 8 / 1e9;
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

}  // namespace

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
