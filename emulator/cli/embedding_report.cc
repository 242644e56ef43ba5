#include "emulator/cli/embedding_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/affinity.h"
#include "base/error.h"
#include "emulator/cli/interrupt.h"

namespace rankwire {
namespace {

/// Of `switch.core: own`: one for the loop, one for the switch, one for everything else.
constexpr uint32_t kProcessorsOfOwn = 3;

const char* core_of(const EmbeddedRate& rate) {
  switch (rate.core) {
    case SwitchCore::kShared:
      return "shared";
    case SwitchCore::kOwn:
      return "own";
    case SwitchCore::kSharded:
      return "sharded";
  }
  return "";
}

const char* cores_of(const EmbeddedRate& rate) {
  switch (rate.core) {
    case SwitchCore::kShared:
      return "on one core";
    case SwitchCore::kOwn:
      return "on two cores (switch.core: own)";
    case SwitchCore::kSharded:
      return "with the switch on all workers' cores (switch.core: sharded)";
  }
  return "";
}

/// With so many significant digits, and all of those before the point: 10240 of four, not 1.024e+04.
std::string with_digits(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  return text.find('e') == std::string::npos || value < 1 ? text : fmt::format("{:.0f}", value);
}

/// Of a rate that was measured.
double gbps(const EmbeddedRate& rate) {
  return rate.traffic.wire_bits_per_second() / 1e9;
}

nlohmann::ordered_json rate_json(const EmbeddedRate& rate) {
  const EmbeddedTraffic& traffic = rate.traffic;
  nlohmann::ordered_json json = {
      {"switch_core", core_of(rate)},           {"time_ps", traffic.time.ps},   {"data_packets", traffic.data_packets},
      {"retransmitted", traffic.retransmitted}, {"timeouts", traffic.timeouts}, {"second_half", traffic.second_half},
      {"data_packets_per_second", nullptr},     {"wire_gbps", nullptr},         {"reason", nullptr}};
  if (!rate.failure.empty()) {
    json["reason"] = rate.failure;
    return json;
  }
  json["data_packets_per_second"] = traffic.packets_per_second();
  json["wire_gbps"] = gbps(rate);
  return json;
}

std::string rate_line(const EmbeddedRate& rate, const Embedding& embedding, size_t all_ports) {
  const char* const how = cores_of(rate);
  if (!rate.failure.empty()) return fmt::format("what this machine embeds {} is not known: {}", how, rate.failure);
  const std::string of_all = embedding.ports < all_ports ? fmt::format(" of {}", all_ports) : "";
  std::string line = fmt::format(
      "this machine embeds about {} Gbit/s {}: {} M data packets/s of MTU {}, {}{} ports", with_digits(gbps(rate), 3),
      how, with_digits(rate.traffic.packets_per_second() / 1e6, 3), embedding.mtu, embedding.ports, of_all);
  if (rate.traffic.timeouts > 0)
    line += fmt::format("; {} packets were repeated, after {} time-outs", rate.traffic.retransmitted,
                        rate.traffic.timeouts);
  return line;
}

std::string limit_warning(const RunConfig& config, const EmbeddedRate& rate, uint32_t at_once) {
  const std::string when = at_once == 0
                               ? "as soon as one of them sends at its rate"
                               : fmt::format("when more than {} of {} send at once", at_once, config.ports.size());
  return fmt::format(
      "the ports' rates together are {} Gbit/s, and this machine embeds about {}: it, not the switch, may "
      "limit the run {} (`fidelity` says so afterwards); lower ports.rate, raise dilation.factor, or take the times of "
      "`simulate --twin`",
      with_digits(rates_of_ports(config) / 1e9, 4), with_digits(gbps(rate), 3), when);
}

/// What is known with two rates, the other one of `shared`.
void compare_cores(const Embedding& embedding, EmbeddingReport& report) {
  if (embedding.rates.size() != 2) return;
  const EmbeddedRate &chosen = embedding.rates[0], &shared = embedding.rates[1];
  if (!chosen.failure.empty() || !shared.failure.empty()) return;
  const bool pays = chosen.traffic.packets_per_second() > shared.traffic.packets_per_second();
  report.json["quicker"] = core_of(pays ? chosen : shared);
  if (pays) return;
  report.warnings.push_back(fmt::format("switch.core: {} does not pay here: it embeds {} Gbit/s, and shared{} {}",
                                        core_of(chosen), with_digits(gbps(chosen), 3),
                                        chosen.core == SwitchCore::kOwn ? ", with one processor less," : "",
                                        with_digits(gbps(shared), 3)));
}

}  // namespace

EmbeddingReport embedding_report(const RunConfig& config, const Embedding& embedding, uint32_t processors) {
  EmbeddingReport report;
  report.json = {{"processors", processors},
                 {"ports_gbps", rates_of_ports(config) / 1e9},
                 {"ports", nullptr},
                 {"mtu", nullptr},
                 {"measured", nlohmann::ordered_json::array()},
                 {"reason", nullptr},
                 {"ports_at_once", nullptr},
                 {"limited", nullptr},
                 {"quicker", nullptr}};
  if (embedding.ports > 0) report.json["ports"] = embedding.ports, report.json["mtu"] = embedding.mtu;
  if (!embedding.failure.empty()) {
    report.json["reason"] = embedding.failure;
    report.lines.push_back(fmt::format("what this machine embeds is not known: {}", embedding.failure));
  }
  for (const EmbeddedRate& rate : embedding.rates) {
    report.json["measured"].push_back(rate_json(rate));
    report.lines.push_back(rate_line(rate, embedding, config.ports.size()));
  }
  if (!embedding.rates.empty() && embedding.rates.front().failure.empty()) {
    const EmbeddedRate& rate = embedding.rates.front();
    const uint32_t at_once = ports_within(config, rate.traffic.wire_bits_per_second());
    const bool limited = at_once < config.ports.size();
    report.json["ports_at_once"] = at_once;
    report.json["limited"] = limited;
    if (limited) report.warnings.push_back(limit_warning(config, rate, at_once));
  }
  compare_cores(embedding, report);
  if (config.embedded_switch.core == SwitchCore::kOwn && processors < kProcessorsOfOwn) {
    report.warnings.push_back(fmt::format(
        "switch.core: own keeps two processors busy, and {} may be used: what else runs stops the loop or the switch, "
        "and packets that wait meanwhile may time out; give it {}, or leave it shared",
        processors == 1 ? "only one" : fmt::format("only {}", processors), kProcessorsOfOwn));
  }
  report.json["warnings"] = report.warnings;
  return report;
}

EmbeddingReport report_embedding(const RunConfig& config, const std::filesystem::path& folder, bool measure) {
  if (!runs_embedded(config)) return {};
  const auto processors = static_cast<uint32_t>(std::max<size_t>(1, allowed_cpus().size()));
  if (!measure) {
    EmbeddingReport report = embedding_report(config, {.failure = "left out by --no-measure"}, processors);
    report.lines.clear();
    return report;
  }
  const Embedding embedding = measure_embedding(config, folder, {}, interrupt_flag());
  if (interrupt_flag()) fail_run("stopped by a signal");
  return embedding_report(config, embedding, processors);
}

}  // namespace rankwire
