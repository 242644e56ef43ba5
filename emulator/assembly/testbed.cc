#include "emulator/assembly/testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "dataplane/dpdk/environment.h"
#include "dataplane/dpdk/kept_device.h"
#include "dataplane/dpdk/port.h"
#include "dataplane/dpdk/presence.h"
#include "emulator/assembly/dpdk_demand.h"
#include "emulator/assembly/embedded_testbed.h"
#include "emulator/assembly/machine_verbs.h"
#include "emulator/assembly/port_flow_control.h"
#include "emulator/assembly/verbs_ports.h"
#include "emulator/record/lost_links.h"

namespace rankwire {
namespace {

/// By which queues the NICs behind a port that workers share receive; empty: one worker has the port.
std::vector<SteeredAddress> steered_addresses(const Setup& setup, const WorkerShares& shares, PortId port) {
  std::vector<SteeredAddress> addresses;
  if (!shares.is_shared(port)) return addresses;
  for (const Nic& nic : setup.plan.transport.nics)
    if (nic.port == port) addresses.push_back({nic.mac, shares.queue_of(nic.id)});
  return addresses;
}

/// Of DPDK's devices, in port order.
std::vector<std::pair<std::string, DpdkPortOptions>> port_options(const Setup& setup, const WorkerShares& shares,
                                                                  bool for_any_window) {
  std::vector<std::pair<std::string, DpdkPortOptions>> all;
  for (uint32_t p = 0; p < setup.config.ports.size(); ++p) {
    const PortConfig& port = setup.config.ports[p];
    if (port.is_rdma_device() || !setup.is_here(PortId(p))) continue;
    all.emplace_back(port.device, DpdkPortOptions{.mtu = *setup.config.transport.mtu + header_bytes(setup.config),
                                                  .frames = for_any_window ? roomy_frames_of_port(setup, PortId(p))
                                                                           : frames_of_port(setup, PortId(p)),
                                                  .queues = port.queues,
                                                  .steered = steered_addresses(setup, shares, PortId(p)),
                                                  .setting = flow_control_setting(setup.config, port)});
  }
  return all;
}

/// DPDK and RDMA devices that lead to a device under test outside this process. The queues of a DPDK device share its
/// line.
class DeviceTestbed final : public Testbed {
 public:
  DeviceTestbed(Setup& setup, const WorkerShares& shares, std::vector<VerbsPort> verbs_ports, OpenPorts& open)
      : setup_(setup),
        verbs_ports_(std::move(verbs_ports)),
        queues_(setup.config.ports.size()),
        flow_control_(queues_.size()),
        presences_(queues_.size()),
        links_(queues_.size()) {
    const DpdkOptions options = dpdk_options(setup.config, setup.machine);
    if (options.devices.empty()) return;
    if (open.dpdk == nullptr) open.dpdk = std::make_shared<DpdkEnvironment>(options);
    environment_ = open.dpdk;
    environment_->free_frames();
    const std::vector<std::pair<std::string, DpdkPortOptions>> wanted =
        port_options(setup, shares, open.for_any_window);
    close_unlike(*environment_, wanted);
    auto next = wanted.begin();
    for (uint32_t p = 0; p < setup.config.ports.size(); ++p) {
      const PortConfig& port = setup.config.ports[p];
      if (port.is_rdma_device() || !setup.is_here(PortId(p))) continue;
      queues_[p] = open_dpdk_queues(*environment_, next->first, next->second);
      ++next;
      presences_[p].emplace(port.device);
      links_[p] = link_text(p);
      flow_control_[p] = settle_flow_control(setup.config, port);
      if (shares.is_shared(PortId(p)) && flow_control_[p].mode == PauseMode::kSoftware) leave_pauses(setup, p);
    }
  }

