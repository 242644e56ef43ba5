#include "emulator/report/certification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "emulator/diagnosis/repeated_times.h"
#include "emulator/report/assessment.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

Json known_json(const std::optional<Duration>& time) {
  return time ? Json(time->ps) : Json(nullptr);
}

Json known_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<Duration> part_of_run(std::optional<Duration> run, std::optional<double> part) {
  if (!run || !part) return std::nullopt;
  return Duration(std::llround(static_cast<double>(run->ps) * *part));
}

/// What parts are of: the reference's time, where it is ok.
std::optional<Duration> reference_time(const RunReader& record) {
  const RecordedRun* const reference = record.reference();
  return reference != nullptr && reference->end.verdict == "ok" ? completion_of(record, reference) : std::nullopt;
}

/// Of measurements how far from 0 one more may be, with 95 %.
std::optional<double> reach_of(const std::vector<double>& errors) {
  if (errors.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(errors.size());
  double mean = 0, squares = 0;
  for (const double error : errors) mean += error / n;
  for (const double error : errors) squares += (error - mean) * (error - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  const double t = student_t_quantile(0.975, static_cast<uint32_t>(errors.size() - 1));
  return std::abs(mean) + t * deviation * std::sqrt(1 + 1 / n);
}

struct SlowestPort {
  const PortCertificate* port = nullptr;  ///< null: no port was measured
  double part = 0;
};

SlowestPort slowest_port(const Certificate& certificate) {
  SlowestPort slowest;
  for (const PortCertificate& port : certificate.ports)
    if (const auto part = reach_of(port.errors); part && (slowest.port == nullptr || *part > slowest.part))
      slowest = {&port, *part};
  return slowest;
}

Json ports_json(const Certificate& certificate) {
  Json ports = Json::array();
  for (const PortCertificate& port : certificate.ports) {
    ports.push_back({{"port", port.port},
                     {"link_up", port.link_trouble.empty()},
                     {"reason", port.link_trouble.empty() ? Json(nullptr) : Json(port.link_trouble)},
                     {"frames", port.frames},
                     {"returned", port.returned},
                     {"errors", port.errors},
                     {"resolvable", known_json(reach_of(port.errors))},
                     {"slipped_ps", port.slipped.ps},
                     {"worst_stall_ps", port.worst_stall.ps}});
  }
  return ports;
}

/// Ports of a run count those alone that they do not make good for.
std::string worst_stall_text(Duration worst) {
  return worst > Duration() ? "worst stall " + readable(worst) : "no stall beyond transport.catch_up";
}

std::string ports_text(const Certificate& certificate) {
  std::string text;
  for (const PortCertificate& port : certificate.ports)
    if (!port.link_trouble.empty())
      text += fmt::format("; port {} has no link, and was not measured: {}", port.port, port.link_trouble);
  const SlowestPort slowest = slowest_port(certificate);
  if (slowest.port == nullptr) return text;
  const auto [least, most] = std::ranges::minmax(slowest.port->errors);
  return text + fmt::format(
                    "; of its ports {} is furthest from its rate: {} frames took {:+.2g} .. {:+.2g} % longer than on "
                    "the line, worst stall {}",
                    slowest.port->port, slowest.port->frames, least * 100, most * 100,
                    readable(slowest.port->worst_stall));
}

}  // namespace

std::optional<double> resolvable_part(const Certificate& certificate) {
  const std::optional<double> part = reach_of(certificate.errors);
  if (!part) return std::nullopt;
  return *part + slowest_port(certificate).part;
}

Json certification_json(const Certificate& certificate, std::optional<Duration> run) {
  const std::optional<double> part = resolvable_part(certificate);
  Json json = {{"resolvable", known_json(part)}, {"resolvable_ps", known_json(part_of_run(run, part))}};
  json["errors"] = certificate.errors;
  json["cut"] = certificate.cut;
  json["compared_ps"] = certificate.time.ps;
  json["operations"] = certificate.operations;
  json["slipped_ps"] = certificate.slipped.ps;
  json["worst_stall_ps"] = certificate.worst_stall.ps;
  json["worst_turn_ps"] = certificate.worst_turn.ps;
  json["jitter_ps"] = known_json(certificate.jitter);
  json["clock"] = {{"time_ps", known_json(certificate.clock_time)},
                   {"slew_ppm", known_json(certificate.clock_slew_ppm)},
                   {"residual_ps", known_json(certificate.clock_residual)}};
  json["ports"] = ports_json(certificate);
  json["reason"] = certificate.failure.empty() ? Json(nullptr) : Json(certificate.failure);
  return json;
}

std::string certification_text(const Certificate& certificate, std::optional<Duration> run) {
  const std::optional<double> part = resolvable_part(certificate);
  if (!part) return "what gaps this generator resolves is not known: " + certificate.failure + ports_text(certificate);
  const auto [least, most] = std::ranges::minmax(certificate.errors);
  std::string text = fmt::format("gaps below {:.2g} %", *part * 100);
  if (const auto time = part_of_run(run, part)) text += fmt::format(" ({})", readable(*time));
  text += fmt::format(
      " may be the generator's own: against the embedded switch it took {:+.2g} .. {:+.2g} % longer than the twin for "
      "{} operations in {}; worst turn {}, {}, {} lost",
      least * 100, most * 100, certificate.operations, readable(certificate.time), readable(certificate.worst_turn),
      worst_stall_text(certificate.worst_stall), readable(certificate.slipped));
  if (certificate.cut > 1) text += fmt::format(", with bytes and computing cut to 1/{}", certificate.cut);
  if (certificate.jitter) text += fmt::format(", jitter {}", readable(*certificate.jitter));
  if (certificate.clock_slew_ppm) text += fmt::format(", clock {:+.2g} ppm", *certificate.clock_slew_ppm);
  return text + ports_text(certificate);
}

Json certification_json(const RunReader& record) {
  const std::optional<Certificate> certificate = record.certificate();
  return certificate ? certification_json(*certificate, reference_time(record)) : Json(nullptr);
}

std::string certification_text(const RunReader& record) {
  const std::optional<Certificate> certificate = record.certificate();
  return certificate ? certification_text(*certificate, reference_time(record)) : std::string();
}

}  // namespace rankwire
