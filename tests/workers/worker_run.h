// Several workers over RoCEv2 in real time: engine shards, transports of some of the ports each, and a switch that one
// of the workers, a thread of its own or all workers drive.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataplane/ports/memory_port.h"
#include "dataplane/roce/transport.h"
#include "dataplane/switch/frames.h"
#include "dataplane/switch/sharded_port.h"
#include "dataplane/switch/star_switch.h"
#include "emulator/engine/run.h"
#include "emulator/engine/transport_group.h"
#include "emulator/engine/worker_transport.h"
#include "tests/engine/bench.h"
#include "tests/engine/workload_builder.h"

namespace rankwire::testing {

inline constexpr uint32_t kWorkerRanks = 4;
inline constexpr Bandwidth kWorkerPortRate(1'000'000'000);

enum class SwitchThread : uint8_t { kOfAWorker, kItsOwn, kOfEachWorker };
enum class PortUse : uint8_t { kOneWorkers, kShared };

struct WorkerCase {
  uint32_t workers = 2;
  SwitchThread switch_thread = SwitchThread::kOfAWorker;
  uint32_t loss_ppm = 0;
  PortUse use = PortUse::kOneWorkers;
};

inline void PrintTo(const WorkerCase& c, std::ostream* stream) {
  *stream << c.workers << " workers"
          << (c.switch_thread == SwitchThread::kItsOwn         ? " and a switch"
              : c.switch_thread == SwitchThread::kOfEachWorker ? " with a shard of the switch each"
                                                               : "")
          << ", " << c.loss_ppm << " ppm lost" << (c.use == PortUse::kShared ? ", ports shared" : "");
}

inline Workload collectives_of_workers() {
  WorkloadBuilder builder(kWorkerRanks);
  const GroupId all = builder.group("all", {0, 1, 2, 3}), ends = builder.group("ends", {0, 3});
  for (uint32_t r = 0; r < kWorkerRanks; ++r) {
    const uint32_t reduced = builder.collective(r, CollectiveKind::kAllReduce, all, 20'000);
    builder.collective(r, CollectiveKind::kAllToAll, all, 8'000, {builder.compute(r, microseconds(20), {reduced})});
    if (r == 0 || r == 3) builder.collective(r, CollectiveKind::kAllGather, ends, 3'000);
  }
  return builder.build();
}

/// Each rank has a port on one switch, or, of ports that are shared, a queue of the port of two ranks: to the queue
/// goes what its NIC is sent, as the switch knows the NIC behind it. They are dealt out to the workers as `of_port`
/// says. Each worker has a sink for what it records.
class WorkerRun {
 public:
  WorkerRun(const WorkerCase& c, const std::vector<uint16_t>& of_port, EngineOptions options,
            std::span<RecordSink* const> sinks)
      : bench_(collectives_of_workers(), options),
        pool_(4096),
        stations_(kWorkerRanks),
        iterations_{SharedIterations(c.workers)},
        exchange_(c.workers) {
    std::vector<std::vector<PortBinding>> bindings(c.workers);
    const bool sharded = c.switch_thread == SwitchThread::kOfEachWorker;
    std::vector<std::vector<SwitchPort>> switch_ports(sharded ? c.workers : 1);
    for (uint32_t p = 0; p < kWorkerRanks; ++p) {
      stations_.learn(mac_number(bench_.plan.transport.nics[p].mac), of_port[p]);
      std::vector<std::unique_ptr<FramePort>> lanes;
      for (std::vector<SwitchPort>& of_shard : switch_ports) {
        auto [lane, other_end] = make_memory_link(pool_, 1024, "p" + std::to_string(p));
        of_shard.push_back({other_end.get(), kWorkerPortRate});
        lanes.push_back(std::move(lane)), ports_.push_back(std::move(other_end));
      }
      std::unique_ptr<FramePort> port = std::move(lanes.front());
      if (sharded) {
        lanes.front() = std::move(port);
        port = std::make_unique<ShardedPort>(std::move(lanes), of_port[p], stations_);
      }
      const PortId id(c.use == PortUse::kShared ? p / 2 : p);
      bench_.plan.transport.nics[p].port = id;
      bindings[of_port[p]].push_back({id, port.get(), kWorkerPortRate});
      ports_.push_back(std::move(port));
    }
    for (uint32_t shard = 0; shard < switch_ports.size(); ++shard) {
      SwitchOptions device{.latency = microseconds(1), .loss_ppm = c.loss_ppm, .seed = 1 + shard};
      for (const uint16_t worker : of_port)
        if (sharded) device.served.push_back(worker == shard);
      switches_.push_back(make_star_switch(switch_ports[shard], device));
      devices_.push_back(switches_.back().get());
    }
    for (const Connection& connection : bench_.plan.transport.connections) {
      const uint16_t from = of_port[connection.source.value], to = of_port[connection.destination.value];
      routes_.push_back({from, to, from, to});
    }
    std::vector<TransportGroup::Part> parts;
    for (uint32_t worker = 0; worker < c.workers; ++worker) {
      RoceOptions roce;
      roce.payload = PayloadMode::kChecking;
      roce.profile.timeout_exponent = 14;  // 67 ms: a thread may wait for a core
      if (c.use == PortUse::kShared) {
        for (const uint16_t owner : of_port) roce.nics.push_back(owner == worker);
        // Each worker that has queues of a port announces all NICs behind it, but here each queue has a port of the
        // switch.
        roce.announcements = Announcements::kOmitted;
      }
      auto transport = std::make_unique<WorkerTransport>(std::make_unique<RoceTransport>(roce, bindings[worker]),
                                                         worker, routes_, exchange_);
      std::vector<bool> has;
      for (uint32_t rank = 0; rank < kWorkerRanks; ++rank) has.push_back(of_port[rank] == worker);
      options.shard = Shard(std::move(has), worker, iterations_);
      engines_.push_back(std::make_unique<Engine>(bench_.workload, bench_.plan, options, *sinks[worker]));
      Worker& made = workers_.emplace_back(Worker{engines_.back().get(), transport.get()});
      if (sharded) made.devices = std::span(devices_).subspan(worker, 1);
      if (c.switch_thread == SwitchThread::kOfAWorker && worker == 0) made.devices = devices_;
      parts.push_back({std::move(transport)});
    }
    group_.emplace(std::move(parts), [this](const TransportPlan&) {
      std::vector<TransportGroup::Route> routes;
      for (const WorkerRoute& route : routes_) routes.push_back({route.sender, route.receiver});
      return routes;
    });
    EXPECT_TRUE(group_->connect(group_->prepare(bench_.plan.transport)).empty());
  }

  RunResult run(SwitchThread switch_thread) {
    Crew crew(workers_);
    RealClock clock;
    clock.start();
    std::atomic<bool> stop{false};
    std::thread own;
    if (switch_thread == SwitchThread::kItsOwn)
      own = std::thread([&] {
        while (!stop.load()) switches_.front()->step(clock.now());
      });
    const RunResult result =
        crew.run([&](ConnectionId c) { return group_->describe(c); }, clock, {.deadline = seconds(60)}, kGoOn);
    stop.store(true);
    if (own.joinable()) own.join();
    return result;
  }

  const Plan& plan() const { return bench_.plan; }
  const Transport& transport() const { return *group_; }
  CommunicationCounters counters() const {
    CommunicationCounters sum;
    for (const auto& engine : engines_) sum += engine->communication().counters();
    return sum;
  }

 private:
  Bench bench_;
  FramePool pool_;
  std::vector<std::unique_ptr<FramePort>> ports_;
  MacTable stations_;
  std::vector<std::unique_ptr<VirtualFabric>> switches_;
  std::vector<Device*> devices_;
  std::array<SharedIterations, 1> iterations_;
  WorkerExchange exchange_;
  std::vector<WorkerRoute> routes_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Worker> workers_;
  std::optional<TransportGroup> group_;
};

}  // namespace rankwire::testing
