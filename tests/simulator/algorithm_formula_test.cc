// Algorithms over the model on a star, in one slice a message, against closed formulas.
#include <gtest/gtest.h>

#include <bit>
#include <optional>

#include "tests/collective/named_algorithms.h"
#include "tests/simulator/walk.h"

namespace rankwire {
namespace {

/// The time of an operation, phase after phase. n members, two a host, and S bytes of input. p is the largest
/// power of two up to n: of what takes a power of two of members, the others hand their data to one that takes part.
class Formula {
 public:
  Formula(const NamedAlgorithm& named, uint32_t n, Bytes input)
      : algorithm_(named.algorithm), n_(n), p_(std::bit_floor(n)), size_(input.count) {
    write(named.operation);
  }

  /// Absent where several messages share ports in a way that has no closed form.
  std::optional<Duration> time() const { return known_ ? std::optional(time_) : std::nullopt; }

 private:
  void write(Operation operation) {
    switch (operation) {
      case Operation::kAllReduce:
        return all_reduce();
      case Operation::kReduceScatter:
        return reduce_scatter();
      case Operation::kAllGather:
        return all_gather();
      case Operation::kBroadcast:
        return algorithm_ == Algorithm::kRing ? messages(n_ - 1, size_) : spread_from(0, false);
      case Operation::kReduce:
        return reduce();
      case Operation::kAllToAll:
        return all_to_all();
      case Operation::kGather:
        return algorithm_ == Algorithm::kDirect ? together(n_ - 1, size_) : gather_by_tree();
      case Operation::kScatter:
        return algorithm_ == Algorithm::kDirect ? together(n_ - 1, blocks(1)) : spread_from(0, true);
      default:
        known_ = false;
    }
  }

  /// Of the n that the input has.
  int64_t blocks(int64_t count) const { return part(size_ * count, n_); }
  static int64_t part(int64_t bytes, int64_t parts) { return (bytes + parts - 1) / parts; }
  bool folds() const { return p_ != n_; }
  /// Of the hypercube.
  int64_t dimensions() const { return std::countr_zero(static_cast<uint64_t>(p_)); }
  int64_t hosts() const { return n_ / 2; }

  /// `count` messages one after the other, each alone at its ports.
  void messages(int64_t count, int64_t bytes) { time_ += (line_time(Bytes(bytes)) + tail(Bytes(bytes))) * count; }
  /// `count` equal messages at once out of, or into, one port.
  void together(int64_t count, int64_t bytes) { time_ += line_time(Bytes(bytes)) * count + tail(Bytes(bytes)); }
  /// Messages of S/2, S/4 .. S/p, or back.
  void halves() {
    for (int64_t parts = 2; parts <= p_; parts *= 2) messages(1, part(size_, parts));
  }
  /// Of 6, the hypercube's two extra members hand over their input, and get the result in the end.
  void fold() {
    if (folds()) messages(1, size_);
  }
  void unfold() {
    if (folds()) messages(1, size_);
  }

  /// There. Of 6, those who wait for no input are an exchange ahead: unless it takes them longer than the others' input
  /// is on the line, their S/4 goes beside that.
  void halving() {
    if (folds() && algorithm_ == Algorithm::kHalvingDoublingElimination) known_ = false;  // shares of many sizes
    if (folds() && line_time(Bytes(part(size_, 2))) + tail(Bytes(part(size_, 2))) < line_time(Bytes(size_)))
      time_ += line_time(Bytes(part(size_, 4)));
    fold();
    halves();
  }

  void all_reduce() {
    switch (algorithm_) {
      case Algorithm::kRing:
        // Blocks are whole 16 bytes.
        return messages(2 * (n_ - 1), part(blocks(1), 16) * 16);
      case Algorithm::kHalvingDoubling:
      case Algorithm::kHalvingDoublingElimination:
        halving();
        halves();
        return unfold();
      case Algorithm::kRecursiveDoubling:
        // All that is sent is added to, when it has been acknowledged.
        if (!folds()) {
          messages(dimensions(), size_);
          time_ += kOneWay * (dimensions() - 1);
          return;
        }
        // Of 6: while those who wait for input exchange theirs, those who had none to wait for are an exchange ahead
        // and send them the next already, an acknowledgement later: what is first then ends that much before what both
        // take.
        fold();
        together(2, size_);
        messages(1, size_);
        time_ += kOneWay;
        return unfold();
      case Algorithm::kDirect:
        together(n_ - 1, blocks(1));
        return together(n_ - 1, blocks(1));
      case Algorithm::kHierarchical:
        messages(1, part(size_, 2));
        messages(2 * (hosts() - 1), part(part(size_, 2), hosts()));
        return messages(1, part(size_, 2));
      default:
        known_ = false;  // two trees at once
    }
  }

  void reduce_scatter() {
    switch (algorithm_) {
      case Algorithm::kRing:
        return messages(n_ - 1, blocks(1));
      case Algorithm::kRecursiveHalving:
        if (!folds()) return halves();
        // Of 6, a vertex with two members gets the 4 blocks of one without a partner beside its own partner's input,
        // and then has both exchanges to make. Then the partner's block goes back.
        time_ += line_time(Bytes(blocks(4)));
        messages(1, size_);
        together(2, blocks(2));
        return messages(1, blocks(1));
      case Algorithm::kPat:
        if (!folds()) return halves();
        // Of 6: blocks of distances 0, 2, 4 over distance 1; then what came for 2, and for 4, which are not the same.
        messages(1, blocks(3));
        return together(2, blocks(1));
      case Algorithm::kDirect:
        return together(n_ - 1, blocks(1));
      case Algorithm::kHierarchical:
        messages(1, blocks(hosts()));
        return messages(hosts() - 1, blocks(1));
      default:
        known_ = false;
    }
  }

