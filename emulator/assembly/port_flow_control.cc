#include "emulator/assembly/port_flow_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "dataplane/dpdk/flow_control.h"
#include "emulator/assembly/fabric_options.h"

namespace rankwire {
namespace {

const char* to_string(PauseMode mode) {
  switch (mode) {
    case PauseMode::kSoftware:
      return "software";
    case PauseMode::kHardware:
      return "hardware";
    case PauseMode::kOff:
      break;
  }
  return "off";
}

/// By which the emulated NICs' data is paused.
PrioritySet data_priority(const RunConfig& config, const PortConfig& port) {
  const TransportConfig& transport = config.transport;
  const bool tagged = port.ip ? port.vlan.has_value() : config.addresses.vlan.has_value();
  const Marking marking{.dscp = static_cast<uint8_t>(transport.data.dscp.value_or(transport.dscp)),
                        .priority = static_cast<uint8_t>(transport.data.priority)};
  return priority_of(marking, tagged, fabric_classes(config));
}

std::string pfc_key(const RunConfig& config, const PortConfig& port) {
  const auto found = std::ranges::find(config.ports, port.name, &PortConfig::name);
  return fmt::format("ports[{}].pfc", found - config.ports.begin());
}

}  // namespace

std::string PortFlowControl::text() const {
  return remark.empty() ? to_string(mode) : fmt::format("{}: {}", to_string(mode), remark);
}

PortFlowControl embedded_flow_control(const PortConfig& port) {
  return {.mode = port.pfc == PfcChoice::kOff ? PauseMode::kOff : PauseMode::kSoftware, .remark = {}};
}

PortFlowControl settle_flow_control(const RunConfig& config, const PortConfig& port) {
  if (port.pfc == PfcChoice::kAuto || port.pfc == PfcChoice::kHardware) {
    const std::string obstacle = obey_pauses_on_device(port.device, data_priority(config, port));
    if (obstacle.empty()) return {.mode = PauseMode::kHardware, .remark = {}};
    if (port.pfc == PfcChoice::kHardware)
      fail_key(config.places, pfc_key(config, port), "'hardware' is not possible on port '{}': {}; use 'software'",
               port.name, obstacle);
    receive_pauses_from_device(port.device);
    return {.mode = PauseMode::kSoftware, .remark = obstacle};
  }
  return {.mode = port.pfc == PfcChoice::kOff ? PauseMode::kOff : PauseMode::kSoftware,
          .remark = receive_pauses_from_device(port.device)};
}

uint32_t flow_control_setting(const RunConfig& config, const PortConfig& port) {
  return static_cast<uint32_t>(port.pfc) << kPriorities | data_priority(config, port);
}

void warn_of_unheeded_pauses(Setup& setup) {
  const RunConfig& config = setup.config;
  if (!config.ports.front().embedded()) return;
  const auto is_heeded = [&](uint32_t priority) {
    if (!config.fabric) return false;
    // A preset has lossless priorities of its own.
    const std::vector<uint32_t>& lossless = config.fabric->lossless;
    return lossless.empty() ? config.fabric->preset != SwitchPresetName::kNone
                            : std::ranges::find(lossless, priority) != lossless.end();
  };
  for (size_t i = 0; i < config.impairments.size(); ++i) {
    std::vector<uint32_t> unheeded;
    std::ranges::remove_copy_if(config.impairments[i].priorities, std::back_inserter(unheeded), is_heeded);
    if (unheeded.empty()) continue;
    setup.warnings.push_back(fmt::format(
        "impairments[{}] pauses priorities that the embedded switch does not obey pauses of ({}): name them in "
        "fabric.lossless",
        i, fmt::join(unheeded, ", ")));
  }
}

std::optional<ReceiveBufferOptions> receive_buffer_of(const PortConfig& port) {
  if (!port.drain_rate) return std::nullopt;
  return ReceiveBufferOptions{.drain_rate = *port.drain_rate,
                              .size = port.receive_buffer,
                              .xoff = port.xoff.value_or(Bytes(port.receive_buffer.count / 2)),
                              .xon = port.xon.value_or(Bytes(port.receive_buffer.count / 4))};
}

}  // namespace rankwire
