#include "emulator/engine/background_traffic.h"

#include <algorithm>
#include <functional>

namespace rankwire {
namespace {

/// So long that a flow that waits for it never posts again, and short enough to be added to any time of a run.
constexpr Duration kForever(INT64_MAX / 4);

Duration bounded(unsigned __int128 ps) {
  const auto most = static_cast<uint64_t>(kForever.ps);
  return Duration(static_cast<int64_t>(ps < most ? static_cast<uint64_t>(ps) : most));
}

/// Of so many bytes at the rate, rounded up.
Duration time_of(Bytes bytes, Bandwidth rate) {
  const auto bits = static_cast<unsigned __int128>(static_cast<uint64_t>(bytes.count)) * 8;
  const auto each_second = static_cast<uint64_t>(rate.bits_per_second);
  return bounded((bits * 1'000'000'000'000 + each_second - 1) / each_second);
}

}  // namespace

BackgroundCounters& BackgroundCounters::operator+=(const BackgroundCounters& other) {
  offered += other.offered, posted += other.posted, acknowledged += other.acknowledged;
  delivered += other.delivered, failed += other.failed;
  bytes_offered += other.bytes_offered, bytes_posted += other.bytes_posted, bytes_delivered += other.bytes_delivered;
  payload_errors += other.payload_errors, failed_flows += other.failed_flows;
  behind = std::max(behind, other.behind);
  first_arrival = std::min(first_arrival, other.first_arrival);
  last_delivery = std::max(last_delivery, other.last_delivery);
  completion.merge(other.completion);
  return *this;
}

BackgroundTraffic::BackgroundTraffic(const BackgroundPlan& background, const Plan& plan, const Shard& shard,
                                     BackgroundKeys keys)
    : background_(background), plan_(plan), keys_(keys), counters_(background.entries.size()) {
  uint64_t outstanding = 0;
  flows_.resize(background.flows.size());
  due_.reserve(background.flows.size());
  for (uint32_t f = 0; f < flows_.size(); ++f) {
    const BackgroundFlow& told = background.flows[f];
    const BackgroundEntry& entry = background.entries[told.entry];
    own_.push_back(shard.has(plan.transport.connections[told.connection.value].source));
    if (!own_.back()) continue;
    Flow& flow = flows_[f];
    flow.random = Random(~(mix64(background.seed) ^ mix64(uint64_t{f} + 1)));
    outstanding += entry.limit;
    if (entry.arrivals == BackgroundArrivals::kPoisson) flow.active = gap(entry, flow, Bytes());
    schedule(f, real_time(entry, flow.active));
  }
  outgoing_.reserve(outstanding);
}

void BackgroundTraffic::advance(Time now) noexcept {
  for (uint32_t n = 0; n < kMostAtOnce && next_event() <= now; ++n) {
    const auto [at, f] = due_.front();
    std::ranges::pop_heap(due_, std::greater<>());
    due_.pop_back();
    Flow& flow = flows_[f];
    flow.waits = false;
    const uint32_t number = background_.flows[f].entry;
    const BackgroundEntry& entry = background_.entries[number];
    if (flow.failed || at >= entry.stop) continue;  // which `postpone` may have passed
    counters_[number].behind = std::max(counters_[number].behind, now - at);
    if (entry.arrivals == BackgroundArrivals::kClosed) {
      refill(f, at);
    } else {
      offer(f);
    }
  }
}

void BackgroundTraffic::postpone(Duration by) noexcept {
  postponed_ += by;
  for (auto& [at, f] : due_)
    if (background_.entries[background_.flows[f].entry].arrivals != BackgroundArrivals::kClosed) at += by;
  std::ranges::make_heap(due_, std::greater<>());
}

void BackgroundTraffic::posted(size_t count) noexcept {
  taken_ += count;
  if (taken_ < outgoing_.size()) return;
  outgoing_.clear();
  taken_ = 0;
}

size_t BackgroundTraffic::take(Time now, std::span<Event> events) noexcept {
  size_t others = 0;
  for (const Event& event : events) {
    if (background_.has(event.connection)) {
      handle(now, event);
    } else {
      events[others++] = event;
    }
  }
  return others;
}

/// When a flow has been on for so long, at the beginning of the next burst rather than at the end of one.
Time BackgroundTraffic::real_time(const BackgroundEntry& entry, Duration active) const noexcept {
  const Time start = entry.start + postponed_;
  if (entry.off == Duration(0)) return start + active;
  const int64_t bursts = active.ps / entry.on.ps;
  const auto off = static_cast<unsigned __int128>(bursts) * static_cast<uint64_t>(entry.off.ps);
  return start + bounded(off + static_cast<uint64_t>(active.ps));
}

/// `at` itself when the entry is on then.
Time BackgroundTraffic::next_on(const BackgroundEntry& entry, Time at) noexcept {
  if (at < entry.start) return entry.start;
  if (entry.off == Duration(0)) return at;
  const Duration cycle = entry.on + entry.off;
  const int64_t bursts = (at - entry.start).ps / cycle.ps;
  const Time begin = entry.start + Duration(bursts * cycle.ps);
  return at < begin + entry.on ? at : begin + cycle;
}

Duration BackgroundTraffic::gap(const BackgroundEntry& entry, Flow& flow, Bytes bytes) const noexcept {
  if (entry.arrivals == BackgroundArrivals::kEven) return time_of(bytes, entry.rate);
  const auto mean = static_cast<uint64_t>(time_of(entry.sizes.mean(), entry.rate).ps);
  return bounded(static_cast<unsigned __int128>(mean) * flow.random.exponential() >> 32);
}

void BackgroundTraffic::schedule(uint32_t f, Time at) noexcept {
  if (flows_[f].waits || at >= background_.entries[background_.flows[f].entry].stop) return;
  flows_[f].waits = true;
  due_.emplace_back(at, f);
  std::ranges::push_heap(due_, std::greater<>());
}

/// A message of an open loop is due.
void BackgroundTraffic::offer(uint32_t f) noexcept {
  Flow& flow = flows_[f];
  const uint32_t number = background_.flows[f].entry;
  const BackgroundEntry& entry = background_.entries[number];
  const bool goes = flow.outstanding < entry.limit;
  // One that does not go has a size of its own, or that of the next to go would count again and again.
  const Bytes bytes = goes ? background_.bytes_of(f, flow.next) : entry.sizes.sample(flow.random);
  if (goes) {
    post(f, bytes);
  } else {
    ++counters_[number].offered;
    counters_[number].bytes_offered += static_cast<uint64_t>(bytes.count);
  }
  flow.active = std::min(flow.active + gap(entry, flow, bytes), kForever);
  if (flow.active < kForever) schedule(f, real_time(entry, flow.active));
}

/// A flow of a closed loop posts what it may, or waits for the next burst.
void BackgroundTraffic::refill(uint32_t f, Time now) noexcept {
  Flow& flow = flows_[f];
  const BackgroundEntry& entry = background_.entries[background_.flows[f].entry];
  const Time on = next_on(entry, now);
  if (on > now) return schedule(f, on);
  while (now < entry.stop && flow.outstanding < entry.limit) post(f, background_.bytes_of(f, flow.next));
}

void BackgroundTraffic::post(uint32_t f, Bytes bytes) noexcept {
  Flow& flow = flows_[f];
  const BackgroundFlow& told = background_.flows[f];
  if (taken_ > 0 && outgoing_.size() == outgoing_.capacity()) {
    outgoing_.erase(outgoing_.begin(), outgoing_.begin() + static_cast<ptrdiff_t>(taken_));
    taken_ = 0;
  }
  const Connection& connection = plan_.transport.connections[told.connection.value];
  outgoing_.push_back({.id = background_.id_of(connection, flow.next),
                       .bytes = bytes,
                       .connection = told.connection,
                       .index = flow.next});
  ++flow.next;
  ++flow.outstanding;
  BackgroundCounters& counters = counters_[told.entry];
  ++counters.offered, ++counters.posted;
  counters.bytes_offered += static_cast<uint64_t>(bytes.count);
  counters.bytes_posted += static_cast<uint64_t>(bytes.count);
}

void BackgroundTraffic::handle(Time now, const Event& event) noexcept {
  const uint32_t f = event.connection.value - background_.flows.front().connection.value;
  if (event.kind == EventKind::kReceived) return receive(f, event);
  if (!event.at_source || !own_[f]) return;  // the source says the same
  Flow& flow = flows_[f];
  const uint32_t number = background_.flows[f].entry;
  BackgroundCounters& counters = counters_[number];
  --flow.outstanding;
  if (event.kind == EventKind::kFailed) {
    ++counters.failed;
    counters.failed_flows += !flow.failed;
    flow.failed = true;
    return;
  }
  ++counters.acknowledged;
  counters.completion.add(event.sent.acked - event.sent.posted);
  if (!flow.failed && background_.entries[number].arrivals == BackgroundArrivals::kClosed) refill(f, now);
}

void BackgroundTraffic::receive(uint32_t f, const Event& event) noexcept {
  BackgroundCounters& counters = counters_[background_.flows[f].entry];
  const Bytes bytes = background_.bytes_of(f, event.index);
  ++counters.delivered;
  counters.bytes_delivered += static_cast<uint64_t>(bytes.count);
  counters.first_arrival = std::min(counters.first_arrival, event.received.first_rx);
  counters.last_delivery = std::max(counters.last_delivery, event.received.delivered);
  if (keys_ == BackgroundKeys::kIgnored) return;
  const Connection& connection = plan_.transport.connections[event.connection.value];
  const uint64_t mask = bytes.count >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes.count)) - 1;
  const uint64_t difference = event.received.payload_key ^ payload_key(background_.id_of(connection, event.index));
  counters.payload_errors += (difference & mask) != 0;
}

}  // namespace rankwire
