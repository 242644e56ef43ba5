#include "emulator/assembly/testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <utility>

#include "dataplane/dpdk/environment.h"
#include "dataplane/dpdk/kept_device.h"
#include "dataplane/dpdk/port.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/switch/capture.h"
#include "dataplane/switch/star_switch.h"
#include "emulator/assembly/capture_file.h"
#include "emulator/assembly/dpdk_demand.h"
#include "emulator/assembly/fabric_options.h"
#include "emulator/assembly/live_fabric.h"
#include "emulator/assembly/port_flow_control.h"
#include "emulator/assembly/verbs_ports.h"

namespace rankwire {
namespace {

SwitchOptions switch_options(const Setup& setup) {
  const SwitchConfig& config = setup.config.embedded_switch;
  return {.latency = config.latency,
          .link_latency = config.link_latency,
          .buffer = config.buffer,
          .ecn_threshold = config.ecn_threshold,
          .loss_ppm = config.loss_ppm,
          .seed = setup.config.seed,
          .series = series_options(setup.config)};
}

/// The environment that ports declared after this stand in. What they took of its memory goes back when they have gone.
class DpdkUse {
 public:
  DpdkUse() = default;
  ~DpdkUse() {
    if (environment_ != nullptr) environment_->free_frames();
  }
  DpdkUse(const DpdkUse&) = delete;
  DpdkUse& operator=(const DpdkUse&) = delete;

  void use(std::shared_ptr<DpdkEnvironment> environment) { environment_ = std::move(environment); }
  bool is_used() const { return environment_ != nullptr; }
  DpdkEnvironment& operator*() const { return *environment_; }

 private:
  std::shared_ptr<DpdkEnvironment> environment_;
};

/// Steps the switch on a thread of its own until it is destroyed.
class SwitchThread {
 public:
  SwitchThread(VirtualFabric& device, Clock& clock, bool dpdk)
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
  static std::unique_ptr<EmbeddedTestbed> in_memory(const Setup& setup, PoolUse use) {
    std::unique_ptr<EmbeddedTestbed> testbed(new EmbeddedTestbed(setup));
    const auto ports = static_cast<uint32_t>(setup.config.ports.size());
    testbed->pool_.emplace(frames_of_ports(setup), memory_frame_bytes(setup, use), use);
    const BellUse bell_use = use == PoolUse::kOneThread ? BellUse::kOneThread : BellUse::kManyThreads;
    if (setup.config.fabric) testbed->bells_.emplace(ports, bell_use);
    if (use == PoolUse::kOneThread) testbed->arrivals_.emplace_back(ports, bell_use);
    for (uint32_t p = 0; p < ports; ++p) {
      const Doorbell bell{testbed->bells_ ? &*testbed->bells_ : nullptr, p};
      const Doorbell answer{testbed->arrivals(0), p};
      testbed->add_link(make_memory_link(*testbed->pool_, kQueueFrames, setup.config.ports[p].name, bell, answer));
    }
    testbed->make_switch();
    return testbed;
  }

  static std::unique_ptr<EmbeddedTestbed> on_rings(const Setup& setup, const WorkerShares& shares, OpenPorts& open) {
    std::unique_ptr<EmbeddedTestbed> testbed(new EmbeddedTestbed(setup));
    if (open.dpdk == nullptr) open.dpdk = std::make_shared<DpdkEnvironment>(dpdk_options(setup.config, setup.machine));
    testbed->environment_.use(open.dpdk);
    open.dpdk->close_kept();
    const auto ports = static_cast<uint32_t>(setup.config.ports.size());
    const bool one_thread = !setup.config.embedded_switch.own_core && shares.workers() == 1;
    const BellUse bell_use = one_thread ? BellUse::kOneThread : BellUse::kManyThreads;
    testbed->bells_.emplace(ports, bell_use);
    std::vector<uint32_t> places;
    for (uint32_t worker = 0; worker < shares.workers(); ++worker) {
      const uint32_t of_worker = shares.ports_of(worker);
      testbed->arrivals_.emplace_back(of_worker, bell_use);
      for (uint32_t place = 0; place < of_worker; ++place) places.push_back(place);
    }
    for (uint32_t p = 0; p < ports; ++p) {
      const RingLinkOptions options{
          .queue_frames = kQueueFrames, .frames = frames_of_port(setup, PortId(p)), .one_thread = one_thread};
      testbed->add_link(make_ring_link(*testbed->environment_, setup.config.ports[p].name, options,
                                       {&*testbed->bells_, p},
                                       {&testbed->arrivals_[shares.of_port(PortId(p))], places[p]}));
    }
    testbed->make_switch();
    return testbed;
  }

