// What a transformer's ranks keep of the model, and so have to do with storage (storage.h).
//
// With e bytes a weight and K bytes of optimizer state a parameter (Rajbhandari et al., SC20, section 3.1: 12 with Adam
// in mixed precision), N ranks that have the same P parameters and S that divide them, a checkpoint has (e + K) P once:
//
//   zero 0      all N have both
//   zero 1, 2   all N have the weights, e P; each has a part of the optimizer's state, K P / S
//   zero 3      each has a part of both
//
// A rank writes a file of weights and one of the optimizer's state, each of its layers, of its experts and of its
// embeddings, which are divided at stage 3 alone. Of those that have the same, the first one writes; or each a part.
// The embedding that the last stage shares with the first one is the first one's to write.
#pragma once

#include "converters/storage.h"
#include "converters/transformer.h"

namespace rankwire {

/// Samples are read at the first and the last stage (tokens, and what should follow them), by one shard for all of its
/// tensor-parallel group, each rank of a sequence its part. `model` outlives the result. Throws Error(kInput) for sizes
/// above 2^63 - 1.
StorageTraffic transformer_storage(const TransformerModel& model);

/// Whether the rank computes with samples.
bool uses_samples(const TransformerModel& model, uint32_t stage);

}  // namespace rankwire
