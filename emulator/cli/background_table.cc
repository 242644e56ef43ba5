#include "emulator/cli/background_table.h"

#include <fmt/format.h>

#include <cstdint>

#include "emulator/assembly/background.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

std::string gbps(int64_t bits_per_second) {
  return readable_gbps(static_cast<double>(bits_per_second) / 1e9);
}

}  // namespace

nlohmann::ordered_json checked_background(const Setup& setup) {
  nlohmann::ordered_json json = {{"entries", nlohmann::ordered_json::array()},
                                 {"ports", nlohmann::ordered_json::array()}};
  for (const BackgroundInfo& info : background_infos(setup)) {
    nlohmann::ordered_json& entry = json["entries"].emplace_back(nlohmann::ordered_json{{"job", info.job.value},
                                                                                        {"name", info.name},
                                                                                        {"pattern", info.pattern},
                                                                                        {"mean_bytes", info.mean.count},
                                                                                        {"rate_bps", nullptr},
                                                                                        {"limit", info.limit},
                                                                                        {"start_ps", info.start.ps},
                                                                                        {"stop_ps", nullptr}});
    if (info.rate) entry["rate_bps"] = info.rate->bits_per_second;
    if (info.stop) entry["stop_ps"] = info.stop->ps;
    entry["flows"] = nlohmann::ordered_json::array();
    for (const BackgroundFlow& flow : setup.background.flows) {
      const Connection& c = setup.plan.transport.connections[flow.connection.value];
      if (c.job != info.job) continue;
      const auto name_of = [&](RankId end) {
        return setup.background.ends[end.value - setup.background.first_end.value];
      };
      entry["flows"].push_back({{"from", name_of(c.source)}, {"to", name_of(c.destination)}});
    }
  }
  if (setup.background.empty()) return json;
  const std::vector<BackgroundLoad> loads = background_loads(setup);
  for (size_t p = 0; p < loads.size(); ++p) {
    const BackgroundLoad& load = loads[p];
    if (load.flows_tx + load.flows_rx == 0) continue;
    json["ports"].push_back({{"port", setup.config.ports[p].name},
                             {"flows_tx", load.flows_tx},
                             {"flows_rx", load.flows_rx},
                             {"offered_tx_bps", load.offered_tx.bits_per_second},
                             {"offered_rx_bps", load.offered_rx.bits_per_second}});
  }
  return json;
}

void print_background(const nlohmann::ordered_json& background) {
  constexpr size_t kPrintedFlows = 8;
  if (background["entries"].empty()) return;
  fmt::print("\nbackground, which ends with the jobs:\n{:<14} {:<13} {:>6} {:>11} {:>18}  {}\n", "entry", "pattern",
             "flows", "mean bytes", "each flow", "from > to");
  for (const auto& e : background["entries"]) {
    const std::string loop = e["rate_bps"].is_null() ? fmt::format("{} outstanding", e["limit"].get<uint32_t>())
                                                     : gbps(e["rate_bps"].get<int64_t>()) + " Gbit/s";
    std::string flows;
    for (size_t i = 0; i < e["flows"].size() && i < kPrintedFlows; ++i)
      flows += fmt::format("{}{} > {}", i == 0 ? "" : ", ", e["flows"][i]["from"].get<std::string>(),
                           e["flows"][i]["to"].get<std::string>());
    if (e["flows"].size() > kPrintedFlows) flows += ", ...";
    fmt::print("{:<14} {:<13} {:>6} {:>11} {:>18}  {}\n", e["name"].get<std::string>(), e["pattern"].get<std::string>(),
               e["flows"].size(), e["mean_bytes"].get<int64_t>(), loop, flows);
  }
  fmt::print("{:<14} {:>10} {:>10} {:>18} {:>18}\n", "port", "flows tx", "flows rx", "Gbit/s tx", "Gbit/s rx");
  for (const auto& p : background["ports"])
    fmt::print("{:<14} {:>10} {:>10} {:>18} {:>18}\n", p["port"].get<std::string>(), p["flows_tx"].get<uint32_t>(),
               p["flows_rx"].get<uint32_t>(), gbps(p["offered_tx_bps"].get<int64_t>()),
               gbps(p["offered_rx_bps"].get<int64_t>()));
}

std::vector<std::string> background_overloads(const Setup& setup) {
  std::vector<std::string> findings;
  if (setup.background.empty()) return findings;
  const std::vector<BackgroundLoad> loads = background_loads(setup);
  for (size_t p = 0; p < loads.size(); ++p) {
    const PortConfig& port = setup.config.ports[p];
    const auto compare = [&](Bandwidth offered, const char* direction) {
      if (offered <= port.rate) return;
      findings.push_back(fmt::format(
          "background: port {} is to {} {} Gbit/s at its rate of {}: what is due while a flow has as many messages "
          "outstanding as its backlog is not sent",
          port.name, direction, gbps(offered.bits_per_second), gbps(port.rate.bits_per_second)));
    };
    compare(loads[p].offered_tx, "send");
    compare(loads[p].offered_rx, "receive");
  }
  return findings;
}

}  // namespace rankwire
