#include "emulator/input/nearest_key.h"

#include <algorithm>
#include <numeric>

namespace rankwire {
namespace {

/// How far a misspelt name may be from what it was meant to be.
bool is_near(size_t distance, size_t length) {
  return distance <= std::max<size_t>(1, length / 3);
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> before(width), above(width), row(width);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j < width; ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above.back();
}

std::string nearest_name(std::string_view name, std::span<const std::string> known, size_t common) {
  const auto distance = [&](std::string_view candidate) { return edit_distance(name, candidate); };
  const auto best = std::ranges::min_element(known, {}, distance);
  return best != known.end() && is_near(distance(*best), best->size() - common) ? *best : "";
}

void fail_unknown_key(const Origin& origin, std::string_view prefix, std::string_view key,
                      std::span<const std::string_view> known) {
  const auto distance = [&](std::string_view candidate) { return edit_distance(key, candidate); };
  const auto best = std::ranges::min_element(known, {}, distance);
  if (best != known.end() && is_near(distance(*best), best->size())) {
    fail_at(origin, "key '{0}{1}' is unknown; did you mean '{0}{2}'?", prefix, key, *best);
  }
  std::string all;
  for (std::string_view candidate : known) all += fmt::format("{}{}", all.empty() ? "" : ", ", candidate);
  fail_at(origin, "key '{}{}' is unknown; the keys here are {}", prefix, key, all);
}

}  // namespace rankwire
