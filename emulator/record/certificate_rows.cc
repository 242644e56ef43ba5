// A certificate in the record: a row of its table for each figure.
#include "emulator/record/columns.h"
#include "emulator/record/reader.h"
#include "emulator/record/run_store.h"

namespace rankwire {
namespace {

constexpr std::pair<const char*, Duration Certificate::*> kTimes[] = {{"time_ps", &Certificate::time},
                                                                      {"slipped_ps", &Certificate::slipped},
                                                                      {"worst_stall_ps", &Certificate::worst_stall},
                                                                      {"worst_turn_ps", &Certificate::worst_turn}};
constexpr std::pair<const char*, std::optional<Duration> Certificate::*> kKnownTimes[] = {
    {"jitter_ps", &Certificate::jitter},
    {"clock_time_ps", &Certificate::clock_time},
    {"clock_residual_ps", &Certificate::clock_residual}};

Duration rounded(double ps) {
  return Duration(static_cast<int64_t>(ps));
}

/// A row behind that of the port itself.
void read_port(const std::string& name, double value, PortCertificate& port) {
  if (name == "port_returned") port.returned = static_cast<uint64_t>(value);
  if (name == "port_error") port.errors.push_back(value);
  if (name == "port_slipped_ps") port.slipped = rounded(value);
  if (name == "port_worst_stall_ps") port.worst_stall = rounded(value);
}

}  // namespace

void RunStore::certificate(const Certificate& certificate) {
  open();
  Statement insert = database_.prepare("INSERT INTO certification VALUES(?,?,?)");
  const auto add = [&](const char* name, double value) { insert.bind(name, value, std::nullopt).execute(); };
  for (const auto& [name, time] : kTimes) add(name, static_cast<double>((certificate.*time).ps));
  for (const auto& [name, time] : kKnownTimes)
    if (certificate.*time) add(name, static_cast<double>((certificate.*time)->ps));
  add("operations", static_cast<double>(certificate.operations));
  add("cut", static_cast<double>(certificate.cut));
  if (certificate.clock_slew_ppm) add("clock_slew_ppm", *certificate.clock_slew_ppm);
  for (const double error : certificate.errors) add("error", error);
  for (const PortCertificate& port : certificate.ports) {
    insert.bind("port", static_cast<double>(port.frames), port.port).execute();
    if (!port.link_trouble.empty()) insert.bind("port_link_trouble", std::nullopt, port.link_trouble).execute();
    add("port_returned", static_cast<double>(port.returned));
    for (const double error : port.errors) add("port_error", error);
    add("port_slipped_ps", static_cast<double>(port.slipped.ps));
    add("port_worst_stall_ps", static_cast<double>(port.worst_stall.ps));
  }
  if (!certificate.failure.empty()) insert.bind("failure", std::nullopt, certificate.failure).execute();
}

std::optional<Certificate> RunReader::certificate() const {
  if (!has_table("certification")) return std::nullopt;
  std::optional<Certificate> certificate;
  Statement rows = database_.prepare("SELECT name, value, text FROM certification ORDER BY rowid");
  while (rows.step()) {
    if (!certificate) certificate.emplace();
    const std::string name = rows.text(0);
    for (const auto& [known, time] : kTimes)
      if (name == known) (*certificate).*time = rounded(rows.real(1));
    for (const auto& [known, time] : kKnownTimes)
      if (name == known) (*certificate).*time = rounded(rows.real(1));
    if (name == "operations") certificate->operations = static_cast<uint64_t>(rows.real(1));
    if (name == "cut") certificate->cut = static_cast<uint32_t>(rows.real(1));
    if (name == "clock_slew_ppm") certificate->clock_slew_ppm = rows.real(1);
    if (name == "error") certificate->errors.push_back(rows.real(1));
    if (name == "failure") certificate->failure = rows.text(2);
    if (name == "port") certificate->ports.push_back({rows.text(2), static_cast<uint64_t>(rows.real(1))});
    if (name == "port_link_trouble" && !certificate->ports.empty())
      certificate->ports.back().link_trouble = rows.text(2);
    else if (!certificate->ports.empty())
      read_port(name, rows.real(1), certificate->ports.back());
  }
  return certificate;
}

}  // namespace rankwire
