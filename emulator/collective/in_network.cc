#include <optional>
#include <vector>

#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"

namespace rankwire {
namespace {

/// The tree of ScheduleRequest::aggregation, seen from one of its positions. What is reduced flows towards `target`,
/// what is handed out away from it.
class Tree {
 public:
  Tree(const ScheduleBuilder& builder, uint32_t target)
      : parents_(builder.request().aggregation), members_(builder.members()), me_(builder.position()) {
    if (me_ != target) towards_ = hop_to(target);
    for (uint32_t position = 0; position < parents_.size(); ++position) {
      const bool child = position != me_ && parents_[position] == me_;
      const bool parent = position != me_ && parents_[me_] == position;
      if ((child || parent) && position != towards_) away_.push_back(position);
    }
  }

  static uint32_t top(const ScheduleBuilder& builder) {
    const std::vector<uint32_t>& parents = builder.request().aggregation;
    uint32_t position = 0;
    while (parents[position] != position) position = parents[position];
    return position;
  }

  bool has_input() const { return me_ < members_; }
  const std::optional<uint32_t>& towards() const { return towards_; }
  const std::vector<uint32_t>& away() const { return away_; }
  /// Members at this position of the tree and below.
  std::vector<uint32_t> members_below(uint32_t position) const {
    std::vector<uint32_t> below;
    for (uint32_t member = 0; member < members_; ++member)
      if (is_above(position, member)) below.push_back(member);
    return below;
  }
  uint32_t me() const { return me_; }

 private:
  bool is_above(uint32_t upper, uint32_t lower) const {
    while (lower != upper && parents_[lower] != lower) lower = parents_[lower];
    return lower == upper;
  }
  uint32_t hop_to(uint32_t target) const {
    for (uint32_t at = target; parents_[at] != at; at = parents_[at])
      if (parents_[at] == me_) return at;
    return parents_[me_];
  }

  const std::vector<uint32_t>& parents_;
  const uint32_t members_, me_;
  std::optional<uint32_t> towards_;
  std::vector<uint32_t> away_;
};

/// Step 0. The first that an aggregator hears of is what it has; the others are added.
void reduce(DataFlow& flow, const Tree& tree, const Pieces& data) {
  bool has = tree.has_input();
  for (const uint32_t other : tree.away()) {
    has ? flow.receive_and_reduce(other, 0, data) : flow.receive(other, 0, data);
    has = true;
  }
  if (tree.towards()) flow.send(*tree.towards(), 0, data);
}

/// Step 1; `data_of(position)` is what whoever stands there and below is to have.
template <class DataOf>
void hand_out(DataFlow& flow, const Tree& tree, DataOf data_of) {
  if (tree.towards()) flow.receive(*tree.towards(), 1, data_of(tree.me()));
  for (const uint32_t other : tree.away()) flow.send(other, 1, data_of(other));
}

}  // namespace

void in_network_all_reduce(ScheduleBuilder& builder) {
  const Tree tree(builder, Tree::top(builder));
  const Pieces input = joined({builder.input()});
  DataFlow flow(builder);
  reduce(flow, tree, input);
  hand_out(flow, tree, [&](uint32_t) { return input; });
}

void in_network_reduce_scatter(ScheduleBuilder& builder) {
  const Tree tree(builder, Tree::top(builder));
  const std::vector<Extent> parts = builder.parts();
  DataFlow flow(builder);
  reduce(flow, tree, joined(parts));
  hand_out(flow, tree, [&](uint32_t position) {
    std::vector<Extent> below;
    for (const uint32_t member : tree.members_below(position)) below.push_back(parts[member]);
    return joined(std::move(below));
  });
}

void in_network_reduce(ScheduleBuilder& builder) {
  DataFlow flow(builder);
  reduce(flow, Tree(builder, builder.root()), joined({builder.input()}));
}

void in_network_broadcast(ScheduleBuilder& builder) {
  const Pieces input = joined({builder.input()});
  DataFlow flow(builder);
  hand_out(flow, Tree(builder, builder.root()), [&](uint32_t) { return input; });
}

}  // namespace rankwire
