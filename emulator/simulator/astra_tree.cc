// The double binary tree's all-reduce: the whole chunk up to the root and down again.
#include <array>

#include "emulator/simulator/astra_phase.h"

namespace rankwire {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;

/// Messages to a member are numbered by whom they come from.
enum Source : uint32_t { kLeft, kRight, kParent, kSources };

struct Place {
  uint32_t parent = kNobody;
  std::array<uint32_t, 2> children{kNobody, kNobody};
  Source side = kLeft;  ///< of the parent

  bool is_leaf() const { return children[0] == kNobody && children[1] == kNobody; }
  bool is_root() const { return parent == kNobody; }
};

/// A complete tree of all members but one stands in order of their places; that one, the last or the first, is its
/// parent and has no other child.
std::vector<Place> make_tree(uint32_t members, bool root_first) {
  std::vector<Place> places(members);
  const uint32_t first = root_first ? 1 : 0, root = root_first ? 0 : members - 1;
  const auto adopt = [&](uint32_t parent, uint32_t child, Source side) {
    places[parent].children[side] = child;
    places[child].parent = parent, places[child].side = side;
  };
  // In the order of places a subtree of 2^k - 1 members has its top in the middle.
  const auto build = [&](const auto& self, uint32_t begin, uint32_t count) -> uint32_t {
    const uint32_t half = count / 2, top = begin + half;
    if (half > 0) {
      adopt(top, self(self, begin, half), kLeft);
      adopt(top, self(self, top + 1, half), kRight);
    }
    return top;
  };
  adopt(root, build(build, first, members - 1), root_first ? kRight : kLeft);
  return places;
}

/// A leaf waits once, sends up and hears from above. Whoever stands between adds up what comes from below, each with
/// the time of a reduction, and what comes from above, too.
class Tree : public AstraAlgorithm {
 public:
  Tree(const AstraPhase& phase, const AstraEndpoint& endpoint, AstraPhaseHost& host)
      : data_(phase.data),
        plain_(endpoint.delay),
        reduced_(endpoint.delay + endpoint.reduction(phase.data)),
        host_(host),
        places_(make_tree(phase.members, phase.second_tree)),
        added_(phase.members) {}

  void begin(uint32_t member) override {
    const Place& place = places_[member];
    if (place.is_leaf()) return host_.wait(member, kSendsUp, plain_);
    for (const Source side : {kLeft, kRight}) {
      if (place.children[side] != kNobody) host_.receive(member, place.children[side], side, data_);
    }
  }

  void received(uint32_t member, uint32_t number) override {
    const Place& place = places_[member];
    if (number != kParent) return host_.wait(member, kAdded, reduced_);
    host_.wait(member, kSendsDown, place.is_leaf() ? plain_ : reduced_);
  }

  void due(uint32_t member, uint32_t step) override {
    const Place& place = places_[member];
    const bool has_all = step == kAdded && ++added_[member] == (place.is_root() ? 1 : 2);
    if (step == kSendsUp || (has_all && !place.is_root())) {
      host_.send(member, place.parent, place.side, data_);
      host_.receive(member, place.parent, kParent, data_);
    } else if (step == kSendsDown || has_all) {
      for (const uint32_t child : place.children) {
        if (child != kNobody) host_.send(member, child, kParent, data_);
      }
      host_.end(member);
    }
  }

  uint32_t numbers() const override { return kSources; }

 private:
  enum Step : uint32_t { kSendsUp, kAdded, kSendsDown };

  const Bytes data_;
  const Duration plain_, reduced_;
  AstraPhaseHost& host_;
  const std::vector<Place> places_;
  std::vector<uint8_t> added_;  // by member: children whose data has been added up
};

}  // namespace

std::unique_ptr<AstraAlgorithm> make_astra_tree(const AstraPhase& phase, const AstraEndpoint& endpoint,
                                                AstraPhaseHost& host) {
  return std::make_unique<Tree>(phase, endpoint, host);
}

}  // namespace rankwire
