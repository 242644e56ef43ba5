#include "emulator/workload/rank_scan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "emulator/workload/folding.h"
#include "emulator/workload/node_reader.h"
#include "emulator/workload/node_stream.h"
#include "feeder/dependency_window.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

using Slot = DependencyWindow::Slot;

/// Control dependencies on nodes that have not been met yet, and perhaps never will.
class AwaitedControls {
 public:
  void add(uint64_t id, const std::string& file, uint32_t at, const Node& node) {
    Awaited& awaited = ids_[id];
    if (awaited.count++ == 0) awaited.at = at, awaited.first = place(file, node);
  }
  void met(uint64_t id) {
    if (!ids_.empty()) ids_.erase(id);
  }
  size_t size() const { return ids_.size(); }
  /// What is left is missing.
  void report(Occurrences& missing) const {
    uint64_t count = 0;
    const Awaited* first = nullptr;
    for (const auto& [id, awaited] : ids_) {
      count += awaited.count;
      if (first == nullptr || awaited.at < first->at) first = &awaited;
    }
    if (count > 0) missing.add(count, first->first);
  }
  std::vector<uint64_t> ids() const {
    std::vector<uint64_t> ids;
    for (const auto& [id, awaited] : ids_) ids.push_back(id);
    return ids;
  }

 private:
  struct Awaited {
    uint64_t count = 0;
    uint32_t at = 0;
    std::string first;
  };
  std::map<uint64_t, Awaited> ids_;
};

/// Whether an id is that of one of the last nodes: of the present generation or the one before it.
class RecentIds {
 public:
  explicit RecentIds(uint64_t generation) : generation_(generation) {}
  void add(uint64_t id) {
    if (count_++ % generation_ == 0) {
      std::swap(present_, before_);
      present_.clear();
    }
    present_.insert(id);
  }
  bool contains(uint64_t id) const { return present_.contains(id) || before_.contains(id); }

 private:
  const uint64_t generation_;
  FinishedIds present_, before_;
  uint64_t count_ = 0;
};

class Scanner {
 public:
  Scanner(const std::string& path, RankId self, uint32_t ranks, const WorkloadOptions& options, DependencyUse use,
          Selector& selector, NameKeeper& names, Tolerated& tolerated)
      : path_(path),
        reach_(options.stream_reach),
        folds_(options.fold),
        use_(use),
        selector_(selector),
        tolerated_(tolerated),
        reader_(self, ranks, options),
        builder_(scan_.kept, reader_, names, tolerated),
        recent_(reach_ / 2) {
    scan_.kept.path = path;
  }

  RankScan run() {
    TraceReader stream(path_);
    while (scan_.can_fold && stream.next(in_)) {
      if (scan_.trace.nodes == UINT32_MAX) fail_input("{}: more than {} nodes", path_, UINT32_MAX - 1);
      try {
        reader_.read(in_, node_);
        builder_.note(in_, node_, scan_.trace.nodes);
        add_node();
      } catch (const Error& error) {
        fail_input("{}: {}", path_, error.what());
      }
      ++scan_.trace.nodes;
    }
    if (!scan_.can_fold) return std::move(scan_);
    if (scan_.trace.nodes == 0) fail_input("{}: the trace has no nodes", path_);
    end();
    if (folds_) scan_.trace.far.clear(), scan_.trace.parents = References();
    scan_.name_bytes = like_.name_bytes();
    // Of what grew by doubling nothing is left over, which over all ranks would be as much again.
    scan_.order.shrink_to_fit();
    scan_.kept.nodes.shrink_to_fit();
    scan_.kept.calls.shrink_to_fit();
    scan_.kept.communicating.shrink_to_fit();
    scan_.trace.places.shrink_to_fit();
    return std::move(scan_);
  }

 private:
  void add_node() {
    const Parents parents = parents_of(in_, use_);
    // Before the node is added: what it depends on may be finished with it.
    const bool far = is_far(parents);
    const uint64_t before = window_.self_dependencies();
    const Slot slot = window_.add(in_.id, parents.required, parents.optional);
    if (slot == DependencyWindow::kNone) fail_node("the id is that of another node already");
    for (uint64_t n = before; n < window_.self_dependencies(); ++n) tolerated_.self_dependencies.add(path_, node_);
    look_at_controls();
    recent_.add(in_.id);
    if (window_.is_ready(slot)) {
      complete(slot);
    } else {
      wait(slot);
    }
    if (far) note_far(parents);
    if (folds_ && is_communication(node_.kind)) {
      fold();
    } else if ((far && !folds_) || is_communication(node_.kind)) {
      scan_.trace.places.push_back(scan_.trace.nodes);
      builder_.keep(in_, node_);
    } else {
      selector_.apply(node_, {});
      scan_.trace.operations += node_.kind != NodeKind::kNone;
    }
  }

