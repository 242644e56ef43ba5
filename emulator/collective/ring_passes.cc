#include <algorithm>

#include "emulator/collective/algorithms.h"

namespace rankwire {
namespace {

using Pass = std::vector<Extent>;  // a block a member

/// The channel's part of the input, a chunk a member in every pass. The last pass divides what is left among all
/// members, in whole 16 bytes (NCCL 2.30.7, device/all_reduce.h).
std::vector<Pass> all_reduce_passes(const ScheduleBuilder& builder) {
  const Extent input = builder.input();
  const int64_t members = builder.members(), unit = 16 % builder.element().count == 0 ? 16 : builder.element().count;
  std::vector<Pass> passes;
  for (int64_t begin = 0, chunk = builder.slicing().chunk.count; begin < input.bytes.count; begin += chunk * members) {
    const int64_t left = input.bytes.count - begin;
    if (left < chunk * members) chunk = ((left + members - 1) / members + unit - 1) / unit * unit;
    Pass& blocks = passes.emplace_back();
    for (int64_t i = 0; i < members; ++i) {
      const int64_t first = std::min(i * chunk, left);
      blocks.push_back({input.offset + Bytes(begin + first), Bytes(std::min(chunk, left - first))});
    }
  }
  return passes;
}

/// A chunk of every block in every pass (device/all_gather.h, reduce_scatter.h).
std::vector<Pass> chunked_passes(const ScheduleBuilder& builder, const std::vector<Extent>& blocks) {
  const Bytes chunk = builder.slicing().chunk;
  const Bytes longest = std::max_element(blocks.begin(), blocks.end(), [](const Extent& a, const Extent& b) {
                          return a.bytes < b.bytes;
                        })->bytes;
  std::vector<Pass> passes;
  for (Bytes begin; begin < longest; begin += chunk) {
    Pass& pass = passes.emplace_back();
    for (const Extent& block : blocks) {
      const Bytes first = std::min(begin, block.bytes);
      pass.push_back({block.offset + first, std::min(chunk, block.bytes - first)});
    }
  }
  return passes;
}

std::vector<Pass> passes_of(const ScheduleBuilder& builder) {
  const bool whole = builder.slicing().chunk == Bytes(0);
  if (builder.operation() == Operation::kAllReduce && !whole) return all_reduce_passes(builder);
  const std::vector<Extent> blocks = builder.operation() == Operation::kAllGather ? builder.inputs() : builder.parts();
  return whole ? std::vector<Pass>{blocks} : chunked_passes(builder, blocks);
}

}  // namespace

void ring_passes(ScheduleBuilder& builder) {
  const uint32_t rounds = builder.operation() == Operation::kAllReduce ? 2 : 1;
  uint32_t step = 0;
  Producers last;
  for (const Pass& blocks : passes_of(builder)) {
    if (builder.operation() == Operation::kAllReduce)
      last = ring_all_reduce(builder, blocks, step, last);
    else if (builder.operation() == Operation::kReduceScatter)
      last = ring_reduce_scatter(builder, blocks, step, last);
    else
      last = ring_all_gather(builder, blocks, step, builder.after_all(last, blocks[builder.position()]));
    step += rounds * (builder.members() - 1);
  }
}

}  // namespace rankwire
