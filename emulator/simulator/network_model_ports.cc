// What NICs do at the ports of the model: turns and acknowledgements.
#include <algorithm>
#include <utility>

#include "emulator/simulator/network_model.h"

namespace rankwire {

Duration NetworkModel::acknowledging_time(const Network& network, uint32_t connection, Bytes message) {
  if (network.acknowledgements.empty()) return {};
  const Acknowledgements& back = network.acknowledgements[connection];
  if (!back.link.valid()) return {};
  const Framing& framing = network.routes[connection].framing;
  const Bytes part = framing.parts > 1 ? split_part(message, framing.parts) : message;
  const int64_t frames = std::max<int64_t>(1, (part.count + framing.payload.count - 1) / framing.payload.count);
  const int64_t count = (frames + back.every - 1) / back.every * framing.parts;
  return serialization_time(Bytes(back.frame.count * count), network.links[back.link.value].bandwidth);
}

Duration NetworkModel::way_back(const Network& network, uint32_t connection, const Route& route) {
  Bytes frame;
  if (network.fetching && route.framing.payload.count > 0)
    frame = route.framing.overhead_per_frame + network.fetching->finish;
  else if (!network.acknowledgements.empty() && network.acknowledgements[connection].link.valid())
    frame = network.acknowledgements[connection].frame;
  else
    return latency(network, route);
  Route back = route;
  back.framing = {.payload = Bytes(1), .overhead_per_frame = frame};
  return undisturbed_time(network, back, Bytes(0));
}

Duration NetworkModel::fetched_after(const Network& network, const Route& route) {
  if (!network.fetching || route.framing.payload.count == 0) return {};
  Route frame = route;
  const auto time_of = [&](Bytes payload) {
    frame.framing = {.payload = Bytes(1), .overhead_per_frame = route.framing.overhead_per_frame + payload};
    return undisturbed_time(network, frame, Bytes(0));
  };
  return time_of(network.fetching->offer) + time_of(network.fetching->request);
}

void NetworkModel::note_route(uint32_t connection, const Route& route) {
  flows_[connection].way_back = way_back(network_, connection, route);
  flows_[connection].fetched_after = fetched_after(network_, route);
}

Time NetworkModel::take_turn(uint32_t connection, Bytes size, Time now) noexcept {
  Flow& flow = flows_[connection];
  if (ports_.empty() || flow.variable == kNone) return now;
  flow.port = port_of(flow);
  Port& port = ports_[flow.port.value];
  const Time turn = std::max(now, port.taken_until) + std::exchange(port.owed, Duration());
  const Link& link = network_.links[flow.port.value];
  port.taken_until = turn;
  if (link.turn.count > 0) port.taken_until += serialization_time(std::min(size, link.turn), link.bandwidth);
  return turn;
}

/// The one that it came to, though it may go another way by now.
void NetworkModel::leave_port(uint32_t connection, Time now) noexcept {
  const LinkId link = std::exchange(flows_[connection].port, LinkId::invalid());
  if (!link.valid()) return;
  Port& port = ports_[link.value];
  if (--port.begun == 0) port.taken_until = std::max(port.taken_until, now) + std::exchange(port.owed, Duration());
}

void NetworkModel::acknowledge(uint32_t connection, const Transfer& transfer) noexcept {
  const LinkId link = network_.acknowledgements[connection].link;
  if (!link.valid()) return;
  Port& port = ports_[link.value];
  const Duration time = cost_of(connection, transfer.message.bytes).acknowledging;
  if (port.begun > 0)
    port.owed += time;
  else
    port.taken_until = std::max(port.taken_until, transfer.delivered) + time;
}

}  // namespace rankwire
