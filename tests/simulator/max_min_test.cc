#include "emulator/simulator/max_min.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/random.h"

namespace rankwire {
namespace {

using Draw = MaxMin::Draw;
using Uses = std::vector<std::vector<Draw>>;

std::vector<int64_t> shares_of(const std::vector<int64_t>& capacities, const Uses& uses, uint32_t whole = 1) {
  MaxMin solver(capacities, uses, whole);
  for (uint32_t v = 0; v < uses.size(); ++v) solver.activate(v);
  solver.solve();
  std::vector<int64_t> shares;
  for (uint32_t v = 0; v < uses.size(); ++v) shares.push_back(solver.share(v));
  return shares;
}

TEST(MaxMin, GivesALoneVariableTheWholeCapacity) {
  EXPECT_EQ(shares_of({399'999'999'999}, {{{0}}}), (std::vector<int64_t>{399'999'999'999}));
  EXPECT_EQ(shares_of({7, 5}, {{{0}, {1}}}), (std::vector<int64_t>{5}));
}

TEST(MaxMin, DividesEquallyAndRoundsDown) {
  EXPECT_EQ(shares_of({100}, {{{0}}, {{0}}}), (std::vector<int64_t>{50, 50}));
  EXPECT_EQ(shares_of({100}, {{{0}}, {{0}}, {{0}}}), (std::vector<int64_t>{33, 33, 33}));
}

// The parking lot: v0 crosses three constraints of 30, 60, 90 that each carry one more variable. v0 is held to 15 by
// the first; what it leaves is 15, 45, 75.
TEST(MaxMin, LeavesToOthersWhatABottleneckHoldsBack) {
  EXPECT_EQ(shares_of({30, 60, 90}, {{{0}, {1}, {2}}, {{0}}, {{1}}, {{2}}}), (std::vector<int64_t>{15, 15, 45, 75}));
}

// Constraint 0 (10) has v0, v1; constraint 1 (20) v1, v2, v3; constraint 2 (100) v3. Levels: c0 5, c1 20/3: v0 = v1 =
// 5, then c1 has 15 for v2, v3: 7.5, rounded down. c2 is no bottleneck.
TEST(MaxMin, FillsSeveralLevelsInTurn) {
  EXPECT_EQ(shares_of({10, 20, 100}, {{{0}}, {{0}, {1}}, {{1}}, {{1}, {2}}}), (std::vector<int64_t>{5, 5, 7, 7}));
}

// v0 .. v2 get 100/3 each of constraint 0; v0 leaves 1000 - 33 1/3 of constraint 1 to v3.
TEST(MaxMin, DoesNotPassRoundingOn) {
  EXPECT_EQ(shares_of({100, 1000}, {{{0}, {1}}, {{0}}, {{0}}, {{1}}}), (std::vector<int64_t>{33, 33, 33, 966}));
}

// Rounded levels leave a rest on one of two equal constraints when they are filled one after another: whichever comes
// first must not matter.
TEST(MaxMin, SharesDoNotDependOnNumbers) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    constexpr uint32_t kWhole = 4096;
    const size_t constraints = 2 + random.below(6), variables = 2 + random.below(40);
    std::vector<int64_t> capacities(constraints);
    // Few different ones, so that several constraints fill up together.
    for (int64_t& capacity : capacities) capacity = 1'000'003 * static_cast<int64_t>(1 + random.below(2));
    Uses uses(variables);
    for (auto& of_variable : uses) {
      std::set<uint32_t> drawn;
      for (size_t n = 1 + random.below(3); drawn.size() < std::min(n, constraints);)
        drawn.insert(static_cast<uint32_t>(random.below(constraints)));
      for (const uint32_t c : drawn) of_variable.push_back({c, kWhole});
    }
    const std::vector<int64_t> shares = shares_of(capacities, uses, kWhole);
    std::vector<int64_t> reversed(capacities.rbegin(), capacities.rend());
    Uses mirrored(uses.rbegin(), uses.rend());
    for (auto& of_variable : mirrored)
      for (Draw& draw : of_variable) draw.constraint = static_cast<uint32_t>(constraints) - 1 - draw.constraint;
    std::vector<int64_t> others = shares_of(reversed, mirrored, kWhole);
    std::ranges::reverse(others);
    EXPECT_EQ(shares, others) << "round " << round;
  }
}

