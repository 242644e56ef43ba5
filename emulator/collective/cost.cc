#include "emulator/collective/cost.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "emulator/collective/algorithm_table.h"
#include "emulator/collective/host_map.h"

namespace rankwire {
namespace {

Bytes operator*(Bytes bytes, int64_t times) {
  return Bytes(bytes.count * times);
}

Bytes part_of(Bytes bytes, int64_t parts) {
  return Bytes((bytes.count + parts - 1) / parts);
}

/// Writes the phases of one operation. `n` members, `S` the input, `p` the largest power of two up to n.
class Formula {
 public:
  Formula(const ScheduleRequest& request, const ScheduleOptions& options)
      : request_(request),
        chunk_(options.nccl ? request.bytes : options.chunk),
        n_(request.members),
        size_(request.bytes) {}

  std::vector<CostPhase> write(Algorithm algorithm) && {
    if (!request_.blocks.empty() && uneven(algorithm)) return std::move(phases_);
    switch (request_.operation) {
      case Operation::kAllReduce:
        all_reduce(algorithm);
        break;
      case Operation::kReduceScatter:
        reduce_scatter(algorithm);
        break;
      case Operation::kAllGather:
        all_gather(algorithm);
        break;
      case Operation::kBroadcast:
        broadcast(algorithm);
        break;
      case Operation::kReduce:
        reduce(algorithm);
        break;
      case Operation::kAllToAll:
        all_to_all(algorithm);
        break;
      case Operation::kGather:
        algorithm == Algorithm::kDirect ? add(1, size_ * (n_ - 1)) : doubling(size_);
        break;
      case Operation::kScatter:
        algorithm == Algorithm::kDirect ? add(1, block() * (n_ - 1)) : doubling(block());
        break;
      case Operation::kBarrier:
        add(steps(), Bytes(0));
        break;
      case Operation::kPointToPoint:
        add(1, size_);
        break;
    }
    return std::move(phases_);
  }

 private:
  static constexpr bool kReduces = true, kLocal = true;

