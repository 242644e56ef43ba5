// The messages of a schedule, connection by connection.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/collective/schedule.h"

namespace rankwire {

/// An edge is (peer, channel, control, direction); the n-th send of an edge is the n-th receive of the peer's edge.
struct Edges {
  struct Edge {
    uint32_t peer = 0;  ///< position in the group
    uint8_t channel = 0;
    bool control = false;
    StepKind kind = StepKind::kSend;  ///< kSend or kReceive
    uint32_t first_step = 0;          ///< offset of the edge's steps in `edge_steps`
    uint32_t count = 0;
    Bytes bytes;  ///< of its messages
    Bytes largest;
  };

  std::vector<Edge> edges;           ///< in the order of their first steps
  std::vector<uint32_t> edge_steps;  ///< step indexes, edge by edge, in order
  std::vector<uint32_t> edge_of;     ///< by step; meaningless for kReduce
  std::vector<uint32_t> ordinal_of;  ///< by step: n-th of its edge

  /// The n-th step of the edge.
  uint32_t step_of(const Edge& edge, uint32_t n) const { return edge_steps[edge.first_step + n]; }
};

Edges edges_of(const Schedule& schedule);

}  // namespace rankwire
