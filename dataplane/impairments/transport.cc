#include "dataplane/impairments/transport.h"

#include <algorithm>
#include <set>

namespace rankwire {

FlowOptions flow_options(const RoceOptions& options) {
  return {.mtu = options.mtu,
          .queue_pairs = options.queue_pairs,
          .split = options.spread == Spread::kSplit,
          .pushed = options.verb == DataVerb::kWriteImm || options.verb == DataVerb::kWriteThenImm ||
                    options.verb == DataVerb::kSendImm};
}

ImpairmentTransport::ImpairmentTransport(const RoceOptions& options, const std::vector<PortBinding>& ports,
                                         Impairments& impairments)
    : impairments_(impairments) {
  std::vector<PortBinding> impaired;
  std::set<PortId> known;
  for (const PortBinding& binding : ports) {
    const auto pauses = known.insert(binding.id).second ? PauseSender::kThisQueue : PauseSender::kAnotherQueue;
    ports_.push_back(std::make_unique<ImpairmentPort>(*binding.port, binding.id, pauses, impairments));
    impaired.push_back(binding);
    impaired.back().port = ports_.back().get();
  }
  inner_ = std::make_unique<RoceTransport>(options, std::move(impaired));
}

ImpairmentTransport::~ImpairmentTransport() {
  inner_->close();
}

std::vector<EndPoint> ImpairmentTransport::prepare(const TransportPlan& plan) {
  plan_ = plan;
  return inner_->prepare(plan);
}

std::vector<ConnectFailure> ImpairmentTransport::connect(std::span<const EndPoint> remote) {
  impairments_.connect(plan_, remote);
  return inner_->connect(remote);
}

TransportCounters ImpairmentTransport::counters() const {
  TransportCounters counters = inner_->counters();
  for (const auto& port : ports_) counters.pause_tx += port->pauses_sent();
  return counters;
}

size_t ImpairmentTransport::post(Time now, std::span<const Message> messages) noexcept {
  const size_t taken = inner_->post(now, messages);
  for (const Message& message : messages.first(taken)) impairments_.flows().posted(message);
  return taken;
}

size_t ImpairmentTransport::poll(Time now, std::span<Event> events) noexcept {
  const size_t n = inner_->poll(now, events);
  follow(events.first(n));
  return n;
}

size_t ImpairmentTransport::receive(Time now, std::span<Event> events) noexcept {
  const size_t n = inner_->receive(now, events);
  follow(events.first(n));
  return n;
}

void ImpairmentTransport::follow(std::span<const Event> events) noexcept {
  for (const Event& event : events)
    if (event.at_source) impairments_.flows().ended(event.connection, event.index);
}

}  // namespace rankwire
