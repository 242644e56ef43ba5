// Task graphs of FlexFlow, in Graphviz's dot, to Chakra.
//
//   digraph taskgraph {
//     node0 [label="{ npu_id=0 | linear_fwd | - | COMP_NODE | time=0.0015 }", shape=record];
//     node1 [label="{ npu_id=0 | transfer | - | COMM_SEND_RECV_NODE | src=0 | dst=1 | size=4096 }", shape=record];
//     node0 -> node1;
//   }
//
// Source: mlcommons/chakra before dd37d5a (2024), et_converter/flexflow_input_converter.py: cells by place, of which
// the third is not used; of cells with '=' what stands behind it. Times are seconds. A transfer is a SEND of `src` and
// a RECV of `dst`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "converters/conversion.h"
#include "converters/goal.h"

namespace rankwire {

struct FlexflowGraph {
  std::vector<GoalRank> ranks;       ///< by rank, operations in the order of the text, labelled with their names
  uint64_t edges_between_ranks = 0;  ///< left out: they join computations of different ranks
};

/// Throws Error(kInput) naming file and line. `path` is for messages.
FlexflowGraph parse_flexflow(const std::string& path, std::string_view text);

/// Writes a trace for each rank.
Conversion convert_flexflow(const std::string& path, const std::filesystem::path& folder, ConversionProgress& progress);

}  // namespace rankwire
