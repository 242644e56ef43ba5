// Ranks of a job that nobody recorded.
//
// A run takes the traces of all ranks. Where a job was recorded in part, ranks that behave like a recorded one can be
// written as copies of it: the same nodes, with the groups and peers that stand to the copy as the original's stand to
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/conversion.h"
#include "converters/process_group.h"

namespace rankwire {

/// A rank whose trace has been written.
struct RecordedRank {
  uint32_t rank = 0;
  std::vector<ProcessGroup> groups;  ///< that it may be a member of
  uint64_t unknown = 0;              ///< operations that communicate, of which nothing says how much and among whom
};

struct FillOptions {
  bool fill_missing = false;  ///< writes copies for ranks without a trace
  bool force = false;         ///< also where they take more than kMostCopied
};

/// Bytes of copies that are written without being forced.
inline constexpr uint64_t kMostCopied = uint64_t{4} << 30;

/// Looks for ranks below `ranks` that are not `recorded`. Says so in a warning or, with `fill_missing`, writes them as
/// copies of recorded ranks and names these as an assumption; where communication of a copied rank is not known, a
/// warning says that the copies lack it as well.
///
/// Rank m can be a copy of rank r when each group that r uses is equally spaced, so that the group which m has in its
/// place is known; when m stands in that group where r does, if r sends, receives, has roots or unequal parts there;
/// when m gets all groups that recorded ranks share with it; and when their members call the same collectives of the
/// same sizes. Throws Error(kInput) naming the rank and what contradicts.
void complete_ranks(const std::vector<RecordedRank>& recorded, uint32_t ranks, const FillOptions& options,
                    Conversion& conversion);

}  // namespace rankwire