  // Optional dependencies may turn out to be on nothing, so one that has not been met yet decides nothing.
  bool is_far(const Parents& parents) const {
    if (scan_.trace.nodes < reach_) return false;
    const auto recent = [&](uint64_t id) { return id != in_.id && recent_.contains(id); };
    const auto near = [&](uint64_t id) { return recent(id) || (id != in_.id && !window_.knows(id)); };
    return std::ranges::none_of(parents.required, near) && std::ranges::none_of(parents.optional, recent);
  }

  void look_at_controls() {
    controls_.met(in_.id);
    if (use_.control_must_resolve) return;
    for (const uint64_t id : in_.control_deps) {
      if (!window_.knows(id)) controls_.add(id, path_, scan_.trace.nodes, node_);
    }
    if (controls_.size() > NodeStream::kMostOpen) {
      fail_node("more than {} control dependencies are open here, the most for a trace that is streamed",
                NodeStream::kMostOpen);
    }
  }

  void complete(Slot slot) {
    done_.push_back(slot);
    while (!done_.empty()) {
      const Slot next = done_.back();
      done_.pop_back();
      window_.complete(next, [&](Slot child) { done_.push_back(child); });
    }
  }

  /// For what stands further on.
  void wait(Slot slot) {
    scan_.in_order = false;
    scan_.can_fold &= !folds_;
    if (place_of_.size() < window_.capacity()) place_of_.resize(window_.capacity());
    place_of_[slot] = scan_.trace.nodes;
    if (window_.live() <= NodeStream::kMostOpen) return;
    uint32_t oldest = scan_.trace.nodes;
    for (Slot other = 0; other < place_of_.size(); ++other) {
      if (window_.is_live(other)) oldest = std::min(oldest, place_of_[other]);
    }
    fail_node(
        "more than {} nodes stand before one that they depend on, since place {} of the file, a reach of {}; raise "
        "workload.stream_above to have the traces loaded whole",
        NodeStream::kMostOpen, oldest, scan_.trace.nodes - oldest);
  }

  void fold() {
    const std::optional<uint16_t> number = like_.number_of(in_, node_);
    if (number == scan_.kept.nodes.size()) builder_.keep(in_, node_);
    scan_.can_fold &= number.has_value() && reader_.splits(in_).empty();
    if (number) scan_.order.push_back(*number);
  }

  /// Before it is kept.
  void note_far(const Parents& parents) {
    parents_.assign(parents.required.begin(), parents.required.end());
    parents_.insert(parents_.end(), parents.optional.begin(), parents.optional.end());
    scan_.trace.far.push_back(static_cast<uint32_t>(scan_.kept.nodes.size()));
    scan_.trace.parents.add_node(parents_);
    if (scan_.trace.far.size() <= NodeStream::kMostOpen) return;
    fail_node(
        "more than {} nodes depend on nothing within {} places before them; raise workload.stream_above to have the "
        "traces loaded whole",
        NodeStream::kMostOpen, reach_);
  }

  void end() {
    for (const auto& [child, parent] : window_.unresolved()) {
      fail_input("{}: node {}: its {} dependency on node {} does not resolve, the file has no such node", path_, child,
                 use_.control_must_resolve ? "control" : "data", parent);
    }
    controls_.report(tolerated_.missing_controls);
    if (use_.control) scan_.trace.absent = controls_.ids();
    window_.drop_awaited([&](Slot child) { complete(child); });
    const std::vector<uint64_t> cycle = window_.cycle();
    if (cycle.empty()) return;
    fail_input("{}: node {}: its dependencies are a cycle: {}", path_, cycle.front(), to_text(cycle));
  }

  template <class... Args>
  [[noreturn]] void fail_node(fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("node {} \"{}\": {}", in_.id, in_.name, fmt::format(format, std::forward<Args>(args)...));
  }

  const std::string& path_;
  const uint32_t reach_;
  const bool folds_;
  const DependencyUse use_;
  Selector& selector_;
  Tolerated& tolerated_;
  RankScan scan_;
  NodeReader reader_;
  FileBuilder builder_;
  TraceNode in_;
  Node node_;
  DependencyWindow window_;
  AwaitedControls controls_;
  RecentIds recent_;
  LikeNodes like_;
  std::vector<Slot> done_;
  std::vector<uint32_t> place_of_;  ///< by slot of a node that waits
  std::vector<uint64_t> parents_;
};

}  // namespace

RankScan scan_rank_file(const std::string& path, RankId self, uint32_t ranks, const WorkloadOptions& options,
                        DependencyUse use, Selector& selector, NameKeeper& names, Tolerated& tolerated) {
  return Scanner(path, self, ranks, options, use, selector, names, tolerated).run();
}

bool have_data_dependencies(std::span<const std::string> paths) {
  TraceNode node;
  for (const std::string& path : paths) {
    for (TraceReader stream(path); stream.next(node);) {
      if (!node.data_deps.empty()) return true;
    }
  }
  return false;
}

}  // namespace rankwire
