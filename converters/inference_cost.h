// Flops, bytes of memory and sizes of messages of one batch of an inference service, of one rank.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "converters/batching.h"
#include "converters/serving_model.h"
#include "converters/transformer_cost.h"

namespace rankwire {

/// How long the bytes take at the rate of a rank's network. Here and below what takes longer than 2 10^6 s, which is
/// more than any plan has, counts as that.
Duration network_time(const ServingModel& model, Bytes size);

/// With T tokens in the batch, p = expert_parallel replicas, t = tensor_parallel shards and hidden size h, a rank has
/// n = ceil(T / p) tokens. A product of n tokens with a matrix of m parameters takes 2 n m flops; attention takes, for
/// each token and each token at or before it (a pair), 4 head_dim flops a head, with a latent 2 (2 head_dim + rope) of
/// a prompt and 2 (2 latent + rope) of a token that is decoded, whose up-projections are absorbed into those of query
/// and output (DeepSeek-V2, section 2.1.2). Memory counts the parameters once, of experts as many as tokens go to, keys
/// and values that are read and written, and activations in and out; scores stay on the chip (Dao et al., NeurIPS
/// 2022). All functions throw Error(kInput) when a value exceeds 2^63 - 1.
class InferenceCost {
 public:
  /// Both outlive it.
  InferenceCost(const ServingModel& model, const ServingPool& pool);

  Work attention(const Batch& batch) const;  ///< of a layer
  Work mlp(const Batch& batch) const;        ///< of a layer without experts
  Work experts(int64_t visits) const;        ///< of a layer: the rank's, to which so many tokens come
  Work shared_experts(const Batch& batch) const;
  Work router(const Batch& batch) const;  ///< of a layer: 2 n h E flops
  Work embedding(const Batch& batch) const;
  Work logits(const Batch& batch) const;  ///< of the tokens that the batch gives

  Bytes activations(const Batch& batch) const;  ///< n h elements
  Bytes activations(int64_t tokens) const;      ///< h elements each
  /// Of one shard: ceil(V / t) elements of each token that the batch gives a replica.
  Bytes logits_shard(const Batch& batch) const;
  /// Of keys and values, all layers or one.
  Bytes kv(int64_t elements, int64_t tokens, int64_t layers) const;

  /// By the roofline: the longer of flops over the peak rate, and bytes over the memory's bandwidth.
  Duration time_of(const Work& work) const;
  /// How long the batch takes, with its collectives as rings at the full rate of the network and all experts chosen as
  /// often.
  Duration estimate(const Batch& batch) const;

  /// Tokens of which a replica can keep keys and values in its shards' kv_memory.
  int64_t most_kept() const;

  int64_t tokens(const Batch& batch) const;  ///< n
  /// What goes to the rank's experts if all are chosen as often: n experts_per_token, which it also sends.
  int64_t even_visits(const Batch& batch) const;

 private:
  int64_t given(const Batch& batch) const;
  int64_t attention_parameters() const;  ///< of a shard and layer
  int64_t pair_flops(bool decodes) const;
  Bytes bytes(int64_t elements) const;
  int64_t mlp_weights(int64_t width) const;  ///< of a shard
  Work mlp(int64_t weights, int64_t tokens) const;

  const ServingModel& model_;
  const ServingPool& pool_;
  int64_t vocabulary_shard_;
};

}  // namespace rankwire
