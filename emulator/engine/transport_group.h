// Several transports as one.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/transport.h"

namespace rankwire {

/// How long a transport's `connect` takes.
enum class ConnectTime : uint8_t {
  kShort,
  kLong,  ///< it may block for seconds, in which the other transports must answer their neighbours
};

/// Gives each message to the transport of its source, and puts together what the transports at its two ends know of a
/// connection. Each transport knows the whole plan, and has the ends of NICs behind its own ports. Owns them. One
/// thread; a `connect` that takes long runs on a thread of its own until it returns, and that transport is left alone
/// meanwhile: `poll` moves the others, `ready` is false, and `not_ready` waits for it.
///
/// Errors: what a long `connect` throws, `not_ready` throws.
class TransportGroup final : public Transport {
 public:
  struct Part {
    std::unique_ptr<Transport> transport;
    ConnectTime connect = ConnectTime::kShort;
  };
  /// The parts that have a connection's ends; a number beyond the parts: nobody here has that end.
  struct Route {
    uint32_t source = 0, destination = 0;
  };
  /// Of every connection, in order. Called by `prepare`.
  using Routing = std::function<std::vector<Route>(const TransportPlan&)>;

  TransportGroup(std::vector<Part> parts, Routing routing);
  ~TransportGroup() override;
  TransportGroup(const TransportGroup&) = delete;
  TransportGroup& operator=(const TransportGroup&) = delete;

  std::vector<EndPoint> prepare(const TransportPlan& plan) override;
  std::vector<ConnectFailure> connect(std::span<const EndPoint> remote) override;
  bool ready() const noexcept override;
  std::vector<ConnectFailure> not_ready() const override;
  size_t post(Time now, std::span<const Message> messages) noexcept override;
  size_t poll(Time now, std::span<Event> events) noexcept override;
  size_t receive(Time now, std::span<Event> events) noexcept override;
  void send_due(Time now) noexcept override;
  void hold(ConnectionId connection, Bandwidth rate, Time now) noexcept override;
  Time next_event() const noexcept override;
  uint64_t activity() const noexcept override;
  TransportCounters counters() const override;
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override;
  std::optional<FlowPackets> packets_of(ConnectionId connection) const noexcept override;
  std::vector<PortCounters> ports() const override;    ///< by PortId
  std::vector<NamedCounter> details() const override;  ///< equal names added up
  std::vector<PortLatency> latencies() const override;
  std::string describe(ConnectionId connection) const override;
  std::vector<QueuePairState> states(ConnectionId connection) const override;
  void close() noexcept override;

 private:
  /// A `connect` on a thread of its own.
  class LongConnect {
   public:
    LongConnect(Transport& transport, std::vector<EndPoint> remote);
    ~LongConnect() { wait(); }
    bool done() const noexcept { return done_.load(std::memory_order_acquire); }
    void wait() noexcept;
    /// Waits. Throws what `connect` threw.
    const std::vector<ConnectFailure>& failures();

   private:
    std::vector<ConnectFailure> failures_;
    std::exception_ptr error_;
    std::atomic<bool> done_{false};
    std::thread thread_;
  };
  /// Events of all parts: `poll(transport, room)` tells how many one has.
  template <class Poll>
  size_t poll_parts(std::span<Event> events, Poll poll) noexcept;
  bool is_here(uint32_t part) const noexcept { return part < parts_.size(); }
  bool is_connecting(size_t part) const noexcept { return connects_[part] && !connects_[part]->done(); }

  std::vector<Part> parts_;
  std::vector<std::unique_ptr<LongConnect>> connects_;  // by part; null: its connect is short
  const Routing routing_;
  std::vector<Route> routes_;  // by connection
  size_t first_ = 0;           // the part that is polled first
};

/// Each connection's ends are with the part whose ports, given by part, its NICs stand behind; of those that are
/// modelled nothing is asked. Ports that no part has are another worker's or machine's.
TransportGroup::Routing route_by_ports(std::vector<std::vector<PortId>> ports);

}  // namespace rankwire
