// What the connections that have a trouble share, and those that have none do not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "emulator/record/run_record.h"

namespace rankwire {

/// What connections have an end in, or belong to. Of two that explain the same the first in this order is meant.
enum class Trait : uint8_t {
  kPortPair,  ///< first, since where nobody else sends to a port or from it, either end may be the cause
  kDestinationPort,
  kSourcePort,
  kPort,  ///< at either end
  kDestinationHost,
  kSourceHost,
  kHost,
  kRankPair,
  kDestinationRank,
  kSourceRank,
  kRank,
  kJob,
  kGroup,
};

/// Traffic between two ranks with the part of it that has the trouble. Any unit: packets, picoseconds, messages.
struct TroubledPair {
  JobId job;
  std::string group;  ///< name of the process group; empty for point-to-point
  RankId source, destination;
  double trouble = 0;
  double traffic = 0;
};

/// One value of a trait. `part_of_trouble` of all trouble is on connections that have it, and they have
/// `part_of_traffic` of all traffic; both 0 .. 1.
struct CommonTrait {
  Trait trait = Trait::kPort;
  uint32_t value = 0;  ///< PortId, host, RankId or JobId, of kGroup the JobId; of a pair that of the source
  uint32_t other = 0;  ///< of a pair that of the destination
  std::string group;   ///< kGroup: its name
  double part_of_trouble = 0;
  double part_of_traffic = 0;
};

/// How often the trouble was seen: so many times at any traffic, such as packets that were lost; or, with a
/// `population`, at so many of its members, each of which has it or not, such as connections that failed.
struct Observations {
  uint64_t count = 0;
  std::optional<uint64_t> population;
};

/// The value of a trait by which the trouble is told from the rest of the traffic best: with the largest difference of
/// its two parts (Youden's index, W. J. Youden, "Index for rating diagnostic tests", 1950). Absent where none has four
/// fifths of the trouble and a difference of 0.3, or where so much could be chance: trouble that is observed as often,
/// and falls anywhere in proportion to the traffic, would meet some value of the trait as often with a probability
/// above 1 % (Chernoff's bound, of a population the hypergeometric distribution, times the number of values). Of a
/// population that is not asked of the one port, host or rank all of whose connections have the trouble, several, while
/// no other connection has: a port that is dead in a ring of four leaves no more to count. `nics`
/// are those of the ranks; without them only ranks, jobs and groups are looked at. Neither job nor group is meant where
/// one port, host or rank alone, or one pair of them, has all the trouble, with that difference: whose packets met it
/// first is chance.
std::optional<CommonTrait> common_trait(std::span<const TroubledPair> pairs, std::span<const RankNic> nics,
                                        const Observations& observations);

}  // namespace rankwire
