#include "emulator/traces/ddmin.h"

#include <algorithm>
#include <cstddef>

namespace rankwire {
namespace {

/// The k-th of n almost equal pieces of `items`, or all but that.
ItemList piece(const ItemList& items, size_t k, size_t n, bool all_but) {
  const auto begin = items.begin() + static_cast<ptrdiff_t>(items.size() * k / n);
  const auto end = items.begin() + static_cast<ptrdiff_t>(items.size() * (k + 1) / n);
  if (!all_but) return {begin, end};
  ItemList rest(items.begin(), begin);
  rest.insert(rest.end(), end, items.end());
  return rest;
}

}  // namespace

ItemList minimal_part(ItemList items, const std::function<bool(const ItemList&)>& shows,
                      const std::function<bool()>& go_on) {
  if (items.empty() || !go_on()) return items;
  if (shows({})) return {};
  size_t pieces = 2;
  const auto reduce = [&](bool all_but) {
    for (size_t k = 0; k < pieces && go_on(); ++k) {
      ItemList part = piece(items, k, pieces, all_but);
      if (!shows(part)) continue;
      items = std::move(part);
      pieces = all_but ? std::max<size_t>(pieces - 1, 2) : 2;
      return true;
    }
    return false;
  };
  while (items.size() >= 2 && go_on()) {
    // Of two pieces, either is what is left without the other.
    if (reduce(false) || (pieces > 2 && reduce(true))) continue;
    if (pieces >= items.size()) break;
    pieces = std::min(2 * pieces, items.size());
  }
  return items;
}

}  // namespace rankwire