// v0 stands for three that each draw on both constraints: they and v1 have a fourth of 100 each.
TEST(MaxMin, AVariableMayStandForSeveral) {
  EXPECT_EQ(shares_of({100, 90}, {{{0, 3}, {1, 3}}, {{0}}}), (std::vector<int64_t>{25, 25}));
  EXPECT_EQ(shares_of({100, 60}, {{{0, 3}, {1, 3}}, {{0}}}), (std::vector<int64_t>{20, 40}));
}

// Over two constraints of 100 in halves, v0 may have 200, but no more than 150 of the third. With v1, which has
// constraint 0 alone, x / 2 + x <= 100: both have 66 2/3.
TEST(MaxMin, DrawsPartsOfAShare) {
  const std::vector<Draw> both = {{0, 1}, {1, 1}, {2, 2}};
  EXPECT_EQ(shares_of({100, 100, 150}, {both}, 2), (std::vector<int64_t>{150}));
  EXPECT_EQ(shares_of({100, 100, 150}, {both, {{0, 2}}}, 2), (std::vector<int64_t>{66, 66}));
}

TEST(MaxMin, InactiveVariablesHaveNoShareAndTakeNone) {
  MaxMin solver(std::vector<int64_t>{100}, Uses{{{0}}, {{0}}});
  solver.activate(1);
  EXPECT_EQ(solver.solve().size(), 1u);
  EXPECT_EQ(solver.share(0), 0);
  EXPECT_EQ(solver.share(1), 100);
  solver.activate(0);
  EXPECT_EQ(solver.solve().size(), 2u);
  EXPECT_EQ(solver.share(1), 50);
  solver.deactivate(1);
  const auto changed = solver.solve();
  EXPECT_EQ(std::vector<uint32_t>(changed.begin(), changed.end()), std::vector<uint32_t>{0});
  EXPECT_EQ(solver.share(0), 100);
  EXPECT_EQ(solver.share(1), 0);
}

// Two pairs of constraints without a common variable: a change in one leaves the other alone.
TEST(MaxMin, VisitsOnlyWhatIsConnectedToTheChange) {
  MaxMin solver(std::vector<int64_t>{10, 10, 10, 10}, Uses{{{0}, {1}}, {{1}}, {{2}, {3}}, {{3}}});
  for (uint32_t v = 0; v < 4; ++v) solver.activate(v);
  solver.solve();
  EXPECT_EQ(solver.constraints_visited(), 4u);
  solver.deactivate(3);
  solver.solve();
  EXPECT_EQ(solver.constraints_visited(), 6u);
  EXPECT_TRUE(solver.solve().empty());
  EXPECT_EQ(solver.constraints_visited(), 6u);
}

/// What one `solve` looks at after a change.
template <class Change>
uint64_t visited_by(MaxMin& solver, Change change) {
  const uint64_t before = solver.constraints_visited();
  change();
  solver.solve();
  return solver.constraints_visited() - before;
}

// 5,000 pairs of constraints with three variables each, one over both: a change costs what its own pair does.
TEST(MaxMin, AChangeCostsNoMoreWhereMuchElseIs) {
  constexpr uint32_t kPairs = 5'000;
  Uses uses;
  for (uint32_t p = 0; p < kPairs; ++p) {
    uses.push_back({{2 * p}, {2 * p + 1}});
    uses.push_back({{2 * p}});
    uses.push_back({{2 * p + 1}});
  }
  MaxMin solver(std::vector<int64_t>(2 * kPairs, 100), uses);
  for (uint32_t v = 0; v < uses.size(); ++v) solver.activate(v);
  solver.solve();
  EXPECT_EQ(solver.constraints_visited(), 2 * kPairs);
  for (uint32_t p = 0; p < kPairs; p += 7) {
    // Without the variable over both the pair is two parts; of these the second alone sees the third variable go.
    EXPECT_EQ(visited_by(solver, [&] { solver.deactivate(3 * p); }), 2u);
    EXPECT_EQ(visited_by(solver, [&] { solver.deactivate(3 * p + 2); }), 1u);
    EXPECT_EQ(visited_by(solver, [&] { solver.activate(3 * p); }), 2u);
  }
}

