#include "emulator/bmwg/mirror.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/error.h"

namespace rankwire {
namespace {

struct MirrorFigure {
  std::string_view key;
  const char* name;
  bool is_share;  ///< of `packets`, where these are told as well
};
constexpr std::array kMirrored = {
    MirrorFigure{"packets", "mirrored port, data packets", false},
    MirrorFigure{"marked", "mirrored port, ECN marking ratio", true},
    MirrorFigure{"cnps", "mirrored port, CNPs", false},
    MirrorFigure{"pauses", "mirrored port, PAUSE frames", false},
    MirrorFigure{"out_of_order", "mirrored port, out-of-order rate", true},
};

}  // namespace

MirrorCounts mirror_counts(const nlohmann::ordered_json& printed) {
  if (!printed.is_object()) fail_input("it printed no JSON object");
  std::vector<std::string> known;
  for (const MirrorFigure& figure : kMirrored) known.emplace_back(figure.key);
  MirrorCounts counts;
  for (const auto& [key, value] : printed.items()) {
    if (std::ranges::find(known, key) == known.end())
      fail_input("it printed '{}', which is none of {}", key, fmt::join(known, ", "));
    if (!value.is_number() || value.get<double>() < 0)
      fail_input("it printed {} of '{}', which is no count", value.dump(), key);
    counts[key] = value.get<double>();
  }
  if (counts.empty()) fail_input("it printed an object with none of {}", fmt::join(known, ", "));
  return counts;
}

MirrorCounts mirrored_since(const MirrorCounts& before, const MirrorCounts& after) {
  MirrorCounts seen;
  for (const auto& [key, count] : before) {
    const auto later = after.find(key);
    if (later == after.end()) fail_input("it printed '{}' before the run, and not after it", key);
    if (later->second < count)
      fail_input("'{}' was {:.0f} before the run and {:.0f} after it: counts are expected that only grow", key, count,
                 later->second);
    seen[key] = later->second - count;
  }
  const auto packets = seen.find("packets");
  for (const MirrorFigure& figure : kMirrored) {
    const auto part = seen.find(std::string(figure.key));
    if (packets == seen.end() || !figure.is_share || part == seen.end() || part->second <= packets->second) continue;
    fail_input("it saw {:.0f} of '{}' during the run and {:.0f} of 'packets', of which these are a part", part->second,
               figure.key, packets->second);
  }
  return seen;
}

MirrorLook::MirrorLook(const BmwgBench& bench) : bench_(bench), before_(look()) {}

MirrorCounts MirrorLook::look() const {
  const nlohmann::ordered_json printed = bench_.mirror();
  if (printed.is_null()) return {};
  try {
    return mirror_counts(printed);
  } catch (const Error& error) {
    fail_run("{}: {}", bench_.hook_text("mirror"), error.what());
  }
}

MirrorCounts MirrorLook::since() const {
  const MirrorCounts after = look();
  try {
    return mirrored_since(before_, after);
  } catch (const Error& error) {
    fail_run("{}: {}", bench_.hook_text("mirror"), error.what());
  }
}

void add_mirrored(BmwgOutcome& outcome, const MirrorCounts& seen, const std::string& subject) {
  const auto packets = seen.find("packets");
  for (const MirrorFigure& figure : kMirrored) {
    const auto found = seen.find(std::string(figure.key));
    if (found == seen.end()) continue;
    const bool is_share = figure.is_share && packets != seen.end() && packets->second > 0;
    // Without packets a share is of nothing, and the count is told as such.
    const std::string name = figure.is_share && !is_share ? fmt::format("mirrored port, {}", figure.key) : figure.name;
    outcome.add(measured(name, is_share ? found->second / packets->second : found->second,
                         is_share ? "of data packets" : "frames", {}, {}, subject));
  }
}

}  // namespace rankwire
