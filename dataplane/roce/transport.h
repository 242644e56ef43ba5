// Messages over RoCEv2 Reliable Connections, on any frame ports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/transport.h"
#include "dataplane/ports/doorbells.h"
#include "dataplane/roce/options.h"

namespace rankwire {

struct RoceParts;

/// Has the ends of those Path::kWire connections whose NICs stand behind the given ports, or of RoceOptions::nics those
/// that do. A port's NICs are all answered for, whoever has them, when their neighbours ask by its queues. A queue
/// pair's end is a requester, a responder and what they write headers from; a connection has `queue_pairs` of them, or
/// uses those of the connection that it is the reverse of. Ports are paced at line rate: a frame starts in its slot,
/// neighbour discovery before acknowledgements, those before READ responses and data, queue pairs in turns. Received
/// packets always have their ICRC verified, as RoceOptions::receive_check says.
///
/// Errors: prepare throws kInput for options, ports and plans that cannot work together.
///
/// Messages fail at their source; at the destination only those that it fetches (DataVerb::kRead). When a responder
/// refuses a request it cannot name the message, and only `describe` says so. A queue pair that fails in one direction
/// is in the error state in both (IBTA 10.3.1). Messages posted to a queue pair in the error state, or never connected,
/// fail with kFlushed, those to a peer without link address with kUnreachable.
class RoceTransport final : public Transport {
 public:
  /// `bells`: rung, by place in `ports`, whenever one of these ports has received something, or been given something to
  /// hold back, no later than in the turn of the loop in which it arrives; borrowed. Then only ports with something to
  /// do are looked at (see FarEnd); each has one queue. Null: every poll looks at all.
  RoceTransport(const RoceOptions& options, std::vector<PortBinding> ports, Doorbells* bells = nullptr);
  ~RoceTransport() override;
  RoceTransport(const RoceTransport&) = delete;
  RoceTransport& operator=(const RoceTransport&) = delete;

  std::vector<EndPoint> prepare(const TransportPlan& plan) override;
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override;
  bool ready() const noexcept override;
  std::vector<ConnectFailure> not_ready() const override;
  size_t post(Time now, std::span<const Message> messages) noexcept override;
  size_t poll(Time now, std::span<Event> events) noexcept override;
  size_t receive(Time now, std::span<Event> events) noexcept override;
  void send_due(Time now) noexcept override;
  void hold(ConnectionId connection, Bandwidth rate, Time now) noexcept override;  ///< with RoceOptions::held
  Time next_event() const noexcept override;
  Time run_ahead(Time limit) noexcept override;  ///< with bells; without, nothing
  uint64_t activity() const noexcept override;
  TransportCounters counters() const override;
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override;
  std::optional<FlowPackets> packets_of(ConnectionId connection) const noexcept override;
  std::vector<PortCounters> ports() const override;
  std::vector<NamedCounter> details() const override;
  std::vector<PortLatency> latencies() const override;
  std::string describe(ConnectionId connection) const override;
  std::vector<QueuePairState> states(ConnectionId connection) const override;
  void close() noexcept override;

  /// Memory in bytes that all queue pairs take, messages apart. 0 without queue pairs.
  size_t queue_pair_bytes() const noexcept;

 private:
  size_t report(Time now, std::span<Event> events) noexcept;
  void begin_rates();

  const RoceOptions options_;
  const std::vector<PortBinding> bindings_;
  Doorbells* const bells_;
  std::unique_ptr<RoceParts> parts_;  // null before `prepare`
};

}  // namespace rankwire
