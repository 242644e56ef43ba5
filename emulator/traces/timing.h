// When the operations of a set take place, as far as its traces tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "emulator/traces/rank_set.h"

namespace rankwire {

struct TimingOptions {
  Bandwidth rate = Bandwidth(100'000'000'000);  ///< of communication without a recorded duration
  int64_t peak_flops = 100'000'000'000'000;     ///< of compute without a recorded duration, flop/s, > 0
  Bytes element_size = Bytes(1);                ///< what sizes count
  bool scheduled = false;                       ///< the ideal schedule even where start times are recorded
};

struct Span {
  Time start, end;
  Duration duration() const { return end - start; }
};

/// A node of the critical path. What a rank waits for between two of them is no node's.
struct PathStep {
  NodeRef at;
  Span span;
};

struct Timing {
  bool recorded = false;                 ///< from recorded start times; otherwise from an ideal schedule
  std::vector<std::vector<Span>> spans;  ///< by place and node
  Time end;                              ///< of the last node; the first begins at 0
  std::vector<PathStep> critical;        ///< in order of time
  std::string problem;                   ///< why there are no spans, or ""

  Span span(NodeRef at) const { return spans[at.place][at.node]; }
};

/// Recorded times where every node that takes part has a start. Otherwise a list schedule of all ranks: a node starts
/// when what it depends on has ended, a collective when all its members can, a RECV when its SEND has ended; host
/// threads, streams, and groups without a stream do one thing at a time, of those that wait the lowest id first. A node
/// takes its recorded duration, a collective the least of its members' (the last to come waits for nobody), else its
/// bytes at `rate`, or its num_ops at `peak_flops`. The critical path leads back from the node that ends last by what
/// each node waited for last, be it a dependency or its stream; of recorded times it is recorded_path(). O((nodes +
/// dependencies) log nodes).
Timing time_operations(const RankSet& set, const Matches& matches, const TimingOptions& options);

/// When the first of its nodes that take part began; nothing unless all of them have a start, and a duration that fits.
std::optional<Time> first_start(const RankFacts& facts);
/// By node, counted from `first`, which is not after any start. Of a file that has a first_start().
std::vector<Span> recorded_spans(const RankFacts& facts, Time first);

}  // namespace rankwire
