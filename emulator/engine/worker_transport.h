// A worker's transport: its own ports, and through the exchange those of the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/transport.h"
#include "emulator/engine/worker_exchange.h"

namespace rankwire {

/// What its worker's ranks post goes to the worker whose ports send it, and what its ports have to report to the worker
/// whose ranks it is about; of a message that its source gives up both ends' workers hear. Neither waits for the other:
/// what finds a ring full is posted, or reported, in a later turn. Another machine is told nothing: what concerns it
/// goes over the wire. Owns the transport of the worker's own ports, to which all else is passed on. After `connect`
/// its worker's thread alone; no allocation.
class WorkerTransport final : public Transport {
 public:
  /// `routes` by connection, complete before `connect`. They and the exchange outlive it.
  WorkerTransport(std::unique_ptr<Transport> own, uint32_t worker, const std::vector<WorkerRoute>& routes,
                  WorkerExchange& exchange);

  std::vector<EndPoint> prepare(const TransportPlan& plan) override { return own_->prepare(plan); }
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override { return own_->connect(remote); }
  bool ready() const noexcept override { return own_->ready(); }
  std::vector<ConnectFailure> not_ready() const override { return own_->not_ready(); }
  size_t post(Time now, std::span<const Message> messages) noexcept override;
  size_t poll(Time now, std::span<Event> events) noexcept override;
  size_t receive(Time now, std::span<Event> events) noexcept override;
  void send_due(Time now) noexcept override { own_->send_due(now); }
  /// Of the worker's own transport: in real time nobody asks.
  Time next_event() const noexcept override { return own_->next_event(); }
  uint64_t activity() const noexcept override { return own_->activity() + taken_; }
  TransportCounters counters() const override { return own_->counters(); }
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override { return own_->flows_of(range); }
  std::optional<FlowPackets> packets_of(ConnectionId connection) const noexcept override {
    return own_->packets_of(connection);
  }
  std::vector<PortCounters> ports() const override;
  std::vector<NamedCounter> details() const override { return own_->details(); }
  std::vector<PortLatency> latencies() const override { return own_->latencies(); }
  std::string describe(ConnectionId connection) const override { return own_->describe(connection); }
  std::vector<QueuePairState> states(ConnectionId connection) const override { return own_->states(connection); }
  void close() noexcept override { own_->close(); }

 private:
  /// An event for another worker.
  struct Parcel {
    WorkerExchange::Report report;
    uint32_t to = 0;
  };

  size_t hand_over(uint32_t to, Time now, std::span<const Message> messages) noexcept;
  void take_messages(Time now) noexcept;
  size_t take_events(Time now, std::span<Event> events) noexcept;
  size_t sort(Time now, std::span<Event> events) noexcept;
  /// Nobody is told who is none of the workers.
  void send(uint32_t to, Time now, const Event& event) noexcept;
  void send_parcels() noexcept;
  template <class Poll>
  size_t all_events(Time now, std::span<Event> events, Poll poll) noexcept;

  const std::unique_ptr<Transport> own_;
  const uint32_t worker_;
  const std::vector<WorkerRoute>& routes_;
  WorkerExchange& exchange_;
  std::vector<Parcel> parcels_;           // for which there was no room, oldest first
  std::array<TimeByCause, 64> causes_{};  // of the events taken last, which refer to them
  uint64_t taken_ = 0;                    // messages and events from others
};

}  // namespace rankwire
