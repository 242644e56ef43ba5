// A workload whose ranks several engines have, each with a transport of its own, run in one thread in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulator/engine/engine.h"
#include "emulator/engine/worker_exchange.h"
#include "emulator/engine/worker_transport.h"
#include "tests/engine/bench.h"

namespace rankwire::testing {

/// A transport that several workers' transports pass messages to: what each of them has posted it reports to each.
class SharedNetwork {
 public:
  explicit SharedNetwork(Transport& network) : network_(network) {}

  /// The transport of one worker, which sends the messages of those connections of which it is the sender, and is told
  /// what becomes of them, and of the messages that it receives.
  std::unique_ptr<Transport> part(uint32_t worker, const std::vector<WorkerRoute>& routes) {
    return std::make_unique<Part>(*this, worker, routes);
  }
  const Transport& network() const { return network_; }

 private:
  class Part final : public Transport {
   public:
    Part(SharedNetwork& shared, uint32_t worker, const std::vector<WorkerRoute>& routes)
        : shared_(shared), worker_(worker), routes_(routes) {
      shared.parts_.push_back(this);
    }
    std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
    std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
    size_t post(Time now, std::span<const Message> messages) noexcept override {
      for (const Message& message : messages) EXPECT_EQ(routes_[message.connection.value].sender, worker_);
      return shared_.network_.post(now, messages);
    }
    size_t poll(Time now, std::span<Event> events) noexcept override {
      shared_.distribute(now);
      const size_t n = std::min(events.size(), waiting_.size());
      std::copy_n(waiting_.begin(), n, events.begin());
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(n));
      return n;
    }
    Time next_event() const noexcept override { return shared_.network_.next_event(); }
    uint64_t activity() const noexcept override { return shared_.network_.activity(); }
    TransportCounters counters() const override { return {}; }
    std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
    std::vector<PortCounters> ports() const override { return {}; }
    std::string describe(ConnectionId) const override { return "described"; }
    void close() noexcept override {}

    void take(const Event& event) {
      const WorkerRoute& route = routes_[event.connection.value];
      if ((event.at_source ? route.sender : route.receiver) == worker_) waiting_.push_back(event);
    }

   private:
    SharedNetwork& shared_;
    const uint32_t worker_;
    const std::vector<WorkerRoute>& routes_;
    std::vector<Event> waiting_;
  };

  void distribute(Time now) {
    std::array<Event, 16> events;
    for (size_t n = events.size(); n == events.size();) {
      n = network_.poll(now, events);
      for (const Event& event : std::span(events).first(n))
        for (Part* part : parts_) part->take(event);
    }
  }

  Transport& network_;
  std::vector<Part*> parts_;
};

/// Engines and transports of several workers over one network; who has a rank and who sends a connection's messages is
/// the test's choice.
class ShardedRun {
 public:
  /// `of_rank`: by rank; `routes`: by connection.
  ShardedRun(const Workload& workload, const Plan& plan, const EngineOptions& options, Transport& network,
             const std::vector<uint32_t>& of_rank, std::vector<WorkerRoute> routes, uint32_t workers)
      : routes_(std::move(routes)), exchange_(workers), shared_(network), rows_(workers) {
    network.connect(network.prepare(plan.transport));
    for (size_t job = 0; job < std::max<size_t>(workload.jobs.size(), 1); ++job) iterations_.emplace_back(workers);
    for (uint32_t worker = 0; worker < workers; ++worker) {
      std::vector<bool> has;
      for (const uint32_t of : of_rank) has.push_back(of == worker);
      EngineOptions of_worker = options;
      of_worker.shard = Shard(std::move(has), worker, iterations_);
      engines_.push_back(std::make_unique<Engine>(workload, plan, of_worker, rows_[worker]));
      transports_.push_back(
          std::make_unique<WorkerTransport>(shared_.part(worker, routes_), worker, routes_, exchange_));
    }
  }

  /// All workers take turns until nothing happens any more at the present time, and then at the next at which something
  /// does: until all have finished, or nothing is left to happen.
  void run() {
    for (Time now; now != Time::never(); now = next_after(now)) {
      for (uint64_t before = UINT64_MAX; before != progress();) {
        before = progress();
        turn_all(now);
      }
      if (finished()) return;
    }
  }

  bool finished() const {
    return std::ranges::all_of(engines_, [](const auto& engine) { return engine->finished(); });
  }
  Engine& engine(uint32_t worker) { return *engines_[worker]; }
  const RowsOfARun& rows(uint32_t worker) const { return rows_[worker]; }
  uint32_t workers() const { return static_cast<uint32_t>(engines_.size()); }

 private:
  void turn_all(Time now) {
    std::array<Event, 64> events;
    for (uint32_t worker = 0; worker < engines_.size(); ++worker) {
      Engine& engine = *engines_[worker];
      engine.advance(now);
      engine.posted(transports_[worker]->post(now, engine.outgoing()));
      engine.handle(now, std::span(events).first(transports_[worker]->poll(now, events)));
    }
  }
  uint64_t progress() const {
    uint64_t sum = 0;
    for (uint32_t worker = 0; worker < engines_.size(); ++worker)
      sum += engines_[worker]->progress() + transports_[worker]->activity() +
             engines_[worker]->communication().counters().posted;
    return sum;
  }
  Time next_after(Time now) const {
    Time next = shared_.network().next_event();
    for (const auto& engine : engines_) next = std::min(next, engine->next_event());
    EXPECT_GT(next, now);
    return next > now ? next : Time::never();
  }

  std::vector<SharedIterations> iterations_;  // by job
  const std::vector<WorkerRoute> routes_;
  WorkerExchange exchange_;
  SharedNetwork shared_;
  std::vector<RowsOfARun> rows_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::unique_ptr<WorkerTransport>> transports_;
};

}  // namespace rankwire::testing
