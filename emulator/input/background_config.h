// What a configuration says of traffic without a trace: docs/background.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/input/marking_config.h"

namespace rankwire {

enum class BackgroundPatternName : uint8_t { kPairs, kAllToAll, kPermutation, kIncast, kRandomPairs };

/// One of them is set, or none.
struct MessageSizeConfig {
  Bytes fixed;
  std::string published;  ///< a name that published_sizes knows
  std::string file;       ///< of a table, see size_table.h; absolute
};

struct BurstConfig {
  Duration on, off;
};

/// One item of `background`.
struct BackgroundConfig {
  std::string name;
  BackgroundPatternName pattern = BackgroundPatternName::kPairs;  ///< required
  std::vector<std::string> from, to;    ///< numbers of hosts and names of ports; empty: see docs/background.md
  std::optional<uint32_t> pairs;        ///< kRandomPairs
  MessageSizeConfig size;               ///< required
  std::optional<Bandwidth> rate;        ///< of each flow: open loop
  bool poisson = false;                 ///< key `arrivals`
  uint32_t backlog = 64;                ///< open loop: messages of a flow that are outstanding, at most
  std::optional<uint32_t> outstanding;  ///< of each flow: closed loop
  Duration start;
  std::optional<Duration> stop;
  std::optional<BurstConfig> burst;
  JobMarkingConfig marking;  ///< key `transport`
  std::string place;         ///< "FILE:LINE", for errors that only the placement shows

  /// Whether it sends at a rate, whatever becomes of its messages.
  bool is_open() const { return rate.has_value(); }
};

}  // namespace rankwire
