#include "converters/msccl_division.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "base/sort_unique.h"

namespace rankwire {
namespace {

/// The ends so that each stands behind what it waits for, and a receive behind its send.
std::vector<uint32_t> order_of(const MscclSteps& steps, MscclExchange& exchange) {
  std::vector<MscclEnd>& ends = exchange.ends();
  const std::vector<MscclMessage>& messages = exchange.messages();
  std::vector<std::vector<uint32_t>> next(ends.size());
  std::vector<uint32_t> waits(ends.size());
  const auto wait = [&](uint32_t end, uint32_t before) {
    next[before].push_back(end);
    ++waits[end];
  };
  for (uint32_t e = 0; e < ends.size(); ++e) {
    std::vector<uint32_t>& after = ends[e].after;
    sort_unique(after);
    for (const uint32_t before : after) wait(e, before);
    if (!ends[e].sends) wait(e, messages[ends[e].message].send);
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t e = 0; e < ends.size(); ++e) {
    if (waits[e] == 0) ready.push(e);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const uint32_t later : next[order.back()]) {
      if (--waits[later] == 0) ready.push(later);
    }
  }
  if (order.size() == ends.size()) return order;
  // From whatever waits, by way of what it waits for, leads into a cycle; who overwrites is a receive of it.
  auto stuck = static_cast<uint32_t>(std::ranges::find_if(waits, [](uint32_t n) { return n > 0; }) - waits.begin());
  for (size_t i = 0; i < ends.size() || ends[stuck].sends; ++i) {
    const MscclEnd& end = ends[stuck];
    const auto before = std::ranges::find_if(end.after, [&](uint32_t e) { return waits[e] > 0; });
    stuck = before != end.after.end() ? *before : messages[end.message].send;
  }
  steps.fail(
      ends[stuck].at,
      "rankwire's algorithms have one place for a chunk, and what this step receives would overwrite, or be added "
      "to, what is still to be sent");
}

/// Of neighbouring chunks that are received in the same way: first index and the one behind the last.
std::vector<std::pair<uint32_t, uint32_t>> parts_of(const MscclMessage& message) {
  std::vector<std::pair<uint32_t, uint32_t>> parts;
  for (uint32_t i = 0; i < message.data.size(); ++i) {
    const bool goes_on =
        i > 0 && message.data[i].chunk == message.data[i - 1].chunk + 1 && message.reduces[i] == message.reduces[i - 1];
    if (!goes_on) parts.emplace_back(i, i);
    ++parts.back().second;
  }
  return parts;
}

}  // namespace

MscclFlow divide(const MscclSteps& steps, const MscclLayout& layout, MscclExchange& exchange) {
  const std::vector<uint32_t> order = order_of(steps, exchange);
  const std::vector<MscclEnd>& ends = exchange.ends();
  const std::vector<MscclMessage>& messages = exchange.messages();
  MscclFlow flow{.chunks = layout.all_chunks(), .ranks = std::vector<std::vector<FlowNode>>(steps.ranks())};
  std::vector<uint32_t> first_tag(messages.size());
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> tags;
  for (size_t m = 0; m < messages.size(); ++m) {
    const auto parts = static_cast<uint32_t>(parts_of(messages[m]).size());
    uint32_t& next = tags[{messages[m].from, messages[m].to}];
    first_tag[m] = std::exchange(next, next + parts);
    flow.divided += parts > 1;
  }
  std::vector<std::pair<uint32_t, uint32_t>> nodes_of(ends.size());  // first and behind the last, by end
  for (const uint32_t e : order) {
    const MscclEnd& end = ends[e];
    const MscclMessage& message = messages[end.message];
    std::vector<FlowNode>& nodes = flow.ranks[end.at.rank];
    FlowNode node{.sends = end.sends,
                  .peer = end.sends ? message.to : message.from,
                  .channel = message.channel,
                  .tag = first_tag[end.message],
                  .block = steps.block(end.at).id,
                  .step = end.at.step};
    for (const uint32_t before : end.after) {
      for (uint32_t n = nodes_of[before].first; n < nodes_of[before].second; ++n) node.after.push_back(n);
    }
    nodes_of[e].first = static_cast<uint32_t>(nodes.size());
    for (const auto& [begin, behind] : parts_of(message)) {
      node.reduces = !end.sends && message.reduces[begin];
      node.chunk = message.data[begin].chunk;
      node.count = behind - begin;
      nodes.push_back(node);
      ++node.tag;
    }
    nodes_of[e].second = static_cast<uint32_t>(nodes.size());
  }
  return flow;
}

}  // namespace rankwire
