// The keys of one item of `background`; see schema.h.
#pragma once

#include <algorithm>
#include <string>

#include "base/size_distribution.h"
#include "emulator/input/background_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

/// A size, the name of a published distribution, or a file with one, whose name ends with ".csv".
struct MessageSize {
  MessageSizeConfig parse(const Tree& scalar) const {
    if (published_sizes(scalar.text)) return {.fixed = {}, .published = scalar.text, .file = {}};
    if (scalar.text.ends_with(".csv")) return {.fixed = {}, .published = {}, .file = FilePath().parse(scalar)};
    try {
      return {.fixed = size().parse(scalar), .published = {}, .file = {}};
    } catch (const ValueError& error) {
      throw ValueError(fmt::format("{}; or a distribution: web_search, storage, or a file FILE.csv", error.what()));
    }
  }
  ConfigJson print(const MessageSizeConfig& value) const {
    if (!value.published.empty()) return value.published;
    return value.file.empty() ? size().print(value.fixed) : ConfigJson(value.file);
  }

 private:
  static Size size() { return {Bytes(1), Bytes((1LL << 31) - 1)}; }
};

inline Choice<BackgroundPatternName> background_patterns() {
  return {{{"pairs", BackgroundPatternName::kPairs},
           {"all_to_all", BackgroundPatternName::kAllToAll},
           {"permutation", BackgroundPatternName::kPermutation},
           {"incast", BackgroundPatternName::kIncast},
           {"random_pairs", BackgroundPatternName::kRandomPairs}}};
}

template <class Visitor>
void describe_background(Visitor& visit, BackgroundConfig& entry) {
  const Interval time{Duration(), seconds(1'000'000)};
  const Interval step{nanoseconds(1), seconds(1'000'000)};
  visit.field("name", entry.name, Name{});
  visit.field("pattern", entry.pattern, background_patterns());
  visit.list("from", entry.from, Text{});
  visit.list("to", entry.to, Text{});
  visit.field("pairs", entry.pairs, Or{"none", Integer<uint32_t>{1, 1 << 20}});
  visit.field("size", entry.size, MessageSize{});
  visit.field("rate", entry.rate, Or{"none", Rate{}});
  visit.field("arrivals", entry.poisson, Choice<bool>{{{"even", false}, {"poisson", true}}});
  visit.field("backlog", entry.backlog, Integer<uint32_t>{1, 65'536});
  visit.field("outstanding", entry.outstanding, Or{"none", Integer<uint32_t>{1, 65'536}});
  visit.field("start", entry.start, time);
  visit.field("stop", entry.stop, Or{"none", step});
  visit.optional_section("burst", entry.burst, [&](auto& keys, BurstConfig& burst) {
    keys.field("on", burst.on, step);
    keys.field("off", burst.off, step);
  });
  visit.section("transport", [&](auto& keys) {
    keys.field("dscp", entry.marking.dscp, Or{"same", Integer<uint32_t>{0, 63}});
    keys.field("priority", entry.marking.priority, Or{"same", Integer<uint32_t>{0, 7}});
  });
}

}  // namespace rankwire