  std::vector<PortBinding> ports() override {
    std::vector<PortBinding> bindings;  // of each port all queues in their order
    for (uint32_t p = 0; p < queues_.size(); ++p) {
      const PortConfig& port = setup_.config.ports[p];
      const Bandwidth share(port.rate.bits_per_second / port.queues);
      for (const std::unique_ptr<FramePort>& queue : queues_[p])
        bindings.push_back({PortId(p), queue.get(), share, flow_control_[p].mode, receive_buffer_of(port)});
    }
    return bindings;
  }
  std::vector<PortSettingRow> settings() const override {
    std::vector<PortSettingRow> rows;
    for (uint32_t p = 0; p < queues_.size(); ++p) {
      if (queues_[p].empty()) continue;
      const std::string text = flow_control_[p].text();
      rows.push_back({.port = PortId(p), .name = "pfc", .before = text, .after = text});
      rows.push_back({.port = PortId(p), .name = kLinkSetting, .before = links_[p], .after = link_text(p)});
    }
    return rows;
  }
  std::string link_trouble(PortId port) const override {
    const std::optional<DevicePresence>& presence = presences_[port.value];
    return presence ? presence->trouble() : std::string();
  }
  std::span<const VerbsPort> verbs_ports() override { return verbs_ports_; }
  std::span<Device* const> devices() override { return {}; }
  void start(Clock&) override {}
  std::shared_ptr<void> enter_thread() override {
    return environment_ != nullptr ? std::make_shared<DpdkThread>() : nullptr;
  }
  std::vector<PortCounters> finish() override { return {}; }

 private:
  std::string link_text(uint32_t p) const {
    const std::string trouble = link_trouble(PortId(p));
    return trouble.empty() ? kLinkIsUp : trouble;
  }

  /// A pause arrives at one queue, whose worker would be the only one to obey it.
  void leave_pauses(Setup& setup, uint32_t p) {
    flow_control_[p].mode = PauseMode::kOff;
    setup.warnings.push_back(
        fmt::format("port '{}' obeys no pauses: several workers share it, and in hardware it cannot: {}",
                    setup.config.ports[p].name, flow_control_[p].remark));
  }

  const Setup& setup_;
  const std::vector<VerbsPort> verbs_ports_;
  std::shared_ptr<DpdkEnvironment> environment_;                 // none without DPDK devices
  std::vector<std::vector<std::unique_ptr<FramePort>>> queues_;  // by port
  std::vector<PortFlowControl> flow_control_;                    // the same
  std::vector<std::optional<DevicePresence>> presences_;         // the same
  std::vector<std::string> links_;                               // the same: when they were opened
};

/// Only the embedded switch can be looked into.
void warn_of_unheeded_records(Setup& setup) {
  const auto warn = [&](bool chosen, const char* key) {
    if (chosen) setup.warnings.push_back(fmt::format("{} is for the embedded switch; devices do not heed it", key));
  };
  warn(setup.config.capture.has_value(), "record.capture");
  warn(setup.config.fabric_interval.has_value(), "record.fabric_interval");
}

}  // namespace

std::unique_ptr<Testbed> make_testbed(Setup& setup, const WorkerShares& shares, OpenPorts& open, Machines* machines) {
  require_room_in_dpdk(setup);
  const PortConfig& first = setup.config.ports.front();
  if (!first.embedded()) {
    warn_of_unheeded_records(setup);
    std::vector<VerbsPort> verbs_ports;
    if (std::ranges::any_of(setup.config.ports, &PortConfig::is_rdma_device)) {
      verbs_ports = find_verbs_ports(setup.config, verbs_devices(), setup.machine);
      if (machines != nullptr)
        take_device_addresses(setup, addresses_of_all(*machines, setup, verbs_ports));
      else
        take_device_addresses(setup, verbs_ports);
    }
    return std::make_unique<DeviceTestbed>(setup, shares, std::move(verbs_ports), open);
  }
  return make_embedded_testbed(setup, shares, open);
}

}  // namespace rankwire
