// Tells impairments what the packets of a transport carry.
#pragma once

#include <memory>
#include <vector>

#include "base/transport.h"
#include "dataplane/impairments/impairments.h"
#include "dataplane/impairments/port.h"
#include "dataplane/roce/transport.h"

namespace rankwire {

/// A RoceTransport on impaired ports. The transport knows nothing of them: what Impairments must know of messages is
/// what anyone sees who posts them and takes their events. Both ends of all connections are here. One thread.
class ImpairmentTransport final : public Transport {
 public:
  /// `impairments` and the ports outlive it.
  ImpairmentTransport(const RoceOptions& options, const std::vector<PortBinding>& ports, Impairments& impairments);
  ~ImpairmentTransport() override;

  std::vector<EndPoint> prepare(const TransportPlan& plan) override;
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override;
  bool ready() const noexcept override { return inner_->ready(); }
  std::vector<ConnectFailure> not_ready() const override { return inner_->not_ready(); }
  size_t post(Time now, std::span<const Message> messages) noexcept override;
  size_t poll(Time now, std::span<Event> events) noexcept override;
  size_t receive(Time now, std::span<Event> events) noexcept override;
  void send_due(Time now) noexcept override { inner_->send_due(now); }
  void hold(ConnectionId connection, Bandwidth rate, Time now) noexcept override {
    inner_->hold(connection, rate, now);
  }
  Time next_event() const noexcept override { return inner_->next_event(); }
  uint64_t activity() const noexcept override { return inner_->activity(); }
  TransportCounters counters() const override;
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override { return inner_->flows_of(range); }
  std::optional<FlowPackets> packets_of(ConnectionId connection) const noexcept override {
    return inner_->packets_of(connection);
  }
  std::vector<PortCounters> ports() const override { return inner_->ports(); }
  std::vector<NamedCounter> details() const override { return inner_->details(); }
  std::vector<PortLatency> latencies() const override { return inner_->latencies(); }
  std::string describe(ConnectionId connection) const override { return inner_->describe(connection); }
  std::vector<QueuePairState> states(ConnectionId connection) const override { return inner_->states(connection); }
  void close() noexcept override { inner_->close(); }

 private:
  void follow(std::span<const Event> events) noexcept;

  Impairments& impairments_;
  std::vector<std::unique_ptr<ImpairmentPort>> ports_;  // in the order of the bindings
  std::unique_ptr<Transport> inner_;
  TransportPlan plan_;  // until it is connected
};

/// How impairments follow the messages of a transport with these options.
FlowOptions flow_options(const RoceOptions& options);

}  // namespace rankwire