  void all_gather() {
    switch (algorithm_) {
      case Algorithm::kRing:
        return messages(n_ - 1, size_);
      case Algorithm::kRecursiveDoubling:
        if (!folds()) return doubling();
        // Of 6: with its partner's, a vertex of two members has 2 S, which it exchanges with its like, while the
        // vertices of one member have exchanged theirs and send it 2 S as well. Then it sends the 4 S of its half
        // across and the 5 S that its partner has not, at once.
        messages(1, size_);
        together(2, 2 * size_);
        time_ += line_time(Bytes(4 * size_));
        return messages(1, 5 * size_);
      case Algorithm::kBruck:
        if (!folds()) return doubling();
        // Of 6: over the distances 2 and 4 go the same two.
        messages(1, size_);
        return together(2, 2 * size_);
      case Algorithm::kPat:
        if (!folds()) return doubling();
        // Of 6: a member's own over 4 and 2, then the three over 1.
        together(2, size_);
        return messages(1, 3 * size_);
      case Algorithm::kDirect:
        return together(n_ - 1, size_);
      case Algorithm::kHierarchical:
        messages(hosts() - 1, size_);
        return messages(1, hosts() * size_);
      default:
        known_ = false;
    }
  }
  /// S, 2 S .. n/2 S.
  void doubling() {
    for (int64_t m = 1; m < n_; m *= 2) messages(1, m * size_);
  }

  void reduce() {
    switch (algorithm_) {
      case Algorithm::kRing:
        return messages(n_ - 1, size_);
      case Algorithm::kBinomialTree:
        // In a full tree the subtrees are ready one after the other; of 6, those of 2 and of 4 at once.
        if (!folds()) return messages(dimensions(), size_);
        messages(1, size_);
        return together(2, size_);
      default:
        halving();
        return halves();
    }
  }

  void gather_by_tree() {
    if (!folds()) return doubling();
    messages(1, size_);  // as in `reduce`
    together(2, 2 * size_);
  }

  /// Down a binomial tree, from member v after the root: to all children at once, who share its port. The largest
  /// subtree's data, `v`'s half, ends last and goes on the longest way.
  void spread_from(uint32_t v, bool parts) {
    const uint32_t height = v == 0 ? std::bit_width(static_cast<uint32_t>(n_ - 1)) : std::countr_zero(v);
    Duration lines;
    std::optional<uint32_t> largest;
    int64_t most = 0;
    for (uint32_t k = height; k-- > 0;) {
      const uint32_t child = v + (1u << k);
      if (child >= n_) continue;
      const int64_t bytes = parts ? blocks(std::min<int64_t>(1 << k, n_ - child)) : size_;
      lines += line_time(Bytes(bytes));
      if (!largest) largest = child, most = bytes;
    }
    if (!largest) return;
    time_ += lines + tail(Bytes(most));
    spread_from(*largest, parts);
  }

  void all_to_all() {
    switch (algorithm_) {
      case Algorithm::kDirect:
        return together(n_ - 1, blocks(1));
      case Algorithm::kPairwise:
        messages(n_ - 1, blocks(1));
        time_ += kOneWay * (n_ - 2);  // acknowledgements
        return;
      case Algorithm::kBruck:
        if (!folds()) return messages(dimensions(), blocks(n_ / 2));
        // Of 6: distances 1, 3, 5 over 1; then 2, 3 over 2 and 4, 5 over 4.
        messages(1, blocks(3));
        return together(2, blocks(2));
      case Algorithm::kHierarchical:
        messages(1, blocks(hosts()));
        if (hosts() > 1) together(hosts() - 1, blocks(2));
        return;
      default:
        // By PXN a member passes on data and sends its own at once.
        known_ = n_ == 2;
        messages(1, blocks(1));
    }
  }

  const Algorithm algorithm_;
  const int64_t n_, p_;
  const int64_t size_;
  bool known_ = true;
  Duration time_;
};

class AlgorithmFormula : public ::testing::TestWithParam<NamedAlgorithm> {};

TEST_P(AlgorithmFormula, IsItsTime) {
  const auto [operation, algorithm] = GetParam();
  const bool gathers = operation == Operation::kAllGather || operation == Operation::kGather;
  for (const uint32_t n : {2, 4, 6, 8, 16, 64})
    for (const int64_t bytes : {16 << 10, 16 << 20, 1 << 30}) {
      // Of what is gathered, the sum of all inputs.
      const Bytes input(gathers ? bytes / n : bytes);
      const std::optional<Duration> expected = Formula(GetParam(), n, input).time();
      const bool closed = algorithm != Algorithm::kDoubleBinaryTree && (algorithm != Algorithm::kPxn || n == 2) &&
                          (algorithm != Algorithm::kHalvingDoublingElimination || n != 6);
      EXPECT_EQ(expected.has_value(), closed);
      if (!expected) continue;
      ScheduleRequest request{.operation = operation, .members = n, .root = n / 2, .bytes = input};
      for (uint32_t i = 0; i < n; ++i) request.hosts.push_back(i / 2);
      const std::vector<Schedule> schedules = schedules_of(request, options_of(GetParam(), 1, Bytes(1 << 30)));
      EXPECT_NEAR(static_cast<double>(Walk(schedules).run().ps), static_cast<double>(expected->ps),
                  static_cast<double>(expected->ps) / 1000)
          << n << " members, " << bytes << " bytes";
    }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, AlgorithmFormula, ::testing::ValuesIn(named_algorithms()), name_of);

}  // namespace
}  // namespace rankwire