  void give_own_thread() { own_thread_ = true; }

  std::vector<PortBinding> ports() override {
    std::vector<PortBinding> bindings;
    for (uint32_t p = 0; p < ports_.size(); ++p) {
      const PortConfig& port = setup_.config.ports[p];
      bindings.push_back(
          {PortId(p), ports_[p].get(), port.rate, embedded_flow_control(port).mode, receive_buffer_of(port)});
    }
    return bindings;
  }
  Doorbells* arrivals(uint32_t worker) override { return arrivals_.empty() ? nullptr : &arrivals_[worker]; }
  std::span<Device* const> devices() override { return devices_; }
  void start(Clock& clock) override {
    if (!own_thread_) return;
    devices_.clear();
    thread_.emplace(*switch_, clock, environment_.is_used());
  }
  std::shared_ptr<void> enter_thread() override {
    return environment_.is_used() ? std::make_shared<DpdkThread>() : nullptr;
  }

  std::vector<PortCounters> finish() override {
    thread_.reset();
    switch_->finish_series();
    std::vector<PortCounters> ports = fabric_ports(*switch_, setup_.config);
    if (setup_.config.fabric) return ports;
    for (PortCounters& port : ports) port.name = "switch." + setup_.config.ports[port.port.value].name;
    return ports;
  }
  std::optional<QueueSampling> queue_samples() const override { return queue_sampling(*switch_, setup_.config); }
  std::vector<StormRow> storms() const override { return storm_rows(*switch_, setup_.config); }
  uint64_t storms_lost() const override { return switch_->storms().lost(); }
  void capture_to(const std::filesystem::path& file) override {
    if (capture_) capture_file_.emplace(file, *capture_, fabric_port_names(*switch_, setup_.config));
  }
  uint64_t complete_capture() override {
    if (!capture_file_) return 0;
    capture_file_->complete();
    return capture_->left_out();
  }
  LiveMeasurements* live() override {
    const FabricSeries* const series = switch_->series();
    if (series == nullptr && !capture_file_ && !switch_->storms().watched()) return nullptr;
    return &live_.emplace(series, switch_->storms(), capture_file_ ? &*capture_file_ : nullptr,
                          fabric_port_names(*switch_, setup_.config));
  }
  std::string diagnosis() const override {
    const std::string cycle = deadlock_text(*switch_, setup_.config);
    if (cycle.empty()) return {};
    return fmt::format(
        "the fabric is deadlocked: each of these queues is paused until the next one sends, the last until the first: "
        "{}",
        cycle);
  }

 private:
  explicit EmbeddedTestbed(const Setup& setup) : setup_(setup) {}

  void add_link(std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>> link) {
    ports_.push_back(std::move(link.first));
    switch_ports_.push_back(std::move(link.second));
  }

  void make_switch() {
    if (setup_.config.capture) capture_.emplace(*setup_.config.capture);
    if (setup_.config.fabric) {
      FabricPlan plan = fabric_plan(setup_);
      plan.options.observer = capture_ ? &*capture_ : nullptr;
      plan.options.stations = plan.stations;
      plan.options.bells = bells_ ? &*bells_ : nullptr;
      std::vector<FramePort*> ends;
      for (const std::unique_ptr<FramePort>& port : switch_ports_) ends.push_back(port.get());
      switch_ = std::make_unique<VirtualFabric>(plan.topology, ends, plan.devices, plan.options);
    } else {
      std::vector<SwitchPort> ports;
      for (size_t p = 0; p < switch_ports_.size(); ++p) {
        ports.push_back({switch_ports_[p].get(), setup_.config.ports[p].rate});
      }
      SwitchOptions options = switch_options(setup_);
      options.observer = capture_ ? &*capture_ : nullptr;
      options.bells = bells_ ? &*bells_ : nullptr;
      switch_ = make_star_switch(ports, options);
    }
    devices_ = {switch_.get()};
  }

