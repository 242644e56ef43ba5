// Delta debugging: the smallest part of something that still shows what the whole shows.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace rankwire {

/// Items of a whole, by number.
using ItemList = std::vector<uint32_t>;

/// A part of `items`, in their order, that `shows` what they show, and of which no single item can be left out
/// (1-minimal), unless `go_on` has become false before: it is asked before each call of `shows`. `items` themselves are
/// taken to show it. At best O(log n) calls of `shows`, at worst n^2 + 3 n. Source: ddmin of Zeller and Hildebrandt,
/// "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002, figure 5; the empty part is tried, too,
/// and first.
ItemList minimal_part(ItemList items, const std::function<bool(const ItemList&)>& shows,
                      const std::function<bool()>& go_on);

}  // namespace rankwire
