// Local traffic to the modelled interconnect, everything else to the wire.
#pragma once

#include <memory>
#include <vector>

#include "base/transport.h"

namespace rankwire {

/// Routes each message by the path of its connection. One thread; owns both transports.
class SplitTransport final : public Transport {
 public:
  SplitTransport(std::unique_ptr<Transport> wire, std::unique_ptr<Transport> local);

  std::vector<EndPoint> prepare(const TransportPlan& plan) override;
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override;
  bool ready() const noexcept override { return wire_->ready(); }
  std::vector<ConnectFailure> not_ready() const override;  ///< of the wire, as what follows but `flows_of`
  size_t post(Time now, std::span<const Message> messages) noexcept override;
  size_t poll(Time now, std::span<Event> events) noexcept override;
  size_t receive(Time now, std::span<Event> events) noexcept override;
  void send_due(Time now) noexcept override;
  Time next_event() const noexcept override;
  Time run_ahead(Time limit) noexcept override;  ///< on the wire, up to the next local event
  uint64_t activity() const noexcept override { return wire_->activity() + local_->activity(); }
  TransportCounters counters() const override;
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override;
  std::vector<PortCounters> ports() const override;
  std::vector<NamedCounter> details() const override;
  std::vector<PortLatency> latencies() const override;
  std::string describe(ConnectionId connection) const override;
  std::vector<QueuePairState> states(ConnectionId connection) const override;
  void close() noexcept override;

 private:
  Transport& of(ConnectionId connection) const noexcept {
    return path_[connection.value] == Path::kWire ? *wire_ : *local_;
  }

  std::unique_ptr<Transport> wire_, local_;
  std::vector<Path> path_;  // by connection
};

}  // namespace rankwire
