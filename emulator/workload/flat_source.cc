#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/large_memory.h"
#include "emulator/workload/node_source.h"

namespace rankwire {
namespace {

/// Ready nodes wait in a heap of places in the order of ids, so that comparing two touches neither of them. Where the
/// file has that order, as most have, places are the nodes themselves.
class FlatSource final : public NodeSource {
 public:
  explicit FlatSource(const RankTrace& trace) : trace_(trace) {
    if (!trace.ids_count_up && !std::ranges::is_sorted(trace.nodes, {}, &Node::id)) find_places();
    reserve_large(waiting_, trace.nodes.size());
    waiting_.resize(trace.nodes.size());
    ready_.reserve(trace.nodes.size());
    reset();
  }

  uint32_t next() noexcept override {
    if (ready_.empty()) return kNone;
    std::ranges::pop_heap(ready_, std::greater<>());
    const uint32_t node = node_at(ready_.back());
    ready_.pop_back();
    return node;
  }

  void complete(uint32_t node) noexcept override {
    --unfinished_;
    for (const uint32_t successor : trace_.successors_of(node)) {
      if (--waiting_[successor] == 0) push_back(successor);
    }
  }

  void push_back(uint32_t node) noexcept override {
    ready_.push_back(place_.empty() ? node : place_[node]);
    std::ranges::push_heap(ready_, std::greater<>());
  }

  const Node& lookup(uint32_t node) const noexcept override { return trace_.nodes[node]; }
  uint32_t place(uint32_t node) const noexcept override { return node; }
  size_t expected_at_once() const noexcept override { return trace_.nodes.size(); }
  bool finished() const noexcept override { return unfinished_ == 0; }

  void reset() noexcept override {
    std::ranges::copy(trace_.dependencies, waiting_.begin());
    unfinished_ = trace_.nodes.size();
    ready_.clear();
    // Ascending places are a heap already.
    for (uint32_t place = 0; place < waiting_.size(); ++place) {
      if (waiting_[node_at(place)] == 0) ready_.push_back(place);
    }
  }

 private:
  void find_places() {
    by_place_.resize(trace_.nodes.size());
    std::iota(by_place_.begin(), by_place_.end(), 0);
    std::ranges::sort(by_place_, {}, [&](uint32_t node) { return trace_.nodes[node].id; });
    place_.resize(trace_.nodes.size());
    for (uint32_t place = 0; place < by_place_.size(); ++place) place_[by_place_[place]] = place;
  }

  uint32_t node_at(uint32_t place) const noexcept { return by_place_.empty() ? place : by_place_[place]; }

  const RankTrace& trace_;
  std::vector<uint32_t> by_place_;  ///< nodes in the order of their ids, unless that is theirs
  std::vector<uint32_t> place_;     ///< by node: its position in `by_place_`, if there is one
  std::vector<uint32_t> waiting_;   ///< by node: dependencies that are not complete
  std::vector<uint32_t> ready_;     ///< heap of places, lowest first; never longer than the trace
  size_t unfinished_ = 0;
};

}  // namespace

std::unique_ptr<NodeSource> make_flat_source(const RankTrace& trace) {
  return std::make_unique<FlatSource>(trace);
}

std::unique_ptr<NodeSource> make_source(const Workload& workload, RankId rank) {
  const RankTrace& trace = workload.ranks[rank.value];
  return trace.streamed ? make_streamed_source(workload, rank) : make_flat_source(trace);
}

}  // namespace rankwire
