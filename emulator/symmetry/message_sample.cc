#include "emulator/symmetry/message_sample.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "emulator/engine/message_locator.h"
#include "fabric/network.h"

namespace rankwire {

MessageSample::MessageSample(const Quotient& quotient, Limits limits)
    : quotient_(quotient),
      limits_(limits),
      sizes_(quotient.classes.connections.classes()),
      first_(quotient.classes.connections.classes(), Moment{Time::never(), Time::never(), Time::never()}) {
  for (const Route& route : quotient.network.routes) latencies_.push_back(latency(quotient.network, route));
  for (const uint32_t c : quotient.classes.connections.class_of) ++sizes_[c];
}

// The model's acknowledgement takes the latencies of the route (NetworkModel), which tell when the message came.
void MessageSample::add(const Event& event) {
  if (event.kind != EventKind::kSent) return;
  const uint32_t c = event.connection.value;
  const Moment moment{event.sent.acked, event.sent.acked - latencies_[c], event.sent.last_tx};
  const Duration completion = moment.delivered - event.sent.posted;
  if (first_[c].acked == Time::never()) {
    first_[c] = moment;
    // Of more classes than flows, those whose first message ends later have none.
    if (histograms_.size() < limits_.flows) histograms_.try_emplace(c);
  }
  if (const auto histogram = histograms_.find(c); histogram != histograms_.end()) histogram->second.add(completion);
  if (quotient_.plan.transport.connections[c].control) return;
  totals_[sizes_[c]].add(completion);
  const Kept kept{completion, moment, event.connection, event.index, event.bytes, event.sent.posted};
  if (kept_.size() == limits_.slowest) {
    if (kept_.empty() || !goes_before(kept, kept_.front())) return;
    std::ranges::pop_heap(kept_, goes_before);
    kept_.pop_back();
  }
  kept_.push_back(kept);
  std::ranges::push_heap(kept_, goes_before);
}

Histogram MessageSample::total() const {
  Histogram total;
  for (const auto& [size, of_one] : totals_) {
    Histogram of_some = of_one;  // 1, 2, 4, 8 .. times
    for (uint32_t rest = size; rest > 0; rest /= 2) {
      if (rest % 2 == 1) total.merge(of_some);
      const Histogram same = of_some;
      of_some.merge(same);
    }
  }
  return total;
}

bool MessageSample::goes_before(const Kept& a, const Kept& b) {
  const auto order = [](const Kept& k) { return std::tie(k.moment, k.connection.value, k.index); };
  return a.completion != b.completion ? a.completion > b.completion : order(a) < order(b);
}

/// In the order of their numbers.
std::vector<ConnectionId> MessageSample::first_flows() const {
  const std::vector<uint32_t>& class_of = quotient_.classes.connections.class_of;
  std::vector<uint32_t> flows;
  for (uint32_t c = 0; c < class_of.size(); ++c)
    if (histograms_.contains(class_of[c])) flows.push_back(c);
  if (flows.size() > limits_.flows) {
    const auto before = [&](uint32_t a, uint32_t b) {
      return std::tie(first_[class_of[a]], a) < std::tie(first_[class_of[b]], b);
    };
    std::ranges::nth_element(flows, flows.begin() + static_cast<ptrdiff_t>(limits_.flows), before);
    flows.resize(limits_.flows);
    std::ranges::sort(flows);
  }
  std::vector<ConnectionId> result;
  for (const uint32_t c : flows) result.push_back(ConnectionId(c));
  return result;
}

/// The connections of the whole run for each of those of `kept`.
std::vector<std::vector<ConnectionId>> MessageSample::members_of(const std::vector<Kept>& kept) const {
  std::vector<std::vector<ConnectionId>> members(sizes_.size());
  std::vector<bool> wanted(sizes_.size());
  for (const Kept& k : kept) wanted[k.connection.value] = true;
  const std::vector<uint32_t>& class_of = quotient_.classes.connections.class_of;
  for (uint32_t c = 0; c < class_of.size(); ++c) {
    std::vector<ConnectionId>& of_class = members[class_of[c]];
    if (wanted[class_of[c]] && of_class.size() < limits_.slowest) of_class.push_back(ConnectionId(c));
  }
  return members;
}

std::vector<SampledMessage> MessageSample::slowest(const Workload& workload, const Plan& plan) const {
  std::vector<Kept> kept = kept_;
  std::ranges::sort(kept, goes_before);
  const std::vector<std::vector<ConnectionId>> members = members_of(kept);
  MessageLocator locator(workload, plan);
  std::vector<SampledMessage> messages;
  for (const Kept& k : kept) {
    for (const ConnectionId connection : members[k.connection.value]) {
      if (messages.size() == limits_.slowest) return messages;
      Event event;
      event.connection = connection, event.index = k.index;
      messages.push_back(
          {locator.id_of(locator.place_of(event)), k.bytes, k.posted, k.moment.acked, k.moment.delivered});
    }
  }
  return messages;
}

}  // namespace rankwire
