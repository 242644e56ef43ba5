// Closed forms of the algorithms whose messages grow, shrink or branch: hypercubes, Bruck, PAT, trees and hierarchies.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/simulator/closed_form.h"

namespace rankwire {

inline int64_t power_below(int64_t members) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(members)));
}
/// ceil(log2 n).
inline int64_t rounds_of(int64_t members) {
  return std::bit_width(static_cast<uint64_t>(members - 1));
}

/// A message of `unit` x 1, 2, 4 ... `count` / 2 in each step, one at a time.
inline ClosedForms doubling(Bytes unit, int64_t count) {
  ClosedForms forms;
  for (int64_t units = 1; units < count; units *= 2) forms.push_back({1, 1, Bytes(unit.count * units)});
  return forms;
}
inline ClosedForms joined(ClosedForms first, const ClosedForms& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Of p = 2^k members all have a vertex, and all exchange at once: the form of p. Others are served by one that has,
/// which takes a message of `in` before and one of `out` after it. That is the longest chain, so that it takes no less;
/// and more where members that serve nobody are ahead, whose messages then share a port with those of the step before.
/// To a port come k + 1 messages in all, so that none of them ever shares with more than the others.
struct OnHypercube {
  std::function<ClosedForms(int64_t vertices, Bytes input)> exchanges;
  std::function<Bytes(int64_t members, Bytes input)> in, out;  ///< out: empty where nobody is told
  int64_t inputs = 1;  ///< of members that a message may have for each vertex: 2 where inputs are not added

  ClosedForms chain(int64_t n, Bytes s) const {
    const int64_t p = power_below(n);
    ClosedForms forms = exchanges(p, s);
    if (p == n) return forms;
    forms.insert(forms.begin(), {1, 1, in(n, s)});
    if (out) forms.push_back({1, 1, out(n, s)});
    return forms;
  }
  ClosedForms most(int64_t n, Bytes s) const {
    const int64_t p = power_below(n);
    if (p == n) return exchanges(p, s);
    ClosedForms forms = joined({{1, 1, in(n, s)}}, exchanges(p, Bytes(s.count * inputs)));
    if (out) forms.push_back({1, 1, out(n, s)});
    for (ClosedForm& form : forms) form.at_once = rounds_of(n) + 1, ++form.acknowledged;
    return forms;
  }
  std::optional<ClosedForms> least(int64_t n, Bytes s) const {
    return power_below(n) == n ? std::nullopt : std::optional(chain(n, s));
  }
};

inline ClosedCase on_hypercube(std::string name, Operation operation, Algorithm algorithm, const OnHypercube& cube) {
  return {std::move(name), operation, algorithm, [cube](int64_t n, Bytes s) { return cube.most(n, s); },
          [cube](int64_t n, Bytes s) { return cube.least(n, s); }};
}

/// Bruck and PAT: distances 1, 2, 4 ... up to the largest power of two below n, all members alike. A step waits for the
/// one with half (PAT: twice) its distance where some data goes over both distances. Where none goes over the largest
/// and half of that, which is when 3/2 of the largest is not below n, both steps go on at once: then the ports, which
/// are all used alike and idle no longer than one step after the other would let them, have done with them no later
/// than that, and no earlier than with the steps but that of the largest distance.
struct ByDistance {
  std::function<Bytes(int64_t n, Bytes s, int64_t distance)> message;

  static int64_t largest(int64_t n) { return power_below(n - 1); }
  static bool one_by_one(int64_t n) { return n == 2 || largest(n) * 3 < 2 * n; }
  ClosedForms up_to(int64_t n, Bytes s, int64_t most) const {
    ClosedForms forms;
    for (int64_t d = 1; d <= most; d *= 2) forms.push_back({1, 1, message(n, s, d)});
    return forms;
  }
};

inline ClosedCase by_distance(std::string name, Operation operation, Algorithm algorithm, const ByDistance& steps) {
  return {std::move(name), operation, algorithm,
          [steps](int64_t n, Bytes s) { return steps.up_to(n, s, steps.largest(n)); },
          [steps](int64_t n, Bytes s) {
            return steps.one_by_one(n) ? std::nullopt : std::optional(steps.up_to(n, s, steps.largest(n) / 2));
          }};
}

/// PAT: members x = 0, 2 d, 4 d ... of a tree that have a child at x + d.
inline int64_t parents(int64_t n, int64_t distance) {
  int64_t count = 0;
  for (int64_t x = 0; x + distance < n; x += 2 * distance) ++count;
  return count;
}
/// Bruck: distances below n whose bit is set.
inline int64_t with_bit(int64_t n, int64_t bit) {
  int64_t count = 0;
  for (int64_t d = 1; d < n; ++d) count += (d & bit) != 0;
  return count;
}

/// A binomial tree from the root: member v, counted from there, has those at v + 2^k for each 2^k below its lowest bit.
/// It sends to all of them at once, so that each waits for all. The longest way.
inline ClosedForms binomial_broadcast_form(int64_t n, Bytes s) {
  const auto children = [n](int64_t v) {
    int64_t count = 0;
    for (int64_t d = 1; (v == 0 || d < (v & -v)) && v + d < n; d *= 2) ++count;
    return count;
  };
  ClosedForms longest;
  for (int64_t member = 1; member < n; ++member) {
    ClosedForms way;
    for (int64_t at = member; at != 0;) {
      at &= at - 1;
      way.push_back({1, children(at), s});
    }
    if (time_of(way) > time_of(longest)) longest = way;
  }
  return longest;
}

/// The same tree with the parts of each subtree in a message, of which a child has as many as there are members from it
/// on, up to its distance from the parent. All begin at once and share the parent's port fairly, so that a message is
/// over when the port has carried it and of each other one as much, or all of it where that is shorter.
inline ClosedForms binomial_scatter_form(int64_t n, Bytes block) {
  const auto parts = [n](int64_t child) { return std::min(child & -child, n - child); };
  const auto message = [&](int64_t child) { return Bytes(block.count * parts(child)); };
  const auto line = [&](int64_t child) { return line_size(message(child), Star::framing()); };
  const auto sent_to = [&](int64_t child) {
    const int64_t parent = child & (child - 1);
    ClosedForm form{1, 1, message(child)};
    for (int64_t d = 1; (parent == 0 || d < (parent & -parent)) && parent + d < n; d *= 2) {
      if (parent + d == child) continue;
      ++form.at_once;
      form.others += std::min(line(parent + d), line(child));
    }
    return form;
  };
  ClosedForms longest;
  for (int64_t member = 1; member < n; ++member) {
    ClosedForms way;
    for (int64_t at = member; at != 0; at &= at - 1) way.push_back(sent_to(at));
    if (time_of(way) > time_of(longest)) longest = way;
  }
  return longest;
}

/// As OnHypercube, but both of a pair add one half of the data, and then one hands its half over. The chain goes
/// through the first pair, whose vertex sends the half that it is handed first. To a port come two messages of its
/// pair, and one for each exchange; from one go as many. With each of them any other may share it.
inline ClosedCase by_elimination(std::string name, Operation operation, bool told,
                                 const std::function<ClosedForms(int64_t vertices, Bytes input)>& exchanges) {
  const auto chain = [=](int64_t n, Bytes s) {
    const int64_t p = power_below(n);
    if (p == n) return exchanges(p, s);
    ClosedForms forms = joined({{2, 1, Bytes(s.count / p * (p / 2))}}, exchanges(p, s));
    if (told) forms.push_back({1, 1, s});
    return forms;
  };
  return {std::move(name), operation, Algorithm::kHalvingDoublingElimination,
          [=](int64_t n, Bytes s) {
            ClosedForms forms = chain(n, s);
            if (power_below(n) == n) return forms;
            for (ClosedForm& form : forms)
              form.at_once = 2 * rounds_of(power_below(n)) + 2, form.acknowledged = form.steps;
            return forms;
          },
          [=](int64_t n, Bytes s) { return power_below(n) == n ? std::nullopt : std::optional(chain(n, s)); }};
}

/// All-to-all over the members of H hosts with m each, every block a message. At once a member sends to each of its
/// host H blocks, of which it is to forward all but one, and to those of its own index on other hosts one block each.
///
/// Of two hosts the messages to begin with keep every port busy until they are over, 2 m - 1 of them at each, the last
/// of them m - 1 to forward: these go on alike. Of more all begin with those for the same host, whose ports they share.
/// Then a port has done with all of its blocks no earlier than one after the other, 2 m H - H - m of them; and since
/// no more than m - 1 + H - 1 connections meet at one, each with its blocks one after the other, it takes no longer
/// than if each of H local blocks had but such a part of it, and then each of the m of a host for a member elsewhere.
inline ClosedCase all_to_all_pxn(int64_t m) {
  const auto one_of = [](int64_t count, Bytes block) {
    return ClosedForm{1, count, block, 0, Bytes(line_size(block, Star::framing()).count * (count - 1))};
  };
  const auto form = [=](int64_t n, Bytes s) {
    const int64_t hosts = n / m, met = m + hosts - 2;
    const Bytes block(s.count / n);
    if (hosts == 1) return ClosedForms{one_of(m - 1, block)};
    if (hosts == 2) return ClosedForms{one_of(2 * m - 1, block), one_of(m - 1, block)};
    return ClosedForms{{hosts, met, block}, {m, met, block}};
  };
  const auto least = [=](int64_t n, Bytes s) {
    const int64_t hosts = n / m;
    if (hosts <= 2) return std::optional(not_rounded(form(n, s)));
    return std::optional(not_rounded({one_of(2 * n - hosts - m, Bytes(s.count / n))}));
  };
  return {"all_to_all_pxn_" + std::to_string(m), Operation::kAllToAll, Algorithm::kPxn, form, least, m};
}

inline std::vector<ClosedCase> closed_tree_cases() {
  const auto part = [](Bytes s, int64_t parts) { return Bytes(s.count / parts); };
  const auto whole = [](int64_t, Bytes s) { return s; };
  const auto halves_and_back = [=](int64_t p, Bytes s) {
    return joined(doubling(part(s, p), p), doubling(part(s, p), p));
  };
  const OnHypercube scattering{[=](int64_t p, Bytes s) { return doubling(part(s, p), p); }, whole,
                               [=](int64_t n, Bytes s) { return part(s, n); }, 2};
  const OnHypercube gathering{[](int64_t p, Bytes s) { return doubling(s, p); }, whole,
                              [](int64_t n, Bytes s) { return Bytes(s.count * (n - 1)); }, 2};
  std::vector<ClosedCase> cases{
      // Who adds to what it is sending waits until that has been acknowledged: all steps but the first.
      on_hypercube("all_reduce_recursive_doubling", Operation::kAllReduce, Algorithm::kRecursiveDoubling,
                   {[](int64_t p, Bytes s) {
                      const int64_t k = rounds_of(p);
                      return ClosedForms{{k, 1, s, k - 1}};
                    },
                    whole, whole}),
      // Who is told at the end what all others had need not have been heard before; and who is told its part at the end
      // of a
      // reduce-scatter has it of members that may have been ahead.
      {"all_gather_recursive_doubling", Operation::kAllGather, Algorithm::kRecursiveDoubling,
       [=](int64_t n, Bytes s) { return gathering.most(n, s); },
       [=](int64_t n, Bytes s) {
         const int64_t p = power_below(n);
         return p == n ? std::nullopt : std::optional(joined(doubling(s, p), {{1, 1, Bytes(s.count * (n - 1))}}));
       }},
      on_hypercube("all_reduce_halving_doubling", Operation::kAllReduce, Algorithm::kHalvingDoubling,
                   {halves_and_back, whole, whole}),
      on_hypercube("reduce_halving_doubling", Operation::kReduce, Algorithm::kHalvingDoubling,
                   {halves_and_back, whole, nullptr}),
      {"reduce_scatter_recursive_halving", Operation::kReduceScatter, Algorithm::kRecursiveHalving,
       [=](int64_t n, Bytes s) { return scattering.most(n, s); },
       [=](int64_t n, Bytes s) {
         const int64_t p = power_below(n);
         return p == n ? std::nullopt : std::optional(joined({{1, 1, s}}, doubling(part(s, n), p)));
       }},
      by_distance("all_gather_bruck", Operation::kAllGather, Algorithm::kBruck,
                  {[](int64_t n, Bytes s, int64_t d) { return Bytes(s.count * std::min(d, n - d)); }}),
      by_distance("all_to_all_bruck", Operation::kAllToAll, Algorithm::kBruck,
                  {[=](int64_t n, Bytes s, int64_t d) { return Bytes(part(s, n).count * with_bit(n, d)); }}),
      by_distance("all_gather_pat", Operation::kAllGather, Algorithm::kPat,
                  {[](int64_t n, Bytes s, int64_t d) { return Bytes(s.count * parents(n, d)); }}),
      by_distance("reduce_scatter_pat", Operation::kReduceScatter, Algorithm::kPat,
                  {[=](int64_t n, Bytes s, int64_t d) { return Bytes(part(s, n).count * parents(n, d)); }}),
      by_elimination("all_reduce_halving_doubling_elimination", Operation::kAllReduce, true, halves_and_back),
      by_elimination("reduce_halving_doubling_elimination", Operation::kReduce, false, halves_and_back),
      {"broadcast_binomial_tree", Operation::kBroadcast, Algorithm::kBinomialTree, binomial_broadcast_form},
      {"scatter_binomial_tree", Operation::kScatter, Algorithm::kBinomialTree,
       [=](int64_t n, Bytes s) { return binomial_scatter_form(n, part(s, n)); },
       [=](int64_t n, Bytes s) { return std::optional(not_rounded(binomial_scatter_form(n, part(s, n)))); }},
      // Of 2^k members a parent's children end one after the other, each when the one before has been taken. Of fewer
      // some
      // end earlier, which makes nobody later; and the tree of half of 2^k members is whole.
      {"reduce_binomial_tree", Operation::kReduce, Algorithm::kBinomialTree,
       [](int64_t n, Bytes s) {
         return ClosedForms{{rounds_of(n), 1, s}};
       },
       [](int64_t n, Bytes s) {
         return power_below(n) == n ? std::nullopt : std::optional(ClosedForms{{rounds_of(n) - 1, 1, s}});
       }},
      {"gather_binomial_tree", Operation::kGather, Algorithm::kBinomialTree,
       [](int64_t n, Bytes s) { return doubling(s, int64_t{1} << rounds_of(n)); },
       [](int64_t n, Bytes s) {
         return power_below(n) == n ? std::nullopt : std::optional(doubling(s, power_below(n)));
       }},
  };
  // Halves go up and down two trees. In one a member has two children at most and in the other none, or one, so that
  // four messages share a port at most, for each level of a tree, of which there are no more than the members have
  // bits. No tree of at most two children a member is less deep than a whole one, and of the two ways each takes a
  // message a level.
  cases.push_back({"all_reduce_double_binary_tree", Operation::kAllReduce, Algorithm::kDoubleBinaryTree,
                   [=](int64_t n, Bytes s) {
                     const int64_t levels = std::bit_width(static_cast<uint64_t>(n));
                     return ClosedForms{{2 * levels, 4, Bytes((s.count + 1) / 2), 2 * levels}};
                   },
                   [=](int64_t n, Bytes s) {
                     const int64_t levels = rounds_of(n + 1) - 1;
                     return std::optional(ClosedForms{{2 * levels, 1, part(s, 2)}});
                   }});
  for (const int64_t m : {2, 4, 8}) {
    const std::string of = "_hierarchical_" + std::to_string(m);
    cases.push_back(
        {"all_reduce" + of, Operation::kAllReduce, Algorithm::kHierarchical,
         [=](int64_t n, Bytes s) {
           return ClosedForms{{1, m - 1, part(s, m)}, {2 * (n / m - 1), 1, part(s, n)}, {1, m - 1, part(s, m)}};
         },
         nullptr, m});
    cases.push_back({"reduce_scatter" + of, Operation::kReduceScatter, Algorithm::kHierarchical,
                     [=](int64_t n, Bytes s) {
                       return ClosedForms{{1, m - 1, part(s, m)}, {n / m - 1, 1, part(s, n)}};
                     },
                     nullptr, m});
    // Round the ring blocks of a member, and then those of its index on all hosts as one message.
    cases.push_back({"all_gather" + of, Operation::kAllGather, Algorithm::kHierarchical,
                     [=](int64_t n, Bytes s) {
                       return ClosedForms{{n / m - 1, 1, s}, {1, m - 1, Bytes(s.count * (n / m))}};
                     },
                     nullptr, m});
    cases.push_back(all_to_all_pxn(m));
    cases.push_back({"all_to_all" + of, Operation::kAllToAll, Algorithm::kHierarchical,
                     [=](int64_t n, Bytes s) {
                       const Bytes block = part(s, n);
                       ClosedForms forms{{1, m - 1, Bytes(block.count * (n / m))}};
                       if (n > m) forms.push_back({1, n / m - 1, Bytes(block.count * m)});
                       return forms;
                     },
                     nullptr, m});
  }
  return cases;
}

}  // namespace rankwire
