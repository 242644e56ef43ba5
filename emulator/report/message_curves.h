// How long messages took, as distributions of few points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/record/reader.h"

namespace rankwire {

/// Where the times of one run's messages lie: from post to delivery, control messages left out.
struct MessageCurve {
  /// How the points are known.
  enum class Source {
    kMessages,   ///< of every message: exact
    kHistogram,  ///< of all messages in log-linear buckets: times at most 1/32 too high, the longest exact
    kQuantiles,  ///< an old record's P50, P95, P99, P99.9 in the same way, and the longest
  };
  struct Point {
    double part;    ///< 0 < part <= 1 of the messages took `time` at most
    Duration time;  ///< shortest first; each once
  };

  std::string run;  ///< "emulated", "twin", "reference"
  uint64_t count = 0;
  Source source = Source::kMessages;
  std::vector<Point> points;

  /// The time of the message of place ceil(part count), 0 < part <= 1, or of the first known one behind it.
  Duration quantile(double part) const;
};

/// Curves of one kind of operation.
struct MessageCurves {
  std::string kind;  ///< as NodeInfo::kind; empty: of all messages
  std::vector<MessageCurve> runs;
};

/// Places of `count` messages at which a curve is known: all of a few hundred, else each half per cent, P99.9, P99.99,
/// the first and the last. Rising.
std::vector<uint64_t> curve_places(uint64_t count);

/// The emulated side, the reference, and the twin where it is neither, as far as the record has them.
std::vector<const RecordedRun*> compared_runs(const RunReader& record);

/// Of the compared runs, as far as they have messages: first of all
/// messages, then by kind where some run has every message in the record.
std::vector<MessageCurves> message_curves(const RunReader& record);

}  // namespace rankwire
