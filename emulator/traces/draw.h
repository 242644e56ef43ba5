// Pictures of traces: the graph of a rank in Graphviz's language, and all ranks over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emulator/traces/rank_set.h"
#include "emulator/traces/timing.h"

namespace rankwire {

/// How much of a name tells nodes of the drawn graph apart.
enum class Collapse : uint8_t {
  kNothing,  ///< each node by itself
  kLayer,    ///< nodes of one kind whose names are the same but for numbers behind the first one
  kName,     ///< the same but for all numbers
  kStem,     ///< the same but for numbers, up to the first of ( < @ [ and blanks
  kMost,     ///< as before, the most frequent ones, and one vertex for all others
};

struct DotGraph {
  std::string text;
  Collapse collapse = Collapse::kNothing;
  size_t vertices = 0, edges = 0;
};

/// The graph of one rank with at most `most` (> 1) vertices, collapsed as little as that takes. A vertex has the nodes'
/// kind as colour, how many they are, their bytes (sizes count `element_size`) and durations; an edge says how many
/// dependencies it stands for. Language: Graphviz, "The DOT Language".
DotGraph dot_graph(const RankSet& set, uint32_t place, size_t most, Bytes element_size = Bytes(1));

/// Compute and communication of the first 32 ranks over time, at most 25,600 rectangles. "" without times. A whole SVG
/// document.
std::string timeline_svg(const RankSet& set, const Timing& timing);

}  // namespace rankwire
