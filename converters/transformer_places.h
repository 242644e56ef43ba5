// Where the ranks of a transformer stand, and whom they exchange with.
//
// The ranks of one shard and stage that have different data count as D = replica x context_parallel + context, 0 .. N
// - 1. With p = expert_parallel, R = shard_replicas and S = N / R, groups are
//
//   tp_<stage N + D>                   shards of a layer
//   cp_<(stage d + replica) t + shard>  parts of a sequence
//   dp_<stage t + shard>               all N of a shard
//   fsdp_<(stage R + D / S) t + shard>  of those, the S that share parameters out, where R > 1
//   ddp_<(stage S + D mod S) t + shard>  and the R that have the same ones
//   ep_<(stage N / p + D / p) t + shard>  the p that share experts out
//   edp_<(stage p + D mod p) t + shard>  the N / p that have the same experts
//   efsdp_*, eddp_*                    of those, as fsdp_ and ddp_
//
// With DualPipe, which has the layers of a stage at its opposite as well, the ranks of either count together in these
// but for ep_: N is twice as large, D of a stage in the second half is N / 2 more, and `stage` is the lower of the two.
//
//   embedding_<D t + shard>            first and last stage, which have the same embedding
#pragma once

#include <cstdint>
#include <string>

#include "converters/transformer.h"

namespace rankwire {

struct TransformerPlace {
  uint32_t shard = 0, data = 0, stage = 0;  ///< `data` is D
};

uint32_t rank_of(const TransformerModel& model, TransformerPlace at);
TransformerPlace place_of(const TransformerModel& model, uint32_t rank);

/// Where a part of a stage is among all parts, in the order of the layers.
uint32_t place_of_part(const TransformerModel& model, uint32_t stage, uint32_t part);
/// Whether the stage has the first and the last layers, and so input and output.
bool has_input(const TransformerModel& model, uint32_t stage);
bool has_output(const TransformerModel& model, uint32_t stage);

/// A process group that a rank is in, and how many are.
struct PlaceGroup {
  std::string name;
  uint32_t size = 1;
};

PlaceGroup tensor_group(const TransformerModel& model, TransformerPlace at);
PlaceGroup context_group(const TransformerModel& model, TransformerPlace at);
PlaceGroup data_group(const TransformerModel& model, TransformerPlace at);
PlaceGroup embedding_group(const TransformerModel& model, TransformerPlace at);
PlaceGroup expert_group(const TransformerModel& model, TransformerPlace at);

/// Who has the same parameters: `shared` divides them, `kept` has equal parts. Of the experts with `experts`.
struct ParameterGroups {
  PlaceGroup shared, kept;
  uint32_t part = 0, copy = 0;  ///< the rank's place in either
};
ParameterGroups parameter_groups(const TransformerModel& model, TransformerPlace at, bool experts);
/// Where the rank stands that has copy `copy` of part `part` of the parameters of the one at `at`.
TransformerPlace holder_of(const TransformerModel& model, TransformerPlace at, bool experts, uint32_t part,
                           uint32_t copy);

/// The process groups that a step uses.
GroupMembers transformer_groups(const TransformerModel& model);

}  // namespace rankwire
