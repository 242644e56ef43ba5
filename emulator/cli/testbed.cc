#include "emulator/cli/testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "dataplane/dpdk_environment.h"
#include "dataplane/dpdk_port.h"
#include "dataplane/memory_port.h"
#include "dataplane/virtual_switch.h"
#include "emulator/cli/verbs_ports.h"

namespace rankwire {
namespace {

constexpr uint32_t kQueueFrames = 4096;   // of a link to the embedded switch, each direction
constexpr uint32_t kFramesBeside = 2048;  // a port's frames on the way and acknowledgements

/// The most frames that one port's ranks can have on the way: their windows of data, and what a full output queue
/// holds.
uint32_t frames_of_port(const Setup& setup, PortId port) {
  uint64_t queue_pairs = 0;
  for (const Connection& c : setup.plan.transport.connections) {
    queue_pairs += c.path == Path::kWire && !c.control && setup.placement.nics[c.source_nic.value].port == port;
  }
  const uint64_t windows = queue_pairs * setup.config.transport.queue_pairs * *setup.config.transport.window;
  const uint64_t buffer = static_cast<uint64_t>(setup.config.embedded_switch.buffer.count) / setup.config.transport.mtu;
  return static_cast<uint32_t>(std::min(windows, std::max<uint64_t>(buffer, kFramesBeside)) + kFramesBeside);
}

SwitchOptions switch_options(const Setup& setup) {
  const SwitchConfig& config = setup.config.embedded_switch;
  return {.latency = config.latency,
          .link_latency = config.link_latency,
          .buffer = config.buffer,
          .ecn_threshold = config.ecn_threshold,
          .loss_ppm = config.loss_ppm,
          .seed = setup.config.seed};
}

/// Steps the switch on a thread of its own until it is destroyed.
class SwitchThread {
 public:
  SwitchThread(VirtualSwitch& device, Clock& clock, bool dpdk)
      : thread_([this, &device, &clock, dpdk] {
          std::optional<DpdkThread> registered;
          if (dpdk) registered.emplace();
          while (!stop_.load(std::memory_order_relaxed)) device.step(clock.now());
        }) {}
  ~SwitchThread() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  SwitchThread(const SwitchThread&) = delete;
  SwitchThread& operator=(const SwitchThread&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Ports on the embedded switch. Memory and DPDK environment are declared first: they outlive the ports.
class EmbeddedTestbed final : public Testbed {
 public:
  static std::unique_ptr<EmbeddedTestbed> in_memory(const Setup& setup) {
    std::unique_ptr<EmbeddedTestbed> testbed(new EmbeddedTestbed(setup));
    size_t frames = 0;
    for (uint32_t p = 0; p < setup.config.ports.size(); ++p) frames += frames_of_port(setup, PortId(p));
    testbed->pool_.emplace(frames);
    for (const PortConfig& port : setup.config.ports) {
      testbed->add_link(make_memory_link(*testbed->pool_, kQueueFrames, port.name));
    }
    testbed->make_switch();
    return testbed;
  }

  static std::unique_ptr<EmbeddedTestbed> on_rings(const Setup& setup) {
    std::unique_ptr<EmbeddedTestbed> testbed(new EmbeddedTestbed(setup));
    testbed->environment_.emplace(
        DpdkOptions{.memory = setup.config.dpdk.memory, .extra = setup.config.dpdk.eal_arguments});
    for (uint32_t p = 0; p < setup.config.ports.size(); ++p) {
      const RingLinkOptions options{.queue_frames = kQueueFrames, .frames = frames_of_port(setup, PortId(p))};
      testbed->add_link(make_ring_link(*testbed->environment_, setup.config.ports[p].name, options));
    }
    testbed->make_switch();
    return testbed;
  }

  void give_own_thread() { own_thread_ = true; }

  std::vector<PortBinding> ports() override {
    std::vector<PortBinding> bindings;
    for (uint32_t p = 0; p < ports_.size(); ++p)
      bindings.push_back({PortId(p), ports_[p].get(), setup_.config.ports[p].rate});
    return bindings;
  }
  std::span<Device* const> devices() override { return devices_; }
  void start(Clock& clock) override {
    if (!own_thread_) return;
    devices_.clear();
    thread_.emplace(*switch_, clock, environment_.has_value());
  }

  std::vector<PortCounters> finish() override {
    thread_.reset();
    std::vector<PortCounters> result;
    for (const SwitchPortCounters& c : switch_->counters()) {
      const uint32_t p = static_cast<uint32_t>(result.size());
      result.push_back({.port = PortId(p),
                        .name = "switch." + setup_.config.ports[p].name,
                        .tx_frames = c.tx_frames,
                        .tx_bytes = c.tx_bytes,
                        .rx_frames = c.rx_frames,
                        .rx_bytes = c.rx_bytes,
                        .dropped = c.tail_drops + c.random_losses,
                        .marked = c.marks});
    }
    return result;
  }

 private:
  explicit EmbeddedTestbed(const Setup& setup) : setup_(setup) {}

  void add_link(std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> link) {
    ports_.push_back(std::move(link.first));
    switch_ports_.push_back(std::move(link.second));
  }

  void make_switch() {
    std::vector<SwitchPort> ports;
    for (size_t p = 0; p < switch_ports_.size(); ++p) {
      ports.push_back({switch_ports_[p].get(), setup_.config.ports[p].rate});
    }
    switch_.emplace(ports, switch_options(setup_));
    devices_ = {&*switch_};
  }

  const Setup& setup_;
  std::optional<FramePool> pool_;
  std::optional<DpdkEnvironment> environment_;
  std::vector<std::unique_ptr<FramePort>> ports_, switch_ports_;
  std::optional<VirtualSwitch> switch_;
  std::vector<Device*> devices_;
  bool own_thread_ = false;
  std::optional<SwitchThread> thread_;
};

/// DPDK and RDMA devices that lead to a device under test outside this process. The queues of a DPDK device share its
/// line.
class DeviceTestbed final : public Testbed {
 public:
  DeviceTestbed(const Setup& setup, std::vector<VerbsPort> verbs_ports)
      : setup_(setup), verbs_ports_(std::move(verbs_ports)), queues_(setup.config.ports.size()) {
    const DpdkOptions dpdk = options(setup);
    if (dpdk.devices.empty()) return;
    environment_.emplace(dpdk);
    for (uint32_t p = 0; p < setup.config.ports.size(); ++p) {
      const PortConfig& port = setup.config.ports[p];
      if (port.is_rdma_device()) continue;
      queues_[p] = open_dpdk_queues(*environment_, port.device,
                                    {.mtu = setup.config.transport.mtu + header_bytes(setup.config),
                                     .frames = frames_of_port(setup, PortId(p)),
                                     .queues = port.queues});
    }
  }

  std::vector<PortBinding> ports() override {
    std::vector<PortBinding> bindings;
    for (uint32_t p = 0; p < queues_.size(); ++p) {
      const PortConfig& port = setup_.config.ports[p];
      const Bandwidth share(port.rate.bits_per_second / port.queues);
      for (const std::unique_ptr<FramePort>& queue : queues_[p]) bindings.push_back({PortId(p), queue.get(), share});
    }
    return bindings;
  }
  std::span<const VerbsPort> verbs_ports() override { return verbs_ports_; }
  std::span<Device* const> devices() override { return {}; }
  void start(Clock&) override {}
  std::vector<PortCounters> finish() override { return {}; }

 private:
  static DpdkOptions options(const Setup& setup) {
    DpdkOptions options{.memory = setup.config.dpdk.memory, .extra = setup.config.dpdk.eal_arguments};
    for (const PortConfig& port : setup.config.ports) {
      if (!port.is_rdma_device()) options.devices.push_back(port.device);
    }
    return options;
  }

  /// Most of IPv4 20 or IPv6 40, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4.
  static uint32_t header_bytes(const RunConfig& config) { return config.addresses.ip.first.is_ipv4() ? 64 : 84; }

  const Setup& setup_;
  const std::vector<VerbsPort> verbs_ports_;
  std::optional<DpdkEnvironment> environment_;                   // none without DPDK devices
  std::vector<std::vector<std::unique_ptr<FramePort>>> queues_;  // by port
};

}  // namespace

std::unique_ptr<Testbed> make_memory_testbed(const Setup& setup) {
  return EmbeddedTestbed::in_memory(setup);
}

std::unique_ptr<Testbed> make_testbed(Setup& setup) {
  const PortConfig& first = setup.config.ports.front();
  if (!first.embedded()) {
    std::vector<VerbsPort> verbs_ports;
    if (std::ranges::any_of(setup.config.ports, &PortConfig::is_rdma_device)) {
      verbs_ports = find_verbs_ports(setup.config, verbs_devices());
      take_device_addresses(setup, verbs_ports);
    }
    return std::make_unique<DeviceTestbed>(setup, std::move(verbs_ports));
  }
  std::unique_ptr<EmbeddedTestbed> testbed =
      first.device == "ring" ? EmbeddedTestbed::on_rings(setup) : EmbeddedTestbed::in_memory(setup);
  if (setup.config.embedded_switch.own_core) testbed->give_own_thread();
  return testbed;
}

}  // namespace rankwire
