#include "emulator/engine/worker_transport.h"

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

/// Events that a worker's own transport is asked for at once, while none waits for room in a ring.
constexpr size_t kAtOnce = 64;

}  // namespace

WorkerTransport::WorkerTransport(std::unique_ptr<Transport> own, uint32_t worker,
                                 const std::vector<WorkerRoute>& routes, WorkerExchange& exchange)
    : own_(std::move(own)), worker_(worker), routes_(routes), exchange_(exchange) {
  parcels_.reserve(2 * kAtOnce);  // both ends of a message may be others'
}

size_t WorkerTransport::post(Time now, std::span<const Message> messages) noexcept {
  size_t posted = 0;
  while (posted < messages.size()) {
    const uint32_t to = routes_[messages[posted].connection.value].sender;
    size_t end = posted + 1;
    while (end < messages.size() && routes_[messages[end].connection.value].sender == to) ++end;
    const std::span<const Message> alike = messages.subspan(posted, end - posted);
    posted += to == worker_ ? own_->post(now, alike) : hand_over(to, now, alike);
    if (posted < end) break;
  }
  return posted;
}

std::vector<PortCounters> WorkerTransport::ports() const {
  std::vector<PortCounters> ports = own_->ports();
  for (PortCounters& port : ports) port.worker = worker_;
  return ports;
}

size_t WorkerTransport::hand_over(uint32_t to, Time now, std::span<const Message> messages) noexcept {
  return exchange_.posts(worker_, to).push_made(messages.size(), [&](size_t i, WorkerExchange::Post& place) {
    place = {messages[i], now};
  });
}

size_t WorkerTransport::poll(Time now, std::span<Event> events) noexcept {
  return all_events(now, events, [&](std::span<Event> room) { return own_->poll(now, room); });
}

size_t WorkerTransport::receive(Time now, std::span<Event> events) noexcept {
  return all_events(now, events, [&](std::span<Event> room) { return own_->receive(now, room); });
}

// The own transport is polled even when there is no room for its events: that moves its frames.
template <class Poll>
size_t WorkerTransport::all_events(Time now, std::span<Event> events, Poll poll) noexcept {
  take_messages(now);
  const size_t taken = take_events(now, events);
  send_parcels();
  const size_t room = parcels_.empty() ? std::min(kAtOnce, events.size() - taken) : 0;
  const std::span<Event> own = events.subspan(taken, room);
  return taken + sort(now, own.first(poll(own)));
}

void WorkerTransport::take_messages(Time now) noexcept {
  for (uint32_t from = 0; from < exchange_.workers(); ++from) {
    if (from == worker_) continue;
    SpscRing<WorkerExchange::Post>& ring = exchange_.posts(from, worker_);
    for (const WorkerExchange::Post* post = ring.front(); post != nullptr && post->at <= now; post = ring.front()) {
      if (own_->post(now, {&post->message, 1}) == 0) break;
      ring.drop();
      ++taken_;
    }
  }
}

size_t WorkerTransport::take_events(Time now, std::span<Event> events) noexcept {
  const size_t room = std::min(events.size(), causes_.size());
  size_t taken = 0;
  for (uint32_t from = 0; from < exchange_.workers(); ++from) {
    if (from == worker_) continue;
    SpscRing<WorkerExchange::Report>& ring = exchange_.reports(from, worker_);
    while (taken < room) {
      const WorkerExchange::Report* const report = ring.front();
      if (report == nullptr || report->at > now) break;
      events[taken] = report->event;
      if (report->event.causes != nullptr) {
        causes_[taken] = report->causes;
        events[taken].causes = &causes_[taken];
      }
      ++taken;
      ring.drop();
    }
  }
  taken_ += taken;
  return taken;
}

/// Leaves the worker's own events in front, in their order, and returns how many they are.
size_t WorkerTransport::sort(Time now, std::span<Event> events) noexcept {
  size_t own = 0;
  for (const Event& event : events) {
    const WorkerRoute& route = routes_[event.connection.value];
    const uint32_t about = event.at_source ? route.source : route.destination;
    const bool given_up = event.kind == EventKind::kFailed && event.at_source;
    const uint32_t also = given_up ? route.destination : about;
    if (about != worker_) send(about, now, event);
    if (also != about && also != worker_) send(also, now, event);
    if (about == worker_ || also == worker_) events[own++] = event;
  }
  return own;
}

void WorkerTransport::send(uint32_t to, Time now, const Event& event) noexcept {
  if (to >= exchange_.workers()) return;
  parcels_.push_back({{event, now, event.causes != nullptr ? *event.causes : TimeByCause()}, to});
  if (parcels_.size() == 1) send_parcels();
}

void WorkerTransport::send_parcels() noexcept {
  const auto has_room = [&](const Parcel& parcel) {
    return exchange_.reports(worker_, parcel.to).push({&parcel.report, 1}) == 1;
  };
  const auto rest = std::ranges::find_if_not(parcels_, has_room);
  parcels_.erase(parcels_.begin(), rest);
}

}  // namespace rankwire
