#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "emulator/workload/node_source.h"
#include "emulator/workload/node_stream.h"
#include "feeder/dependency_window.h"

namespace rankwire {
namespace {

using Slot = DependencyWindow::Slot;

/// Kept nodes have their index for a number, others the number of kept nodes and their slot in the window.
class StreamedSource final : public NodeSource {
 public:
  StreamedSource(const Workload& workload, RankId rank)
      : workload_(workload),
        rank_(rank),
        trace_(workload.ranks[rank.value]),
        streamed_(*trace_.streamed),
        reach_(workload.streaming[streamed_.part].options.stream_reach) {
    slot_of_.resize(trace_.nodes.size(), DependencyWindow::kNone);
    reset();
  }

  uint32_t next() noexcept override {
    // With nothing under way only what is still to be read can go on.
    while (wants_more() || (ready_.empty() && handed_out_ == 0 && can_read())) read_node();
    if (ready_.empty()) return kNone;
    std::ranges::pop_heap(ready_, std::greater<>());
    const Slot slot = ready_.back().slot;
    ready_.pop_back();
    ++handed_out_;
    return number_of(slot);
  }

  void complete(uint32_t node) noexcept override {
    --handed_out_;
    const Slot slot = slot_of(node);
    read_to_ = std::max(read_to_, uint64_t{nodes_[slot].place} + 1 + reach_);
    window_.complete(slot, [&](Slot child) { make_ready(child); });
  }

  void push_back(uint32_t node) noexcept override {
    --handed_out_;
    make_ready(slot_of(node));
  }

  const Node& lookup(uint32_t node) const noexcept override {
    return node < trace_.nodes.size() ? trace_.nodes[node] : nodes_[slot_of(node)].node;
  }
  uint32_t place(uint32_t node) const noexcept override { return nodes_[slot_of(node)].place; }
  size_t expected_at_once() const noexcept override { return std::min(streamed_.nodes, reach_); }
  bool finished() const noexcept override { return at_end_ && window_.live() == 0 && problem_.empty(); }
  bool can_go_on() const noexcept override { return problem_.empty(); }
  std::string problem() const override { return problem_; }

  void reset() noexcept override {
    window_.clear();
    ready_.clear();
    handed_out_ = 0;
    read_to_ = reach_;
    at_end_ = false;
    places_read_ = next_far_ = 0;
    guarded([&] {
      stream_.emplace(workload_, rank_);
      for (const uint64_t id : streamed_.absent) window_.finish(id);
      for (size_t i = 0; i < streamed_.far.size(); ++i) {
        const uint32_t kept = streamed_.far[i];
        enter(window_.add(trace_.nodes[kept].id, streamed_.parents.of(i)), streamed_.places[kept], kept);
      }
    });
  }

 private:
  struct Open {
    uint32_t place = 0;
    uint32_t kept = NodeStream::kNotKept;
    Node node;  ///< unless it is kept
    std::string name;

    void assign(const Node& read) {
      name = read.name;
      node = read;
      node.name = name;
    }
  };
  struct Ready {
    uint64_t id = 0;
    Slot slot = DependencyWindow::kNone;
    friend bool operator>(const Ready& a, const Ready& b) { return a.id > b.id; }
  };

  Slot slot_of(uint32_t node) const noexcept {
    const auto kept = static_cast<uint32_t>(trace_.nodes.size());
    return node < kept ? slot_of_[node] : node - kept;
  }
  uint32_t number_of(Slot slot) const noexcept {
    const Open& open = nodes_[slot];
    return open.kept != NodeStream::kNotKept ? open.kept : static_cast<uint32_t>(trace_.nodes.size()) + slot;
  }
  bool can_read() const noexcept { return !at_end_ && problem_.empty(); }
  bool wants_more() const noexcept { return can_read() && places_read_ < read_to_; }

  /// The loop does not throw: what is wrong ends the run by way of `problem`.
  template <class Work>
  void guarded(Work work) noexcept {
    try {
      work();
    } catch (const Error& error) {
      problem_ = error.what();
      ready_.clear();
    }
  }

  void read_node() noexcept {
    guarded([&] {
      at_end_ = !stream_->next();
      if (at_end_) return;
      const uint32_t kept = stream_->kept();
      places_read_ = stream_->place() + 1;
      if (next_far_ < streamed_.far.size() && streamed_.far[next_far_] == kept) {
        ++next_far_;
        return;
      }
      const Parents parents = stream_->parents();
      const Slot slot = window_.add(stream_->node().id, parents.required, parents.optional);
      enter(slot, stream_->place(), kept);
      if (kept == NodeStream::kNotKept) nodes_[slot].assign(stream_->node());
      check_open();
    });
  }

  void enter(Slot slot, uint32_t place, uint32_t kept) {
    if (slot == DependencyWindow::kNone) fail_input("{}: the file has changed: an id comes again", trace_.file);
    while (nodes_.size() < window_.capacity()) nodes_.emplace_back();
    nodes_[slot].place = place;
    nodes_[slot].kept = kept;
    if (kept != NodeStream::kNotKept) slot_of_[kept] = slot;
    if (window_.is_ready(slot)) make_ready(slot);
  }

  void make_ready(Slot slot) noexcept {
    ready_.push_back({window_.id(slot), slot});
    std::ranges::push_heap(ready_, std::greater<>());
  }

  void check_open() const {
    if (window_.live() <= NodeStream::kMostOpen + streamed_.far.size()) return;
    uint32_t oldest = places_read_;
    for (Slot slot = 0; slot < window_.capacity(); ++slot) {
      if (window_.is_live(slot)) oldest = std::min(oldest, nodes_[slot].place);
    }
    fail_input(
        "{}: more than {} nodes are open: the node at place {} is not complete at place {}, a reach of {}; raise "
        "workload.stream_above to have the traces loaded whole",
        trace_.file, NodeStream::kMostOpen, oldest, places_read_ - 1, places_read_ - 1 - oldest);
  }

  const Workload& workload_;
  const RankId rank_;
  const RankTrace& trace_;
  const StreamedTrace& streamed_;
  const uint32_t reach_;
  std::optional<NodeStream> stream_;
  DependencyWindow window_;
  std::deque<Open> nodes_;     ///< by slot
  std::vector<Slot> slot_of_;  ///< by kept node
  std::vector<Ready> ready_;   ///< a heap, lowest id first
  uint64_t read_to_ = 0;       ///< all nodes before this place are to be read
  uint32_t places_read_ = 0;
  uint32_t next_far_ = 0;  ///< of those that the stream has still to come to
  size_t handed_out_ = 0;  ///< and not complete
  bool at_end_ = false;
  std::string problem_;
};

}  // namespace

std::unique_ptr<NodeSource> make_streamed_source(const Workload& workload, RankId rank) {
  return std::make_unique<StreamedSource>(workload, rank);
}

}  // namespace rankwire
