// The arrows of `timeline.json`, from who sends to who receives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "emulator/record/reader.h"
#include "emulator/report/trace_events.h"

namespace rankwire {

/// Where an execution is drawn.
struct DrawnSlice {
  uint64_t process = 0, thread = 0;
  OperationTimes times;
};

/// Arrows of one run, as pairs of flow events: from a SEND to its RECV, and from a collective at one rank to the same
/// one at another for each of its messages that the record has one by one. Both ends lie within the slices of their
/// executions, to which viewers bind them. Where one of these is not drawn there is no arrow.
class TimelineFlows {
 public:
  static constexpr size_t kMost = 25'000;  ///< of SENDs, and of messages: those that took longest

  /// Reads up to `most` messages. Takes half a KiB for each, and 88 bytes for each SEND and RECV that is drawn.
  TimelineFlows(const RunReader& record, const RecordedRun& run, size_t most = kMost);

  /// An execution that is drawn.
  void add(const NodeInfo& node, uint32_t iteration, const DrawnSlice& slice);

  struct Written {
    uint64_t flows = 0;  ///< arrows
    /// Pairs and messages of the record without one. Of more messages than are read those of the whole run count.
    uint64_t left_out = 0;
  };
  /// Once, after all executions; `first` is the identity of the first arrow.
  Written write(TraceEvents& events, uint64_t first);

 private:
  /// Of a SEND and its RECV: job, source, destination, tag, sequence, iteration.
  using Pair = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  struct PairEnd {
    Pair pair;
    bool sends = false;
    DrawnSlice slice;
    Bytes bytes;
  };
  /// Of a collective at a rank: rank, iteration, sequence, job.
  using Member = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
  struct MessageEnd {
    uint32_t message = 0;
    bool sends = false;
  };
  /// A message of a collective; ends that are not drawn have no thread.
  struct MessageArrow {
    JoinedMessage message;
    DrawnSlice from, to;
  };
  struct Arrow {
    DrawnSlice from, to;
    Time sent, received;
    Bytes bytes;
    Duration length() const { return received - sent; }
  };

  std::vector<Arrow> pairs();
  std::vector<Arrow> messages() const;

  const size_t most_;
  uint64_t known_ = 0;  // messages that might have an arrow
  std::vector<PairEnd> ends_;
  std::vector<MessageArrow> messages_;
  std::multimap<Member, MessageEnd> wanted_;
};

}  // namespace rankwire
