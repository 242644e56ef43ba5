// What no wire carries to a model, everything else to the wire.
#pragma once

#include <memory>
#include <vector>

#include "base/link_loads.h"
#include "base/modelled_part.h"
#include "base/transport.h"

namespace rankwire {

/// Routes each message by the path of its connection. One thread; owns both transports.
///
/// With `loads`, which is `local`'s, part of the network is modelled: it is told which messages are under way on the
/// wire, but for control messages, from when they are posted until their source hears that they have arrived or failed;
/// and the model is a `modelled_part`, so that what it carries is on time however late the loop is. The wire is told
/// how fast the model lets it carry them, before it sends what was posted.
class SplitTransport final : public Transport {
 public:
  SplitTransport(std::unique_ptr<Transport> wire, std::unique_ptr<Transport> local, LinkLoads* loads = nullptr);

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
  ModelledPart* modelled_part() noexcept override { return loads_ == nullptr ? nullptr : &model_; }
  uint64_t activity() const noexcept override { return wire_->activity() + local_->activity(); }
  TransportCounters counters() const override;
  std::vector<FlowCounters> flows_of(ConnectionRange range) const override;
  std::optional<FlowPackets> packets_of(ConnectionId connection) const noexcept override {
    return of(connection).packets_of(connection);
  }
  std::vector<PortCounters> ports() const override;
  std::vector<NamedCounter> details() const override;
  std::vector<PortLatency> latencies() const override;
  std::string describe(ConnectionId connection) const override;
  std::vector<QueuePairState> states(ConnectionId connection) const override;
  void close() noexcept override;

 private:
  class Model final : public ModelledPart {
   public:
    explicit Model(SplitTransport& whole) : whole_(whole) {}
    Time next_event() const noexcept override { return whole_.local_->next_event(); }
    size_t poll(Time at, std::span<Event> events) noexcept override { return whole_.local_->poll(at, events); }
    void tend(Time now) noexcept override;

   private:
    SplitTransport& whole_;
  };
  class Senders final : public HeldSenders {
   public:
    explicit Senders(Transport& wire) : wire_(wire) {}
    void hold(ConnectionId connection, Bandwidth rate, Time now) noexcept override {
      wire_.hold(connection, rate, now);
    }

   private:
    Transport& wire_;
  };

  bool is_on_wire(ConnectionId connection) const noexcept { return path_[connection.value] == Path::kWire; }
  Transport& of(ConnectionId connection) const noexcept { return is_on_wire(connection) ? *wire_ : *local_; }
  size_t post_to_wire(Time now, std::span<const Message> messages) noexcept;
  void note_ends(Time now, std::span<const Event> events) noexcept;
  void settle(Time now) noexcept;

  std::unique_ptr<Transport> wire_, local_;
  LinkLoads* const loads_;
  Model model_{*this};
  Senders senders_;
  bool unsettled_ = false;             // the wire has not been told what follows from what was posted
  std::vector<Path> path_;             // by connection
  std::vector<uint8_t> is_load_;       // by connection, with `loads_`: whether it is told of its messages
  Time wire_time_ = Time::long_ago();  // the latest that the wire was told
};

}  // namespace rankwire
