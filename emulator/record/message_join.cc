#include "emulator/record/message_join.h"

#include <algorithm>

namespace rankwire {
namespace {

MessageFlow flow_of(const MessageId& id) {
  return {static_cast<uint32_t>(id.job),         static_cast<uint32_t>(id.group),   static_cast<uint32_t>(id.source),
          static_cast<uint32_t>(id.destination), static_cast<uint32_t>(id.channel), id.control != 0};
}

bool slower(const JoinedMessage& a, const JoinedMessage& b) {
  return a.completion() > b.completion();
}

void merge(JoinedMessage& message, const MessageRecord& half) {
  message.bytes = half.bytes;
  message.failed = message.failed || half.failed;
  if (half.at_source) {
    message.posted = half.first;
    message.acked = half.last;
    message.retransmissions = half.retransmissions;
  } else {
    message.first_rx = half.first;
    message.delivered = half.last;
    message.marks = half.marks;
  }
}

}  // namespace

MessageLatency latency_of(const Histogram& h) {
  return {h.count(), h.quantile(0.50), h.quantile(0.95), h.quantile(0.99), h.quantile(0.999), h.max()};
}

std::vector<Histogram::Bucket> buckets_of(const Histogram& histogram) {
  std::vector<Histogram::Bucket> buckets;
  histogram.for_each_bucket([&](const Histogram::Bucket& bucket) { buckets.push_back(bucket); });
  return buckets;
}

size_t MessageJoin::FlowHash::operator()(const MessageFlow& key) const noexcept {
  const uint64_t ends = uint64_t{key.source} << 32 | key.destination;
  const uint64_t owner =
      uint64_t{key.job} << 48 | uint64_t{key.channel} << 32 | uint64_t{key.control} << 31 | key.group;
  return mix64(ends + 0x9E3779B97F4A7C15u * owner);
}

const JoinedMessage* MessageJoin::add(const MessageRecord& half) {
  const auto waiting = pending_.find(half.id);
  // A message that failed has no other half to wait for.
  if (waiting == pending_.end() && !half.failed && pending_.size() < limits_.pending) {
    JoinedMessage& message = pending_[half.id];
    message.id = half.id;
    merge(message, half);
    return nullptr;
  }
  if (waiting == pending_.end()) {
    overflowed_ += half.failed ? 0 : 1;
    current_ = JoinedMessage{};
    current_.id = half.id;
  } else {
    current_ = waiting->second;
    pending_.erase(waiting);
  }
  merge(current_, half);
  keep(current_);
  return &current_;
}

void MessageJoin::keep(const JoinedMessage& message) {
  if (message.failed && failed_.size() < limits_.kept) failed_.push_back(message);
  if (!message.complete()) return;
  const MessageFlow flow = flow_of(message.id);
  if (histograms_.size() < kMaxFlows || histograms_.contains(flow)) histograms_[flow].add(message.completion());
  if (flow.control) return;
  total_.add(message.completion());
  if (limits_.kept == 0) return;
  if (slowest_.size() == limits_.kept) {
    if (!slower(message, slowest_.front())) return;
    std::pop_heap(slowest_.begin(), slowest_.end(), slower);
    slowest_.pop_back();
  }
  slowest_.push_back(message);
  std::push_heap(slowest_.begin(), slowest_.end(), slower);
}

std::vector<JoinedMessage> MessageJoin::remaining() const {
  std::vector<JoinedMessage> messages;
  messages.reserve(pending_.size());
  for (const auto& [id, message] : pending_) messages.push_back(message);
  return messages;
}

std::vector<JoinedMessage> MessageJoin::kept() const {
  std::vector<JoinedMessage> messages = slowest_;
  std::stable_sort(messages.begin(), messages.end(), slower);
  messages.insert(messages.end(), failed_.begin(), failed_.end());
  for (const auto& [id, message] : pending_) {
    if (messages.size() == 2 * limits_.kept) break;
    if (message.failed) messages.push_back(message);
  }
  return messages;
}

MessageLatency MessageJoin::total() const {
  return latency_of(total_);
}

std::vector<std::pair<MessageFlow, MessageLatency>> MessageJoin::flows() const {
  std::vector<std::pair<MessageFlow, MessageLatency>> rows;
  rows.reserve(histograms_.size());
  for (const auto& [key, histogram] : histograms_) rows.emplace_back(key, latency_of(histogram.whole()));
  std::ranges::sort(rows, {}, [](const auto& row) { return row.first; });
  return rows;
}

}  // namespace rankwire
