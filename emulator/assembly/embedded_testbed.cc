#include "emulator/assembly/embedded_testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "dataplane/dpdk/port.h"
#include "dataplane/ports/memory_port.h"
#include "dataplane/protocol/message_parts.h"
#include "dataplane/switch/capture.h"
#include "dataplane/switch/frames.h"
#include "dataplane/switch/sharded_port.h"
#include "dataplane/switch/star_switch.h"
#include "emulator/assembly/capture_file.h"
#include "emulator/assembly/dpdk_demand.h"
#include "emulator/assembly/fabric_options.h"
#include "emulator/assembly/live_fabric.h"
#include "emulator/assembly/port_flow_control.h"

namespace rankwire {
namespace {

using LinkEnds = std::pair<std::unique_ptr<FramePort>, std::unique_ptr<FramePort>>;

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

/// Ports on the embedded switch, or on its shards, of which each worker has one. Memory and DPDK environment are
/// declared first: they outlive the ports.
class EmbeddedTestbed final : public Testbed {
 public:
  static std::unique_ptr<EmbeddedTestbed> in_memory(const Setup& setup, PoolUse use, const WorkerShares* shares) {
    std::unique_ptr<EmbeddedTestbed> testbed(new EmbeddedTestbed(setup, shares));
    const auto ports = static_cast<uint32_t>(setup.config.ports.size());
    testbed->pool_.emplace(std::max<uint64_t>(frames_of_ports(setup), 1), memory_frame_bytes(setup, use), use);
    const BellUse bell_use = use == PoolUse::kOneThread ? BellUse::kOneThread : BellUse::kManyThreads;
    if (setup.config.fabric || setup.is_hybrid()) testbed->bells_.emplace_back(ports, bell_use);
    const uint32_t used = testbed->place_of(PortId(ports));
    if (use == PoolUse::kOneThread) testbed->arrivals_.emplace_back(used, bell_use);
    testbed->add_links([&](PortId port, uint32_t shard) {
      const Doorbell bell{testbed->bells_.empty() ? nullptr : &testbed->bells_[shard], port.value};
      const Doorbell answer{testbed->is_used(port) ? testbed->arrivals(0) : nullptr, testbed->place_of(port)};
      return make_memory_link(*testbed->pool_, kQueueFrames, setup.config.ports[port.value].name, bell, answer);
    });
    testbed->make_switches();
    return testbed;
  }

  static std::unique_ptr<EmbeddedTestbed> on_rings(const Setup& setup, const WorkerShares& shares, OpenPorts& open) {
    std::unique_ptr<EmbeddedTestbed> testbed(new EmbeddedTestbed(setup, &shares));
    if (open.dpdk == nullptr) open.dpdk = std::make_shared<DpdkEnvironment>(dpdk_options(setup.config, setup.machine));
    testbed->environment_ = open.dpdk;
    open.dpdk->close_kept();
    // Whoever has a shard has the ports that it serves.
    const bool sharded = testbed->is_sharded();
    const bool one_thread = sharded || (!testbed->has_own_thread() && shares.workers() == 1);
    const auto ports = static_cast<uint32_t>(setup.config.ports.size());
    for (uint32_t shard = 0; shard < testbed->shards_; ++shard)
      testbed->bells_.emplace_back(ports, one_thread && !sharded ? BellUse::kOneThread : BellUse::kManyThreads);
    std::vector<uint32_t> places;
    for (uint32_t worker = 0; worker < shares.workers(); ++worker) {
      const uint32_t of_worker = shares.ports_of(worker);
      testbed->arrivals_.emplace_back(of_worker, one_thread ? BellUse::kOneThread : BellUse::kManyThreads);
      for (uint32_t place = 0; place < of_worker; ++place) places.push_back(place);
    }
    testbed->add_links([&](PortId port, uint32_t shard) {
      const Doorbell bell{&testbed->bells_[shard], port.value};
      if (shard != testbed->shard_of(port)) {
        const std::string name = fmt::format("~{}.{}", port.value, shard);
        return make_ring_link(*testbed->environment_, name,
                              {.queue_frames = kQueueFrames, .frames = kFramesOfOtherLinks, .one_thread = false}, bell);
      }
      return make_ring_link(
          *testbed->environment_, setup.config.ports[port.value].name,
          {.queue_frames = kQueueFrames, .frames = frames_of_port(setup, port), .one_thread = one_thread}, bell,
          {testbed->is_used(port) ? &testbed->arrivals_[shares.of_port(port)] : nullptr,
           setup.config.hybrid ? testbed->place_of(port) : places[port.value]});
    });
    testbed->make_switches();
    return testbed;
  }