  const Setup& setup_;
  std::optional<FramePool> pool_;
  DpdkUse environment_;
  std::vector<std::unique_ptr<FramePort>> ports_, switch_ports_;
  std::optional<Doorbells> bells_;  // of the links, for the switch
  std::deque<Doorbells> arrivals_;  // of the same links, by worker, for its transport; none: nobody rings
  std::optional<FabricCapture> capture_;
  std::optional<CaptureFile> capture_file_;
  std::optional<LiveFabric> live_;
  std::unique_ptr<VirtualFabric> switch_;
  std::vector<Device*> devices_;
  bool own_thread_ = false;
  std::optional<SwitchThread> thread_;
};

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
        flow_control_(queues_.size()) {
    const DpdkOptions options = dpdk_options(setup.config, setup.machine);
    if (options.devices.empty()) return;
    if (open.dpdk == nullptr) open.dpdk = std::make_shared<DpdkEnvironment>(options);
    environment_.use(open.dpdk);
    const std::vector<std::pair<std::string, DpdkPortOptions>> wanted =
        port_options(setup, shares, open.for_any_window);
    close_unlike(*environment_, wanted);
    auto next = wanted.begin();
    for (uint32_t p = 0; p < setup.config.ports.size(); ++p) {
      const PortConfig& port = setup.config.ports[p];
      if (port.is_rdma_device() || !setup.is_here(PortId(p))) continue;
      queues_[p] = open_dpdk_queues(*environment_, next->first, next->second);
      ++next;
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
    }
    return rows;
  }
  std::span<const VerbsPort> verbs_ports() override { return verbs_ports_; }
  std::span<Device* const> devices() override { return {}; }
  void start(Clock&) override {}
  std::shared_ptr<void> enter_thread() override {
    return environment_.is_used() ? std::make_shared<DpdkThread>() : nullptr;
  }
  std::vector<PortCounters> finish() override { return {}; }

 private:
  /// A pause arrives at one queue, whose worker would be the only one to obey it.
  void leave_pauses(Setup& setup, uint32_t p) {
    flow_control_[p].mode = PauseMode::kOff;
    setup.warnings.push_back(
        fmt::format("port '{}' obeys no pauses: several workers share it, and in hardware it cannot: {}",
                    setup.config.ports[p].name, flow_control_[p].remark));
  }

  const Setup& setup_;
  const std::vector<VerbsPort> verbs_ports_;
  DpdkUse environment_;                                          // none without DPDK devices
  std::vector<std::vector<std::unique_ptr<FramePort>>> queues_;  // by port
  std::vector<PortFlowControl> flow_control_;                    // the same
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

/// In virtual time thousands of frames are on the way, and payloads go by reference, but for those that are compared at
/// the other end or that an impairment may change.
uint32_t memory_frame_bytes(const Setup& setup, PoolUse use) {
  const RunConfig& config = setup.config;
  if (use != PoolUse::kOneThread || config.transport.checking || !config.impairments.empty())
    return FramePool::kDefaultCapacity;
  return kHeaderRoom + kMaxControlBytes + kTrailerRoom;
}

std::unique_ptr<Testbed> make_memory_testbed(const Setup& setup) {
  return EmbeddedTestbed::in_memory(setup, PoolUse::kOneThread);
}

std::unique_ptr<Testbed> make_testbed(Setup& setup, const WorkerShares& shares, OpenPorts& open) {
  require_room_in_dpdk(setup);
  const PortConfig& first = setup.config.ports.front();
  if (!first.embedded()) {
    warn_of_unheeded_records(setup);
    std::vector<VerbsPort> verbs_ports;
    if (std::ranges::any_of(setup.config.ports, &PortConfig::is_rdma_device)) {
      verbs_ports = find_verbs_ports(setup.config, verbs_devices());
      take_device_addresses(setup, verbs_ports);
    }
    return std::make_unique<DeviceTestbed>(setup, shares, std::move(verbs_ports), open);
  }
  std::unique_ptr<EmbeddedTestbed> testbed = first.device == "ring"
                                                 ? EmbeddedTestbed::on_rings(setup, shares, open)
                                                 : EmbeddedTestbed::in_memory(setup, PoolUse::kManyThreads);
  if (setup.config.embedded_switch.own_core) testbed->give_own_thread();
  return testbed;
}

}  // namespace rankwire
