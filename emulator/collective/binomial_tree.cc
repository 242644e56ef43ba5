#include <algorithm>
#include <bit>
#include <vector>

#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"

namespace rankwire {
namespace {

/// This member in the tree. Members are numbered from the root on; the parent of v is v without its lowest bit.
class Place {
 public:
  explicit Place(const ScheduleBuilder& builder)
      : n_(builder.members()), root_(builder.root()), v_((builder.position() + n_ - root_) % n_) {}

  /// Rounds of the tree, ceil(log2 n).
  uint32_t rounds() const { return static_cast<uint32_t>(std::bit_width(n_ - 1)); }
  bool is_root() const { return v_ == 0; }
  uint32_t number() const { return v_; }
  uint32_t parent() const { return member(v_ & (v_ - 1)); }
  /// Exponent of the distance to the parent.
  uint32_t height() const { return is_root() ? rounds() : static_cast<uint32_t>(std::countr_zero(v_)); }
  bool has_child(uint32_t exponent) const { return exponent < height() && v_ + (1u << exponent) < n_; }
  uint32_t child(uint32_t exponent) const { return member(v_ + (1u << exponent)); }

  /// Blocks, one a member, of the subtree of member number v at that height.
  Pieces subtree(const std::vector<Extent>& blocks, uint32_t v, uint32_t height) const {
    return blocks_around(blocks, member(v), std::min(1u << height, n_ - v));
  }
  Pieces own_subtree(const std::vector<Extent>& blocks) const { return subtree(blocks, v_, height()); }
  Pieces child_subtree(const std::vector<Extent>& blocks, uint32_t exponent) const {
    return subtree(blocks, v_ + (1u << exponent), exponent);
  }

 private:
  uint32_t member(uint32_t number) const { return (number + root_) % n_; }

  uint32_t n_, root_, v_;
};

/// The largest distances first: step s is the exponent rounds - 1 - s.
template <class DataOfParent, class DataOfChild>
void from_root(ScheduleBuilder& builder, DataOfParent own, DataOfChild childs) {
  const Place place(builder);
  DataFlow flow(builder);
  if (!place.is_root()) flow.receive(place.parent(), place.rounds() - 1 - place.height(), own(place));
  for (uint32_t k = place.rounds(); k-- > 0;)
    if (place.has_child(k)) flow.send(place.child(k), place.rounds() - 1 - k, childs(place, k));
}

}  // namespace

void binomial_broadcast(ScheduleBuilder& builder) {
  const Pieces input = joined({builder.input()});
  from_root(
      builder, [&](const Place&) { return input; }, [&](const Place&, uint32_t) { return input; });
}

void binomial_scatter(ScheduleBuilder& builder) {
  const std::vector<Extent> parts = builder.parts();
  from_root(
      builder, [&](const Place& place) { return place.own_subtree(parts); },
      [&](const Place& place, uint32_t k) { return place.child_subtree(parts, k); });
}

void binomial_reduce(ScheduleBuilder& builder) {
  const Place place(builder);
  const Pieces input = joined({builder.input()});
  DataFlow flow(builder);
  for (uint32_t k = 0; k < place.rounds(); ++k)
    if (place.has_child(k)) flow.receive_and_reduce(place.child(k), k, input);
  if (!place.is_root()) flow.send(place.parent(), place.height(), input);
}

void binomial_gather(ScheduleBuilder& builder) {
  const Place place(builder);
  const std::vector<Extent> inputs = builder.inputs();
  DataFlow flow(builder);
  for (uint32_t k = 0; k < place.rounds(); ++k)
    if (place.has_child(k)) flow.receive(place.child(k), k, place.child_subtree(inputs, k));
  if (!place.is_root()) flow.send(place.parent(), place.height(), place.own_subtree(inputs));
}

}  // namespace rankwire