  std::vector<PortBinding> ports() override {
    std::vector<PortBinding> bindings;
    for (uint32_t p = 0; p < ports_.size(); ++p) {
      const PortConfig& port = setup_.config.ports[p];
      if (port.modelled) continue;
      bindings.push_back(
          {PortId(p), ports_[p].get(), port.rate, embedded_flow_control(port).mode, receive_buffer_of(port)});
    }
    return bindings;
  }
  Doorbells* arrivals(uint32_t worker) override { return arrivals_.empty() ? nullptr : &arrivals_[worker]; }
  std::span<Device* const> devices() override { return devices_; }
  std::span<Device* const> devices_of(uint32_t worker) override {
    if (is_sharded()) return std::span(devices_).subspan(worker, 1);
    return worker == 0 && !has_own_thread() ? devices() : std::span<Device* const>();
  }
  void start(Clock& clock) override {
    if (!has_own_thread()) return;
    devices_.clear();
    thread_.emplace(first_switch(), clock, environment_ != nullptr);
  }
  std::shared_ptr<void> enter_thread() override {
    return environment_ != nullptr ? std::make_shared<DpdkThread>() : nullptr;
  }

  std::vector<PortCounters> finish() override {
    thread_.reset();
    first_switch().finish_series();
    std::vector<PortCounters> ports = fabric_ports(first_switch(), setup_.config);
    if (setup_.config.fabric) return ports;
    if (is_sharded()) add_other_shards(ports);
    std::erase_if(ports, [&](const PortCounters& port) { return !is_used(port.port); });
    for (PortCounters& port : ports) port.name = "switch." + setup_.config.ports[port.port.value].name;
    return ports;
  }
  std::optional<QueueSampling> queue_samples() const override { return queue_sampling(first_switch(), setup_.config); }
  std::vector<StormRow> storms() const override { return storm_rows(first_switch(), setup_.config); }
  uint64_t storms_lost() const override { return first_switch().storms().lost(); }
  void capture_to(const std::filesystem::path& file) override {
    if (capture_) capture_file_.emplace(file, *capture_, fabric_port_names(first_switch(), setup_.config));
  }
  uint64_t complete_capture() override {
    if (!capture_file_) return 0;
    capture_file_->complete();
    return capture_->left_out();
  }
  LiveMeasurements* live() override {
    const FabricSeries* const series = first_switch().series();
    if (series == nullptr && !capture_file_ && !first_switch().storms().watched()) return nullptr;
    return &live_.emplace(series, first_switch().storms(), capture_file_ ? &*capture_file_ : nullptr,
                          fabric_port_names(first_switch(), setup_.config));
  }
  std::string diagnosis() const override {
    const std::string cycle = deadlock_text(first_switch(), setup_.config);
    if (cycle.empty()) return {};
    return fmt::format(
        "the fabric is deadlocked: each of these queues is paused until the next one sends, the last until the first: "
        "{}",
        cycle);
  }

 private:
  /// `shares`: of a run in real time; null: there is one thread.
  EmbeddedTestbed(const Setup& setup, const WorkerShares* shares)
      : setup_(setup),
        shares_(shares),
        shards_(shares == nullptr ? 1 : switch_shards(setup.config, shares->workers())),
        station_shards_(std::max<size_t>(1, setup.plan.transport.nics.size())) {
    for (const Nic& nic : setup.plan.transport.nics)
      station_shards_.learn(mac_number(nic.mac), static_cast<uint16_t>(shard_of(nic.port)));
  }

  bool is_sharded() const { return shards_ > 1; }
  bool is_used(PortId port) const { return !setup_.config.ports[port.value].modelled; }
  /// Among those that are used, which are `ports()`.
  uint32_t place_of(PortId port) const {
    const auto first = setup_.config.ports.begin();
    return static_cast<uint32_t>(std::ranges::count(first, first + port.value, false, &PortConfig::modelled));
  }
  /// The one that serves the port.
  uint32_t shard_of(PortId port) const { return is_sharded() ? shares_->of_port(port) : 0; }
  bool has_own_thread() const { return shares_ != nullptr && setup_.config.embedded_switch.core == SwitchCore::kOwn; }
  VirtualFabric& first_switch() const { return *switches_.front(); }