  void add(int64_t messages, Bytes bytes, bool reduces = false, bool local = false) {
    if (messages > 0) phases_.push_back({static_cast<uint32_t>(messages), bytes, reduces, local});
  }
  Bytes block() const { return part_of(size_, n_); }
  /// ceil(log2 n).
  int64_t steps() const { return std::bit_width(static_cast<uint64_t>(n_ - 1)); }
  int64_t power() const { return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n_))); }
  bool folds() const { return power() != n_; }

  Bytes block_at(int64_t index) const {
    const auto i = static_cast<size_t>(index);
    return request_.blocks[i + 1] - request_.blocks[i];
  }

  /// Of blocks that differ: the largest message of each step where an algorithm sends them alone. False for others,
  /// whose formula then has blocks as large as the largest.
  bool uneven(Algorithm algorithm) {
    if (request_.operation == Operation::kAllToAll && algorithm == Algorithm::kPairwise) {
      const bool in_pairs = !folds();
      for (int64_t d = 1; d < n_; ++d) {
        Bytes largest;
        for (int64_t s = 0; s < n_; ++s)
          largest = std::max(largest, block_at(s * n_ + (in_pairs ? s ^ d : (s + d) % n_)));
        if (largest > Bytes(0)) add(1, largest);
      }
      return true;
    }
    if (algorithm != Algorithm::kDirect) return false;
    // At once: what the busiest member sends or receives.
    Bytes busiest;
    for (int64_t m = 0; m < n_; ++m) {
      Bytes sent, received;
      for (int64_t other = 0; other < n_; ++other) {
        if (other == m) continue;
        const bool pairs = request_.operation == Operation::kAllToAll;
        const bool gathers = request_.operation == Operation::kAllGather;
        sent += block_at(pairs ? m * n_ + other : gathers ? m : other);
        received += block_at(pairs ? other * n_ + m : gathers ? other : m);
      }
      busiest = std::max({busiest, sent, received});
    }
    if (busiest > Bytes(0)) add(1, busiest, request_.operation == Operation::kReduceScatter);
    return true;
  }

  /// Slices through `hops` members one after the other.
  void pipeline(int64_t hops, Bytes bytes, bool reduces) {
    add(hops + slices_of(bytes) - 1, part_of(bytes, slices_of(bytes)), reduces);
  }
  int64_t slices_of(Bytes bytes) const {
    return std::max<int64_t>(1, (bytes.count + chunk_.count - 1) / std::max<int64_t>(1, chunk_.count));
  }
  Bytes slice() const { return part_of(size_, slices_of(size_)); }
  /// 1, 2, 4 ... units, n - 1 in all.
  void doubling(Bytes unit, bool reduces = false) {
    for (int64_t sent = 1; sent < n_; sent *= 2) add(1, unit * std::min(sent, n_ - sent), reduces);
  }
  /// S/2, S/4 ... S/p, and back.
  void halving(bool reduces) {
    for (int64_t parts = 2; parts <= power(); parts *= 2) add(1, part_of(size_, parts), reduces);
  }
  void growing(Bytes unit) {
    for (int64_t sent = 1; sent < power(); sent *= 2) add(1, unit * sent);
  }

  /// Aggregators between a member and the top of their tree.
  int64_t depth() const {
    int64_t deepest = 0;
    for (int64_t member = 0; member < n_; ++member) {
      int64_t hops = 0;
      for (auto at = static_cast<size_t>(member); request_.aggregation[at] != at; at = request_.aggregation[at]) ++hops;
      deepest = std::max(deepest, hops);
    }
    return deepest;
  }

  void all_reduce(Algorithm algorithm) {
    switch (algorithm) {
      case Algorithm::kInNetwork:
        pipeline(depth(), size_, kReduces);
        return add(depth(), slice());
      case Algorithm::kDoubleBinaryTree:
        return trees();
      case Algorithm::kHalvingDoubling:
      case Algorithm::kHalvingDoublingElimination:
        fold(algorithm);
        halving(kReduces);
        growing(part_of(size_, power()));
        if (folds()) add(1, size_);
        return;
      case Algorithm::kRecursiveDoubling:
        fold(algorithm);
        add(std::bit_width(static_cast<uint64_t>(power())) - 1, size_, kReduces);
        if (folds()) add(1, size_);
        return;
      case Algorithm::kDirect:
        add(1, block() * (n_ - 1), kReduces);
        add(1, block() * (n_ - 1));
        return;
      case Algorithm::kHierarchical: {
        const auto [hosts, members] = hierarchy();
        const Bytes share = part_of(size_, members);
        add(members > 1, share * (members - 1), kReduces, kLocal);
        add(hosts - 1, part_of(share, hosts), kReduces);
        add(hosts - 1, part_of(share, hosts));
        add(members > 1, share * (members - 1), false, kLocal);
        return;
      }
      default:
        add(n_ - 1, block(), kReduces);
        add(n_ - 1, block());
    }
  }

  /// Both trees of S/2 at once: a member has two children in one of them, and passes on what it gets from both.
  void trees() {
    const Bytes half = part_of(size_, 2);
    const int64_t slices = slices_of(half);
    const Bytes both = part_of(half, slices) * 2;
    add(steps(), both, kReduces);
    add(steps(), both);
    add(2 * (slices - 1), both);
  }

  /// Before a hypercube: who has no vertex there hands its input over.
  void fold(Algorithm algorithm) {
    if (!folds()) return;
    const bool eliminates = algorithm == Algorithm::kHalvingDoublingElimination;
    add(1 + eliminates, eliminates ? part_of(size_, 2) : size_, kReduces);
  }

  void reduce_scatter(Algorithm algorithm) {
    switch (algorithm) {
      case Algorithm::kInNetwork:
        pipeline(depth(), size_, kReduces);
        return add(depth(), std::min(slice(), block()));
      case Algorithm::kRecursiveHalving:
        fold(algorithm);
        halving(kReduces);
        if (folds()) add(1, block());
        return;
      case Algorithm::kPat:
        return doubling(block(), kReduces);
      case Algorithm::kDirect:
        return add(1, block() * (n_ - 1), kReduces);
      case Algorithm::kHierarchical: {
        const auto [hosts, members] = hierarchy();
        add(members > 1, part_of(size_, members) * (members - 1), kReduces, kLocal);
        return add(hosts - 1, block(), kReduces);
      }
      default:
        add(n_ - 1, block(), kReduces);
    }
  }

  void all_gather(Algorithm algorithm) {
    switch (algorithm) {
      case Algorithm::kRecursiveDoubling:
        if (folds()) add(1, size_);
        growing(size_);
        if (folds()) add(1, size_ * (n_ - 1));
        return;
      case Algorithm::kBruck:
      case Algorithm::kPat:
        return doubling(size_);
      case Algorithm::kDirect:
        return add(1, size_ * (n_ - 1));
      case Algorithm::kHierarchical: {
        const auto [hosts, members] = hierarchy();
        add(hosts - 1, size_);
        return add(members > 1, size_ * ((members - 1) * hosts), false, kLocal);
      }
      default:
        add(n_ - 1, size_);
    }
  }

  void broadcast(Algorithm algorithm) {
    if (algorithm == Algorithm::kInNetwork) return pipeline(2 * depth(), size_, false);
    algorithm == Algorithm::kRing ? pipeline(n_ - 1, size_, false) : add(steps(), size_);
  }

  void reduce(Algorithm algorithm) {
    switch (algorithm) {
      case Algorithm::kInNetwork:
        return pipeline(2 * depth(), size_, kReduces);
      case Algorithm::kBinomialTree:
        return add(steps(), size_, kReduces);
      case Algorithm::kHalvingDoubling:
      case Algorithm::kHalvingDoublingElimination:
        fold(algorithm);
        halving(kReduces);
        return growing(part_of(size_, power()));
      default:
        pipeline(n_ - 1, size_, kReduces);
    }
  }

  void all_to_all(Algorithm algorithm) {
    switch (algorithm) {
      case Algorithm::kPairwise:
        return add(n_ - 1, block());
      case Algorithm::kBruck:
        // In step i go the blocks of distances whose bit i is set.
        for (int64_t bit = 1; bit < n_; bit *= 2) {
          int64_t blocks = 0;
          for (int64_t distance = 1; distance < n_; ++distance) blocks += (distance & bit) != 0;
          add(1, block() * blocks);
        }
        return;
      case Algorithm::kHierarchical:
      case Algorithm::kPxn: {
        const auto [hosts, members] = hierarchy();
        add(members > 1, block() * ((members - 1) * hosts), false, kLocal);
        return add(hosts > 1, block() * ((hosts - 1) * members));
      }
      default:
        add(1, block() * (n_ - 1));
    }
  }

  struct Hierarchy {
    int64_t hosts, members;  ///< of the host that has most
  };
  Hierarchy hierarchy() const {
    if (request_.hosts.empty()) return {n_, 1};
    const HostMap map(request_);
    size_t most = 1;
    for (uint32_t h = 0; h < map.hosts(); ++h) most = std::max<size_t>(most, map.members(h).size());
    return {map.hosts(), static_cast<int64_t>(most)};
  }

  const ScheduleRequest& request_;
  const Bytes chunk_;
  const int64_t n_;
  const Bytes size_;
  std::vector<CostPhase> phases_;
};

}  // namespace

std::vector<CostPhase> cost_phases(const ScheduleRequest& request, const ScheduleOptions& options) {
  Algorithm algorithm = options.algorithm(request.operation);
  if (algorithm == Algorithm::kCustom && !request.blocks.empty()) algorithm = Algorithm::kAuto;
  if (algorithm == Algorithm::kCustom)
    fail_input("simulation.fidelity: alpha_beta: {} by a file has no formula", to_string(request.operation));
  if (algorithm == Algorithm::kAuto) algorithm = default_algorithm(request.operation);
  if (request.members < 2) return {};
  return Formula(request, options).write(algorithm);
}

}  // namespace rankwire