// Constraints 0 .. n, variable v over constraints v and v + 1: a chain, which every departure cuts. A change looks once
// at each constraint of the pieces that it touches, however long the rest is.
TEST(MaxMin, AChangeInAChainLooksAtItsPieceAlone) {
  constexpr uint32_t kLength = 10'000;
  Uses uses;
  for (uint32_t v = 0; v < kLength; ++v) uses.push_back({{v}, {v + 1}});
  MaxMin solver(std::vector<int64_t>(kLength + 1, 100), uses);
  for (uint32_t v = 0; v < kLength; ++v) solver.activate(v);
  solver.solve();
  EXPECT_EQ(solver.constraints_visited(), kLength + 1);
  EXPECT_EQ(visited_by(solver, [&] { solver.deactivate(10); }), kLength + 1) << "both pieces change";
  EXPECT_EQ(visited_by(solver, [&] { solver.deactivate(5); }), 11u) << "constraints 0 .. 10";
  EXPECT_EQ(visited_by(solver, [&] { solver.deactivate(0); }), 6u) << "constraints 0 .. 5";
  EXPECT_EQ(visited_by(solver, [&] { solver.activate(5); }), 10u) << "constraints 1 .. 10";
  EXPECT_EQ(solver.share(5), 50);
}

/// A non-negative rational in lowest terms.
struct Fraction {
  __int128 numerator = 0, denominator = 1;
  static Fraction of(__int128 n, __int128 d) {
    __int128 a = n, b = d;
    while (b != 0) a = std::exchange(b, a % b);
    return {n / a, d / a};
  }
  Fraction operator+(Fraction o) const {
    return of(numerator * o.denominator + o.numerator * denominator, denominator * o.denominator);
  }
  Fraction operator-(Fraction o) const {
    return of(numerator * o.denominator - o.numerator * denominator, denominator * o.denominator);
  }
  bool operator<(Fraction o) const { return numerator * o.denominator < o.numerator * denominator; }
};

/// Progressive filling word for word: all unfrozen variables grow together by the same amount until a constraint is
/// full; its variables are frozen. Exact, and slow.
std::vector<Fraction> exact_shares(const std::vector<int64_t>& capacities, const Uses& uses,
                                   const std::set<uint32_t>& active, uint32_t whole) {
  std::vector<Fraction> left, shares(uses.size());
  for (const int64_t c : capacities) left.push_back(Fraction::of(c, 1));
  std::set<uint32_t> growing = active;
  while (!growing.empty()) {
    std::vector<int64_t> users(capacities.size());  // in parts of the whole
    for (const uint32_t v : growing)
      for (const Draw draw : uses[v]) users[draw.constraint] += draw.weight;
    Fraction step = Fraction::of(INT64_MAX, 1);
    for (size_t c = 0; c < capacities.size(); ++c)
      if (users[c] > 0) step = std::min(step, Fraction::of(left[c].numerator * whole, left[c].denominator * users[c]));
    for (size_t c = 0; c < capacities.size(); ++c)
      left[c] = left[c] - Fraction::of(step.numerator * users[c], step.denominator * whole);
    for (const uint32_t v : growing) shares[v] = shares[v] + step;
    std::erase_if(growing, [&](uint32_t v) {
      return std::any_of(uses[v].begin(), uses[v].end(),
                         [&](Draw draw) { return left[draw.constraint].numerator == 0; });
    });
  }
  return shares;
}

struct Problem {
  std::vector<int64_t> capacities;
  Uses uses;
  uint32_t whole = 1;
};

/// Of variables that draw in whole, or, but for their first constraint, in parts.
Problem random_problem(Random& random, uint32_t whole) {
  Problem problem{.whole = whole};
  const uint64_t constraints = 1 + random.below(6), variables = 1 + random.below(10);
  for (uint64_t c = 0; c < constraints; ++c)
    problem.capacities.push_back(static_cast<int64_t>(20 + random.below(1000)));
  for (uint64_t v = 0; v < variables; ++v) {
    std::set<uint32_t> uses;
    for (uint64_t i = 0; i <= random.below(3); ++i) uses.insert(static_cast<uint32_t>(random.below(constraints)));
    std::vector<Draw>& draws = problem.uses.emplace_back();
    for (const uint32_t c : uses)
      draws.push_back({c, draws.empty() ? whole : 1 + static_cast<uint32_t>(random.below(whole))});
  }
  return problem;
}

