// Max-min fair shares of capacities. Knows nothing of networks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rankwire {

/// Variables draw on constraints; the active variables of a constraint together stay within its capacity. Shares are
/// max-min fair: none can grow without another, equal or smaller one shrinking. Found by progressive filling (Bertsekas
/// and Gallager, Data Networks, 2nd edition, 6.5.2).
///
/// A variable may draw on a constraint for a part of what it has: weight / whole of its share. On at least one it draws
/// in whole.
///
/// Filling levels are kept to whole / 2^16 of a unit and shares are rounded down to whole units, so that a share is
/// less than one unit from the exact one (plus whole / 2^16 for every rounded level that its own depends on), the sum
/// over a constraint never exceeds its capacity, and a constraint with one variable gives exactly its capacity.
///
/// Shares do not depend on how constraints and variables are numbered. A variable may stand for several that are always
/// active together and have the same share: its weight is then the sum of theirs, and may exceed `whole`.
///
/// All memory is taken by the constructor.
class MaxMin {
 public:
  static constexpr int64_t kMaxCapacity = int64_t{1} << 46;

  /// What a variable takes of a constraint: `weight` of `whole` of its share, > 0.
  struct Draw {
    uint32_t constraint;
    uint32_t weight = 1;
  };

  /// Capacities are 1 .. kMaxCapacity. `draws[v]` lists the constraints of variable v: at least one, each once. `whole`
  /// is 1 .. 2^16. No variable is active.
  MaxMin(std::span<const int64_t> capacities, std::span<const std::vector<Draw>> draws, uint32_t whole = 1);

  /// Memory of a variable that draws on so many constraints.
  static constexpr size_t bytes_each(size_t draws) {
    return draws * (sizeof(Use) + sizeof(Slot)) + sizeof(uint32_t) + sizeof(int64_t) + sizeof(uint8_t);
  }

  /// Adds an inactive variable to, or removes an active one from, those that share. Takes effect with `solve`.
  void activate(uint32_t variable) noexcept;
  void deactivate(uint32_t variable) noexcept;

  /// Brings the shares up to date; looks only at what is connected, through active variables, to a constraint whose
  /// variables changed. Returns the active variables whose shares changed, valid until the next call of anything.
  std::span<const uint32_t> solve() noexcept;

  /// The constraints that it looked at: shares have changed nowhere else. Valid as long.
  std::span<const uint32_t> looked_at() const noexcept { return component_; }

  /// As of the last `solve`: whether less than a millionth of its capacity is left.
  bool is_full(uint32_t constraint) const noexcept;
  /// As of the last `solve`; 0 while inactive.
  int64_t share(uint32_t variable) const noexcept { return shares_[variable]; }
  /// Constraints that all calls of `solve` have looked at.
  uint64_t constraints_visited() const noexcept { return constraints_visited_; }
  /// What they cost, in looks at what a variable draws on a constraint: a few nanoseconds each.
  uint64_t work() const noexcept { return draws_visited_ + kWorkOfConstraint * constraints_visited_; }

 private:
  static constexpr uint64_t kWorkOfConstraint = 8;  ///< measured

  /// One use of a constraint by a variable. `place` is its slot while the variable is active.
  struct Use {
    uint32_t constraint, weight, place;
  };
  struct Slot {
    uint32_t variable, use;
  };
  struct Constraint {
    int64_t capacity;
    uint32_t begin;         ///< of its part of `slots_`
    uint32_t active = 0;    ///< slots in use
    int64_t unfixed = 0;    ///< while filling: weights of the active variables without a share
    int64_t remaining = 0;  ///< while filling: capacity left, in 2^-16 units
    bool touched = false;   ///< its variables changed since the last `solve`
    bool visited = false;   ///< is part of the component at hand
  };
  using Level = std::pair<int64_t, uint32_t>;  ///< (filling level for a weight of 1, in 2^-16 units; constraint)

  std::span<Use> uses_of(uint32_t variable) noexcept {
    return {uses_.data() + first_use_[variable], uses_.data() + first_use_[variable + 1]};
  }
  std::span<const Slot> slots_of(const Constraint& constraint) const noexcept {
    return {slots_.data() + constraint.begin, constraint.active};
  }
  void touch(uint32_t constraint) noexcept;
  void visit(uint32_t constraint) noexcept;
  void collect_component() noexcept;
  bool fill_one() noexcept;  ///< false: there is more than one variable to fill
  void fill() noexcept;
  void fix(uint32_t variable, int64_t level) noexcept;
  bool is_bottleneck(uint32_t constraint, int64_t level) noexcept;
  void push_level(uint32_t constraint) noexcept;

  int64_t whole_;
  std::vector<Constraint> constraints_;
  std::vector<uint32_t> first_use_;  ///< variables + 1 offsets into `uses_`
  std::vector<Use> uses_;            ///< by variable
  std::vector<Slot> slots_;          ///< by constraint: its active variables
  std::vector<int64_t> shares_;
  std::vector<uint8_t> is_fixed_;      ///< by variable, while filling
  std::vector<uint32_t> touched_;      ///< constraints whose variables changed
  std::vector<uint32_t> component_;    ///< constraints to be solved
  std::vector<Level> levels_;          ///< min-heap
  std::vector<uint32_t> bottlenecks_;  ///< constraints that fill up at one level
  std::vector<uint32_t> changed_;
  uint64_t constraints_visited_ = 0, draws_visited_ = 0;
};

}  // namespace rankwire
