#include "emulator/input/validate_devices.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include "base/device_metric.h"
#include "base/error.h"
#include "emulator/device_counters/gnmi_path.h"
#include "emulator/hooks/hook.h"

namespace rankwire {
namespace {

bool is_host_and_port(const std::string& target) {
  const size_t colon = target.rfind(':');
  if (colon == target.npos || colon == 0) return false;
  uint32_t port = 0;
  const char* const end = target.data() + target.size();
  const auto [stop, error] = std::from_chars(target.data() + colon + 1, end, port);
  return error == std::errc() && stop == end && port >= 1 && port <= 65'535;
}

void check_gnmi(const Source& source, const std::string& at, const GnmiConfig& gnmi) {
  if (!is_host_and_port(gnmi.target)) source.fail(at + "target", "'{}' is not HOST:PORT", gnmi.target);
  if (gnmi.paths.empty()) source.fail(at + "paths", "names no path");
  for (size_t i = 0; i < gnmi.paths.size(); ++i) {
    try {
      parse_gnmi_path(gnmi.paths[i]);
    } catch (const Error& error) {
      source.fail(fmt::format("{}paths[{}]", at, i), "{}", error.what());
    }
  }
  if (gnmi.username.empty() != gnmi.password_file.empty())
    source.fail(at + (gnmi.username.empty() ? "password_file" : "username"),
                "needs 'username' and 'password_file', both or neither");
  if (gnmi.certificate.empty() != gnmi.key.empty())
    source.fail(at + (gnmi.key.empty() ? "certificate" : "key"), "needs 'certificate' and 'key', both or neither");
  for (const auto& [key, value] : {std::pair("ca", gnmi.ca), std::pair("certificate", gnmi.certificate),
                                   std::pair("server_name", gnmi.server_name)})
    if (!value.empty() && !gnmi.tls) source.fail(at + key, "contradicts 'tls: off'");
}

void check_device(const Source& source, const std::string& at, const DeviceCountersConfig& device) {
  if (device.name.empty()) source.fail(at + "name", "is required");
  if (device.command.empty() && !device.gnmi) source.fail(at + "command", "is required, or 'gnmi'");
  if (!device.command.empty() && device.gnmi) source.fail(at + "gnmi", "contradicts 'command'; give one of them");
  if (device.stream && device.command.empty()) source.fail(at + "stream", "is of a 'command', which there is none of");
  if (device.gnmi) check_gnmi(source, at + "gnmi.", *device.gnmi);
  if (!device.command.empty()) {
    try {
      split_command(device.command);
    } catch (const Error& error) {
      source.fail(at + "command", "{}", error.what());
    }
  }
  for (const auto& [port, own] : device.ports)
    if (std::ranges::none_of(source.config.ports, [&, name = own](const PortConfig& p) { return p.name == name; }))
      source.fail(at + "ports." + port, "'{}' is no port of 'ports'", own);
  for (const auto& [counter, metric] : device.metrics)
    if (!device_metric(metric) || metric == to_string(DeviceMetric::kOther))
      source.fail(at + "metrics." + counter,
                  "'{}' is not one of queue_depth, ecn_marked, pfc_rx, pfc_tx, drops, ignored", metric);
}

}  // namespace

void validate_device_counters(const RunConfig& config, const Tree& root) {
  const Source source{config, root};
  std::set<std::string> names;
  for (size_t i = 0; i < config.device_counters.size(); ++i) {
    const std::string at = fmt::format("device_counters[{}].", i);
    check_device(source, at, config.device_counters[i]);
    if (!names.insert(config.device_counters[i].name).second)
      source.fail(at + "name", "'{}' is the name of another one", config.device_counters[i].name);
  }
}

}  // namespace rankwire