// Rounded down, and at most one unit and the rounding of levels (here far below another unit) from the exact share.
void expect_close(const MaxMin& solver, const std::vector<Fraction>& exact) {
  for (uint32_t v = 0; v < exact.size(); ++v) {
    const __int128 scaled = static_cast<__int128>(solver.share(v)) * exact[v].denominator;
    EXPECT_LT(scaled - exact[v].numerator, exact[v].denominator) << "variable " << v;
    EXPECT_LT(exact[v].numerator - scaled, 2 * exact[v].denominator) << "variable " << v;
    const auto whole = static_cast<int64_t>(exact[v].numerator / exact[v].denominator);
    EXPECT_LE(std::abs(solver.share(v) - whole), 1) << "variable " << v;
  }
}

/// Every active variable has a bottleneck: a full constraint on which no share is larger (Bertsekas and
/// Gallager, 6.5.2). Full: what is left would not give every variable one unit more.
void expect_max_min(const MaxMin& solver, const Problem& problem, const std::set<uint32_t>& active) {
  const int64_t whole = problem.whole;
  std::vector<int64_t> sum(problem.capacities.size()), largest(sum.size()), users(sum.size());  // in parts
  for (const uint32_t v : active)
    for (const Draw draw : problem.uses[v]) {
      sum[draw.constraint] += solver.share(v) * draw.weight;
      largest[draw.constraint] = std::max(largest[draw.constraint], solver.share(v));
      users[draw.constraint] += draw.weight;
    }
  for (size_t c = 0; c < sum.size(); ++c) EXPECT_LE(sum[c], problem.capacities[c] * whole);
  for (const uint32_t v : active)
    EXPECT_TRUE(std::any_of(problem.uses[v].begin(), problem.uses[v].end(),
                            [&](Draw draw) {
                              const uint32_t c = draw.constraint;
                              return problem.capacities[c] * whole - sum[c] <= users[c] &&
                                     solver.share(v) + 1 >= largest[c];
                            }))
        << "variable " << v;
}

TEST(MaxMin, AgreesWithExactFillingWhileVariablesComeAndGo) {
  Random random(20);
  for (int round = 0; round < 600; ++round) {
    const Problem problem = random_problem(random, round % 2 == 0 ? 1 : 8);
    MaxMin solver(problem.capacities, problem.uses, problem.whole);
    std::set<uint32_t> active;
    for (int change = 0; change < 20; ++change) {
      for (uint64_t i = 0; i <= random.below(3); ++i) {
        const auto v = static_cast<uint32_t>(random.below(problem.uses.size()));
        if (active.erase(v) > 0) {
          solver.deactivate(v);
        } else {
          solver.activate(v);
          active.insert(v);
        }
      }
      solver.solve();
      expect_close(solver, exact_shares(problem.capacities, problem.uses, active, problem.whole));
      expect_max_min(solver, problem, active);
      if (HasFailure()) return;
    }
  }
}

// 60 variables over 30 constraints of 10 to 400 Gbit/s: too many levels for exact fractions, so only the conditions of
// max-min fairness; and step by step gives what solving at once gives.
TEST(MaxMin, IsMaxMinFairAtTheScaleOfLinks) {
  Random random(21);
  Problem problem;
  for (int c = 0; c < 30; ++c)
    problem.capacities.push_back(10'000'000'000 * static_cast<int64_t>(1 + random.below(40)));
  for (int v = 0; v < 60; ++v) {
    std::set<uint32_t> uses;
    while (uses.size() < 4) uses.insert(static_cast<uint32_t>(random.below(30)));
    std::vector<Draw>& draws = problem.uses.emplace_back();
    for (const uint32_t c : uses) draws.push_back({c});
  }
  MaxMin solver(problem.capacities, problem.uses);
  std::set<uint32_t> active;
  for (uint32_t v = 0; v < 60; ++v) {
    solver.activate(v);
    active.insert(v);
    solver.solve();
    expect_max_min(solver, problem, active);
  }
  const std::vector<int64_t> at_once = shares_of(problem.capacities, problem.uses);
  for (uint32_t v = 0; v < 60; ++v) EXPECT_EQ(solver.share(v), at_once[v]);
}

}  // namespace
}  // namespace rankwire
