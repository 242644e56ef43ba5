#include "feeder/trace_feeder.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"
#include "proto/attributes.h"

namespace rankwire {
namespace {

constexpr std::array<std::pair<FeedOrder, const char*>, 6> kOrders = {{
    {FeedOrder::kMinimumId, "minimum_id"},
    {FeedOrder::kFileOrder, "file_order"},
    {FeedOrder::kStartTime, "start_time"},
    {FeedOrder::kPerStream, "per_stream"},
    {FeedOrder::kPerGroup, "per_group"},
    {FeedOrder::kCommunicationFirst, "communication_first"},
}};

/// How much a message about many nodes names.
constexpr size_t kShown = 12;

bool is_communication(const TraceNode& node) {
  return node.type == chakra::COMM_SEND_NODE || node.type == chakra::COMM_RECV_NODE ||
         node.type == chakra::COMM_COLL_NODE;
}

}  // namespace

const char* to_string(FeedOrder order) {
  return std::ranges::find(kOrders, order, &std::pair<FeedOrder, const char*>::first)->second;
}

std::optional<FeedOrder> parse_feed_order(std::string_view name) {
  const auto found = std::ranges::find_if(kOrders, [&](const auto& known) { return name == known.second; });
  if (found == kOrders.end()) return std::nullopt;
  return found->first;
}

TraceFeeder::TraceFeeder(const std::string& path, const FeederOptions& options)
    : path_(path), options_(options), reader_(path) {
  if (options.window == 0) fail_input("{}: a window of no nodes, the least is 1", path);
}

TraceFeeder::Handle TraceFeeder::next() {
  read_ahead();
  for (;;) {
    if (ready_.empty()) {
      if (handed_out_ > 0 || finished()) return kNone;
      if (at_end_) fail_stuck();
      // Nothing will ever become ready without what is still to be read.
      read_node();
      continue;
    }
    std::ranges::pop_heap(ready_, std::greater<>());
    const Handle node = ready_.back().node;
    ready_.pop_back();
    Entry& entry = nodes_[node];
    entry.queued = false;
    if (entry.lane != kNone) {
      Lane& lane = lanes_[entry.lane];
      // What came back is before it: it comes up again when that has gone.
      if (lane.begin()->second != node) continue;
      lane.erase(lane.begin());
      if (!lane.empty() && window_.is_ready(lane.begin()->second)) make_ready(lane.begin()->second);
    }
    ++handed_out_;
    return node;
  }
}

void TraceFeeder::complete(Handle node) {
  --handed_out_;
  window_.complete(node, [&](Handle child) { make_ready(child); });
}

void TraceFeeder::push_back(Handle node) {
  --handed_out_;
  const Entry& entry = nodes_[node];
  if (entry.lane != kNone) lanes_[entry.lane].insert({entry.place, node});
  make_ready(node);
}

void TraceFeeder::read_ahead() {
  while (!at_end_ && window_.live() < options_.window) read_node();
}

bool TraceFeeder::read_node() {
  if (!reader_.next(read_)) {
    end_file();
    return false;
  }
  static const std::vector<uint64_t> kNothing;
  const Handle node = window_.add(read_.id, options_.data ? read_.data_deps : kNothing,
                                  options_.control ? read_.control_deps : kNothing);
  if (node == kNone) {
    fail_input("{}: node {} \"{}\": the file has had a node with this id before", path_, read_.id, read_.name);
  }
  // Awaited ids take slots, too.
  while (nodes_.size() < window_.capacity()) nodes_.emplace_back();
  Entry& entry = nodes_[node];
  kept_bytes_ -= entry.kept.bytes();
  entry.kept.take(read_, reader_.frame());
  kept_bytes_ += entry.kept.bytes();
  entry.place = nodes_read_++;
  entry.lane = lane_of(entry.kept.node());
  if (entry.lane != kNone) lanes_[entry.lane].insert({entry.place, node});
  most_live_ = std::max(most_live_, window_.live());
  if (window_.is_ready(node)) make_ready(node);
  check_memory();
  return true;
}

void TraceFeeder::end_file() {
  at_end_ = true;
  if (options_.missing == MissingNodes::kDrop) {
    dropped_ = window_.drop_awaited([&](Handle child) { make_ready(child); });
    return;
  }
  const std::vector<DependencyWindow::Unresolved> unresolved = window_.unresolved();
  if (unresolved.empty()) return;
  std::string text;
  for (size_t i = 0; i < unresolved.size() && i < kShown; ++i) {
    text += fmt::format("{}node {} on node {}", i == 0 ? "" : ", ", unresolved[i].child, unresolved[i].parent);
  }
  if (unresolved.size() > kShown) text += fmt::format(" and {} more", unresolved.size() - kShown);
  fail_input("{}: dependencies on nodes that the file does not have: {}", path_, text);
}

/// In a lane a node that is not the first is left out when it comes up, and entered again when it is.
void TraceFeeder::make_ready(Handle node) {
  Entry& entry = nodes_[node];
  if (entry.queued || (entry.lane != kNone && lanes_[entry.lane].begin()->second != node)) return;
  entry.queued = true;
  ready_.push_back({rank_of(node), window_.id(node), node});
  std::ranges::push_heap(ready_, std::greater<>());
}

uint64_t TraceFeeder::rank_of(Handle node) const {
  const Entry& entry = nodes_[node];
  switch (options_.order) {
    case FeedOrder::kFileOrder:
      return entry.place;
    case FeedOrder::kStartTime:
      return entry.kept.node().start;
    case FeedOrder::kCommunicationFirst:
      return is_communication(entry.kept.node()) ? 0 : 1;
    case FeedOrder::kMinimumId:
    case FeedOrder::kPerStream:
    case FeedOrder::kPerGroup:
      break;
  }
  return 0;
}

uint32_t TraceFeeder::lane_of(const TraceNode& node) {
  std::optional<std::string> name;
  if (options_.order == FeedOrder::kPerStream && !bool_attribute(node, "is_cpu_op").value_or(false)) {
    name = string_attribute(node, "stream");
  } else if (options_.order == FeedOrder::kPerGroup && is_communication(node)) {
    name = string_attribute(node, "pg_name");
  }
  if (!name) return kNone;
  const auto [at, added] = lane_by_name_.try_emplace(std::move(*name), static_cast<uint32_t>(lanes_.size()));
  if (added) lanes_.emplace_back();
  return at->second;
}

size_t TraceFeeder::memory() const noexcept {
  // A set's node has three pointers and a colour before its value.
  constexpr size_t kLaneNode = 4 * sizeof(void*) + sizeof(Lane::value_type);
  const size_t lanes = lanes_.empty() ? 0 : window_.live() * kLaneNode + lanes_.size() * sizeof(Lane);
  return window_.bytes() + nodes_.size() * sizeof(Entry) + kept_bytes_ + ready_.capacity() * sizeof(Ready) + lanes;
}

void TraceFeeder::check_memory() const {
  if (memory() <= options_.memory) return;
  uint64_t oldest = nodes_read_ - 1;
  Handle waiting = kNone;
  for (Handle node = 0; node < window_.capacity(); ++node) {
    if (!window_.is_live(node) || nodes_[node].place > oldest) continue;
    oldest = nodes_[node].place;
    waiting = node;
  }
  fail_input(
      "{}: the window takes more than {} bytes: {} nodes are not complete, and node {}, at place {} of the file, still "
      "is not at place {}: a reach of {} nodes",
      path_, options_.memory, window_.live(), window_.id(waiting), oldest, nodes_read_ - 1, nodes_read_ - 1 - oldest);
}

void TraceFeeder::fail_stuck() const {
  const std::vector<uint64_t> cycle = window_.cycle();
  if (!cycle.empty()) fail_input("{}: dependencies are a cycle: node {}", path_, to_text(cycle));
  for (const Lane& lane : lanes_) {
    if (lane.empty()) continue;
    fail_input(
        "{}: order {} contradicts the dependencies: node {} comes first in its {}, but waits for what comes later",
        path_, to_string(options_.order), window_.id(lane.begin()->second),
        options_.order == FeedOrder::kPerStream ? "stream" : "group");
  }
  fail_input("{}: {} nodes can never become ready", path_, window_.live());
}

}  // namespace rankwire
