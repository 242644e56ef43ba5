#include <utility>
#include <vector>

#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"
#include "emulator/collective/hypercube.h"

namespace rankwire {
namespace {

/// One member of the algorithm.
class HalvingMember {
 public:
  HalvingMember(ScheduleBuilder& builder, bool eliminate)
      : builder_(builder),
        flow_(builder),
        cube_(builder.members(), builder.operation() == Operation::kReduce ? builder.root() : 0),
        eliminate_(eliminate),
        me_(builder.position()),
        vertex_(cube_.vertex_of(me_)) {}

  void run() {
    const bool everyone = builder_.operation() == Operation::kAllReduce;
    if (cube_.extras() > 0) join_pairs();
    if (cube_.has_vertex(me_)) {
      halve();
      everyone ? double_back() : gather();
    }
    if (cube_.extras() > 0 && everyone) give_back();
  }

 private:
  Pieces blocks(uint32_t first, uint32_t count) const {
    const Extent input = builder_.input();
    std::vector<Extent> extents;
    for (uint32_t i = first; i < first + count; ++i)
      extents.push_back(partition(input, i, cube_.vertices(), builder_.element()));
    return joined(std::move(extents));
  }
  Pieces half(uint32_t upper) const { return blocks(upper * (cube_.vertices() / 2), cube_.vertices() / 2); }
  Pieces whole() const { return blocks(0, cube_.vertices()); }

  /// Of each pair one ends with the sum of both inputs.
  void join_pairs() {
    const uint32_t other = Hypercube::pair_of(me_);
    const bool stays = cube_.has_vertex(me_);
    if (!cube_.is_paired(me_)) {
      step_ += eliminate_ ? 2 : 1;
      return;
    }
    if (!eliminate_) {
      stays ? flow_.receive_and_reduce(other, step_, whole()) : flow_.send(other, step_, whole());
      ++step_;
      return;
    }
    // Both add: the one that stays the lower half, the other the upper one, which it then hands over.
    flow_.send(other, step_, half(stays ? 1 : 0));
    flow_.receive_and_reduce(other, step_, half(stays ? 0 : 1));
    ++step_;
    stays ? flow_.receive(other, step_, half(1)) : flow_.send(other, step_, half(1));
    ++step_;
  }

  /// The blocks that the vertex has after `level` halvings: each keeps the half that its next bit says.
  std::pair<uint32_t, uint32_t> range(uint32_t vertex, uint32_t level) const {
    uint32_t first = 0, count = cube_.vertices();
    for (uint32_t j = 0; j < level; ++j) {
      count /= 2;
      if ((vertex >> j & 1) != 0) first += count;
    }
    return {first, count};
  }
  Pieces data(uint32_t vertex, uint32_t level) const {
    const auto [first, count] = range(vertex, level);
    return blocks(first, count);
  }
  uint32_t across(uint32_t dimension) const { return vertex_ ^ 1u << dimension; }

  void halve() {
    for (uint32_t j = 0; j < cube_.dimensions(); ++j, ++step_) {
      flow_.send(cube_.member_at(across(j)), step_, data(across(j), j + 1));
      flow_.receive_and_reduce(cube_.member_at(across(j)), step_, data(vertex_, j + 1));
    }
  }

  void double_back() {
    for (uint32_t j = cube_.dimensions(); j-- > 0; ++step_) {
      flow_.send(cube_.member_at(across(j)), step_, data(vertex_, j + 1));
      flow_.receive(cube_.member_at(across(j)), step_, data(across(j), j + 1));
    }
  }

  /// A binomial tree to the root: over dimension j goes what differs from the root in it.
  void gather() {
    const uint32_t root = cube_.vertex_of(builder_.root());
    for (uint32_t j = cube_.dimensions(); j-- > 0; ++step_) {
      if (((vertex_ ^ root) >> j & 1) == 0) {
        flow_.receive(cube_.member_at(across(j)), step_, data(across(j), j + 1));
        continue;
      }
      flow_.send(cube_.member_at(across(j)), step_, data(vertex_, j + 1));
      return;
    }
  }

  void give_back() {
    if (!cube_.is_paired(me_)) return;
    const uint32_t step = (eliminate_ ? 2 : 1) + 2 * cube_.dimensions(), other = Hypercube::pair_of(me_);
    cube_.has_vertex(me_) ? flow_.send(other, step, whole()) : flow_.receive(other, step, whole());
  }

  ScheduleBuilder& builder_;
  DataFlow flow_;
  const Hypercube cube_;
  const bool eliminate_;
  const uint32_t me_, vertex_;
  uint32_t step_ = 0;
};

}  // namespace

void halving_doubling(ScheduleBuilder& builder) {
  HalvingMember(builder, false).run();
}

void halving_doubling_elimination(ScheduleBuilder& builder) {
  HalvingMember(builder, true).run();
}

}  // namespace rankwire
