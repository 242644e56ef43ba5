// The whole stack in virtual time: engine, RoCEv2, ports, switches, local interconnect.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "emulator/assembly/live_run.h"
#include "emulator/assembly/reference.h"
#include "emulator/assembly/setup.h"
#include "emulator/assembly/testbed.h"
#include "emulator/assembly/transport_options.h"
#include "emulator/engine/run.h"
#include "emulator/engine/split_transport.h"
#include "emulator/simulator/network_model.h"
#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {

class NoRecord final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord>) noexcept override {}
  bool wants_messages() const noexcept override { return false; }
};

/// A configuration, ready to run.
class TwinRun {
 public:
  using MakeWire = std::unique_ptr<Transport> (*)(const Setup& setup, const std::vector<PortBinding>& ports);

  static std::unique_ptr<Transport> one_transport(const Setup& setup, const std::vector<PortBinding>& ports) {
    return std::make_unique<RoceTransport>(roce_options(setup), ports);
  }

  /// `looked_at`: somebody looks on while it runs, who is told by `feed`.
  explicit TwinRun(const RunConfig& config, MakeWire make_wire = one_transport, bool looked_at = false) {
    prepare(setup_, config, folder_.path());
    testbed_ = make_memory_testbed(setup_);
    transport_ = std::make_unique<SplitTransport>(make_wire(setup_, testbed_->ports()),
                                                  std::make_unique<NetworkModel>(interconnect(setup_)));
    EXPECT_TRUE(transport_->connect(transport_->prepare(setup_.plan.transport)).empty());
    EXPECT_TRUE(transport_->not_ready().empty());
    engine_ = std::make_unique<Engine>(setup_.workload, setup_.plan, engine_options(config), sink_);
    if (looked_at) {
      feed_ = live_feed(setup_, "twin", 1);
      routes_ = live_routes_of(setup_, feed_.get());
      observer_ = std::make_unique<LiveObserver>(*feed_, 0, *engine_, *transport_, routes_);
    }
    crew_ = std::make_unique<Crew>(std::vector<Worker>{{.engine = engine_.get(),
                                                        .transport = transport_.get(),
                                                        .live = observer_.get(),
                                                        .devices = testbed_->devices()}});
  }

  RunResult run() {
    VirtualClock clock;
    const std::atomic<bool> go_on{false};
    return crew_->run([this](ConnectionId connection) { return transport_->describe(connection); }, clock,
                      run_options(setup_.config), go_on);
  }

  const Setup& setup() const { return setup_; }
  Testbed& testbed() { return *testbed_; }
  const Transport& transport() const { return *transport_; }
  const Engine& engine() const { return *engine_; }
  const LiveFeed& feed() const { return *feed_; }

 private:
  const testing::TemporaryFolder folder_;
  Setup setup_;
  std::unique_ptr<Testbed> testbed_;
  std::unique_ptr<SplitTransport> transport_;
  NoRecord sink_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<LiveFeed> feed_;
  std::vector<LiveObserver::Route> routes_;
  std::unique_ptr<LiveObserver> observer_;
  std::unique_ptr<Crew> crew_;
};

/// A small transformer on four memory ports.
inline RunConfig small_run() {
  RunConfig config;
  config.workload.generate = {.transformer = {.layers = 4,
                                              .hidden = 256,
                                              .sequence = 128,
                                              .micro_batches = 4,
                                              .tensor_parallel = 2,
                                              .pipeline_parallel = 2,
                                              .data_parallel = 2}};
  config.workload.iterations = 3;
  config.hosts = {.count = 2, .npus = 4, .nics = 2};
  config.ports = memory_ports(4);
  config.transport.checking = true;
  return config;
}

}  // namespace rankwire