  /// `make_link`: the port's end and that of a shard.
  void add_links(const std::function<LinkEnds(PortId port, uint32_t shard)>& make_link) {
    switch_ports_.resize(shards_);
    for (uint32_t p = 0; p < setup_.config.ports.size(); ++p) {
      std::vector<std::unique_ptr<FramePort>> lanes;
      for (uint32_t shard = 0; shard < shards_; ++shard) {
        auto [lane, other_end] = make_link(PortId(p), shard);
        lanes.push_back(std::move(lane));
        switch_ports_[shard].push_back(std::move(other_end));
      }
      if (!is_sharded()) {
        ports_.push_back(std::move(lanes.front()));
        continue;
      }
      auto port = std::make_unique<ShardedPort>(std::move(lanes), shard_of(PortId(p)), station_shards_);
      sharded_ports_.push_back(port.get());
      ports_.push_back(std::move(port));
    }
  }

  void make_switches() {
    if (setup_.config.capture)
      capture_.emplace(*setup_.config.capture, static_cast<uint32_t>(setup_.config.capture_length.count));
    for (uint32_t shard = 0; shard < shards_; ++shard) {
      switches_.push_back(setup_.config.fabric ? make_fabric() : make_shard(shard));
      devices_.push_back(switches_.back().get());
    }
  }

  std::unique_ptr<VirtualFabric> make_fabric() {
    FabricPlan plan = fabric_plan(setup_);
    plan.options.observer = capture_ ? &*capture_ : nullptr;
    plan.options.stations = plan.stations;
    plan.options.bells = bells_.empty() ? nullptr : &bells_.front();
    std::vector<FramePort*> ends;
    for (const std::unique_ptr<FramePort>& port : switch_ports_.front()) ends.push_back(port.get());
    return std::make_unique<VirtualFabric>(plan.topology, ends, plan.devices, plan.options);
  }

  /// The whole switch where it has one shard.
  std::unique_ptr<VirtualFabric> make_shard(uint32_t shard) {
    SwitchOptions options = switch_options(setup_);
    options.seed += shard;
    options.observer = capture_ ? &*capture_ : nullptr;
    options.bells = bells_.empty() ? nullptr : &bells_[shard];
    std::vector<SwitchPort> ports;
    for (uint32_t p = 0; p < switch_ports_[shard].size(); ++p) {
      ports.push_back({switch_ports_[shard][p].get(), setup_.config.ports[p].rate});
      if (is_sharded()) options.served.push_back(shard_of(PortId(p)) == shard);
    }
    return make_star_switch(ports, options);
  }

  /// What the first counted is there.
  void add_other_shards(std::vector<PortCounters>& ports) const {
    for (size_t shard = 1; shard < switches_.size(); ++shard) {
      const std::vector<PortCounters> part = fabric_ports(*switches_[shard], setup_.config);
      for (size_t p = 0; p < ports.size(); ++p) {
        ports[p].tx_frames += part[p].tx_frames, ports[p].tx_bytes += part[p].tx_bytes;
        ports[p].rx_frames += part[p].rx_frames, ports[p].rx_bytes += part[p].rx_bytes;
        ports[p].dropped += part[p].dropped;
        ports[p].marked += part[p].marked;
      }
    }
    for (size_t p = 0; p < ports.size(); ++p) {
      ports[p].rx_frames -= sharded_ports_[p]->copied_frames();
      ports[p].rx_bytes -= sharded_ports_[p]->copied_bytes();
    }
  }

  const Setup& setup_;
  const WorkerShares* const shares_;
  const uint32_t shards_;
  MacTable station_shards_;
  std::optional<FramePool> pool_;
  std::shared_ptr<DpdkEnvironment> environment_;  // none in memory
  std::vector<std::unique_ptr<FramePort>> ports_;
  std::vector<std::vector<std::unique_ptr<FramePort>>> switch_ports_;  // by shard
  std::vector<const ShardedPort*> sharded_ports_;                      // by port, where there are several shards
  std::deque<Doorbells> bells_;     // of the links, for the switch, by shard; none: it asks all
  std::deque<Doorbells> arrivals_;  // of the same links, by worker, for its transport; none: nobody rings
  std::optional<FabricCapture> capture_;
  std::optional<CaptureFile> capture_file_;
  std::optional<LiveFabric> live_;
  std::vector<std::unique_ptr<VirtualFabric>> switches_;  // by shard
  std::vector<Device*> devices_;                          // the same
  std::optional<SwitchThread> thread_;
};

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
  return EmbeddedTestbed::in_memory(setup, PoolUse::kOneThread, nullptr);
}

std::unique_ptr<Testbed> make_embedded_testbed(const Setup& setup, const WorkerShares& shares, OpenPorts& open) {
  if (setup.config.ports.front().device == "ring") return EmbeddedTestbed::on_rings(setup, shares, open);
  return EmbeddedTestbed::in_memory(setup, PoolUse::kManyThreads, &shares);
}

}  // namespace rankwire
