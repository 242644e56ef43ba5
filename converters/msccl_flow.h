// What the steps of an MSCCL algorithm move, found by running them without time.
//
// MSCCL's steps name places in buffers: input, output and scratch. rankwire's algorithms name parts of the collective
// and have one place for each at every rank. So each place is followed: which chunk of the collective stands in it, and
// whose sum it is. A message is then of chunks, a copy within a GPU is nothing, and what is received into scratch and
// added later is received with a reduction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/msccl_text.h"

namespace rankwire {

/// A message of neighbouring chunks.
struct FlowNode {
  bool sends = false;
  bool reduces = false;  ///< of a receive: adds to what is there
  uint32_t peer = 0, channel = 0;
  uint32_t tag = 0;               ///< the number of the message among those of its source and destination
  uint32_t chunk = 0, count = 0;  ///< the first, and how many
  uint32_t block = 0, step = 0;   ///< of the text: id of the thread block, and the step in it
  std::vector<uint32_t> after;    ///< indexes of the rank's nodes, all of them less than this one's
};

struct MscclFlow {
  /// Into how many parts the collective's data is cut: one member's for all-reduce, reduce-scatter, broadcast and
  /// reduce, all members' inputs one after another for all-gather and all-to-all.
  uint32_t chunks = 0;
  std::vector<std::vector<FlowNode>> ranks;  ///< of all connections sends and receives are in the same order
  uint64_t divided = 0;  ///< steps whose chunks are no neighbours, so that they take several messages
};

/// Runs the algorithm. Steps of a thread block follow each other, and what they wait for; where buffers are used again,
/// messages wait for those that use the same chunk before them. `path` is for messages. Throws Error(kInput) naming
/// line, GPU, chunk and what is wrong: data that is not there, is added twice or has the wrong place, a result that is
/// not the collective's, thread blocks that wait for each other, more than 2^20 places in all buffers, and what cannot
/// be said with one place for each chunk.
MscclFlow follow_msccl(const std::string& path, const MscclAlgorithm& algorithm);

}  // namespace rankwire
