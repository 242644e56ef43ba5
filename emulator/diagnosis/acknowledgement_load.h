// How long a port's line carries acknowledgements, where the reference does without.
#pragma once

#include <map>
#include <vector>

#include "base/id.h"
#include "base/transport.h"
#include "base/units.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Of the frames that left the generator's ports what was no data: acknowledgements, and the few notifications of
/// congestion. Their number is counted; their line time is that of data frames in proportion to their sizes, of which
/// an acknowledgement's is known (docs/metrics.md, "Critical path"). Nothing where causes were not recorded, and where
/// the reference is the member at the median, which has them. Immutable after construction.
class AcknowledgementLoad {
 public:
  AcknowledgementLoad(const RunReader& record, const RecordedRun& run);

  /// Of `waited`, which `connection` spent in a step of `length` behind whatever left its port first: the part behind
  /// acknowledgements, in proportion to their line time and that of the data of other connections there, and no more
  /// than their line time in a time of that length.
  Duration of(const Connection& connection, Duration length, Duration waited) const;

 private:
  /// Line time in the whole run.
  struct Port {
    Duration data, acknowledgements;
  };

  std::vector<RankNic> nics_;
  std::map<PortId, Port> ports_;
  std::map<ConnectionId, Duration> data_;
  Duration completion_;
};

}  // namespace rankwire
